#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>

/* The API server's process: it starts from its disk, crashes and restarts. */

#define DOWN_MS_MAX 20000

static void changed(void *ctx, const struct store_event *event)
{
    struct sim *s = ctx;
    s->request_changes++;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json before, after;
    struct error err;
    bool tell = s->options.tell && event->before && !event->gone &&
                json_parse(&a, event->before->text, &before, &err) &&
                json_parse(&a, event->object->text, &after, &err);
    if (!sim_history_skips(s->request.path))
        sim_history_add(s->history,
            s->request.actor.name,
            "  %s %s %s/%s v%llu %s",
            event->gone     ? "deleted"
            : event->before ? "changed"
                            : "created",
            store_table_name(event->object->table),
            event->object->ns,
            event->object->name,
            (unsigned long long)event->version,
            tell ? sim_history_fields(&a, before, after) : "");
    sim_check_change(s->checks, &(struct sim_change){ &s->request, event });
    sim_workloads_changed(s->workloads, event);
    if (s->request.actor.op)
        sim_scenario_changed(s->scenario, event);
    if (s->request.actor.op)
        sim_rivals_changed(s->rivals, event);
}

/* 5: acknowledged writes are still stored, unchanged. */
static void check_kept(struct sim *s, struct store *before)
{
    size_t count = 0, kept = 0;
    for (struct store_table *t = NULL; (t = store_table_next(before, t));) {
        struct store_cursor at = { 0 };
        for (const struct store_object *o; (o = store_next(t, &at)); count++) {
            const struct store_object *now =
                store_get(store_table(s->store, store_table_name(t)), o->ns, o->name);
            if (!now || now->version != o->version || !str_eq(now->text, o->text))
                sim_fail(s,
                    "promise 5, kept: the API server lost %s %s/%s",
                    store_table_name(t),
                    o->ns,
                    o->name);
        }
    }
    for (struct store_table *t = NULL; (t = store_table_next(s->store, t));)
        kept += store_table_count(t);
    if (kept != count)
        sim_fail(s, "promise 5, kept: the API server had %zu objects and has %zu", count, kept);
}

/* before: the state of the crashed process; NULL: there was none. */
static void start(struct sim *s, struct store *before)
{
    struct error err;
    s->request.actor.name = "start";
    s->store = store_new(&s->env, &(struct store_options){ .disk = sim_disk_of(s->disk) }, &err);
    if (s->store && before)
        check_kept(s, before);
    s->watch = (struct store_watch){ .event = changed, .ctx = s };
    if (s->store && before) { /* overdue work is done at startup, and other clients see it */
        s->request.actor = (struct sim_actor){ .name = "server" };
        store_watch_start_all(s->store, &s->watch);
    }
    s->server = s->store ? apiserver_new(
                               &(struct apiserver_options){
                                   .env = &s->env,
                                   .store = s->store,
                                   .token_key = STR("0123456789abcdef0123456789abcdef"),
                                   .allow_all = true,
                               },
                               &err)
                         : NULL;
    if (!s->server) {
        fprintf(stderr, "the API server does not start: %s\n", err.text);
        abort();
    }
    s->request.actor.name = "server";
    if (!before)
        store_watch_start_all(s->store, &s->watch);
}

void sim_server_start(struct sim *s)
{
    start(s, NULL);
}

void sim_server_stop(struct sim *s)
{
    store_watch_stop(&s->watch);
    apiserver_free(s->server);
    store_free(s->store);
}

void sim_server_crash(void *ctx)
{
    struct sim *s = ctx;
    struct store *before = s->store;
    sim_history_add(s->history, "server", "~ crashes");
    for (size_t i = 0; i < s->options.operators; i++)
        sim_operator_disconnect(s->operators[i]);
    store_watch_stop(&s->watch);
    apiserver_free(s->server);
    start(s, before);
    store_free(before);
    s->server_wakes_ms = s->now_ms + sim_below(s, SIM_FAULTS, DOWN_MS_MAX);
}
