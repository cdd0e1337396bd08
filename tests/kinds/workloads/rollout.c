#include "kinds/workloads/rollout.h"

#include "tests/test.h"

/* Sets as "replicas/available" each, oldest first; the last is the latest. */
static struct rollout of(int64_t replicas, const char *strategy, const int64_t (*sets)[2], size_t n)
{
    struct rollout r = { .replicas = replicas };
    r.sets = arena_array(test_arena(), n + 1, sizeof(*r.sets));
    for (size_t i = 0; i < n; i++)
        r.sets[r.count++] = (struct rollout_set){
            .name = "set",
            .replicas = sets[i][0],
            .available = sets[i][1],
        };
    r.latest = n ? &r.sets[n - 1] : NULL;
    rollout_bounds(&r, test_json(strategy));
    return r;
}

#define PAIRS(...) ((const int64_t[][2]){ __VA_ARGS__ })
#define SETS(...) PAIRS(__VA_ARGS__), lengthof(PAIRS(__VA_ARGS__))
#define QUARTER "{'rollingUpdate': {'maxSurge': '25%', 'maxUnavailable': '25%'}}"

static const char *sizes(const struct rollout *r)
{
    const char *text = "";
    for (size_t i = 0; i < r->count; i++)
        text = arena_printf(test_arena(), "%s %lld", text, (long long)r->sets[i].replicas);
    return text;
}

TEST(bounds_of_a_rollout_round_to_the_safe_side)
{
    struct rollout r = of(10, QUARTER, SETS({ 0, 0 }));
    check_int(r.surge, 3);
    check_int(r.unavailable, 2);
    r = of(1, QUARTER, SETS({ 0, 0 }));
    check_int(r.surge, 1);
    check_int(r.unavailable, 0);
    r = of(3, "{'rollingUpdate': {'maxSurge': 0, 'maxUnavailable': '10%'}}", SETS({ 0, 0 }));
    check_int(r.unavailable, 1);
    r = of(3, "{'type': 'Recreate'}", SETS({ 0, 0 }));
    check_int(r.surge + r.unavailable, 0);
}

TEST(a_rollout_goes_as_far_as_its_bounds_allow)
{
    struct rollout r = of(10, QUARTER, SETS({ 10, 10 }, { 0, 0 }));
    rollout_advance(&r);
    check_text(sizes(&r), " 8 5");
    check(r.sets[0].scaled && r.sets[1].scaled);
    r = of(10, QUARTER, SETS({ 8, 8 }, { 5, 0 }));
    rollout_advance(&r);
    check_text(sizes(&r), " 8 5");
    check(!r.sets[0].scaled && !r.sets[1].scaled);
    r = of(10, QUARTER, SETS({ 8, 8 }, { 5, 5 }));
    rollout_advance(&r);
    check_text(sizes(&r), " 3 10");
}

TEST(a_rollout_first_takes_pods_that_do_not_serve)
{
    struct rollout r = of(10, QUARTER, SETS({ 4, 1 }, { 6, 6 }, { 3, 3 }));
    rollout_advance(&r);
    check_text(sizes(&r), " 0 5 8");
}

TEST(a_latest_set_that_is_too_big_shrinks)
{
    struct rollout r = of(2, QUARTER, SETS({ 5, 5 }));
    rollout_advance(&r);
    check_text(sizes(&r), " 2");
}

TEST(another_size_is_spread_over_the_sets_by_their_sizes)
{
    struct rollout r = of(20, QUARTER, SETS({ 8, 8 }, { 5, 0 }));
    r.sets[0].most = r.sets[1].most = 13;
    rollout_scale(&r);
    check_text(sizes(&r), " 15 10");
    r = of(4, QUARTER, SETS({ 8, 8 }, { 5, 0 }));
    r.sets[0].most = r.sets[1].most = 13;
    rollout_scale(&r);
    check_text(sizes(&r), " 3 2");
    r = of(0, QUARTER, SETS({ 8, 8 }, { 5, 0 }));
    rollout_scale(&r);
    check_text(sizes(&r), " 0 0");
}

TEST(another_size_goes_to_the_only_set_with_pods)
{
    struct rollout r = of(7, QUARTER, SETS({ 0, 0 }, { 3, 3 }));
    rollout_scale(&r);
    check_text(sizes(&r), " 0 7");
    r = of(7, QUARTER, SETS({ 3, 3 }, { 0, 0 }));
    rollout_scale(&r);
    check_text(sizes(&r), " 7 0");
    r = of(3, QUARTER, SETS({ 2, 2 }, { 3, 3 }));
    rollout_scale(&r);
    check_text(sizes(&r), " 0 3");
}
