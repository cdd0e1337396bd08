#include "apiserver/upkeep.h"

#include <stdlib.h>

#include "apiserver/auth.h"
#include "apiserver/bootstrap.h"
#include "apiserver/store.h"

#define RBAC "rbac.authorization.k8s.io"

/* A namespace that lacks something, or may. */
struct due {
    struct due *next;
    char name[];
};

struct upkeep {
    struct apiserver *server;
    struct str root_ca;
    struct store_watch namespaces, accounts, maps, roles;
    struct due *due;
    bool begun, roles_due;
};

/* ---- what is due ---- */

static void add_due(struct upkeep *u, const char *namespace)
{
    for (struct due *d = u->due; d; d = d->next)
        if (text_eq(d->name, namespace))
            return;
    size_t length = strlen(namespace);
    struct due *d = mem_new(sizeof(*d) + length + 1);
    memcpy(d->name, namespace, length);
    d->next = u->due;
    u->due = d;
}

static void on_namespace(void *ctx, const struct store_event *event)
{
    if (!event->before && !event->gone)
        add_due(ctx, event->object->name);
}

static void on_account(void *ctx, const struct store_event *event)
{
    if (event->gone && text_eq(event->object->name, "default"))
        add_due(ctx, event->object->namespace);
}

static void on_map(void *ctx, const struct store_event *event)
{
    if (event->gone && text_eq(event->object->name, "kube-root-ca.crt"))
        add_due(ctx, event->object->namespace);
}

static void on_role(void *ctx, const struct store_event *event)
{
    (void)event;
    struct upkeep *u = ctx;
    u->roles_due = true;
}

static void watch(struct upkeep *u, struct store_watch *w, const char *group, const char *plural,
    void (*event)(void *ctx, const struct store_event *event))
{
    const struct api_kind *k = registry_find(apiserver_registry(u->server), group, "v1", plural);
    *w = (struct store_watch){ .event = event, .ctx = u };
    if (k)
        store_watch_start(store_table(apiserver_store(u->server), k->table), w);
}

struct upkeep *upkeep_new(struct apiserver *s, struct str root_ca)
{
    struct upkeep *u = mem_new_of(struct upkeep);
    u->server = s;
    u->root_ca = root_ca;
    u->roles_due = true;
    watch(u, &u->namespaces, "", "namespaces", on_namespace);
    watch(u, &u->accounts, "", "serviceaccounts", on_account);
    watch(u, &u->maps, "", "configmaps", on_map);
    watch(u, &u->roles, RBAC, "clusterroles", on_role);
    return u;
}

void upkeep_free(struct upkeep *u)
{
    if (!u)
        return;
    store_watch_stop(&u->namespaces);
    store_watch_stop(&u->accounts);
    store_watch_stop(&u->maps);
    store_watch_stop(&u->roles);
    while (u->due) {
        struct due *d = u->due;
        u->due = d->next;
        free(d);
    }
    free(u);
}

bool upkeep_is_pending(const struct upkeep *u)
{
    return !u->begun || u->due || u->roles_due;
}

/* ---- doing it ---- */

static void ignore_head(void *ctx, const struct api_head *head)
{
    (void)ctx;
    (void)head;
}
static bool ignore_data(void *ctx, struct str bytes)
{
    (void)ctx;
    (void)bytes;
    return true;
}
static void ignore_end(void *ctx)
{
    (void)ctx;
}

static void send(struct upkeep *u, struct arena *a, const char *method, const char *path,
    const char *content_type, const char *agent, struct json body)
{
    static const char *const groups[] = { "system:masters", NULL };
    static const struct api_user self = { .name = "system:apiserver", .uid = "", .groups = groups };
    static const struct api_handlers nobody = { ignore_head, ignore_data, ignore_end };
    struct api_request r = {
        .method = method,
        .path = str_of(path),
        .content_type = content_type,
        .user_agent = agent,
        .body = str_of(json_to_text(a, body)),
        .user = &self,
    };
    apiserver_open(u->server, &r, &nobody, NULL);
}

/* Creates it unless it is there. */
static void ensure(struct upkeep *u, struct arena *a, struct json object, const char *agent)
{
    struct str version = str_of(json_get_text(object, "apiVersion"));
    struct str group = memchr(version.ptr, '/', version.len) ? str_cut(&version, '/') : STR("");
    const struct api_kind *k = registry_find_kind(apiserver_registry(u->server),
        str_dup(a, group),
        str_dup(a, version),
        json_get_text(object, "kind"));
    const char *namespace = json_get_text(object, "metadata.namespace");
    const char *name = json_get_text(object, "metadata.name");
    if (!k)
        return;
    struct store_table *t = store_table(apiserver_store(u->server), k->table);
    if (store_get(t, namespace ? namespace : "", name))
        return;
    send(u,
        a,
        "POST",
        resource_path(a, &k->resource, namespace, NULL, NULL),
        "application/json",
        agent,
        object);
}

static void begin(struct upkeep *u)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    json_each (o, bootstrap_objects(&a))
        ensure(u, &a, *o, "kube-apiserver");
    const struct api_kind *k = registry_find(apiserver_registry(u->server), "", "v1", "namespaces");
    struct store_cursor c = { 0 };
    const struct store_object *o;
    while (k && (o = store_next(store_table(apiserver_store(u->server), k->table), &c)))
        add_due(u, o->name);
    u->begun = true;
}

static void keep_namespace(struct upkeep *u, const char *name)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const struct api_kind *k = registry_find(apiserver_registry(u->server), "", "v1", "namespaces");
    struct json namespace = apiserver_read(u->server, &a, k, "", name);
    if (!json_present(namespace) || json_get_text(namespace, "metadata.deletionTimestamp"))
        return;
    json_each (o, bootstrap_namespace_objects(&a, name, u->root_ca))
        ensure(u, &a, *o, "kube-controller-manager");
}

static void keep_roles(struct upkeep *u)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const struct api_kind *k =
        registry_find(apiserver_registry(u->server), RBAC, "v1", "clusterroles");
    struct store_cursor c = { 0 };
    const struct store_object *o;
    struct json_builder found;
    json_builder_init(&found, &a);
    while (k && (o = store_next(store_table(apiserver_store(u->server), k->table), &c)))
        if (memmem(o->text.ptr, o->text.len, "\"aggregationRule\"", 17))
            json_push(&found, apiserver_read(u->server, &a, k, "", o->name));
    json_each (role, json_list_end(&found)) {
        if (!json_is(json_member(*role, "aggregationRule"), JSON_MAP))
            continue;
        struct json rules = auth_aggregate(apiserver_auth(u->server), &a, *role);
        if (!json_equal(rules, json_member(*role, "rules")))
            send(u,
                &a,
                "PATCH",
                resource_path(&a, &k->resource, NULL, json_get_text(*role, "metadata.name"), NULL),
                "application/merge-patch+json",
                "clusterrole-aggregation-controller",
                json_map(&a, { "rules", rules }));
    }
}

void upkeep_run(struct upkeep *u)
{
    if (!u->begun)
        begin(u);
    while (u->due) {
        struct due *d = u->due;
        u->due = d->next;
        keep_namespace(u, d->name);
        free(d);
    }
    if (u->roles_due) {
        u->roles_due = false;
        keep_roles(u);
    }
}
