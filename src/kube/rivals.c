#include "kube/rivals.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/resource.h"
#include "base/str.h"
#include "base/time.h"
#include "base/timer.h"
#include "kube/client.h"

#define SEEN_MAX 16
#define STALE_MS ((int64_t)10 * 60 * 1000)
#define DURATION_MS_DEFAULT 15000
#define DURATION_MS_MAX ((int64_t)5 * 60 * 1000)

/* A Lease at the time of the last look. */
struct seen {
    char *id;     /* NAMESPACE/NAME */
    char *record; /* holder and time of its last renewal */
    int64_t changed_ms;
    int64_t duration_ms;
    bool renewed;
};

struct rivals {
    struct kube_client *client;
    const struct env *env;
    struct arena own;
    struct rivals_options options;
    const struct rivals_handlers *handlers;
    void *ctx;
    struct timer timer;
    struct kube_op *op;
    size_t at; /* index of the name that is being read */
    bool clear, over;
    char *told; /* last argument of waiting() */
    char *who;  /* a Lease renewed in this round, with its holder */
    struct seen seen[SEEN_MAX];
    size_t seen_count;
};

static void look(struct rivals *r);

static void replace(char **text, const char *by)
{
    free(*text);
    *text = by ? mem_strdup(by) : NULL;
}

static struct seen *seen_of(struct rivals *r, const char *id)
{
    for (size_t i = 0; i < r->seen_count; i++)
        if (text_eq(r->seen[i].id, id))
            return &r->seen[i];
    if (r->seen_count == SEEN_MAX)
        return NULL;
    struct seen *s = &r->seen[r->seen_count++];
    *s = (struct seen){ .id = mem_strdup(id) };
    return s;
}

static bool is_old(struct rivals *r, struct json renew_time)
{
    int64_t at_us;
    return !json_text(renew_time) || !time_parse_micro(json_text(renew_time), &at_us) ||
           env_wall_ms(r->env) - at_us / 1000 > STALE_MS;
}

static void judge(struct rivals *r, struct arena *a, struct json lease)
{
    const char *ns = json_get_text(lease, "metadata.namespace");
    const char *name = json_get_text(lease, "metadata.name");
    const char *holder = json_get_text(lease, "spec.holderIdentity");
    struct json renewed = json_get(lease, "spec.renewTime");
    if (text_eq(ns, r->options.own_namespace) && text_eq(name, r->options.own_name))
        return;
    struct seen *s = seen_of(r, arena_printf(a, "%s/%s", ns, name));
    if (!s || text_empty(holder))
        return;
    const char *time = json_text(renewed);
    const char *record = arena_printf(a, "%s %s", holder, time ? time : "");
    int64_t now = env_mono_ms(r->env);
    if (!s->record || !text_eq(s->record, record)) {
        s->renewed = s->record || !is_old(r, renewed);
        s->changed_ms = now;
        int64_t seconds = json_get_int(lease, "spec.leaseDurationSeconds", 0);
        s->duration_ms = seconds > 0 ? seconds * 1000 : DURATION_MS_DEFAULT;
        if (s->duration_ms > DURATION_MS_MAX)
            s->duration_ms = DURATION_MS_MAX;
        replace(&s->record, record);
    }
    if (s->renewed && now - s->changed_ms < s->duration_ms)
        replace(&r->who, arena_printf(a, "%s, held by %s", s->id, holder));
}

static void set_clear(struct rivals *r)
{
    r->clear = true;
    replace(&r->told, NULL);
    r->handlers->clear(r->ctx);
}

/* Called after all names were read. */
static void conclude(struct rivals *r)
{
    if (r->who && r->clear) {
        r->over = true;
        r->handlers->appeared(r->ctx, r->who);
        return;
    }
    if (r->who && (!r->told || !text_eq(r->told, r->who))) {
        replace(&r->told, r->who);
        r->handlers->waiting(r->ctx, r->who);
    }
    if (!r->who && !r->clear)
        set_clear(r);
    timer_set(r->env, &r->timer, r->clear ? RIVALS_REST_MS : RIVALS_LOOK_MS);
}

static void looked(void *ctx, const struct kube_reply *reply)
{
    struct rivals *r = ctx;
    r->op = NULL;
    if (reply->error.code != ERR_NONE) {
        if (!r->clear || reply->error.code != ERR_FORBIDDEN)
            r->handlers->trouble(r->ctx, &reply->error);
        if (reply->error.code == ERR_FORBIDDEN && !r->clear)
            set_clear(r);
        timer_set(r->env, &r->timer, r->clear ? RIVALS_REST_MS : RIVALS_LOOK_MS);
        return;
    }
    json_each (lease, json_get(reply->body, "items"))
        judge(r, reply->arena, *lease);
    r->at++;
    look(r);
}

static void look(struct rivals *r)
{
    if (r->at == RIVALS_NAMES_MAX || !r->options.names[r->at]) {
        conclude(r);
        return;
    }
    const char *name = r->options.names[r->at];
    r->op = kube_list(r->client,
        &(struct kube_list){
            .what = { .resource = &RESOURCE_LEASE, .ns = r->options.ns },
            .field_selector = arena_printf(&r->own, "metadata.name=%s", name),
        },
        (struct kube_then){ looked, r });
}

static void begin(void *ctx)
{
    struct rivals *r = ctx;
    arena_reset(&r->own);
    replace(&r->who, NULL);
    r->at = 0;
    look(r);
}

struct rivals *rivals_new(struct kube_client *client, const struct env *env,
    const struct rivals_options *options, const struct rivals_handlers *handlers, void *ctx)
{
    struct rivals *r = mem_new(sizeof *r);
    *r = (struct rivals){
        .client = client,
        .env = env,
        .own = ARENA_INIT,
        .options = *options,
        .handlers = handlers,
        .ctx = ctx,
    };
    timer_init(&r->timer, begin, r);
    return r;
}

void rivals_free(struct rivals *r)
{
    if (!r)
        return;
    if (r->op)
        kube_op_cancel(r->client, r->op);
    timer_stop(r->env, &r->timer);
    for (size_t i = 0; i < r->seen_count; i++) {
        free(r->seen[i].id);
        free(r->seen[i].record);
    }
    free(r->told);
    free(r->who);
    arena_done(&r->own);
    free(r);
}

void rivals_start(struct rivals *r)
{
    assert(!r->clear && !r->over && !r->op);
    begin(r);
}
