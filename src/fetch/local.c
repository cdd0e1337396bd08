/* model.copy: copies a local file into the cache; model.digest: the SHA-256 of one; model.head: the
 * size of one. File systems may be slow or hang (NFS), so these are jobs on a thread.
 *
 *   source ──> DIR/.model-XXXXXX.tmp ──(SHA-256 matches)──> DIR/NAME.gguf
 *
 * A job may outlive the effect that started it: a cancelled one stops at its next block, and its
 * result is dropped. */

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
#include "fetch/internal.h"
#include "fetch/source_file.h"
#include "http/loop.h"

#define LOCAL_BLOCK_BYTES ((size_t)1 << 20)
#define LOCAL_PROGRESS_MS 1000

struct local_job {
    struct effect_run *run; /* NULL: cancelled */
    struct arena arena;
    enum local_work what;
    struct source_file source;
    const char *directory, *sha256, *name;
    /* shared by the threads */
    _Atomic int64_t bytes, total;
    atomic_bool cancelled;
    /* set by the thread */
    struct error error;
    const char *path;
    const char *digest;
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

static int open_source(struct local_job *j, struct error *err)
{
    int fd = source_file_open(&j->source, err);
    atomic_store(&j->total, j->source.size);
    return fd;
}

/* Reads the whole file, copies it to `out` unless that is -1, and sets the digest. */
static bool pass_over(struct local_job *j, int in, int out, struct error *err)
{
    struct sha256 h;
    sha256_init(&h);
    char *block = mem_new(LOCAL_BLOCK_BYTES);
    bool ok = true;
    for (int64_t at = 0; ok;) {
        ssize_t got = pread(in, block, LOCAL_BLOCK_BYTES, (off_t)at);
        if (got < 0)
            ok = fail_errno(err, errno, "reading %s", j->source.path);
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
    if (in < 0 || !source_file_read_head(&j->source, in, err) || !make_directory(j, err))
        return false;
    const char *own = json_get_text(j->source.gguf, "modelName");
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
    /* Checks the copy and not the source, because the copy will be served. */
    return pass_over(j, copy, -1, err) && check_digest(j, err);
}

static void work(void *ctx)
{
    struct local_job *j = ctx;
    if (j->what == LOCAL_COPY) {
        do_copy(j, &j->error);
        return;
    }
    cleanup(close_fd) int fd = open_source(j, &j->error);
    if (fd >= 0 && j->what == LOCAL_DIGEST)
        pass_over(j, fd, -1, &j->error);
}

/* ---- on the loop ---- */

static void stop(struct effect_run *run)
{
    struct local *l = container_of(run, struct local, run);
    timer_stop(fetch_env(run->fetch), &l->progress);
    atomic_store(&l->job->cancelled, true);
    l->job->run = NULL;
}

static struct json result_of(struct local_job *j)
{
    struct arena *a = &j->arena;
    int64_t size = atomic_load(&j->total);
    switch (j->what) {
    case LOCAL_LOOK:
        return json_fields(a, { "contentLength", json_int(size) });
    case LOCAL_DIGEST:
        return json_fields(a, { "sha256", json_str(j->digest) });
    case LOCAL_COPY:
        break;
    }
    return json_fields(a,
        { "path", json_str(j->path) },
        { "size", json_int(size) },
        { "sha256", json_str(j->digest) },
        { "gguf", j->source.gguf },
        { "cached", json_true_or_absent(j->cached) });
}

static void done(void *ctx)
{
    struct local_job *j = ctx;
    if (j->run) {
        struct local *l = container_of(j->run, struct local, run);
        timer_stop(fetch_env(j->run->fetch), &l->progress);
        run_end(j->run, result_of(j), j->error.code ? &j->error : NULL);
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

void local_start(struct effect_run *run, const char *path, enum local_work what)
{
    struct local *l = container_of(run, struct local, run);
    struct local_job *j = mem_new_of(struct local_job);
    struct arena *a = &j->arena;
    arena_init(a, ARENA_LIMIT_DEFAULT);
    run->stop = stop;
    l->job = j;
    j->run = run;
    j->what = what;
    j->source = source_file_of(a, path, run->fetch->options.allowed_roots);
    j->directory = arena_strdup(a, json_get_text(run->args, "directory"));
    j->sha256 = arena_strdup(a, json_get_text(run->args, "sha256"));
    j->name = arena_strdup(a, json_get_text(run->args, "name"));
    j->name = j->name ? j->name : "model";
    timer_init(&l->progress, tell_progress, l);
    if (what != LOCAL_LOOK)
        set_progress_timer(l);
    loop_work(run->fetch->options.loop, work, done, j);
}

_Static_assert(sizeof(struct local) <= FETCH_LOCAL_BYTES, "model.head has no room for it");

static void start_copy(struct effect_run *run)
{
    local_start(run, json_get_text(run->args, "path"), LOCAL_COPY);
}

static void start_digest(struct effect_run *run)
{
    local_start(run, json_get_text(run->args, "path"), LOCAL_DIGEST);
}

const struct effect_type effect_copy = { "model.copy", sizeof(struct local), start_copy };
const struct effect_type effect_digest = { "model.digest", sizeof(struct local), start_digest };
