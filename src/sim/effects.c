#include "sim/sim.h"

#include <stdlib.h>

#include "base/hash.h"
#include "engine/facts.h"

/* What an effect finds depends on its arguments alone, so that runs with and without faults see the
 * same world; whether and when it finds it, the seed decides. */

struct effect_run {
    struct sim_effects *effects;
    struct effect_run *next, **link;
    const struct effect_sink *sink;
    void *ctx;
    struct arena arena;
    const char *name;
    struct json args;
    struct timer timer;
};

struct sim_effects {
    struct sim_operator *operator;
    struct effect_runner runner;
    struct effect_run *runs;
};

static void run_free(struct effect_run *run)
{
    timer_stop(&run->effects->operator->env, &run->timer);
    *run->link = run->next;
    if (run->next)
        run->next->link = run->link;
    arena_done(&run->arena);
    free(run);
}

/* Some sources are not there, and stay so. */
static bool find(struct effect_run *run, struct json *ret, struct error *err)
{
    struct arena *a = &run->arena;
    const char *text = json_to_text(a, run->args);
    unsigned luck = (unsigned)sha256_hex(a, str_of(text))[0] % 8;
    if (text_eq(run->name, "pods.idle")) {
        *ret = json_fields(a, { "idle", json_bool(true) });
        return true;
    }
    if (text_eq(run->name, "pod.acceleration")) {
        *ret = json_empty_map();
        return true;
    }
    if (luck == 0 && !strstr(text, SIM_SOURCE_HEALTHY))
        return fail(err, ERR_NOT_FOUND, "404 Not Found");
    *ret = json_fields(a,
        { "size", json_int(1000000 + luck) },
        { "contentLength", json_int(1000000 + luck) },
        { "etag", json_strf(a, "\"e%u\"", luck) },
        { "path", json_str("/models/sim/model.gguf") },
        { "sha256", json_str(sha256_hex(a, str_of(text))) },
        { "gguf.architecture", json_str("llama") },
        { "gguf.modelName", json_str("sim") });
    return true;
}

static void finish(void *ctx)
{
    struct effect_run *run = ctx;
    struct sim *s = run->effects->operator->sim;
    struct error err;
    struct json result = { 0 };
    /* A header is read once, before a Model is first Ready: what was missed then stays missed. */
    bool once = text_eq(run->name, "model.probe") &&
                strstr(json_to_text(&run->arena, run->args), SIM_SOURCE_HEALTHY);
    bool ok = s->quiet || once || !sim_chance(s, SIM_FAULTS, s->options.rates.effect_fails)
                  ? find(run, &result, &err)
                  : fail(&err, ERR_UNAVAILABLE, "the connection was lost");
    run->sink->done(run->ctx, result, ok ? NULL : &err);
    run_free(run);
}

static struct effect_run *start(
    void *self, const char *effect, struct json args, const struct effect_sink *sink, void *ctx)
{
    struct sim_effects *e = self;
    struct effect_run *run = mem_new_of(struct effect_run);
    arena_init(&run->arena, 1 << 20);
    run->effects = e;
    run->sink = sink;
    run->ctx = ctx;
    run->name = arena_strdup(&run->arena, effect);
    run->args = json_copy(&run->arena, args);
    run->next = e->runs;
    run->link = &e->runs;
    if (run->next)
        run->next->link = &run->next;
    e->runs = run;
    timer_init(&run->timer, finish, run);
    struct sim *s = e->operator->sim;
    timer_set(&e->operator->env, &run->timer, 5 + sim_below(s, SIM_NETWORK, 3000));
    return run;
}

static void cancel(void *self, struct effect_run *run)
{
    (void)self;
    run_free(run);
}

struct sim_effects *sim_effects_new(struct sim_operator *o)
{
    struct sim_effects *e = mem_new_of(struct sim_effects);
    e->operator= o;
    e->runner = (struct effect_runner){ start, cancel, e };
    return e;
}

const struct effect_runner *sim_effects_runner(struct sim_effects *e)
{
    return &e->runner;
}

void sim_effects_free(struct sim_effects *e)
{
    while (e->runs)
        run_free(e->runs);
    free(e);
}
