/* model.file: watches a local file that pods use in place, until the effect is stopped. It reports
 *
 *   { etag, size, gguf }          what the file is
 *   { changing: true }            it differs from the last report, and may still be written
 *   { problem: { code, message }} it is missing, or is not a complete model
 *
 * A check costs one stat() while nothing changes; one for each part if the file is the first of
 * several (NAME-00001-of-00003.gguf); and one for each file in a directory, which vLLM and others
 * load. A new file is reported after two equal checks, because a program that writes it in place
 * may set its length before its bytes. */

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "fetch/internal.h"
#include "fetch/source_file.h"
#include "http/loop.h"

#define FILE_IDLE_MS 2000
#define FILE_BUSY_MS 500
#define FILE_ETAG_BYTES 100
#define FILE_HEAD_BYTES ((size_t)64 << 10)

/* The result of stat(); all zero: none. */
struct sign {
    dev_t dev;
    ino_t ino;
    int64_t size, modified_ns, changed_ns;
    uint64_t parts, parts_changed; /* the same for the other parts; 0: there are none */
};

/* May outlive the effect that started it. */
struct look {
    struct file_watch *watch; /* NULL: the effect was stopped */
    struct arena arena;
    struct source_file source;
    struct sign before; /* the result of the last check */
    bool known;         /* the content is known if the result is equal */
    /* set by the thread */
    struct error error;
    struct sign now;
    bool same;
    const char *etag;
    int64_t parts_bytes; /* of the other parts */
};

struct file_watch {
    struct effect_run run;
    struct timer again;
    struct look *look; /* running */
    struct sign sign;
    bool looked; /* checked at least once */
    bool known;  /* if the check is equal, the last report is still true */
    char told[FILE_ETAG_BYTES], found[FILE_ETAG_BYTES];
};

/* ---- on the thread ---- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static int64_t ns_of(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct sign sign_of(const struct stat *st)
{
    return (struct sign){ .dev = st->st_dev,
        .ino = st->st_ino,
        .size = st->st_size,
        .modified_ns = ns_of(st->st_mtim),
        .changed_ns = ns_of(st->st_ctim) };
}

static uint64_t mix(uint64_t into, int64_t value)
{
    return (into ^ (uint64_t)value) * 0x100000001b3; /* as FNV-1a does with bytes */
}

/* The other parts of a file that is the first of several, by llama.cpp's naming. */
static bool add_parts(struct look *l, struct error *err)
{
    static const char first[] = "-00001-of-00000.gguf";
    const char *path = l->source.path;
    size_t length = strlen(path), tail = sizeof(first) - 1;
    char *end;
    if (length < tail || strncmp(path + length - tail, first, strlen("-00001-of-")) != 0)
        return true;
    long count = strtol(path + length - strlen("00000.gguf"), &end, 10);
    for (long i = 2; text_eq(end, ".gguf") && i <= count; i++) {
        struct stat st;
        const char *part = arena_printf(
            &l->arena, "%.*s-%05ld-of-%05ld.gguf", (int)(length - tail), path, i, count);
        if (stat(part, &st) != 0)
            return fail_errno(err, errno, "part %ld of %ld, %s", i, count, part);
        struct sign sign = sign_of(&st);
        l->parts_bytes += sign.size;
        l->now.parts = mix(mix(mix(l->now.parts, sign.size), sign.modified_ns), (int64_t)sign.ino);
        l->now.parts_changed = mix(l->now.parts_changed, sign.changed_ns);
    }
    return true;
}

static void close_dir(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

static int64_t number_of(struct arena *a, const char *text)
{
    return (int64_t)strtoull(arena_strndup(a, sha256_hex(a, str_of(text)), 16), NULL, 16);
}

/* The files of a directory. Their order is undefined, so their hashes are added up. */
static bool read_directory(struct look *l, struct error *err)
{
    const char *path = l->source.path;
    cleanup(close_dir) DIR *dir = opendir(path);
    if (!dir)
        return fail_errno(err, errno, "%s", path);
    for (struct dirent *e; (e = readdir(dir));) {
        struct stat st;
        if (e->d_name[0] == '.' || fstatat(dirfd(dir), e->d_name, &st, 0) != 0 ||
            !S_ISREG(st.st_mode))
            continue;
        struct sign sign = sign_of(&st);
        uint64_t name = mix(1, number_of(&l->arena, e->d_name));
        l->parts_bytes += sign.size;
        l->now.parts += mix(mix(name, sign.size), sign.modified_ns);
        l->now.parts_changed += mix(name, sign.changed_ns);
    }
    return l->now.parts || fail(err, ERR_INVALID, "%s is a directory without files", path);
}

static bool equal(const struct sign *a, const struct sign *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns &&
           a->parts == b->parts && a->parts_changed == b->parts_changed;
}

/* The same text for the same content. It includes the head, because tools may preserve length and
 * time. It excludes the ctime, which a change of name or mode updates. */
static bool read_etag(struct look *l, int fd, struct error *err)
{
    char *head = mem_new(FILE_HEAD_BYTES), parts[24] = "";
    if (l->now.parts)
        snprintf(parts, sizeof(parts), "-%llx", (unsigned long long)l->now.parts);
    ssize_t got = pread(fd, head, FILE_HEAD_BYTES, 0);
    if (got < 0)
        fail_errno(err, errno, "reading %s", l->source.path);
    else
        l->etag = arena_printf(&l->arena,
            "%llx-%llx-%llx-%.8s%s",
            (unsigned long long)l->now.size,
            (unsigned long long)l->now.modified_ns,
            (unsigned long long)l->now.ino,
            sha256_hex(&l->arena, (struct str){ head, (size_t)got }),
            parts);
    free(head);
    return got >= 0;
}

static void look_work(void *ctx)
{
    struct look *l = ctx;
    struct stat st;
    bool there = stat(l->source.path, &st) == 0, directory = there && S_ISDIR(st.st_mode);
    if (there)
        l->now = sign_of(&st);
    if (there && !(directory ? read_directory(l, &l->error) : add_parts(l, &l->error)))
        return;
    l->same = l->known && l->now.ino && equal(&l->now, &l->before);
    if (l->same)
        return;
    if (directory) {
        if (source_file_check_roots(&l->source, &l->error))
            l->etag = arena_printf(&l->arena, "files-%llx", (unsigned long long)l->now.parts);
        return;
    }
    cleanup(close_fd) int fd = source_file_open(&l->source, &l->error);
    if (fd < 0)
        return;
    if (fstat(fd, &st) != 0) {
        fail_errno(&l->error, errno, "%s", l->source.path);
        return;
    }
    struct sign opened = sign_of(&st);
    opened.parts = l->now.parts;
    opened.parts_changed = l->now.parts_changed;
    l->now = opened;
    if (source_file_read_head(&l->source, fd, &l->error))
        read_etag(l, fd, &l->error);
}

/* ---- on the loop ---- */

static void look_again(struct file_watch *w, int64_t pause_ms)
{
    int64_t wanted_ms = w->run.fetch->options.progress_ms;
    timer_set(fetch_env(w->run.fetch), &w->again, wanted_ms ? wanted_ms : pause_ms);
}

/* The content of an invalid file is not read again until its stat() result changes. */
static void tell_problem(struct file_watch *w, struct look *l)
{
    w->known = l->error.code == ERR_INVALID;
    w->found[0] = 0;
    w->run.sink->progress(w->run.ctx,
        json_fields(&l->arena,
            { "problem.code", json_str(error_code_name(l->error.code)) },
            { "problem.message", json_str(l->error.text) }));
}

static void tell_file(struct file_watch *w, struct look *l, bool first)
{
    struct arena *a = &l->arena;
    bool sure = first || text_eq(l->etag, w->told) || text_eq(l->etag, w->found);
    struct json file = json_fields(a,
        { "etag", json_str(l->etag) },
        { "size", json_int(l->source.size + l->parts_bytes) },
        { "gguf", l->source.gguf });
    w->known = sure;
    snprintf(w->found, sizeof(w->found), "%s", l->etag);
    if (sure)
        snprintf(w->told, sizeof(w->told), "%s", l->etag);
    w->run.sink->progress(
        w->run.ctx, sure ? file : json_fields(a, { "changing", json_bool(true) }));
}

static void look_done(void *ctx)
{
    struct look *l = ctx;
    struct file_watch *w = l->watch;
    if (w) {
        bool first = !w->looked, same = l->same;
        w->look = NULL;
        w->looked = true;
        w->sign = l->now;
        look_again(w, first || same ? FILE_IDLE_MS : FILE_BUSY_MS);
        if (l->error.code)
            tell_problem(w, l);
        else if (!same)
            tell_file(w, l, first);
    }
    arena_done(&l->arena);
    free(l);
}

static void look(void *ctx)
{
    struct file_watch *w = ctx;
    struct look *l = mem_new_of(struct look);
    arena_init(&l->arena, ARENA_LIMIT_DEFAULT);
    l->watch = w;
    l->source = source_file_of(
        &l->arena, json_get_text(w->run.args, "path"), w->run.fetch->options.allowed_roots);
    l->before = w->sign;
    l->known = w->known;
    w->look = l;
    loop_work(w->run.fetch->options.loop, look_work, look_done, l);
}

static void stop(struct effect_run *run)
{
    struct file_watch *w = container_of(run, struct file_watch, run);
    timer_stop(fetch_env(run->fetch), &w->again);
    if (w->look)
        w->look->watch = NULL;
}

static void start(struct effect_run *run)
{
    struct file_watch *w = container_of(run, struct file_watch, run);
    run->stop = stop;
    timer_init(&w->again, look, w);
    look(w);
}

const struct effect_type effect_file = { "model.file", sizeof(struct file_watch), start };
