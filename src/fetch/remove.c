/* volume.remove: the directory of a claim that is gone, with all that is in it. On a thread: it may
 * hold many files. */

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "fetch/internal.h"
#include "http/loop.h"

#define OPEN_MAX_AT_ONCE 16

struct removal {
    struct effect_run *run; /* NULL: nobody waits for it any more */
    struct arena arena;
    const char *path, *within;
    struct error error;
};

struct remove_run {
    struct effect_run run;
    struct removal *job;
};

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *walk)
{
    (void)st, (void)walk;
    bool directory = flag == FTW_DP || flag == FTW_D || flag == FTW_DNR;
    return directory ? rmdir(path) : unlink(path);
}

/* Below the directory that it has to lie in, and not out of it again. */
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
        fail(&j->error, ERR_INVALID, "%s does not lie in %s", j->path, j->within);
        return;
    }
    if (nftw(j->path, remove_entry, OPEN_MAX_AT_ONCE, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0 &&
        errno != ENOENT)
        fail_errno(&j->error, errno, "removing %s", j->path);
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
