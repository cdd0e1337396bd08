/* model.staged: reports how much of a model its pods have fetched, until it is complete. Pods do
 * not report that, but on a single machine the files are visible. A check takes microseconds, and
 * is rare while no download runs. Whether the files are as long as their own headers say is checked
 * on a thread: a source without a length, or a power failure, may leave truncated files. */

#include "fetch/staged.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "fetch/gguf.h"
#include "fetch/internal.h"
#include "http/loop.h"

#define STAGED_DEPTH_MAX 8 /* maximum depth of directories below a key: repositories have some */
#define STAGED_BUSY_MS 1000
#define STAGED_IDLE_MS 2000
#define STAGED_CUT_MS 5000 /* until a truncated file may have been removed */

static void close_dir(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

/* Calls visit() for every model file, skipping the downloader's own files, until it returns
 * false. */
static bool each_file_below(struct arena *a, const char *directory, int depth,
    bool (*visit)(void *ctx, const char *path, const struct stat *st), void *ctx)
{
    cleanup(close_dir) DIR *dir = opendir(directory);
    struct stat st;
    bool more = true;
    for (struct dirent *e; more && dir && (e = readdir(dir));) {
        const char *path = arena_printf(a, "%s/%s", directory, e->d_name);
        bool note = e->d_name[0] == '.' || strstr(e->d_name, ".tmp.");
        if (note || lstat(path, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode) && depth < STAGED_DEPTH_MAX)
            more = each_file_below(a, path, depth + 1, visit, ctx);
        else if (S_ISREG(st.st_mode))
            more = visit(ctx, path, &st);
    }
    return more;
}

static bool each_file(const char *directory, const char *key,
    bool (*visit)(void *ctx, const char *path, const struct stat *st), void *ctx)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    cleanup(close_dir) DIR *claims = opendir(directory);
    bool more = true;
    for (struct dirent *e; more && claims && (e = readdir(claims));)
        if (e->d_name[0] != '.')
            more = each_file_below(
                &a, arena_printf(&a, "%s/%s/%s", directory, e->d_name, key), 0, visit, ctx);
    return more;
}

static bool is_partial(const char *path)
{
    return text_ends(path, ".tmp");
}

static bool note_file(void *ctx, const char *path, const struct stat *st)
{
    struct staged *s = ctx;
    if (!is_partial(path))
        s->whole = true;
    else if (st->st_size > s->partial)
        s->partial = st->st_size;
    return true;
}

struct staged staged_look(const char *directory, const char *key)
{
    struct staged s = { .partial = -1 };
    each_file(directory, key, note_file, &s);
    return s;
}

static bool add_total(void *ctx, const char *path, const struct stat *st)
{
    int64_t *total = ctx;
    struct error err;
    if (!is_partial(path))
        return true;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct gguf_reader r;
    gguf_init(&r, &a);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && gguf_read_file(&r, fd, &err) && r.gguf.file_bytes <= INT64_MAX &&
        (int64_t)r.gguf.file_bytes >= st->st_size)
        *total = (int64_t)r.gguf.file_bytes;
    if (fd >= 0)
        close(fd);
    gguf_done(&r);
    return true;
}

int64_t staged_total(const char *directory, const char *key)
{
    int64_t total = 0;
    each_file(directory, key, add_total, &total);
    return total;
}

/* An unreadable file is not reported here. Repositories may contain empty files. */
static bool check_file(void *ctx, const char *path, const struct stat *st)
{
    struct error *err = ctx, why;
    if (is_partial(path) || (!st->st_size && !text_ends(path, ".gguf")))
        return true;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct gguf_reader r;
    gguf_init(&r, &a);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool whole = fd < 0 || !gguf_read_file(&r, fd, &why) || gguf_check_size(&r, st->st_size, &why);
    const char *else_is = gguf_what_else(&r, path);
    if (whole && else_is)
        whole = fail(&why, ERR_INVALID, "%s", else_is);
    if (fd >= 0)
        close(fd);
    gguf_done(&r);
    return whole || fail(err, why.code, "%s %s", path, why.text);
}

bool staged_check(const char *directory, const char *key, struct error *err)
{
    return each_file(directory, key, check_file, err);
}

/* ---- the effect ---- */

/* May outlive the effect that started it. */
struct check {
    struct watch *watch; /* NULL: the effect was stopped */
    char *directory, *key;
    struct error error; /* set by the thread */
};

struct watch {
    struct effect_run run;
    struct timer again;
    struct check *check; /* running */
    int64_t told;        /* bytes in the last report */
    bool cut;            /* a truncated file was reported */
};

static void look_again(struct watch *w, int64_t pause_ms)
{
    int64_t wanted_ms = w->run.fetch->options.progress_ms;
    timer_set(fetch_env(w->run.fetch), &w->again, wanted_ms ? wanted_ms : pause_ms);
}

static void check_work(void *ctx)
{
    struct check *c = ctx;
    staged_check(c->directory, c->key, &c->error);
}

static void check_done(void *ctx)
{
    struct check *c = ctx;
    struct watch *w = c->watch;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    if (w) {
        w->check = NULL;
        if (!c->error.code) {
            run_end(&w->run, json_fields(&a, { "whole", json_bool(true) }), NULL);
        } else {
            w->run.sink->progress(w->run.ctx, json_fields(&a, { "cut", json_str(c->error.text) }));
            w->cut = true;
            look_again(w, STAGED_CUT_MS);
        }
    }
    free(c->directory);
    free(c->key);
    free(c);
}

static void start_check(struct watch *w, const char *directory, const char *key)
{
    struct check *c = mem_new_of(struct check);
    *c = (struct check){ w, .directory = mem_strdup(directory), .key = mem_strdup(key) };
    w->check = c;
    loop_work(w->run.fetch->options.loop, check_work, check_done, c);
}

static void look(void *ctx)
{
    struct watch *w = ctx;
    struct effect_run *run = &w->run;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *directory = json_get_text(run->args, "path"),
               *key = json_get_text(run->args, "key");
    struct staged s = staged_look(directory, key);
    if (s.whole && s.partial < 0) {
        start_check(w, directory, key);
        return;
    }
    look_again(w, s.partial >= 0 ? STAGED_BUSY_MS : STAGED_IDLE_MS);
    if ((s.partial > 0 && s.partial != w->told) || w->cut)
        run->sink->progress(
            run->ctx, json_fields(&a, { "bytes", json_int(s.partial > 0 ? s.partial : 0) }));
    w->told = s.partial;
    w->cut = false;
}

static void stop(struct effect_run *run)
{
    struct watch *w = container_of(run, struct watch, run);
    timer_stop(fetch_env(run->fetch), &w->again);
    if (w->check)
        w->check->watch = NULL;
}

static void start(struct effect_run *run)
{
    struct watch *w = container_of(run, struct watch, run);
    run->stop = stop;
    timer_init(&w->again, look, w);
    timer_set(fetch_env(run->fetch), &w->again, 0);
}

const struct effect_type effect_staged = { "model.staged", sizeof(struct watch), start };
