#include "apiserver/controllers/undone.h"

#include <stdlib.h>

#include "apiserver/access/secret_tokens.h"
#include "apiserver/controllers/aggregate.h"
#include "apiserver/controllers/crd.h"
#include "apiserver/controllers/gc.h"
#include "apiserver/controllers/local_services.h"
#include "apiserver/core/internal.h"
#include "apiserver/core/object.h"

#define REST_MS 1000

struct undone {
    struct apiserver *server;
    struct timer rest;
};

static struct json read(const struct api_kind *k, struct arena *a, const struct store_object *o)
{
    return json_if(o, object_read(k, a, o));
}

/* Newest first: notifies each listener of the reverse of its earlier notification. */
static void tell(void *ctx, const struct store_event *event)
{
    struct undone *u = ctx;
    const char *table = store_table_name(event->object->table);
    const struct api_kind *k = registry_find_table(u->server->registry, table);
    if (!k || !k->behaviour || !k->behaviour->written)
        return;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    k->behaviour->written(
        u->server, k, read(k, &a, event->gone ? NULL : event->object), read(k, &a, event->before));
}

static void rested(void *ctx)
{
    struct undone *u = ctx;
    server_wake(u->server);
}

struct undone *undone_new(struct apiserver *s)
{
    struct undone *u = mem_new_of(struct undone);
    u->server = s;
    timer_init(&u->rest, rested, u);
    store_set_undone(s->store, tell, u);
    return u;
}

void undone_free(struct undone *u)
{
    if (!u)
        return;
    store_set_undone(u->server->store, NULL, NULL);
    timer_stop(u->server->env, &u->rest);
    free(u);
}

void undone_recover(struct undone *u)
{
    struct apiserver *s = u->server;
    gc_doubt(s->gc);
    crds_doubt(s->crds);
    aggregate_doubt(s->aggregate);
    local_services_doubt(s->local_services);
    secret_tokens_doubt(s->secret_tokens);
    timer_set(s->env, &u->rest, REST_MS);
}

bool undone_rests(const struct undone *u)
{
    return timer_is_set(&u->rest);
}
