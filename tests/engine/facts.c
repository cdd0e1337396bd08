#include "engine/facts.h"
#include "engine/plan.h"
#include "tests/kube/world.h"
#include "tests/test.h"

/* A runner whose effects end when the test says so. */
struct effect_run {
    const struct effect_sink *sink;
    void *ctx;
};

struct bench {
    struct world world;
    struct effect_runner runner;
    struct facts facts;
    struct effect_run run;
    int started, cancelled, woken;
};

static struct effect_run *start(
    void *self, const char *effect, struct json args, const struct effect_sink *sink, void *ctx)
{
    struct bench *b = self;
    (void)effect;
    (void)args;
    b->started++;
    b->run = (struct effect_run){ sink, ctx };
    return &b->run;
}

static void cancel(void *self, struct effect_run *run)
{
    (void)run;
    ((struct bench *)self)->cancelled++;
}

static void changed(void *ctx, void *owner)
{
    (void)owner;
    ((struct bench *)ctx)->woken++;
}

static void bench_open(struct bench *b)
{
    *b = (struct bench){ 0 };
    world_init(&b->world);
    b->runner = (struct effect_runner){ .start = start, .cancel = cancel, .self = b };
    facts_init(&b->facts, &b->world.env, &b->runner, changed, b);
}

static void bench_close(struct bench *b)
{
    facts_done(&b->facts);
    world_done(&b->world);
}

static struct plan_effect ask(int64_t every_ms)
{
    return (struct plan_effect){
        .effect = "model.head",
        .args = test_json("{'source': 'x'}"),
        .every_ms = every_ms,
    };
}

static void end_with(struct bench *b, const char *json)
{
    b->run.sink->done(b->run.ctx, test_json(json), NULL);
}

static void end_failing(struct bench *b, enum error_code code)
{
    struct error err;
    fail(&err, code, "as the test says");
    b->run.sink->done(b->run.ctx, json_none, &err);
}

TEST(a_fact_wakes_its_keys_only_when_it_says_something_new)
{
    struct bench b;
    bench_open(&b);
    int one, two;
    struct fact_set of_one = { 0 }, of_two = { 0 };
    struct plan_effect effect = ask(5000);
    facts_replace(&b.facts, &of_one, &one, &effect, 1);
    facts_replace(&b.facts, &of_two, &two, &effect, 1);
    check_int(b.started, 1); /* one question of two keys */
    end_with(&b, "{'etag': 'a'}");
    check_int(b.woken, 2);
    check_json(json_get(facts_read(&b.facts, test_arena(), effect.effect, effect.args), "result"),
        "{'etag': 'a'}");
    facts_replace(&b.facts, &of_one, &one, &effect, 1);
    check_int(b.started, 1); /* fresh enough */
    world_advance(&b.world, 5000);
    facts_replace(&b.facts, &of_one, &one, &effect, 1);
    check_int(b.started, 2);
    end_with(&b, "{'etag': 'a'}");
    check_int(b.woken, 2); /* the same again */
    facts_clear(&b.facts, &of_one, &one);
    facts_clear(&b.facts, &of_two, &two);
    check(!json_present(facts_read(&b.facts, test_arena(), effect.effect, effect.args)));
    bench_close(&b);
}

TEST(a_failure_that_may_pass_is_tried_again_and_a_lasting_one_waits_its_time)
{
    struct bench b;
    bench_open(&b);
    int one;
    struct fact_set set = { 0 };
    struct plan_effect effect = ask(300000);
    facts_replace(&b.facts, &set, &one, &effect, 1);
    end_failing(&b, ERR_UNAVAILABLE);
    check_int(b.woken, 1);
    world_advance(&b.world, FACTS_TRANSIENT_MS);
    facts_replace(&b.facts, &set, &one, &effect, 1);
    check_int(b.started, 2);
    end_failing(&b, ERR_NOT_FOUND);
    check_int(b.woken, 2);
    world_advance(&b.world, 299999);
    facts_replace(&b.facts, &set, &one, &effect, 1);
    check_int(b.started, 2);
    world_advance(&b.world, 1);
    facts_replace(&b.facts, &set, &one, &effect, 1);
    check_int(b.started, 3);
    end_failing(&b, ERR_NOT_FOUND);
    check_int(b.woken, 2); /* failed in the same way */
    world_advance(&b.world, 300000);
    facts_replace(&b.facts, &set, &one, &effect, 1);
    facts_clear(&b.facts, &set, &one);
    check_int(b.cancelled, 1); /* nobody waits for it any more */
    bench_close(&b);
}
