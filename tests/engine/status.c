#include "engine/status.h"
#include "engine/plan.h"
#include "tests/test.h"

#define AT(ms) (1767225600000 + (ms))

static struct json complete(struct json live, struct json owned, const char *phase, int64_t now_ms)
{
    struct arena *a = test_arena();
    struct plan *p = arena_new(a, struct plan);
    plan_init(p, a);
    plan_status(p, json_fields(a, { "phase", json_str(phase) }), "lastUpdated");
    plan_condition(p, "Ready", true, "Fine", "all is well");
    plan_condition(p, "Available", false, "No", "not yet");
    struct status_input in = { .live = live, .owned = owned, .generation = 2, .now_ms = now_ms };
    return status_complete(a, p, &in);
}

TEST(a_status_that_says_the_same_keeps_all_its_times)
{
    struct json first = complete(json_none, json_none, "Creating", AT(0));
    check_text(json_get_text(first, "lastUpdated"), "2026-01-01T00:00:00Z");
    check_text(json_get_text(first, "conditions.0.type"), "Available");
    check_int(json_get_int(first, "conditions.0.observedGeneration", 0), 2);
    struct json again = complete(first, first, "Creating", AT(90000));
    check(json_equal(first, again));
}

TEST(a_status_that_says_something_new_moves_only_the_times_that_it_concerns)
{
    struct json first = complete(json_none, json_none, "Creating", AT(0));
    struct json later = complete(first, first, "Ready", AT(90000));
    check_text(json_get_text(later, "lastUpdated"), "2026-01-01T00:01:30Z");
    check_text(json_get_text(later, "conditions.1.lastTransitionTime"), "2026-01-01T00:00:00Z");
    struct json live = test_json("{'conditions': [{'type': 'Ready', 'status': 'False',"
                                 " 'lastTransitionTime': '2020-01-01T00:00:00Z'}]}");
    later = complete(live, json_none, "Ready", AT(90000));
    check_text(json_get_text(later, "conditions.1.lastTransitionTime"), "2026-01-01T00:01:30Z");
}

TEST(conditions_of_a_built_in_kind_are_left_as_they_are)
{
    struct arena *a = test_arena();
    struct plan *p = arena_new(a, struct plan);
    plan_init(p, a);
    plan_status(
        p, test_json("{'conditions': [{'type': 'Available', 'lastUpdateTime': 'x'}]}"), NULL);
    plan_condition(p, "Contested", true, "FieldTaken", "by somebody");
    struct status_input in = { .generation = 2, .now_ms = AT(0) };
    check_json(status_complete(a, p, &in),
        "{'conditions': [{'type': 'Available', 'lastUpdateTime': 'x'}]}");
}

static struct json yielded(struct json live, struct json owned)
{
    struct arena *a = test_arena();
    struct plan *p = arena_new(a, struct plan);
    plan_init(p, a);
    plan_status(p, test_json("{'phase': 'Ready', 'url': 'u'}"), NULL);
    plan_condition(p, "Ready", true, "Fine", "all is well");
    plan_yield(p, "phase");
    plan_yield(p, "Ready");
    struct status_input in = { .live = live, .owned = owned, .now_ms = AT(0) };
    return status_complete(a, p, &in);
}

TEST(what_another_program_wrote_of_a_status_is_not_written_again)
{
    struct json first = yielded(json_none, json_none);
    check_text(json_get_text(first, "phase"), "Ready");
    check(json_equal(yielded(first, first), first));
    /* The other took the phase, and of the condition all but the type and what it left as it was.
     */
    struct json live = test_json(
        "{'phase': 'Degraded', 'url': 'u', 'conditions': [{'type': 'Ready', 'status': 'True',"
        "'reason': 'Theirs', 'message': 'm', 'lastTransitionTime': '2026-01-01T00:00:00Z'}]}");
    struct json owned = test_json("{'url': 'u', 'conditions': [{'type': 'Ready', 'status': 'True',"
                                  "'lastTransitionTime': '2026-01-01T00:00:00Z'}]}");
    check(json_equal(yielded(live, owned), owned));
    /* All of it: nothing is left of ours. */
    check_json(yielded(live, test_json("{'url': 'u'}")), "{'url': 'u'}");
}
