#include "mcp/deploy.h"

#include <stdlib.h>

#include "base/resource.h"
#include "base/timer.h"
#include "kube/client.h"
#include "mcp/runconfig.h"
#include "mcp/workload.h"

/* The interval between looks: longer once all is well, because a cluster has hundreds of
 * proxies. */
#define LOOK_MIN_MS 5000
#define LOOK_MAX_MS 60000
#define RETRY_MIN_MS 500
#define RETRY_MAX_MS 15000

struct deploy {
    struct kube_client *client;
    const struct env *env;
    const struct workload *workload;
    const struct deploy_handlers *handlers;
    void *ctx;
    struct kube_op *op; /* NULL: the timer runs */
    struct timer timer;
    unsigned tries, calm; /* calm: successive looks that found everything in place */
    bool done;            /* applied once, or a newer one found */
    bool ready;           /* ready() was called */
    struct arena arena;   /* of the StatefulSet below */
    struct json owner;
    bool headless;         /* which Service is being read */
    char *service_version; /* NULL: it does not exist */
    const char *said;      /* the last message, so that it is not repeated */
};

static void look(void *ctx);

static struct kube_target target(const struct deploy *d, const struct resource *r, const char *name)
{
    return (struct kube_target){ r, d->workload->ns, name, NULL };
}

static struct kube_target set_target(const struct deploy *d)
{
    return target(d, &RESOURCE_STATEFUL_SET, d->workload->config->name);
}

static void tell(struct deploy *d, const struct error *err, const char *what)
{
    if (!err && d->said == what)
        return;
    d->said = what;
    d->handlers->said(d->ctx, err, what);
}

static void again(struct deploy *d, const struct kube_reply *reply, const char *what)
{
    bool is_race = reply->error.code == ERR_CONFLICT || reply->error.code == ERR_EXISTS ||
                   reply->error.code == ERR_NOT_FOUND;
    d->done = false;
    if (!is_race)
        tell(d, &reply->error, what);
    timer_set(d->env,
        &d->timer,
        is_race && d->tries < 10 ? 0
                                 : env_backoff_ms(d->env, RETRY_MIN_MS, RETRY_MAX_MS, d->tries));
    d->tries++;
}

static void settle(struct deploy *d)
{
    d->calm = d->done ? d->calm + 1 : 0;
    d->done = true;
    d->tries = 0;
    if (!d->ready) {
        d->ready = true;
        d->handlers->ready(d->ctx);
    }
    int64_t wait_ms = (int64_t)LOOK_MIN_MS << (d->calm < 4 ? d->calm : 4);
    timer_set(d->env, &d->timer, wait_ms < LOOK_MAX_MS ? wait_ms : LOOK_MAX_MS);
}

/* ---- field ownership ---- */

/* After a create, our fields are owned by an Update. Only fields owned by an Apply can be removed
 * by a later apply. */
static struct json owned_by_apply(struct arena *a, struct json object, bool *ret_changed)
{
    struct json_builder all;
    json_builder_init(&all, a);
    json_each (entry, json_get(object, "metadata.managedFields")) {
        bool is_ours = text_eq(json_get_text(*entry, "manager"), WORKLOAD_MANAGER) &&
                       text_eq(json_get_text(*entry, "operation"), "Update") &&
                       text_empty(json_get_text(*entry, "subresource"));
        *ret_changed = *ret_changed || is_ours;
        json_push(
            &all, is_ours ? json_with_member(a, *entry, "operation", json_str("Apply")) : *entry);
    }
    return json_list_end(&all);
}

/* True: in progress. */
static bool own(
    struct deploy *d, struct kube_target what, struct json object, struct kube_then then)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    bool changed = false;
    struct json fields = owned_by_apply(&a, object, &changed);
    if (!changed)
        return false;
    struct json patch = json_list(&a,
        json_map(&a,
            { "op", json_str("replace") },
            { "path", json_str("/metadata/managedFields") },
            { "value", fields }),
        json_map(&a,
            { "op", json_str("replace") },
            { "path", json_str("/metadata/resourceVersion") },
            { "value", json_get(object, "metadata.resourceVersion") }));
    d->op = kube_patch(d->client,
        what,
        KUBE_PATCH_JSON,
        patch,
        (struct kube_write){ .field_manager = WORKLOAD_MANAGER },
        then);
    return true;
}

/* ---- Services ---- */

static void look_at_service(struct deploy *d, bool headless);

static struct json service_of(struct deploy *d, struct arena *a)
{
    return workload_service(a, d->workload, d->owner, d->headless);
}

static struct kube_target service_target(struct deploy *d, struct arena *a)
{
    return target(d, &RESOURCE_SERVICE, json_get_text(service_of(d, a), "metadata.name"));
}

static void service_is_there(struct deploy *d)
{
    if (d->headless)
        look_at_service(d, false);
    else
        settle(d);
}

static void on_reowned(void *ctx, const struct kube_reply *reply)
{
    struct deploy *d = ctx;
    d->op = NULL;
    if (reply->error.code)
        again(d, reply, "taking over fields");
    else
        look(d);
}

static void on_service_owned(void *ctx, const struct kube_reply *reply)
{
    struct deploy *d = ctx;
    d->op = NULL;
    if (reply->error.code)
        again(d, reply, "taking over the fields of a Service");
    else
        service_is_there(d);
}

static void on_service_written(void *ctx, const struct kube_reply *reply)
{
    struct deploy *d = ctx;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    d->op = NULL;
    if (reply->error.code)
        again(d, reply, "applying a Service");
    else if (!own(d, service_target(d, &a), reply->body, (struct kube_then){ on_service_owned, d }))
        service_is_there(d);
}

static void on_generation(void *ctx, const struct kube_reply *reply)
{
    struct deploy *d = ctx;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct kube_then then = { on_service_written, d };
    struct kube_write how = { .field_manager = WORKLOAD_MANAGER };
    d->op = NULL;
    if (reply->error.code) {
        again(d, reply, "looking at the StatefulSet");
        return;
    }
    if (workload_is_older(d->workload, reply->body)) {
        settle(d);
        return;
    }
    struct json service = service_of(d, &a);
    if (!d->service_version) {
        d->op = kube_create(d->client, target(d, &RESOURCE_SERVICE, NULL), service, how, then);
        return;
    }
    how.force = true;
    service = json_with(&a, service, "metadata.resourceVersion", json_str(d->service_version));
    d->op = kube_apply(d->client, service_target(d, &a), service, how, then);
}

/* Whether `live` contains everything that is planned. */
static bool covers(struct json live, struct json planned)
{
    if (json_is(planned, JSON_MAP)) {
        json_each_member (m, planned)
            if (!covers(json_member(live, m->key), m->value))
                return false;
        return true;
    }
    if (!json_is(planned, JSON_LIST) || !json_is(live, JSON_LIST) || live.count != planned.count)
        return json_equal(live, planned);
    for (size_t i = 0; i < planned.count; i++)
        if (!covers(live.items[i], planned.items[i]))
            return false;
    return true;
}

static void on_service(void *ctx, const struct kube_reply *reply)
{
    struct deploy *d = ctx;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    bool is_absent = reply->error.code == ERR_NOT_FOUND;
    d->op = NULL;
    if (reply->error.code && !is_absent) {
        again(d, reply, "looking at a Service");
        return;
    }
    if (!is_absent && covers(reply->body, service_of(d, &a))) {
        service_is_there(d);
        return;
    }
    /* Another runner created it and did not get to this step: its fields must be removed by the
     * next apply. */
    if (!is_absent &&
        own(d, service_target(d, &a), reply->body, (struct kube_then){ on_reowned, d }))
        return;
    free(d->service_version);
    d->service_version =
        is_absent ? NULL : mem_strdup(json_get_text(reply->body, "metadata.resourceVersion"));
    d->op = kube_get(d->client, set_target(d), (struct kube_then){ on_generation, d });
}

static void look_at_service(struct deploy *d, bool headless)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    d->headless = headless;
    d->op = kube_get(d->client, service_target(d, &a), (struct kube_then){ on_service, d });
}

static void apply_services(struct deploy *d)
{
    if (d->workload->config->transport == TRANSPORT_STDIO)
        settle(d);
    else
        look_at_service(d, true);
}

/* ---- the StatefulSet ---- */

static void keep(struct deploy *d, struct json object)
{
    arena_reset(&d->arena);
    d->owner = json_copy(&d->arena, object);
}

static void on_owned(void *ctx, const struct kube_reply *reply)
{
    struct deploy *d = ctx;
    d->op = NULL;
    if (reply->error.code) {
        again(d, reply, "taking over the fields of the StatefulSet");
        return;
    }
    apply_services(d);
}

static void on_written(void *ctx, const struct kube_reply *reply)
{
    struct deploy *d = ctx;
    d->op = NULL;
    if (reply->error.code) {
        again(d, reply, "applying the StatefulSet");
        return;
    }
    tell(d, NULL, "applied the StatefulSet");
    keep(d, reply->body);
    if (!own(d, set_target(d), reply->body, (struct kube_then){ on_owned, d }))
        apply_services(d);
}

static void write_set(struct deploy *d, struct json live)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json set = workload_stateful_set(&a, d->workload, live);
    struct kube_then then = { on_written, d };
    struct kube_write how = { .field_manager = WORKLOAD_MANAGER };
    d->done = false; /* so that the next looks come soon */
    if (!json_present(live)) {
        struct kube_target all = target(d, &RESOURCE_STATEFUL_SET, NULL);
        d->op = kube_create(d->client, all, set, how, then);
        return;
    }
    how.force = true;
    d->op = kube_apply(d->client, set_target(d), set, how, then);
}

static void on_looked(void *ctx, const struct kube_reply *reply)
{
    struct deploy *d = ctx;
    bool is_absent = reply->error.code == ERR_NOT_FOUND;
    d->op = NULL;
    if (reply->error.code && !is_absent) {
        again(d, reply, "looking at the StatefulSet");
        return;
    }
    struct json live = is_absent ? json_none : reply->body;
    if (workload_is_older(d->workload, live)) {
        tell(d, NULL, "a newer generation of the StatefulSet is applied; leaving it");
        settle(d);
    } else if (d->done && !is_absent) {
        keep(d, live);
        apply_services(d);
    } else if (is_absent || !own(d, set_target(d), live, (struct kube_then){ on_reowned, d })) {
        write_set(d, live);
    }
}

static void look(void *ctx)
{
    struct deploy *d = ctx;
    d->op = kube_get(d->client, set_target(d), (struct kube_then){ on_looked, d });
}

/* ---- life ---- */

struct deploy *deploy_new(struct kube_client *client, const struct env *env,
    const struct workload *workload, const struct deploy_handlers *handlers, void *ctx)
{
    struct deploy *d = mem_new_of(struct deploy);
    *d = (struct deploy){
        .client = client, .env = env, .workload = workload, .handlers = handlers, .ctx = ctx
    };
    arena_init(&d->arena, ARENA_LIMIT_DEFAULT);
    timer_init(&d->timer, look, d);
    return d;
}

void deploy_start(struct deploy *d)
{
    timer_set(d->env, &d->timer, 0);
}

bool deploy_is_idle(const struct deploy *d)
{
    return !d->op && d->done;
}

void deploy_free(struct deploy *d)
{
    if (!d)
        return;
    if (d->op)
        kube_op_cancel(d->client, d->op);
    timer_stop(d->env, &d->timer);
    free(d->service_version);
    arena_done(&d->arena);
    free(d);
}
