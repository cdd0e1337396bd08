#include "cli/show/machine.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include "base/str.h"
#include "fetch/staged.h"
#include "node/logs.h"

#define LOG_END_BYTES 2048
#define LOG_END_LINES 4         /* the last ones may be empty */
#define FULL_BYTES (256 * 1024) /* less than this is as good as nothing */
#define ID_PREFIX "process://"

static struct show_disk look_at_model(void *ctx, const char *ns, const char *cache_key)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct staged staged =
        staged_look(arena_printf(&a, "%s/volumes/%s", (char *)ctx, ns), cache_key);
    return (struct show_disk){ staged.whole, staged.partial };
}

/* process://UID/CONTAINER/RUN, as the node has it: whoever may write a status is not to name other
 * files by it. */
static const char *read_log_end(void *ctx, struct arena *a, const char *container_id)
{
    struct str rest = str_of(container_id);
    if (!str_starts(rest, STR(ID_PREFIX)) || strstr(container_id, ".."))
        return "";
    rest.ptr += strlen(ID_PREFIX);
    rest.len -= strlen(ID_PREFIX);
    const char *uid = str_dup(a, str_cut(&rest, '/')), *name = str_dup(a, str_cut(&rest, '/'));
    int64_t run;
    if (!str_to_int(rest, &run))
        return "";
    return logs_tail(a,
        arena_printf(
            a, "%s/node/pods/%s/containers/%s/%lld/log", (char *)ctx, uid, name, (long long)run),
        LOG_END_BYTES,
        LOG_END_LINES);
}

static bool look_whether_full(void *ctx)
{
    struct statvfs fs;
    if (statvfs(ctx, &fs))
        return false;
    uint64_t blocks = geteuid() == 0 ? fs.f_bfree : fs.f_bavail;
    return blocks * fs.f_frsize < FULL_BYTES;
}

struct show_machine show_machine(struct arena *a, const char *folder)
{
    return (struct show_machine){
        .model = look_at_model,
        .log_end = read_log_end,
        .is_full = look_whether_full,
        .folder = arena_strdup(a, folder),
        .ctx = arena_strdup(a, folder),
    };
}
