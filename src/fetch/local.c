/* model.copy: a local file into the cache; and the size of a local file for model.head. File
 * systems may be slow or hang (NFS), so both are jobs on a thread.
 *
 *   source ──> DIR/.model-XXXXXX.tmp ──(SHA-256 fits)──> DIR/NAME.gguf
 *
 * A job outlives the effect that started it: a cancelled one stops at its next block and is
 * forgotten. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/names.h"
#include "base/str.h"
#include "fetch/gguf.h"
#include "fetch/internal.h"
#include "http/loop.h"

#define LOCAL_BLOCK_BYTES ((size_t)1 << 20)
#define LOCAL_PROGRESS_MS 1000

struct local_job {
    struct effect_run *run; /* NULL: cancelled */
    struct arena arena;
    bool copy; /* else only look */
    const char *source, *directory, *sha256, *name;
    const char **roots; /* NULL-terminated */
    /* between the threads */
    _Atomic int64_t bytes, total;
    atomic_bool cancelled;
    /* filled by the thread */
    struct error error;
    const char *path;
    const char *digest;
    struct json gguf;
    bool cached;
};

struct local {
    struct effect_run run;
    struct local_job *job;
    struct timer progress;
};

/* ---- on the thread ---- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* What the path really is must lie below an allowed directory: a link may not lead out of it. */
static bool check_roots(struct local_job *j, struct error *err)
{
    char real[PATH_MAX], root[PATH_MAX];
    if (!realpath(j->source, real))
        return fail_errno(err, errno, "%s", j->source);
    for (size_t i = 0; j->roots[i]; i++) {
        if (!realpath(j->roots[i], root))
            continue;
        size_t length = strlen(root);
        if (strncmp(real, root, length) == 0 &&
            (real[length] == '/' || real[length] == '\0' || text_eq(root, "/")))
            return true;
    }
    return fail(err, ERR_FORBIDDEN, "%s leads out of the allowed directories", j->source);
}

static int open_source(struct local_job *j, struct error *err)
{
    struct stat st;
    int fd = check_roots(j, err) ? open(j->source, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) {
        if (!err->code)
            fail_errno(err, errno, "%s", j->source);
        return -1;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        fail(err, ERR_INVALID, "%s is not a regular file", j->source);
        close(fd);
        return -1;
    }
    atomic_store(&j->total, (int64_t)st.st_size);
    return fd;
}

/* A file that lacks bytes, or is still being written, is not copied. */
static bool read_gguf(struct local_job *j, int fd, struct error *err)
{
    struct gguf_reader r;
    gguf_init(&r, &j->arena);
    bool read = gguf_read_file(&r, fd, err), whole = read;
    const char *else_is = gguf_what_else(&r, j->source);
    if (!read)
        fail_in(err, "%s", j->source);
    else if (else_is)
        whole = fail(err, ERR_INVALID, "%s %s", j->source, else_is);
    else if (!gguf_check_size(&r, atomic_load(&j->total), err))
        whole = fail(err,
            err->code,
            "%s %s; put the whole file there",
            j->source,
            arena_strdup(&j->arena, err->text));
    j->gguf = gguf_json(&j->arena, &r);
    gguf_done(&r);
    return whole;
}

/* Reads all of it, into `out` unless that is -1, and leaves the digest. */
static bool pass_over(struct local_job *j, int in, int out, struct error *err)
{
    struct sha256 h;
    sha256_init(&h);
    char *block = mem_new(LOCAL_BLOCK_BYTES);
    bool ok = true;
    for (int64_t at = 0; ok;) {
        ssize_t got = pread(in, block, LOCAL_BLOCK_BYTES, (off_t)at);
        if (got < 0)
            ok = fail_errno(err, errno, "reading %s", j->source);
        if (got <= 0)
            break;
        sha256_add(&h, block, (size_t)got);
        for (ssize_t put = 0; ok && out >= 0 && put < got;) {
            ssize_t n = write(out, block + put, (size_t)(got - put));
            if (n < 0)
                ok = fail_errno(err, errno, "writing to %s", j->directory);
            put += n > 0 ? n : 0;
        }
        at += got;
        atomic_store(&j->bytes, at);
        if (atomic_load(&j->cancelled))
            ok = fail(err, ERR_CANCELLED, "cancelled");
    }
    free(block);
    if (ok)
        j->digest = sha256_end_hex(&h, &j->arena);
    else
        sha256_done(&h);
    return ok;
}

static bool check_digest(struct local_job *j, struct error *err)
{
    if (!j->sha256 || str_eq_nocase(str_of(j->sha256), str_of(j->digest)))
        return true;
    return fail(err,
        ERR_INVALID,
        "spec.sha256 is %s, but the file has %s: correct the one or replace the other",
        j->sha256,
        j->digest);
}

/* mkdir -p of the last two levels: cache directory and key. */
static bool make_directory(struct local_job *j, struct error *err)
{
    char *parent = arena_strdup(&j->arena, j->directory);
    char *slash = strrchr(parent, '/');
    if (slash && slash != parent) {
        *slash = '\0';
        if (mkdir(parent, 0755) != 0 && errno != EEXIST)
            return fail_errno(err, errno, "making %s", parent);
    }
    if (mkdir(j->directory, 0755) != 0 && errno != EEXIST)
        return fail_errno(err, errno, "making %s", j->directory);
    return true;
}

static bool copy_into_place(struct local_job *j, int in, struct error *err)
{
    char *temporary = arena_printf(&j->arena, "%s/.model-XXXXXX.tmp", j->directory);
    cleanup(close_fd) int out = mkostemps(temporary, 4, O_CLOEXEC);
    if (out < 0)
        return fail_errno(err, errno, "making a file in %s", j->directory);
    bool ok = pass_over(j, in, out, err) && check_digest(j, err);
    if (ok && (fchmod(out, 0644) != 0 || fsync(out) != 0))
        ok = fail_errno(err, errno, "writing %s", temporary);
    if (ok && rename(temporary, j->path) != 0)
        ok = fail_errno(err, errno, "renaming to %s", j->path);
    if (!ok)
        unlink(temporary);
    return ok;
}

static bool do_copy(struct local_job *j, struct error *err)
{
    cleanup(close_fd) int in = open_source(j, err);
    if (in < 0 || !read_gguf(j, in, err) || !make_directory(j, err))
        return false;
    const char *own = json_get_text(j->gguf, "modelName");
    const char *name = own ? name_of_file(&j->arena, own) : "";
    if (!*name)
        name = name_of_file(&j->arena, j->name);
    j->path = arena_printf(&j->arena, "%s/%s.gguf", j->directory, *name ? name : "model");
    struct stat there;
    j->cached = stat(j->path, &there) == 0 && there.st_size == atomic_load(&j->total);
    if (!j->cached)
        return copy_into_place(j, in, err);
    cleanup(close_fd) int copy = open(j->path, O_RDONLY | O_CLOEXEC);
    if (copy < 0)
        return fail_errno(err, errno, "%s", j->path);
    /* The copy that is there, not the source, is what will be served. */
    return pass_over(j, copy, -1, err) && check_digest(j, err);
}

static void work(void *ctx)
{
    struct local_job *j = ctx;
    if (j->copy) {
        do_copy(j, &j->error);
        return;
    }
    cleanup(close_fd) int fd = open_source(j, &j->error);
    (void)fd;
}

/* ---- on the loop ---- */

static void stop(struct effect_run *run)
{
    struct local *l = container_of(run, struct local, run);
    timer_stop(fetch_env(run->fetch), &l->progress);
    atomic_store(&l->job->cancelled, true);
    l->job->run = NULL;
}

static void done(void *ctx)
{
    struct local_job *j = ctx;
    if (j->run) {
        struct local *l = container_of(j->run, struct local, run);
        struct arena *a = &j->arena;
        timer_stop(fetch_env(j->run->fetch), &l->progress);
        int64_t size = atomic_load(&j->total);
        struct json result = j->copy ? json_fields(a,
                                           { "path", json_str(j->path) },
                                           { "size", json_int(size) },
                                           { "sha256", json_str(j->digest) },
                                           { "gguf", j->gguf },
                                           { "cached", json_true_or_absent(j->cached) })
                                     : json_fields(a, { "contentLength", json_int(size) });
        run_end(j->run, result, j->error.code ? &j->error : NULL);
    }
    arena_done(&j->arena);
    free(j);
}

static void set_progress_timer(struct local *l)
{
    int64_t wanted_ms = l->run.fetch->options.progress_ms;
    timer_set(fetch_env(l->run.fetch), &l->progress, wanted_ms ? wanted_ms : LOCAL_PROGRESS_MS);
}

static void tell_progress(void *ctx)
{
    struct local *l = ctx;
    struct effect_run *run = &l->run;
    int64_t bytes = atomic_load(&l->job->bytes), total = atomic_load(&l->job->total);
    set_progress_timer(l);
    if (bytes)
        run->sink->progress(run->ctx,
            json_fields(&run->arena, { "bytes", json_int(bytes) }, { "total", json_int(total) }));
}

void local_start(struct effect_run *run, const char *path, bool copy)
{
    struct local *l = container_of(run, struct local, run);
    struct local_job *j = mem_new_of(struct local_job);
    struct arena *a = &j->arena;
    arena_init(a, ARENA_LIMIT_DEFAULT);
    run->stop = stop;
    l->job = j;
    j->run = run;
    j->copy = copy;
    j->source = arena_strdup(a, path);
    j->directory = arena_strdup(a, json_get_text(run->args, "directory"));
    j->sha256 = arena_strdup(a, json_get_text(run->args, "sha256"));
    j->name = arena_strdup(a, json_get_text(run->args, "name"));
    j->name = j->name ? j->name : "model";
    struct json roots = run->fetch->options.allowed_roots;
    j->roots = arena_array(a, roots.count + 1, sizeof(*j->roots));
    for (uint32_t i = 0; i < roots.count; i++)
        j->roots[i] = arena_strdup(a, roots.items[i].string);
    timer_init(&l->progress, tell_progress, l);
    if (copy)
        set_progress_timer(l);
    loop_work(run->fetch->options.loop, work, done, j);
}

_Static_assert(sizeof(struct local) <= FETCH_LOCAL_BYTES, "model.head has no room for it");

static void start_copy(struct effect_run *run)
{
    local_start(run, json_get_text(run->args, "path"), true);
}

const struct effect_type effect_copy = { "model.copy", sizeof(struct local), start_copy };
