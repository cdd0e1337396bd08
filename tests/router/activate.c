/* Turns of a ModelPool, on a clock and an API that the test holds. */

#include "router/activate.h"

#include "kube/client.h"
#include "tests/kube/world.h"

struct scene {
    struct world world;
    struct kube_client *kube;
    struct pools *pools;
    struct metrics metrics;
    struct router_backend backends[2];
};

struct request {
    struct hold hold;
    int done;
    enum hold_outcome outcome;
};

static void on_done(void *ctx, enum hold_outcome outcome)
{
    struct request *r = ctx;
    r->done++;
    r->outcome = outcome;
}

static void scene_open(struct scene *s)
{
    memset(s, 0, sizeof(*s));
    world_init(&s->world);
    s->kube = kube_client_new(&s->world.transport, &s->world.env);
    s->pools = pools_new(&s->world.env, s->kube, "r");
    pools_link(s->pools, &s->metrics);
    for (size_t i = 0; i < 2; i++)
        s->backends[i] = (struct router_backend){ .name = i ? "mb" : "ma",
            .pool_name = "p",
            .pool_namespace = "ns",
            .pool_member = i ? "mb" : "ma",
            .pool_members = json_list(test_arena(), json_str("ma"), json_str("mb")) };
}

static void scene_close(struct scene *s)
{
    metrics_done(&s->metrics);
    pools_free(s->pools);
    kube_client_free(s->kube);
    world_done(&s->world);
}

static void begin(struct scene *s, struct request *r, size_t member, int64_t budget_ms)
{
    *r = (struct request){ 0 };
    router_hold_begin(s->pools, &r->hold, &s->backends[member], budget_ms, on_done, r);
}

/* The only open call, which must be this one; it is answered with a phase and replicas. */
static void api(
    struct scene *s, const char *method, const char *member, const char *phase, int replicas)
{
    struct world_call *c = world_only(&s->world);
    check_text(c->method, method);
    check(text_ends(c->path, member) || strstr(c->path, arena_printf(test_arena(), "%s?", member)));
    if (text_eq(method, "PATCH"))
        check_text(c->body, arena_printf(test_arena(), "{\"spec\":{\"replicas\":%d}}", replicas));
    world_answer(c,
        200,
        arena_printf(test_arena(),
            "{'spec': {'replicas': %d}, 'status': {'phase': '%s'}}",
            replicas,
            phase));
}

/* ma has the place. */
static void adopt(struct scene *s, struct request *first)
{
    begin(s, first, 0, 100000);
    api(s, "GET", "/ma", "Ready", 1);
    check_int(first->done, 1);
    check_int(first->outcome, HOLD_GRANTED);
}

TEST(pool_swaps_when_the_last_request_of_the_resident_ended)
{
    struct scene s;
    struct request a, b;
    scene_open(&s);
    adopt(&s, &a);
    begin(&s, &b, 1, 100000);
    check_int(world_open_calls(&s.world), 0);
    router_hold_end(&a.hold);
    api(&s, "GET", "/mb", "Stopped", 0);
    api(&s, "PATCH", "/mb", "Creating", 1);
    world_advance(&s.world, 250);
    api(&s, "GET", "/mb", "Creating", 1);
    check_int(b.done, 0);
    world_advance(&s.world, 250);
    api(&s, "GET", "/mb", "Ready", 1);
    check_int(b.outcome, HOLD_GRANTED);
    check_int(b.done, 1);
    router_hold_end(&b.hold);
    scene_close(&s);
}

TEST(pool_lets_requests_for_the_resident_pass_for_a_while_only)
{
    struct scene s;
    struct request a, b, passes, waits;
    scene_open(&s);
    adopt(&s, &a);
    begin(&s, &b, 1, 8000);
    world_advance(&s.world, 1900);
    begin(&s, &passes, 0, 8000);
    check_int(passes.done, 1);
    world_advance(&s.world, 200);
    begin(&s, &waits, 0, 8000);
    check_int(waits.done, 0);
    router_hold_end(&a.hold);
    check_int(world_open_calls(&s.world), 0);
    router_hold_end(&passes.hold);
    api(&s, "GET", "/mb", "Ready", 1);
    check_int(b.done, 1);
    router_hold_end(&b.hold); /* now it is the turn of ma again */
    api(&s, "GET", "/ma", "Ready", 1);
    check_int(waits.done, 1);
    router_hold_end(&waits.hold);
    scene_close(&s);
}

TEST(pool_scales_down_only_what_it_scaled_up_and_nobody_wants)
{
    struct scene s;
    struct request r;
    for (int ours = 0; ours < 2; ours++) {
        scene_open(&s);
        begin(&s, &r, 0, 5000);
        api(&s, "GET", "/ma", "Creating", !ours);
        api(&s, "GET", "/mb", "Stopped", 0);
        api(&s, "GET", "/ma", "Creating", !ours);
        if (ours)
            api(&s, "PATCH", "/ma", "Creating", 1);
        router_hold_end(&r.hold); /* the client left */
        check_int(r.done, 0);
        check_int(world_open_calls(&s.world), ours);
        if (ours)
            api(&s, "PATCH", "/ma", "Stopped", 0);
        scene_close(&s);
    }
}

TEST(pool_lets_a_member_go_on_loading_after_a_budget_ended)
{
    struct scene s;
    struct request r;
    scene_open(&s);
    begin(&s, &r, 0, 200);
    api(&s, "GET", "/ma", "Stopped", 0);
    api(&s, "GET", "/mb", "Stopped", 0);
    api(&s, "GET", "/ma", "Stopped", 0);
    api(&s, "PATCH", "/ma", "Creating", 1);
    world_advance(&s.world, 200);
    check_int(r.done, 1);
    check_int(r.outcome, HOLD_LATE);
    check_int(world_open_calls(&s.world), 0);
    begin(&s, &r, 0, 5000);
    api(&s, "GET", "/ma", "Ready", 1);
    check_int(r.outcome, HOLD_GRANTED);
    router_hold_end(&r.hold);
    scene_close(&s);
}

TEST(pool_fails_requests_that_the_api_refuses_and_asks_again_for_the_next)
{
    struct scene s;
    struct request r;
    scene_open(&s);
    begin(&s, &r, 0, 5000);
    world_answer(world_only(&s.world), 403, "{'kind': 'Status', 'reason': 'Forbidden'}");
    check_int(r.done, 1);
    check_int(r.outcome, HOLD_FAILED);
    begin(&s, &r, 0, 5000);
    api(&s, "GET", "/ma", "Ready", 1);
    check_int(r.outcome, HOLD_GRANTED);
    router_hold_doubt(&r.hold); /* it refused the connection */
    router_hold_end(&r.hold);
    begin(&s, &r, 0, 5000);
    check_int(world_open_calls(&s.world), 1);
    router_hold_end(&r.hold);
    scene_close(&s);
}
