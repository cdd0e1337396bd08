/* volume.remove: removes the directory of a deleted claim with its contents. On a thread, because
 * it may hold many files. */

#include <stdlib.h>

#include "base/str.h"
#include "base/tree.h"
#include "fetch/internal.h"
#include "http/loop.h"

struct removal {
    struct effect_run *run; /* NULL: the effect was stopped */
    struct arena arena;
    const char *path, *within;
    struct error error;
};

struct remove_run {
    struct effect_run run;
    struct removal *job;
};

/* Whether path is below `within` and does not lead out of it. */
static bool lies_within(const char *path, const char *within)
{
    size_t length = within ? strlen(within) : 0;
    return length > 1 && path && text_starts(path, within) && path[length] == '/' &&
           path[length + 1] && !strstr(path, "/../") && !text_ends(path, "/..");
}

static void work(void *ctx)
{
    struct removal *j = ctx;
    if (!lies_within(j->path, j->within)) {
        fail(&j->error, ERR_INVALID, "%s is not in %s", j->path, j->within);
        return;
    }
    if (!tree_remove_below(j->within, j->path + strlen(j->within) + 1, &j->error))
        fail_in(&j->error, "removing");
}

static void done(void *ctx)
{
    struct removal *j = ctx;
    if (j->run)
        run_end(j->run, json_empty_map(), j->error.code ? &j->error : NULL);
    arena_done(&j->arena);
    free(j);
}

static void stop(struct effect_run *run)
{
    container_of(run, struct remove_run, run)->job->run = NULL;
}

static void start(struct effect_run *run)
{
    struct removal *j = mem_new_of(struct removal);
    arena_init(&j->arena, ARENA_LIMIT_DEFAULT);
    j->path = arena_strdup(&j->arena, json_get_text(run->args, "path"));
    j->within = arena_strdup(&j->arena, json_get_text(run->args, "within"));
    j->run = run;
    run->stop = stop;
    container_of(run, struct remove_run, run)->job = j;
    loop_work(run->fetch->options.loop, work, done, j);
}

const struct effect_type effect_remove = { "volume.remove", sizeof(struct remove_run), start };
