#include "kinds/workloads/workloads.h"

#include "tests/kinds/stage.h"
#include "tests/test.h"

static const struct kind *const KIND = &workloads_budget_kind;

static void begin(struct stage *s, const char *limit)
{
    stage_init(s, NULL);
    stage_add(s,
        arena_printf(test_arena(),
            "[{'kind': 'PodDisruptionBudget', 'apiVersion': 'policy/v1', 'metadata': {'name': 'b'},"
            "  'spec': {'selector': {'matchLabels': {'app': 'web'}}, %s}},"
            " {'kind': 'Deployment', 'metadata': {'name': 'web'}, 'spec': {'replicas': 4}},"
            " {'kind': 'ReplicaSet', 'metadata': {'name': 'web-1', 'ownerReferences': ["
            "  {'controller': true, 'kind': 'Deployment', 'name': 'web'}]},"
            "  'spec': {'replicas': 9}}]",
            limit));
}

static void add_pod(struct stage *s, const char *name, const char *phase, const char *ready)
{
    stage_add(s,
        arena_printf(test_arena(),
            "{'kind': 'Pod', 'metadata': {'name': '%s', 'labels': {'app': 'web'},"
            " 'ownerReferences': [{'controller': true, 'kind': 'ReplicaSet', 'name': 'web-1'}]},"
            " 'status': {'phase': '%s', 'conditions': [{'type': 'Ready', 'status': '%s'}]}}",
            name,
            phase,
            ready));
}

TEST(a_budget_says_how_many_pods_may_go)
{
    static const struct {
        const char *limit;
        int64_t expected, desired, allowed;
    } cases[] = {
        { "'minAvailable': 1", 3, 1, 1 },
        { "'minAvailable': 2", 3, 2, 0 },
        { "'minAvailable': '50%'", 4, 2, 0 },
        { "'maxUnavailable': 3", 4, 1, 1 },
        { "'maxUnavailable': '30%'", 4, 2, 0 },
        { "'maxUnavailable': 9", 4, 0, 2 },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct stage s;
        begin(&s, cases[i].limit);
        add_pod(&s, "a", "Running", "True");
        add_pod(&s, "b", "Running", "True");
        add_pod(&s, "c", "Running", "False");
        add_pod(&s, "d", "Failed", "True");
        stage_run(&s, KIND, "b");
        check_int(json_get_int(s.plan.status, "expectedPods", -1), cases[i].expected);
        check_int(json_get_int(s.plan.status, "desiredHealthy", -1), cases[i].desired);
        check_int(json_get_int(s.plan.status, "currentHealthy", -1), 2);
        check_int(json_get_int(s.plan.status, "disruptionsAllowed", -1), cases[i].allowed);
        check_text(stage_condition(&s, "DisruptionAllowed"),
            cases[i].allowed ? "True SufficientPods" : "False InsufficientPods");
    }
}

TEST(a_budget_for_pods_that_are_not_there_allows_nothing)
{
    struct stage s;
    begin(&s, "'maxUnavailable': 1");
    stage_run(&s, KIND, "b");
    check_int(json_get_int(s.plan.status, "expectedPods", -1), 0);
    check_int(json_get_int(s.plan.status, "disruptionsAllowed", -1), 0);
}
