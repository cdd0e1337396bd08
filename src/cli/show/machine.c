#include "cli/show/machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/str.h"
#include "fetch/staged.h"
#include "node/logs.h"

#define LOG_END_BYTES 2048
#define LOG_END_LINES 4         /* the last ones may be empty */
#define FULL_BYTES (256 * 1024) /* free space below this counts as none */
#define KEY_BYTES 17
#define TOTALS_MAX 16
#define ID_PREFIX "process://"

/* An incomplete header is read again when the file has doubled in size. */
struct total {
    char key[KEY_BYTES];
    int64_t total, looked_at;
};

struct look {
    const char *folder;
    struct total totals[TOTALS_MAX]; /* of concurrent downloads */
    size_t next;
};

static struct total *total_of(struct look *l, const char *key)
{
    for (size_t i = 0; i < TOTALS_MAX; i++)
        if (strncmp(l->totals[i].key, key, KEY_BYTES - 1) == 0)
            return &l->totals[i];
    struct total *t = &l->totals[l->next++ % TOTALS_MAX];
    *t = (struct total){ 0 };
    snprintf(t->key, sizeof(t->key), "%s", key);
    return t;
}

static struct show_disk look_at_model(void *ctx, const char *ns, const char *cache_key)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct look *l = ctx;
    const char *folder = arena_printf(&a, "%s/volumes/%s", l->folder, ns);
    struct staged staged = staged_look(folder, cache_key);
    struct show_disk disk = { staged.whole, staged.partial, 0 };
    if (staged.partial <= 0)
        return disk;
    struct total *t = total_of(l, cache_key);
    if (staged.partial < t->looked_at || t->total < staged.partial)
        t->total = 0;
    if (!t->total && (staged.partial < t->looked_at || staged.partial >= 2 * t->looked_at)) {
        t->total = staged_total(folder, cache_key);
        t->looked_at = staged.partial;
    }
    disk.total = t->total;
    return disk;
}

/* The node's form is process://UID/CONTAINER/RUN. It is checked, because a client that may write a
 * status must not be able to name other files. */
static const char *read_log_end(void *ctx, struct arena *a, const char *container_id)
{
    const struct look *l = ctx;
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
            a, "%s/node/pods/%s/containers/%s/%lld/log", l->folder, uid, name, (long long)run),
        LOG_END_BYTES,
        LOG_END_LINES);
}

static bool look_whether_full(void *ctx)
{
    struct statvfs fs;
    if (statvfs(((struct look *)ctx)->folder, &fs))
        return false;
    uint64_t blocks = geteuid() == 0 ? fs.f_bfree : fs.f_bavail;
    return blocks * fs.f_frsize < FULL_BYTES;
}

struct show_machine show_machine(struct arena *a, const char *folder)
{
    struct look *l = arena_new(a, struct look);
    l->folder = arena_strdup(a, folder);
    return (struct show_machine){
        .model = look_at_model,
        .log_end = read_log_end,
        .is_full = look_whether_full,
        .folder = l->folder,
        .ctx = l,
    };
}
