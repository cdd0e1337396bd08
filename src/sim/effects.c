#include "sim/sim.h"

#include <stdlib.h>

#include "base/hash.h"
#include "engine/facts.h"

/* The result of an effect depends only on its arguments, so that runs with and without faults see
 * the same world; the seed decides whether and when it succeeds. */

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
    struct sim_operator *op;
    struct effect_runner runner;
    struct effect_run *runs;
};

static void run_free(struct effect_run *run)
{
    timer_stop(&run->effects->op->env, &run->timer);
    *run->link = run->next;
    if (run->next)
        run->next->link = run->link;
    arena_done(&run->arena);
    free(run);
}

/* Some sources do not exist, in the whole run. */
static bool find(struct effect_run *run, struct json *ret, struct error *err)
{
    struct arena *a = &run->arena;
    const char *text = json_to_text(a, run->args);
    unsigned luck = (unsigned)sha256_hex(a, str_of(text))[0] % 8;
    if (text_eq(run->name, "pods.idle")) {
        *ret = json_fields(a, { "idle", json_bool(true) });
        return true;
    }
    if (text_eq(run->name, "pod.acceleration") || text_eq(run->name, "lora.call")) {
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

/* The ways in which an effect may fail; temporary failures come first. */
static const struct {
    enum error_code code;
    const char *text;
} failures[] = {
    { ERR_UNAVAILABLE, "the connection was lost" },
    { ERR_TIMEOUT, "no answer for 30 s" },
    { ERR_BUSY, "the source answered 503" },
    { ERR_INTERNAL, "the source answered 500" },
#define FAILURES_THAT_PASS 4
    { ERR_INVALID, "not a GGUF file: it begins with \"<htm\"" },
    { ERR_INVALID, "spec.sha256 is 00, but the file has 11: correct the one or replace the other" },
    { ERR_UNAUTHORIZED, "the source answered 401" },
    { ERR_FORBIDDEN, "/models/x.gguf: permission denied" },
    { ERR_NOT_FOUND, "/models/x.gguf: no such file or directory" },
    { ERR_UNSUPPORTED, "the source answered 405" },
    { ERR_TOO_LARGE, "the source answered 413" },
};

/* Whether this attempt fails, for good or temporarily; half of the source's bytes may have been
 * transferred. A source that exists at the end never fails for good. Its header is read only once,
 * before a Model is first Ready: a failure then would last. */
static bool fails(struct effect_run *run, struct error *err)
{
    struct sim *s = run->effects->op->sim;
    bool healthy = strstr(json_to_text(&run->arena, run->args), SIM_SOURCE_HEALTHY);
    if (s->quiet || (healthy && text_eq(run->name, "model.probe")) ||
        !sim_chance(s, SIM_FAULTS, s->options.rates.effect_fails))
        return false;
    s->injected++;
    uint32_t ways = healthy ? FAILURES_THAT_PASS : lengthof(failures);
    uint32_t way = sim_below(s, SIM_FAULTS, ways);
    fail(err, failures[way].code, "%s", failures[way].text);
    sim_history_add(s->history, run->effects->op->name, "  ~ %s fails: %s", run->name, err->text);
    return true;
}

static void finish(void *ctx)
{
    struct effect_run *run = ctx;
    struct error err;
    struct json result = { 0 };
    bool ok = !fails(run, &err) && find(run, &result, &err);
    run->sink->done(run->ctx, result, ok ? NULL : &err);
    run_free(run);
}

/* Some take minutes, and report progress. */
static void half(void *ctx)
{
    struct effect_run *run = ctx;
    struct sim *s = run->effects->op->sim;
    run->timer.fire = finish;
    timer_set(&run->effects->op->env, &run->timer, sim_below(s, SIM_FAULTS, 300000));
    run->sink->progress(run->ctx,
        json_fields(&run->arena, { "bytes", json_int(500000) }, { "total", json_int(1000000) }));
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
    struct sim *s = e->op->sim;
    bool slow = !s->quiet && sim_chance(s, SIM_FAULTS, s->options.rates.effect_fails / 4);
    timer_init(&run->timer, slow ? half : finish, run);
    timer_set(&e->op->env, &run->timer, 5 + sim_below(s, SIM_NETWORK, 3000));
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
    e->op = o;
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
