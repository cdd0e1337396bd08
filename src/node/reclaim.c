#include "node/reclaim.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/str.h"
#include "http/loop.h"
#include "kube/reflector.h"
#include "node/volumes.h"

#define GONE ".gone-"

struct reclaim {
    struct loop *loop;
    struct reflector *reflector;
    char *root;
};

static void remove_all(void *path)
{
    volumes_remove(path);
}

static void forget(void *path)
{
    free(path);
}

static void remove_later(struct reclaim *r, const char *path)
{
    loop_work(r->loop, remove_all, forget, mem_strdup(path));
}

/* ROOT/NAMESPACE/NAME and deeper; never the root, nor out of it. */
static bool is_ours(const struct reclaim *r, const char *path)
{
    size_t length = strlen(r->root);
    return path && strncmp(path, r->root, length) == 0 && path[length] == '/' && path[length + 1] &&
           path[length + 1] != '.' && !strstr(path, "/../") && !text_ends(path, "/..");
}

static void on_remove(void *ctx, struct json last)
{
    struct reclaim *r = ctx;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *path = json_get_text(last, "spec.hostPath.path");
    const char *uid = json_get_text(last, "metadata.uid");
    const char *policy = json_get_text(last, "spec.persistentVolumeReclaimPolicy");
    if (!uid || !text_eq(policy, "Delete") || !is_ours(r, path))
        return;
    const char *aside = arena_printf(&a, "%s/" GONE "%s", r->root, uid);
    if (rename(path, aside) == 0)
        remove_later(r, aside);
}

static void remove_left(struct reclaim *r)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    DIR *dir = opendir(r->root);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (text_starts(e->d_name, GONE))
            remove_later(r, arena_printf(&a, "%s/%s", r->root, e->d_name));
    if (dir)
        closedir(dir);
}

static void on_put(void *ctx, struct json object, bool initial)
{
    (void)ctx, (void)object, (void)initial;
}

static void on_begin(void *ctx)
{
    (void)ctx;
}

static void on_version(void *ctx, const char *version)
{
    (void)ctx, (void)version;
}

static void on_bad(void *ctx, const struct reflector_bad *bad)
{
    (void)ctx, (void)bad;
}

static void on_state(void *ctx, enum reflector_state state, const struct error *err)
{
    (void)ctx, (void)state, (void)err;
}

struct reclaim *reclaim_new(
    struct loop *loop, const struct kube_transport *transport, const char *root)
{
    static const struct reflector_sink sink = {
        .replace_begin = on_begin,
        .put = on_put,
        .remove = on_remove,
        .replace_end = on_version,
        .bookmark = on_version,
        .bad = on_bad,
        .state = on_state,
    };
    struct reclaim *r = mem_new_of(struct reclaim);
    r->loop = loop;
    r->root = mem_strdup(root);
    remove_left(r);
    r->reflector = reflector_new(transport,
        loop_env(loop),
        &(struct reflector_options){ .resource = &NODE_PERSISTENT_VOLUME },
        &sink,
        r);
    reflector_start(r->reflector);
    return r;
}

void reclaim_free(struct reclaim *r)
{
    if (!r)
        return;
    reflector_free(r->reflector);
    free(r->root);
    free(r);
}
