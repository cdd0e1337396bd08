#include "kinds/llmkube/lora_adapter.h"

#include "tests/kinds/llmkube/llmkube_stage.h"
#include "tests/test.h"

static void init(struct stage *s, const char *runtime)
{
    llmkube_stage_init(s);
    stage_add(s,
        arena_printf(test_arena(),
            "{'kind': 'InferenceService', 'metadata': {'name': 'svc'}, 'spec': {'runtime': '%s'}}",
            runtime));
}

static void add_adapter(struct stage *s, const char *metadata, const char *status)
{
    stage_add(s,
        arena_printf(test_arena(),
            "{'kind': 'LoRAAdapter', 'metadata': {'name': 'a'%s}, 'spec': {'inferenceServiceRef': "
            "{'name': 'svc'}, 'name': 'zeta', 'path': '/lora/z'}, 'status': {%s}}",
            metadata,
            status));
}

static void add_pod(struct stage *s, const char *name, int starts)
{
    stage_add(s,
        arena_printf(test_arena(),
            "{'kind': 'Pod', 'metadata': {'name': '%s', 'labels': {'inference.llmkube.dev/service':"
            " 'svc'}}, 'status': {'podIP': '10.0.0.1', 'conditions': [{'type': 'Ready', 'status': "
            "'True'}], 'containerStatuses': [{'restartCount': %d}]}}",
            name,
            starts));
}

static struct json asked(const struct stage *s)
{
    return json_if(s->plan.effect_count, s->plan.effects[0].args);
}

TEST(an_adapter_needs_a_server_of_sglang)
{
    struct stage s;
    init(&s, "vllm");
    add_adapter(&s, "", "");
    stage_run(&s, &llmkube_lora_adapter_kind, "a");
    check_text(stage_condition(&s, "Available"), "False RuntimeMismatch");
    check_text(stage_condition(&s, "Error"), "True RuntimeMismatch");
    file_view_remove(&s.world, &LLMKUBE_INFERENCE_SERVICE, "ns", "svc");
    stage_run(&s, &llmkube_lora_adapter_kind, "a");
    check_text(stage_condition(&s, "Loaded"), "False InferenceServiceNotFound");
}

TEST(an_adapter_is_loaded_into_each_pod_and_again_when_it_restarts)
{
    struct stage s;
    init(&s, "sglang");
    add_adapter(&s, "", "");
    stage_run(&s, &llmkube_lora_adapter_kind, "a");
    check_text(stage_condition(&s, "Loaded"), "False LoadUnsuccessful");
    check(!s.plan.effect_count);
    add_pod(&s, "p", 0);
    stage_run(&s, &llmkube_lora_adapter_kind, "a");
    check_text(json_get_text(asked(&s), "address"), "10.0.0.1:30000");
    check_text(json_get_text(asked(&s), "path"), "/load_lora_adapter");
    check_json(json_get(asked(&s), "body"), "{'lora_name': 'zeta', 'lora_path': '/lora/z'}");
    struct json first = asked(&s);
    stage_fact(&s, "lora.call", "{'error': {'code': 'Invalid', 'message': 'no such file'}}");
    stage_run(&s, &llmkube_lora_adapter_kind, "a");
    check_text(stage_condition(&s, "Loaded"), "False LoadUnsuccessful");
    check_text(stage_message(&s, "Error"), "no such file");
    stage_fact(&s, "lora.call", "{'result': {'already': false}}");
    stage_run(&s, &llmkube_lora_adapter_kind, "a");
    check_text(stage_condition(&s, "Loaded"), "True ReconcileSuccess");
    check_text(json_get_text(s.plan.status, "loadedPath"), "/lora/z");
    check_int(s.plan.effects[0].every_ms, 0);
    add_pod(&s, "p", 1);
    stage_run(&s, &llmkube_lora_adapter_kind, "a");
    check(!json_equal(first, asked(&s)));
}

TEST(an_adapter_of_another_path_is_unloaded_first)
{
    struct stage s;
    init(&s, "sglang");
    add_adapter(&s, "", "'loadedPath': '/lora/old'");
    add_pod(&s, "p", 0);
    stage_run(&s, &llmkube_lora_adapter_kind, "a");
    check_int((int64_t)s.plan.effect_count, 1);
    check_text(json_get_text(asked(&s), "path"), "/unload_lora_adapter");
}

TEST(a_deleted_adapter_stays_until_it_is_unloaded_or_that_failed)
{
    struct stage s;
    init(&s, "sglang");
    add_adapter(&s, ", 'deletionTimestamp': '2026-01-01T00:00:00Z'", "'loadedPath': '/lora/z'");
    stage_run(&s, &llmkube_lora_adapter_kind, "a");
    check(!s.plan.stay);
    add_pod(&s, "p", 0);
    stage_run(&s, &llmkube_lora_adapter_kind, "a");
    check(s.plan.stay);
    check_text(json_get_text(asked(&s), "path"), "/unload_lora_adapter");
    stage_fact(&s, "lora.call", "{'error': {'code': 'Timeout', 'message': 'no answer'}}");
    stage_run(&s, &llmkube_lora_adapter_kind, "a");
    check(!s.plan.stay);
}
