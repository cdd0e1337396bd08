#include "tests/node/shelf.h"

#include "base/resource.h"
#include "http/loop.h"
#include "kube/transport.h"
#include "node/volumes.h"

static const struct resource *const kinds[] = { &RESOURCE_CONFIG_MAP,
    &RESOURCE_SECRET,
    &RESOURCE_PVC,
    &NODE_PERSISTENT_VOLUME,
    &RESOURCE_SERVICE,
    &RESOURCE_ENDPOINT_SLICE,
    NULL };
static const struct kube_transport nobody;

static void count(
    void *ctx, const struct resource *kind, const char *ns, const char *name, struct json object)
{
    (void)kind, (void)ns, (void)name, (void)object;
    ((struct shelf *)ctx)->changes++;
}

static void loaded(void *ctx)
{
    (void)ctx;
}

void shelf_open(struct shelf *s)
{
    *s = (struct shelf){ .loop = loop_new() };
    s->objects =
        objects_new(&nobody, loop_env(s->loop), kinds, (struct objects_watch){ count, loaded, s });
}

void shelf_close(struct shelf *s)
{
    objects_free(s->objects);
    loop_free(s->loop);
}

void shelf_put(struct shelf *s, const char *kind, const char *name, const char *body)
{
    for (size_t i = 0; kinds[i]; i++) {
        if (!text_eq(kinds[i]->kind, kind))
            continue;
        struct json object =
            json_with(test_arena(), test_json(body), "metadata.name", json_str(name));
        if (!kinds[i]->cluster_scoped)
            object = json_with(test_arena(), object, "metadata.namespace", json_str("ns"));
        objects_put(s->objects, kinds[i], object);
    }
}
