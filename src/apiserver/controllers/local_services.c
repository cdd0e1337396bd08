#include "apiserver/controllers/local_services.h"

#include <stdlib.h>

#include "apiserver/core/internal.h"
#include "apiserver/store/store.h"

#define AUTOMANAGED "kube-aggregator.kubernetes.io/automanaged"

struct local_services {
    struct apiserver *server;
    const struct api_kind *kind; /* NULL: APIServices are not served */
    struct store_watch watch;
    uint64_t generation; /* of the registry, at the last run */
    bool due;
};

static void on_event(void *ctx, const struct store_event *event)
{
    (void)event;
    struct local_services *l = ctx;
    l->due = true;
}

void local_services_free(struct local_services *l)
{
    if (!l)
        return;
    store_watch_stop(&l->watch);
    free(l);
}

void local_services_doubt(struct local_services *l)
{
    l->due = true;
}

static bool is_pending(const void *ctx)
{
    const struct local_services *l = ctx;
    uint64_t now = registry_generation(apiserver_registry(l->server));
    return l->kind && (l->due || l->generation != now);
}

static bool is_served(const struct registry *r, struct json service)
{
    const char *group = json_get_text(service, "spec.group");
    const char *version = json_get_text(service, "spec.version");
    const struct api_kind *k;
    for (size_t i = 0; (k = registry_at(r, i)); i++)
        if (text_eq(k->resource.group, group) && text_eq(k->resource.version, version))
            return true;
    return false;
}

static void remove_old(struct local_services *l, struct arena *a)
{
    struct store_table *t = store_table(apiserver_store(l->server), l->kind->table);
    struct store_cursor c = { 0 };
    struct json_builder old;
    json_builder_init(&old, a);
    for (const struct store_object *o; (o = store_next(t, &c));)
        json_push(&old, apiserver_read(l->server, a, l->kind, "", o->name));
    json_each (service, json_list_end(&old)) {
        struct json labels = json_get(*service, "metadata.labels");
        if (!text_eq(json_text(json_member(labels, AUTOMANAGED)), "true") ||
            is_served(apiserver_registry(l->server), *service))
            continue;
        const char *name = json_get_text(*service, "metadata.name");
        server_ask(l->server,
            &(struct api_request){
                .method = "DELETE",
                .path = str_of(resource_path(a, &l->kind->resource, NULL, name, NULL)),
            });
    }
}

static void make_new(struct local_services *l, struct arena *a)
{
    const struct registry *r = apiserver_registry(l->server);
    struct store_table *t = store_table(apiserver_store(l->server), l->kind->table);
    const struct api_kind *k;
    for (size_t i = 0; (k = registry_at(r, i)); i++) {
        const char *group = k->resource.group, *version = k->resource.version;
        const char *name = arena_printf(a, "%s.%s", version, group);
        if (!k->custom || store_get(t, "", name))
            continue;
        server_create(l->server,
            json_fields(a,
                { "apiVersion", json_str("apiregistration.k8s.io/v1") },
                { "kind", json_str("APIService") },
                { "metadata.name", json_str(name) },
                { "metadata.labels", json_map(a, { AUTOMANAGED, json_str("true") }) },
                { "spec.group", json_str(group) },
                { "spec.version", json_str(version) },
                { "spec.groupPriorityMinimum", json_int(1000) },
                { "spec.versionPriority", json_int(100) }));
    }
}

static void run(void *ctx)
{
    struct local_services *l = ctx;
    if (!is_pending(l))
        return;
    l->due = false;
    l->generation = registry_generation(apiserver_registry(l->server));
    cleanup(arena_done) struct arena a = ARENA_INIT;
    make_new(l, &a);
    remove_old(l, &a);
}

struct local_services *local_services_new(struct apiserver *s)
{
    struct local_services *l = mem_new_of(struct local_services);
    l->server = s;
    l->kind = registry_find(apiserver_registry(s), "apiregistration.k8s.io", "v1", "apiservices");
    l->watch = (struct store_watch){ .event = on_event, .ctx = l };
    if (l->kind)
        store_watch_start(store_table(apiserver_store(s), l->kind->table), &l->watch);
    server_add_hook(s, &(struct server_hook){ l, is_pending, .before_flush = run });
    return l;
}
