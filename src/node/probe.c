#include "node/probe.h"

#include "base/timer.h"
#include "http/loop.h"

/* Until the first success, try between the regular probes at growing intervals: a server that is
 * ready after a second should not have to wait for the rest of its period. */
#define EAGER_MS 200
#define EAGER_SHARE 8

struct probe {
    struct arena arena;
    struct action_place place;
    struct json spec;
    struct probe_watch watch;
    struct timer next;
    struct action *action;
    int64_t period_ms, timeout_ms, due_ms, begun_ms;
    bool eager, counts;
    int64_t successes, failures; /* in a row */
    enum { UNKNOWN, GOOD, BAD } verdict;
};

static void look(void *ctx);

static void plan_next(struct probe *p)
{
    const struct env *env = loop_env(p->place.loop);
    int64_t now = env_mono_ms(env), wait = p->due_ms > now ? p->due_ms - now : 0;
    int64_t soon = (now - p->begun_ms) / EAGER_SHARE;
    if (soon < EAGER_MS)
        soon = EAGER_MS;
    timer_set(env, &p->next, p->eager && soon < wait ? soon : wait);
}

static void looked(void *ctx, bool ok, const char *message)
{
    struct probe *p = ctx;
    int64_t now = env_mono_ms(loop_env(p->place.loop));
    p->action = NULL;
    if (ok && !p->counts)
        p->due_ms = now;
    p->eager = p->eager && !ok;
    if (ok || p->counts) {
        p->successes = ok ? p->successes + 1 : 0;
        p->failures = ok ? 0 : p->failures + 1;
        p->due_ms = p->due_ms + p->period_ms > now ? p->due_ms + p->period_ms : now;
    }
    plan_next(p);
    if (!ok && p->counts)
        p->watch.failed(p->watch.ctx, p->watch.kind, message);
    bool good = ok && p->successes >= json_get_int(p->spec, "successThreshold", 1);
    bool bad = !ok && p->failures >= json_get_int(p->spec, "failureThreshold", 3);
    int verdict = good ? GOOD : bad ? BAD : (int)p->verdict;
    if (verdict == (int)p->verdict)
        return;
    p->verdict = verdict;
    p->watch.changed(p->watch.ctx, good);
}

static void look(void *ctx)
{
    struct probe *p = ctx;
    p->counts = env_mono_ms(loop_env(p->place.loop)) >= p->due_ms;
    p->action = action_start(&p->place, p->spec, p->timeout_ms, looked, p);
}

static int64_t seconds(struct json spec, const char *field, int64_t otherwise)
{
    int64_t value = json_get_int(spec, field, otherwise);
    return (value > 0 ? value : otherwise) * 1000;
}

struct probe *probe_new(
    const struct action_place *place, struct json spec, const struct probe_watch *watch)
{
    struct probe *p = mem_new_of(struct probe);
    const struct env *env = loop_env(place->loop);
    arena_init(&p->arena, ARENA_LIMIT_DEFAULT);
    p->place = *place;
    p->place.container = json_copy(&p->arena, place->container);
    p->spec = json_copy(&p->arena, spec);
    p->watch = *watch;
    p->period_ms = seconds(spec, "periodSeconds", 10);
    p->timeout_ms = seconds(spec, "timeoutSeconds", 1);
    int64_t delay_ms = seconds(spec, "initialDelaySeconds", 0);
    p->due_ms = p->begun_ms = env_mono_ms(env) + delay_ms;
    p->eager = !json_present(json_get(spec, "exec"));
    timer_init(&p->next, look, p);
    timer_set(env, &p->next, delay_ms);
    return p;
}

void probe_free(struct probe *p)
{
    if (!p)
        return;
    timer_stop(loop_env(p->place.loop), &p->next);
    action_cancel(p->action);
    arena_done(&p->arena);
    free(p);
}
