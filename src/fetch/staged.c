/* model.staged: how much of a model its pods have fetched, until all of it is there. Pods cannot
 * tell, and on one machine we can see. Looking takes microseconds, and is rare while nothing is on
 * its way. */

#include "fetch/staged.h"

#include <dirent.h>
#include <sys/stat.h>

#include "base/str.h"
#include "fetch/internal.h"
#include "http/loop.h"

#define STAGED_DEPTH_MAX 8 /* of directories below a key: repositories have some */
#define STAGED_BUSY_MS 1000
#define STAGED_IDLE_MS 2000

static void close_dir(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

static void look_below(struct arena *a, const char *directory, int depth, struct staged *s)
{
    cleanup(close_dir) DIR *dir = opendir(directory);
    struct stat st;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        const char *path = arena_printf(a, "%s/%s", directory, e->d_name);
        bool note = e->d_name[0] == '.' || strstr(e->d_name, ".tmp."); /* the downloader's */
        if (note || lstat(path, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode) && depth < STAGED_DEPTH_MAX)
            look_below(a, path, depth + 1, s);
        else if (S_ISREG(st.st_mode) && !text_ends(path, ".tmp"))
            s->whole = true;
        else if (S_ISREG(st.st_mode) && st.st_size > s->partial)
            s->partial = st.st_size;
    }
}

struct staged staged_look(const char *directory, const char *key)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct staged s = { .partial = -1 };
    cleanup(close_dir) DIR *claims = opendir(directory);
    for (struct dirent *e; claims && (e = readdir(claims));)
        if (e->d_name[0] != '.')
            look_below(&a, arena_printf(&a, "%s/%s/%s", directory, e->d_name, key), 0, &s);
    return s;
}

/* ---- the effect ---- */

struct watch {
    struct effect_run run;
    struct timer again;
    int64_t told; /* bytes */
};

static void look(void *ctx)
{
    struct watch *w = ctx;
    struct effect_run *run = &w->run;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct staged s =
        staged_look(json_get_text(run->args, "path"), json_get_text(run->args, "key"));
    if (s.whole && s.partial < 0) {
        run_end(run, json_fields(&a, { "whole", json_bool(true) }), NULL);
        return;
    }
    int64_t wanted_ms = run->fetch->options.progress_ms;
    int64_t pause_ms = s.partial >= 0 ? STAGED_BUSY_MS : STAGED_IDLE_MS;
    timer_set(fetch_env(run->fetch), &w->again, wanted_ms ? wanted_ms : pause_ms);
    if (s.partial > 0 && s.partial != w->told)
        run->sink->progress(run->ctx, json_fields(&a, { "bytes", json_int(s.partial) }));
    w->told = s.partial;
}

static void stop(struct effect_run *run)
{
    struct watch *w = container_of(run, struct watch, run);
    timer_stop(fetch_env(run->fetch), &w->again);
}

static void start(struct effect_run *run)
{
    struct watch *w = container_of(run, struct watch, run);
    run->stop = stop;
    timer_init(&w->again, look, w);
    timer_set(fetch_env(run->fetch), &w->again, 0);
}

const struct effect_type effect_staged = { "model.staged", sizeof(struct watch), start };
