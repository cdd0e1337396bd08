#include "apiserver/controllers/aggregate.h"

#include <stdlib.h>

#include "apiserver/access/auth.h"
#include "apiserver/core/internal.h"
#include "apiserver/store/store.h"

struct aggregate {
    struct apiserver *server;
    const struct api_kind *kind; /* NULL: ClusterRoles are not served */
    struct store_watch watch;
    bool due;
};

static void on_event(void *ctx, const struct store_event *event)
{
    (void)event;
    struct aggregate *g = ctx;
    g->due = true;
}

void aggregate_free(struct aggregate *g)
{
    if (!g)
        return;
    store_watch_stop(&g->watch);
    free(g);
}

void aggregate_doubt(struct aggregate *g)
{
    g->due = g->kind != NULL;
}

static bool is_pending(const void *ctx)
{
    const struct aggregate *g = ctx;
    return g->due;
}

static void write_rules(struct aggregate *g, struct arena *a, const char *name, struct json rules)
{
    server_ask(g->server,
        &(struct api_request){
            .method = "PATCH",
            .path = str_of(resource_path(a, &g->kind->resource, NULL, name, NULL)),
            .content_type = "application/merge-patch+json",
            .user_agent = "clusterrole-aggregation-controller",
            .body = str_of(json_to_text(a, json_map(a, { "rules", rules }))),
        });
}

static void run(void *ctx)
{
    struct aggregate *g = ctx;
    if (!g->due)
        return;
    g->due = false;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct store_table *t = store_table(apiserver_store(g->server), g->kind->table);
    struct store_cursor c = { 0 };
    struct json_builder roles;
    json_builder_init(&roles, &a);
    for (const struct store_object *o; (o = store_next(t, &c));)
        if (memmem(o->text.ptr, o->text.len, "\"aggregationRule\"", 17))
            json_push(&roles, apiserver_read(g->server, &a, g->kind, "", o->name));
    json_each (role, json_list_end(&roles)) {
        if (!json_is(json_member(*role, "aggregationRule"), JSON_MAP))
            continue;
        struct json rules = auth_aggregate(apiserver_auth(g->server), &a, *role);
        if (!json_equal(rules, json_member(*role, "rules")))
            write_rules(g, &a, json_get_text(*role, "metadata.name"), rules);
    }
}

struct aggregate *aggregate_new(struct apiserver *s)
{
    struct aggregate *g = mem_new_of(struct aggregate);
    g->server = s;
    g->kind =
        registry_find(apiserver_registry(s), "rbac.authorization.k8s.io", "v1", "clusterroles");
    g->watch = (struct store_watch){ .event = on_event, .ctx = g };
    if (g->kind)
        store_watch_start(store_table(apiserver_store(s), g->kind->table), &g->watch);
    server_add_hook(s, &(struct server_hook){ g, is_pending, .before_flush = run });
    return g;
}
