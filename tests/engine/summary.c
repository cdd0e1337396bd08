#include "engine/summary.h"

#include "engine/kind.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "merge/schema.h"
#include "tests/test.h"

static const struct resource DOG = { "dogs.example.com", "v1", "Dog", "dogs", false };
static const struct resource POD = { "", "v1", "Pod", "pods", false };

#define FIELDS                                                                                     \
    "'phase': {'type': 'string'}, 'observedGeneration': {'type': 'integer'},"                      \
    " 'conditions': {'type': 'array', 'items': {'type': 'object',"                                 \
    " 'x-kubernetes-preserve-unknown-fields': true}}"

struct told {
    struct plan plan;
    struct json live;
};

static struct plan *begin(struct told *t, const char *phase, const char *live)
{
    struct arena *a = test_arena();
    plan_init(&t->plan, a);
    plan_status(&t->plan, json_fields(a, { "phase", json_str_or_absent(phase) }), NULL);
    t->live = test_json(live);
    return &t->plan;
}

static void add(struct told *t, const struct resource *r, const char *fields)
{
    struct arena *a = test_arena();
    const struct schema *schema;
    struct error err;
    struct json status =
        json_map(a, { "type", json_str("object") }, { "properties", test_json(fields) });
    struct json root = json_fields(
        a, { "type", json_str("object") }, { "properties", json_map(a, { "status", status }) });
    check(schema_from_crd(a, root, &schema, &err));
    struct kind kind = { .resource = r };
    struct view in = {
        .arena = a,
        .object = json_fields(a, { "metadata.generation", json_int(3) }, { "status", t->live }),
    };
    summary_add(&kind, schema, &in, &t->plan);
}

/* "True Reason: message", "" if there is none */
static const char *said(const struct told *t, const char *type)
{
    for (size_t i = 0; i < t->plan.condition_count; i++) {
        const struct plan_condition *c = &t->plan.conditions[i];
        if (text_eq(c->type, type))
            return arena_printf(
                test_arena(), "%s %s: %s", c->status ? "True" : "False", c->reason, c->message);
    }
    return "";
}

TEST(a_good_phase_is_ready_in_the_words_of_the_main_condition)
{
    struct told t;
    struct plan *p = begin(&t, "Ready", "{}");
    plan_condition(p, "Available", true, "Serving", "it serves");
    plan_done(p);
    add(&t, &DOG, "{" FIELDS "}");
    check_text(said(&t, "Ready"), "True Serving: it serves");
    check_text(said(&t, "Stalled"), "");
    check_int(json_get_int(p->status, "observedGeneration", 0), 3);
    check_int(p->event_count, 0);
}

TEST(a_failure_is_stalled_with_one_event_for_each_reason)
{
    static const struct {
        const char *live;
        size_t events;
    } rows[] = {
        { "{}", 1 },
        { "{'conditions': [{'type': 'Stalled', 'reason': 'Invalid'}]}", 0 },
        { "{'conditions': [{'type': 'Stalled', 'reason': 'Other'}]}", 1 },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct told t;
        struct plan *p = begin(&t, "Failed", rows[i].live);
        plan_condition(p, "Degraded", true, "Invalid", "Model not found");
        plan_wait(p, "Model \"rex\" is not there");
        add(&t, &DOG, "{" FIELDS "}");
        check_text(said(&t, "Ready"), "False Invalid: Model \"rex\" is not there");
        check_text(said(&t, "Stalled"), "True Invalid: Model \"rex\" is not there");
        check_int(p->event_count, rows[i].events);
    }
}

TEST(what_is_under_way_is_not_ready_and_not_stalled)
{
    struct told t;
    struct plan *p = begin(&t, "Creating", "{}");
    plan_condition(p, "Progressing", true, "Creating", "0/1");
    plan_done(p);
    add(&t, &DOG, "{" FIELDS "}");
    check_text(said(&t, "Ready"), "False Creating: 0/1");
    check_text(said(&t, "Stalled"), "");
}

TEST(pods_that_do_not_run_are_stalled_unless_a_node_may_still_come)
{
    static const char *const rows[][2] = {
        { "CrashLoopBackOff", "True CrashLoopBackOff: why" },
        { "Unschedulable", "" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct told t;
        struct plan *p = begin(&t, "Ready", "{}");
        plan_condition(p, "PodsHealthy", false, rows[i][0], "why");
        plan_done(p);
        add(&t, &DOG, "{" FIELDS "}");
        check_text(said(&t, "Ready"), arena_printf(test_arena(), "False %s: why", rows[i][0]));
        check_text(said(&t, "Stalled"), rows[i][1]);
    }
}

TEST(the_ready_and_the_generation_of_a_kind_stay_as_they_are)
{
    struct told t;
    struct plan *p = begin(&t, "Pending", "{}");
    p->status = test_json("{'phase': 'Pending', 'observedGeneration': 2}");
    plan_condition(p, "Ready", false, "Own", "its own words");
    plan_done(p);
    add(&t, &DOG, "{" FIELDS "}");
    check_text(said(&t, "Ready"), "False Own: its own words");
    check_int(json_get_int(p->status, "observedGeneration", 0), 2);
}

TEST(nothing_is_added_that_the_crd_has_no_place_for_nor_to_a_built_in_kind)
{
    struct told t;
    plan_done(begin(&t, "Failed", "{}"));
    add(&t, &DOG, "{'phase': {'type': 'string'}}");
    check_int(t.plan.condition_count, 0);
    check_json(t.plan.status, "{'phase': 'Failed'}");
    plan_done(begin(&t, "Failed", "{}"));
    add(&t, &POD, "{" FIELDS "}");
    check_int(t.plan.condition_count, 0);
}

TEST(a_kind_without_a_phase_is_what_its_main_condition_says)
{
    struct told t;
    struct plan *p = begin(&t, NULL, "{}");
    plan_condition(p, "Valid", false, "Bad", "spec.x: no");
    plan_wait(p, "spec.x: no");
    add(&t, &DOG, "{" FIELDS "}");
    check_text(said(&t, "Ready"), "False Bad: spec.x: no");
    check_text(said(&t, "Stalled"), "True Bad: spec.x: no");
}
