#include "apiserver/controllers/dangling.h"

#include <stdlib.h>

#include "apiserver/core/internal.h"
#include "apiserver/core/meta.h"
#include "apiserver/store/store.h"

#define GROUP "flowcontrol.apiserver.k8s.io"

struct dangling {
    struct apiserver *server;
    const struct api_kind *flows, *levels; /* NULL: there are none */
    struct store_watch flows_watch, levels_watch;
    bool due;
};

static void on_event(void *ctx, const struct store_event *event)
{
    (void)event;
    struct dangling *d = ctx;
    d->due = true;
}

struct dangling *dangling_new(struct apiserver *s)
{
    struct dangling *d = mem_new_of(struct dangling);
    d->server = s;
    d->flows = registry_find(s->registry, GROUP, "v1", "flowschemas");
    d->levels = registry_find(s->registry, GROUP, "v1", "prioritylevelconfigurations");
    d->flows_watch = d->levels_watch = (struct store_watch){ .event = on_event, .ctx = d };
    if (d->flows && d->levels) {
        store_watch_start(store_table(s->store, d->flows->table), &d->flows_watch);
        store_watch_start(store_table(s->store, d->levels->table), &d->levels_watch);
    }
    dangling_doubt(d);
    return d;
}

void dangling_free(struct dangling *d)
{
    if (!d)
        return;
    store_watch_stop(&d->flows_watch);
    store_watch_stop(&d->levels_watch);
    free(d);
}

void dangling_doubt(struct dangling *d)
{
    d->due = d->flows && d->levels;
}

bool dangling_is_pending(const struct dangling *d)
{
    return d->due;
}

static void write_condition(
    struct dangling *d, struct arena *a, const char *name, struct json condition)
{
    struct json body = json_fields(a,
        { "apiVersion", json_str(GROUP "/v1") },
        { "kind", json_str("FlowSchema") },
        { "metadata.name", json_str(name) },
        { "status.conditions", json_list(a, condition) });
    server_ask(d->server,
        &(struct api_request){
            .method = "PATCH",
            .path = str_of(resource_path(a, &d->flows->resource, NULL, name, "status")),
            .query = STR("fieldManager=api-priority-and-fairness-config-consumer-v1&force=true"),
            .content_type = "application/apply-patch+yaml",
            .user_agent = "kube-apiserver",
            .body = str_of(json_to_text(a, body)),
        });
}

static void look_at(struct dangling *d, struct arena *a, struct json flow)
{
    const char *level = json_get_text(flow, "spec.priorityLevelConfiguration.name"),
               *name = json_get_text(flow, "metadata.name");
    struct store_table *levels = store_table(d->server->store, d->levels->table);
    bool found = level && store_get(levels, "", level);
    struct json old = json_find(json_get(flow, "status.conditions"), "type", "Dangling");
    struct json status = json_str(found ? "False" : "True"),
                since = json_member(old, "lastTransitionTime");
    const char *message = arena_printf(a,
        "This FlowSchema references the PriorityLevelConfiguration object named \"%s\" %s",
        level ? level : "",
        found ? "and it exists" : "but there is no such object");
    bool same = json_equal(json_member(old, "status"), status);
    if (same && text_eq(json_get_text(old, "message"), message))
        return;
    struct json condition = json_map(a,
        { "type", json_str("Dangling") },
        { "status", status },
        { "lastTransitionTime", same ? since : json_str(meta_now(d->server->env, a)) },
        { "reason", json_str(found ? "Found" : "NotFound") },
        { "message", json_str(message) });
    write_condition(d, a, name, condition);
}

void dangling_run(struct dangling *d)
{
    if (!d->due)
        return;
    d->due = false;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct store_table *table = store_table(d->server->store, d->flows->table);
    struct store_cursor c = { 0 };
    struct json_builder flows;
    json_builder_init(&flows, &a);
    for (const struct store_object *o; (o = store_next(table, &c));)
        json_push(&flows, apiserver_read(d->server, &a, d->flows, "", o->name));
    json_each (flow, json_list_end(&flows))
        look_at(d, &a, *flow);
}
