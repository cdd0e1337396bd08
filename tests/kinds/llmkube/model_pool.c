#include "kinds/llmkube/model_pool.h"

#include "kinds/llmkube/source.h"
#include "tests/kinds/llmkube/llmkube_stage.h"
#include "tests/test.h"

#define SOURCE "https://weights.test/m.gguf"
#define MEMBERS                                                                                    \
    "'members': [{'inferenceServiceRef': {'name': 'judge'}}, {'inferenceServiceRef': {'name': "    \
    "'coder'}}]"

static void add_member(struct stage *s, const char *name, int replicas, const char *phase)
{
    stage_add(s,
        arena_printf(test_arena(),
            "{'kind': 'InferenceService', 'metadata': {'name': '%s'}, 'spec': {'modelRef': 'base', "
            "'replicas': %d}, 'status': {'phase': '%s'}}",
            name,
            replicas,
            phase));
}

static void add_pool(struct stage *s, const char *status)
{
    stage_add(s,
        arena_printf(test_arena(),
            "{'kind': 'ModelPool', 'metadata': {'name': 'p', 'generation': 1}, 'spec': {" MEMBERS
            ", 'default': 'judge'}, 'status': {%s}}",
            status));
}

static void init(struct stage *s)
{
    llmkube_stage_init(s);
    stage_add(s,
        arena_printf(test_arena(),
            "{'kind': 'Model', 'metadata': {'name': 'base'}, 'spec': {'source': '" SOURCE "'},"
            "'status': {'phase': 'Ready', 'cacheKey': '%s'}}",
            source_cache_key(test_arena(), SOURCE)));
}

/* "PHASE resident pending" of a pass. */
static const char *decided(struct stage *s)
{
    stage_run(s, &llmkube_model_pool_kind, "p");
    const char *resident = json_get_text(s->plan.status, "residentMember");
    const char *pending = json_get_text(s->plan.status, "pendingMember");
    return arena_printf(test_arena(),
        "%s %s %s",
        json_get_text(s->plan.status, "phase"),
        resident ? resident : "-",
        pending ? pending : "-");
}

TEST(the_slot_goes_to_who_is_asked_for)
{
    static const struct {
        int judge, coder;
        const char *judge_phase, *coder_phase, *status, *decided;
    } rows[] = {
        { 0, 0, "Stopped", "Stopped", "", "Swapping - judge" },
        { 1, 1, "Creating", "Creating", "", "Swapping - judge" },
        { 0, 1, "Stopped", "Creating", "", "Swapping - coder" },
        { 1, 0, "Ready", "Stopped", "'pendingMember': 'judge'", "Ready judge -" },
        { 1, 0, "Ready", "Stopped", "'residentMember': 'judge'", "Ready judge -" },
        { 1, 1, "Ready", "Creating", "'residentMember': 'judge'", "Swapping judge coder" },
        { 1,
            0,
            "Ready",
            "Stopped",
            "'residentMember': 'judge', 'pendingMember': 'coder'",
            "Swapping judge coder" },
        { 0,
            0,
            "Stopped",
            "Stopped",
            "'residentMember': 'judge', 'pendingMember': 'coder'",
            "Swapping - coder" },
        { 0, 1, "Stopped", "Ready", "'pendingMember': 'coder'", "Ready coder -" },
        { 1, 0, "Creating", "Stopped", "'residentMember': 'judge'", "Swapping judge -" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct stage s;
        init(&s);
        add_member(&s, "judge", rows[i].judge, rows[i].judge_phase);
        add_member(&s, "coder", rows[i].coder, rows[i].coder_phase);
        add_pool(&s, rows[i].status);
        const char *got = decided(&s);
        if (!text_eq(got, rows[i].decided))
            test_fail(__FILE__, __LINE__, "row %zu: %s instead of %s", i, got, rows[i].decided);
    }
}

TEST(a_pool_that_cannot_work_scales_nobody)
{
    struct stage s;
    init(&s);
    add_member(&s, "judge", 1, "Ready");
    add_pool(&s, "'residentMember': 'judge'");
    check_text(decided(&s), "Degraded judge -");
    check_text(stage_condition(&s, "MembersValid"), "False MissingMembers");
    add_member(&s, "coder", 0, "Stopped");
    stage_edit(&s, &LLMKUBE_MODEL_POOL, "p", "spec.swapBudget", "'soon'");
    check_text(decided(&s), "Degraded judge -");
    check_text(stage_condition(&s, "MembersValid"), "False InvalidSwapBudget");
}

/* What a member does about its replicas: 'n' for nothing, else the number. */
static char follows(struct stage *s, const char *name)
{
    stage_run(s, &llmkube_inference_service_kind, name);
    struct json replicas = json_get(s->plan.amendment, "spec.replicas");
    return json_present(replicas) ? (char)('0' + replicas.integer) : 'n';
}

#define SLICE                                                                                      \
    "{'kind': 'EndpointSlice', 'metadata': {'name': 'judge-x', 'labels': "                         \
    "{'kubernetes.io/service-name': 'judge'}}, 'endpoints': [{'addresses': ['10.0.0.1'], "         \
    "'conditions': {'ready': true}}]}"

TEST(a_busy_member_keeps_the_slot_and_an_idle_one_gives_it_away)
{
    struct stage s;
    init(&s);
    add_member(&s, "judge", 1, "Ready");
    add_member(&s, "coder", 1, "Creating");
    add_pool(&s, "'phase': 'Swapping', 'residentMember': 'judge', 'pendingMember': 'coder'");
    stage_add(&s, SLICE);
    check_int(follows(&s, "coder"), '0');
    check_int(follows(&s, "judge"), 'n');
    check(stage_has_effect(&s, "pods.idle"));
    stage_fact(&s, "pods.idle", "{'result': {'idle': false, 'reason': 'PodsBusy'}}");
    check_int(follows(&s, "judge"), 'n');
    check_text(stage_condition(&s, "SwapDeferred"), "True PodsBusy");
    stage_apply_status(&s, &llmkube_inference_service_kind, "judge");
    stage_run(&s, &llmkube_model_pool_kind, "p");
    check_text(stage_condition(&s, "SwapDeferred"), "True PodsBusy");
    check_text(stage_condition(&s, "SlotAllocated"), "True Resident");
    stage_fact(&s, "pods.idle", "{'result': {'idle': true}}");
    check_int(follows(&s, "judge"), '0');
    check_text(stage_condition(&s, "SwapDeferred"), NULL);
}

TEST(the_owner_starts_when_the_last_pod_of_the_others_is_gone)
{
    struct stage s;
    init(&s);
    add_member(&s, "judge", 0, "Stopped");
    add_member(&s, "coder", 0, "Stopped");
    add_pool(&s, "'phase': 'Swapping', 'pendingMember': 'coder'");
    stage_add(&s,
        "{'kind': 'Pod', 'metadata': {'name': 'j', 'labels': {'inference.llmkube.dev/service': "
        "'judge'}}}");
    check_int(follows(&s, "coder"), 'n');
    file_view_remove(&s.world, &RESOURCE_POD, "ns", "j");
    check_int(follows(&s, "coder"), '1');
    check_int(json_get_int(stage_child(&s, "Deployment"), "spec.replicas", 0), 1);
    check_int(follows(&s, "judge"), 'n');
}

TEST(a_member_that_serves_is_not_cut_off_by_a_request_for_another)
{
    struct stage s;
    init(&s);
    add_member(&s, "judge", 1, "Ready");
    add_member(&s, "coder", 1, "Stopped");
    add_pool(&s, "'phase': 'Ready', 'residentMember': 'judge'");
    check_int(follows(&s, "judge"), 'n');
    check_int(json_get_int(stage_child(&s, "Deployment"), "spec.replicas", 0), 1);
}

TEST(a_member_that_waits_for_its_slot_does_not_say_that_somebody_stopped_it)
{
    struct stage s;
    init(&s);
    add_member(&s, "judge", 1, "Creating");
    add_member(&s, "coder", 1, "Creating");
    add_pool(&s, "'phase': 'Swapping', 'pendingMember': 'coder'");
    check_int(follows(&s, "coder"), 'n');
    check_text(json_get_text(s.plan.status, "phase"), "Stopped");
    check_text(stage_condition(&s, "Available"), NULL);
}
