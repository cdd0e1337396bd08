#include "router/activate.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/resource.h"
#include "kube/client.h"

#define LOOK_AGAIN_MS 5000 /* how long a result is trusted */
#define POLL_MS 250
#define MEMBERS_MAX 64
#define NOBODY SIZE_MAX

static const struct resource SERVICE = {
    .group = "inference.llmkube.dev",
    .version = "v1alpha1",
    .kind = "InferenceService",
    .plural = "inferenceservices",
};

static const double HOLD_SECONDS[] = {
    0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 0
};
static const double SWAP_SECONDS[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 0 };

enum pool_state {
    POOL_IDLE,
    POOL_LOOKING, /* reads each member until one is Ready */
    POOL_ASKING,  /* reads the target: was it already scaled up? */
    POOL_PATCHING,
    POOL_LOADING, /* polling the target */
};

struct pool_member {
    char *name;
    size_t active; /* granted requests */
    size_t waiting;
    bool ours; /* this router scaled it up, and has not seen it Ready since */
};

struct pool {
    struct pool *next;
    struct pools *pools;
    char *name, *ns;
    struct pool_member members[MEMBERS_MAX];
    size_t member_count;
    enum pool_state state;
    size_t resident, looked, target;
    int64_t known_ms; /* when the resident was read; 0: never */
    int64_t swap_ms;  /* when the swap started */
    struct kube_op *op;
    struct timer poll;
    struct hold *first, *last; /* the queue */
    bool moving;               /* move() is running */
};

struct pools {
    const struct env *env;
    struct kube_client *kube;
    const char *router;
    struct pool *first;
    struct metric coalesced, held, hold_seconds, resident, swaps, swap_seconds;
};

static void move(struct pool *p);

static int64_t now_ms(const struct pool *p)
{
    return env_mono_ms(p->pools->env);
}

/* ---- metrics ---- */

void pools_link(struct pools *p, struct metrics *metrics)
{
    p->coalesced = (struct metric){
        "llmkube_modelpool_coalesced_total", "Requests for the resident member.", METRIC_COUNTER
    };
    p->held = (struct metric){
        "llmkube_modelpool_held_requests", "Requests that wait for a member.", METRIC_GAUGE
    };
    p->hold_seconds = (struct metric){ "llmkube_modelpool_hold_duration_seconds",
        "How long requests waited for a member.",
        METRIC_HISTOGRAM,
        .bounds = HOLD_SECONDS };
    p->resident = (struct metric){
        "llmkube_modelpool_resident", "1: the member has the place of the pool.", METRIC_GAUGE
    };
    p->swaps = (struct metric){
        "llmkube_modelpool_swaps_total", "Swaps by this router, from and to.", METRIC_COUNTER
    };
    p->swap_seconds = (struct metric){ "llmkube_modelpool_swap_duration_seconds",
        "From asking for a member until it is Ready.",
        METRIC_HISTOGRAM,
        .bounds = SWAP_SECONDS };
    struct metric *all[] = {
        &p->coalesced, &p->held, &p->hold_seconds, &p->resident, &p->swaps, &p->swap_seconds
    };
    for (size_t i = 0; i < lengthof(all); i++)
        metrics_link(metrics, all[i]);
}

static const char *member_name(const struct pool *p, size_t member)
{
    return member == NOBODY ? "" : p->members[member].name;
}

static const char *member_labels(struct buf *b, const struct pool *p, size_t member)
{
    buf_reset(b);
    metric_label(b, "member", str_of(member_name(p, member)));
    metric_label(b, "pool", str_of(p->name));
    metric_label(b, "router", str_of(p->pools->router));
    return buf_text(b);
}

static void show_held(struct pool *p, size_t member)
{
    cleanup(buf_done) struct buf b = BUF_INIT(1024);
    metric_set(&p->pools->held, member_labels(&b, p, member), (double)p->members[member].waiting);
}

static void show_resident(struct pool *p)
{
    cleanup(buf_done) struct buf b = BUF_INIT(1024);
    for (size_t i = 0; i < p->member_count; i++) {
        buf_reset(&b);
        metric_label(&b, "member", str_of(p->members[i].name));
        metric_label(&b, "namespace", str_of(p->ns));
        metric_label(&b, "pool", str_of(p->name));
        metric_set(&p->pools->resident, buf_text(&b), i == p->resident);
    }
}

static void show_swap(struct pool *p, size_t from)
{
    cleanup(buf_done) struct buf b = BUF_INIT(1024);
    metric_label(&b, "from", str_of(member_name(p, from)));
    metric_label(&b, "pool", str_of(p->name));
    metric_label(&b, "router", str_of(p->pools->router));
    metric_label(&b, "to", str_of(member_name(p, p->resident)));
    metric_add(&p->pools->swaps, buf_text(&b), 1);
    buf_reset(&b);
    metric_label(&b, "pool", str_of(p->name));
    metric_label(&b, "router", str_of(p->pools->router));
    metric_observe(&p->pools->swap_seconds, buf_text(&b), (double)(now_ms(p) - p->swap_ms) / 1000);
}

/* ---- the queue ---- */

static void leave_line(struct hold *h)
{
    struct pool *p = h->pool;
    *(h->prev ? &h->prev->next : &p->first) = h->next;
    *(h->next ? &h->next->prev : &p->last) = h->prev;
    h->next = h->prev = NULL;
    h->waiting = false;
    timer_stop(p->pools->env, &h->deadline);
    p->members[h->member].waiting--;
    show_held(p, h->member);
}

static void settle(struct hold *h, enum hold_outcome outcome)
{
    leave_line(h);
    h->done(h->ctx, outcome);
}

static void grant(struct hold *h)
{
    struct pool *p = h->pool;
    cleanup(buf_done) struct buf b = BUF_INIT(1024);
    int64_t waited = now_ms(p) - h->begun_ms;
    const char *labels = member_labels(&b, p, h->member);
    metric_add(&p->pools->coalesced, labels, 1);
    if (waited > 0)
        metric_observe(&p->pools->hold_seconds, labels, (double)waited / 1000);
    h->granted = true;
    p->members[h->member].active++;
    settle(h, HOLD_GRANTED);
}

static void fail_all(struct pool *p, size_t member)
{
    struct hold *next;
    for (struct hold *h = p->first; h; h = next) {
        next = h->next;
        if (member == NOBODY || h->member == member)
            settle(h, HOLD_FAILED);
    }
}

/* Grants all that may proceed; returns the first that must wait for another member, or NULL. */
static struct hold *grant_all(struct pool *p)
{
    struct hold *next, *other = NULL;
    bool closed = false;
    for (struct hold *h = p->first; h; h = next) {
        next = h->next;
        if (h->member == p->resident) {
            if (!closed)
                grant(h);
            continue;
        }
        other = other ?: h;
        int64_t pass_ms = h->budget_ms / 4 < HOLD_PASS_MS ? h->budget_ms / 4 : HOLD_PASS_MS;
        closed = closed || now_ms(p) - h->begun_ms >= pass_ms;
    }
    return other;
}

/* ---- the API server ---- */

static struct kube_target target_of(const struct pool *p, size_t member)
{
    return (struct kube_target){ &SERVICE, p->ns, p->members[member].name, NULL };
}

static bool is_ready(const struct kube_reply *reply)
{
    return text_eq(json_get_text(reply->body, "status.phase"), "Ready");
}

static void became_resident(struct pool *p, size_t member)
{
    p->resident = member;
    p->known_ms = now_ms(p);
    p->state = POOL_IDLE;
    if (member != NOBODY)
        p->members[member].ours = false;
    show_resident(p);
}

static void looked(void *ctx, const struct kube_reply *reply);

static void look_at(struct pool *p, size_t member)
{
    p->looked = member;
    p->op = kube_get(p->pools->kube, target_of(p, member), (struct kube_then){ looked, p });
}

/* Reads the last resident first: usually it is still the one. */
static void look(struct pool *p)
{
    p->state = POOL_LOOKING;
    look_at(p, p->resident == NOBODY ? 0 : p->resident);
}

static void looked(void *ctx, const struct kube_reply *reply)
{
    struct pool *p = ctx;
    p->op = NULL;
    if (reply->error.code && reply->error.code != ERR_NOT_FOUND) {
        p->state = POOL_IDLE;
        if (p->resident == NOBODY)
            fail_all(p, NOBODY);
        else
            p->known_ms = now_ms(p); /* trusted for now */
        move(p);
        return;
    }
    bool ready = !reply->error.code && is_ready(reply);
    size_t first = p->resident == NOBODY ? 0 : p->resident;
    size_t next = p->looked == first ? 0 : p->looked + 1;
    if (next == first)
        next++;
    if (!ready && next < p->member_count) {
        look_at(p, next);
        return;
    }
    became_resident(p, ready ? p->looked : NOBODY);
    move(p);
}

static void give_up_swap(struct pool *p, bool failed)
{
    size_t target = p->target;
    timer_stop(p->pools->env, &p->poll);
    p->state = POOL_IDLE;
    p->target = NOBODY;
    p->known_ms = 0;
    if (failed)
        fail_all(p, target);
    move(p);
}

static void poll_again(struct pool *p)
{
    p->state = POOL_LOADING;
    timer_set(p->pools->env, &p->poll, POLL_MS);
}

static void patched(void *ctx, const struct kube_reply *reply)
{
    struct pool *p = ctx;
    p->op = NULL;
    if (reply->error.code && !reply->outcome_unknown) {
        p->members[p->target].ours = false;
        give_up_swap(p, true);
        return;
    }
    poll_again(p);
}

static void scale(struct pool *p, size_t member, int64_t replicas, struct kube_then then)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct kube_op *op = kube_patch(p->pools->kube,
        target_of(p, member),
        KUBE_PATCH_MERGE,
        json_fields(&a, { "spec.replicas", json_int(replicas) }),
        (struct kube_write){ .field_manager = "leeboard-router" },
        then);
    if (then.ctx)
        p->op = op;
}

static void arrived(struct pool *p)
{
    size_t from = p->resident;
    became_resident(p, p->target);
    p->target = NOBODY;
    show_swap(p, from);
    move(p);
}

static void asked(void *ctx, const struct kube_reply *reply)
{
    struct pool *p = ctx;
    p->op = NULL;
    if (reply->error.code && (p->state == POOL_ASKING || !error_is_transient(reply->error.code))) {
        give_up_swap(p, true);
        return;
    }
    if (!reply->error.code && is_ready(reply)) {
        arrived(p);
        return;
    }
    bool wanted = json_get_int(reply->body, "spec.replicas", 0) > 0;
    if (reply->error.code || wanted || p->state == POOL_LOADING) {
        poll_again(p);
        return;
    }
    p->state = POOL_PATCHING;
    p->members[p->target].ours = true;
    scale(p, p->target, 1, (struct kube_then){ patched, p });
}

static void ask(void *ctx)
{
    struct pool *p = ctx;
    p->op = kube_get(p->pools->kube, target_of(p, p->target), (struct kube_then){ asked, p });
}

static void swap(struct pool *p, size_t member)
{
    p->state = POOL_ASKING;
    p->target = member;
    p->swap_ms = now_ms(p);
    ask(p);
}

/* ---- state transitions ---- */

static void move(struct pool *p)
{
    if (p->moving || p->state != POOL_IDLE || !p->first)
        return;
    if (!p->known_ms || now_ms(p) - p->known_ms >= LOOK_AGAIN_MS) {
        look(p);
        return;
    }
    p->moving = true; /* granting may end holds and start others */
    struct hold *other = grant_all(p);
    p->moving = false;
    if (other && (p->resident == NOBODY || p->members[p->resident].active == 0))
        swap(p, other->member);
}

static void nothing(void *ctx, const struct kube_reply *reply)
{
    (void)ctx;
    (void)reply;
}

/* No client waits for the target any more. */
static void abandon(struct pool *p, bool left)
{
    size_t target = p->target;
    bool loading = p->state == POOL_LOADING || p->state == POOL_PATCHING;
    if (p->op)
        kube_op_cancel(p->pools->kube, take(p->op));
    if (left && loading && p->members[target].ours) {
        p->members[target].ours = false;
        scale(p, target, 0, (struct kube_then){ nothing, NULL });
    }
    give_up_swap(p, false);
}

static void check_target(struct pool *p, bool left)
{
    if (p->target != NOBODY && p->members[p->target].waiting == 0)
        abandon(p, left);
}

static void on_deadline(void *ctx)
{
    struct hold *h = ctx;
    struct pool *p = h->pool;
    settle(h, HOLD_LATE);
    check_target(p, false);
    move(p);
}

/* ---- pools ---- */

static size_t member_index(struct pool *p, const char *name)
{
    for (size_t i = 0; i < p->member_count; i++)
        if (text_eq(p->members[i].name, name))
            return i;
    if (p->member_count == MEMBERS_MAX)
        return NOBODY;
    p->members[p->member_count] = (struct pool_member){ .name = mem_strdup(name) };
    p->known_ms = 0;
    return p->member_count++;
}

static struct pool *pool_of(struct pools *pools, const struct router_backend *b)
{
    struct pool *p = pools->first;
    while (p && !(text_eq(p->name, b->pool_name) && text_eq(p->ns, b->pool_namespace)))
        p = p->next;
    if (!p) {
        p = mem_new_of(struct pool);
        *p = (struct pool){ .next = pools->first,
            .pools = pools,
            .name = mem_strdup(b->pool_name),
            .ns = mem_strdup(b->pool_namespace ?: "default"),
            .resident = NOBODY,
            .target = NOBODY };
        timer_init(&p->poll, ask, p);
        pools->first = p;
    }
    json_each (item, b->pool_members)
        if (json_text(*item))
            member_index(p, json_text(*item));
    return p;
}

void router_hold_begin(struct pools *pools, struct hold *h, const struct router_backend *b,
    int64_t budget_ms, void (*done)(void *ctx, enum hold_outcome outcome), void *ctx)
{
    struct pool *p = pool_of(pools, b);
    size_t member = member_index(p, b->pool_member ?: b->name);
    if (member == NOBODY) {
        done(ctx, HOLD_FAILED);
        return;
    }
    *h = (struct hold){ .pool = p,
        .pools = pools,
        .member = member,
        .waiting = true,
        .begun_ms = now_ms(p),
        .budget_ms = budget_ms,
        .prev = p->last,
        .done = done,
        .ctx = ctx };
    *(p->last ? &p->last->next : &p->first) = h;
    p->last = h;
    p->members[member].waiting++;
    show_held(p, member);
    timer_init(&h->deadline, on_deadline, h);
    timer_set(pools->env, &h->deadline, budget_ms);
    move(p);
}

void router_hold_end(struct hold *h)
{
    struct pool *p = h->pool;
    if (h->granted) {
        h->granted = false;
        p->members[h->member].active--;
        move(p);
    } else if (h->waiting) {
        leave_line(h);
        check_target(p, true);
        move(p);
    }
}

void router_hold_doubt(struct hold *h)
{
    if (h->pool)
        h->pool->known_ms = 0;
}

struct pools *pools_new(const struct env *env, struct kube_client *kube, const char *router)
{
    struct pools *p = mem_new_of(struct pools);
    p->env = env;
    p->kube = kube;
    p->router = router;
    return p;
}

void pools_free(struct pools *pools)
{
    while (pools && pools->first) {
        struct pool *p = pools->first;
        assert(!p->first);
        pools->first = p->next;
        timer_stop(pools->env, &p->poll);
        if (p->op)
            kube_op_cancel(pools->kube, p->op);
        for (size_t i = 0; i < p->member_count; i++)
            free(p->members[i].name);
        free(p->name);
        free(p->ns);
        free(p);
    }
    free(pools);
}
