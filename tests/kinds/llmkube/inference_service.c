/* The walk: what ends it, and what stays then. */

#include "tests/kinds/llmkube/service_stage.h"

TEST(a_service_without_its_model_fails_and_keeps_its_children)
{
    struct stage s;
    llmkube_stage_init(&s);
    service_spec(&s, "");
    service_run(&s);
    check_text(service_phase(&s), "Failed");
    check_text(stage_condition(&s, "Degraded"), "True Failed");
    check_text(stage_message(&s, "Degraded"), "Model not found");
    check(s.plan.keep_children);
    check_int(s.plan.child_count, 0);
    check_int(s.plan.outcome, OUTCOME_WAIT);
    check_json(s.plan.status, "{'phase': 'Failed', 'mode': 'chat', 'effectivePriority': 10000}");
}

TEST(a_service_of_one_machine_is_told_which_models_there_are)
{
    struct stage s;
    service_init(&s, "");
    service_spec(&s, "'modelRef': 'bass'");
    service_run(&s);
    check(strstr(s.plan.cause, "Model \"bass\" is not in namespace \"ns\"; create it"));
    llmkube_stage_settings(&s)->one_machine = true;
    service_run(&s);
    check(strstr(s.plan.cause, "is not in namespace \"ns\" (there is base); create it"));
}

TEST(a_service_waits_for_its_model)
{
    struct stage s;
    service_init(&s, "");
    service_set(&s, "Model", "status.phase", "'Downloading'");
    service_run(&s);
    check_text(service_phase(&s), "Pending");
    check_text(stage_condition(&s, "Progressing"), "True Pending");
    check(s.plan.keep_children);
}

TEST(pods_that_serve_are_counted_while_the_model_is_away)
{
    struct stage s;
    service_init(&s, "");
    service_run(&s);
    service_set(&s, "Deployment", "status.readyReplicas", "1");
    service_run(&s);
    check_text(service_phase(&s), "Ready");
    service_set(&s, "Model", "status.phase", "'Pending'");
    service_run(&s);
    check_text(service_phase(&s), "Pending");
    check_int(json_get_int(s.plan.status, "readyReplicas", 0), 1);
    check_text(stage_condition(&s, "Available"), "True InferenceReady");
    check(json_present(json_get(s.plan.status, "endpoint")));
}

TEST(a_service_can_be_stopped_without_its_model)
{
    struct stage s;
    service_init(&s, "");
    service_run(&s);
    struct json before = stage_child(&s, "Deployment");
    service_set(&s, "Model", "status.phase", "'Failed'");
    service_spec(&s, "'suspend': true");
    service_run(&s);
    struct json now = stage_child(&s, "Deployment");
    check_int(json_get_int(now, "spec.replicas", -1), 0);
    check(json_equal(json_get(now, "spec.template"), json_get(before, "spec.template")));
    check_text(stage_condition(&s, "Suspended"), "True Suspended");
    service_spec(&s, "");
    stage_run(&s, &llmkube_inference_service_kind, "svc");
    check(!json_present(stage_child(&s, "Deployment")));
    check(s.plan.keep_children);
}

TEST(a_spec_that_does_not_fit_is_named_with_its_path)
{
    struct stage s;
    service_init(&s, "'replicas': 'two'");
    service_run(&s);
    check_text(service_phase(&s), "Failed");
    check_text(stage_message(&s, "Degraded"), "spec.replicas: expected integer, got string");
    check(s.plan.keep_children);
    service_spec(&s, "'env': {'A': 'b'}");
    service_run(&s);
    check_text(stage_message(&s, "Degraded"), "spec.env: expected list, got object");
}

TEST(a_model_that_cannot_be_read_is_named)
{
    struct stage s;
    service_init(&s, "");
    service_set(&s, "Model", "spec.source", "7");
    service_run(&s);
    check_text(service_phase(&s), "Failed");
    check(strstr(stage_message(&s, "Degraded"), "spec.source"));
}

TEST(a_local_source_outside_the_allowed_roots_is_refused_again)
{
    struct stage s;
    service_init(&s, "");
    service_model(&s, "{'source': 'file:///etc/shadow.gguf'}");
    service_run(&s);
    check_text(service_phase(&s), "Failed");
    check(strstr(stage_message(&s, "Degraded"), "--allowed-host-path-roots"));
}

TEST(a_draft_is_another_model)
{
    struct stage s;
    service_init(&s, "'speculativeDecoding': {'type': 'draft', 'draftModelRef': 'little'}");
    service_run(&s);
    check_text(stage_message(&s, "Degraded"), "Draft model \"little\" not found");
    service_spec(&s, "'speculativeDecoding': {'type': 'none', 'draftModelRef': 'little'}");
    service_run(&s);
    check_text(service_phase(&s), "Creating");
}

TEST(a_draft_file_must_be_among_the_models_files)
{
    struct stage s;
    service_init(&s, "'speculativeDecoding': {'type': 'draft', 'draftModel': 'little.gguf'}");
    service_model(&s, "{'source': 'hf://acme/chat', 'files': ['big.gguf', 'little.gguf']}");
    service_run(&s);
    check_text(service_phase(&s), "Creating");
    struct json args =
        json_get(stage_child(&s, "Deployment"), "spec.template.spec.containers.0.args");
    check(json_list_has(args, "-md"));
    const char *key = source_cache_key(test_arena(), "hf://acme/chat");
    check(json_list_has(args, arena_printf(test_arena(), "/models/%s/little.gguf", key)));
    service_model(&s, "{'source': 'hf://acme/chat', 'files': ['big.gguf']}");
    service_run(&s);
    check_text(service_phase(&s), "Failed");
    check(strstr(stage_message(&s, "Degraded"), "spec.speculativeDecoding.draftModel"));
}

TEST(a_claim_of_the_users_must_be_there)
{
    struct stage s;
    service_init(&s, "'modelCache': {'claimName': 'mine'}");
    service_run(&s);
    check_text(service_phase(&s), "Failed");
    check(stage_has_event(&s, "ModelCachePVCNotFound"));
    stage_add(&s, "{'kind': 'PersistentVolumeClaim', 'metadata': {'name': 'mine'}}");
    service_run(&s);
    check_text(service_phase(&s), "Creating");
    check_text(json_get_text(stage_child(&s, "Deployment"),
                   "spec.template.spec.volumes.0.persistentVolumeClaim.claimName"),
        "mine");
    check(!json_present(stage_child(&s, "PersistentVolumeClaim")));
}

TEST(a_claim_is_made_only_where_a_pod_mounts_it)
{
    static const char *const without[] = {
        "'skipModelInit': true", "'runtime': 'tgi'", "'modelCache': {'persistence': 'Ephemeral'}"
    };
    struct stage s;
    service_init(&s, "");
    service_run(&s);
    check(json_present(stage_child(&s, "PersistentVolumeClaim")));
    for (size_t i = 0; i < lengthof(without); i++) {
        service_init(&s, without[i]);
        service_run(&s);
        check(!json_present(stage_child(&s, "PersistentVolumeClaim")));
    }
    service_init(&s,
        "'runtime': 'llamacpp-router', 'extraVolumes': [{'name': 'models',"
        " 'persistentVolumeClaim': {'claimName': 'llmkube-model-cache'}}]");
    service_run(&s);
    check_text(json_get_text(stage_child(&s, "PersistentVolumeClaim"), "metadata.name"),
        "llmkube-model-cache");
}

TEST(weights_on_a_claim_need_no_cache)
{
    struct stage s;
    service_init(&s, "'modelCache': {'claimName': 'mine'}");
    service_model(&s, "{'source': 'pvc://weights/base.gguf'}");
    service_run(&s);
    check_text(service_phase(&s), "Creating");
    check(!json_present(stage_child(&s, "PersistentVolumeClaim")));
    check(stage_has_event(&s, "ModelCacheClaimIgnored"));
}

TEST(a_shared_claim_may_be_anybodys_and_ones_own_may_not)
{
    struct stage s;
    service_init(&s, "");
    stage_trouble(&s, "PersistentVolumeClaim", TROUBLE_FOREIGN, "somebody else made it");
    service_run(&s);
    check_text(service_phase(&s), "Creating");
    llmkube_stage_settings(&s)->model_cache_mode = CACHE_PER_SERVICE;
    service_run(&s);
    check_text(service_phase(&s), "Failed");
    check_text(
        stage_message(&s, "Degraded"), "Failed to ensure model cache PVC: somebody else made it");
}

TEST(weights_of_one_service_stay_when_it_no_longer_uses_them)
{
    struct stage s;
    service_init(&s, "");
    llmkube_stage_settings(&s)->model_cache_mode = CACHE_PER_SERVICE;
    service_run(&s);
    check_text(json_get_text(stage_child(&s, "PersistentVolumeClaim"), "metadata.name"),
        "svc-model-cache");
    service_spec(&s, "'modelCache': {'persistence': 'Ephemeral'}");
    service_run(&s);
    check(json_present(stage_child(&s, "PersistentVolumeClaim")));
    stage_add(&s, "{'kind': 'PersistentVolumeClaim', 'metadata': {'name': 'mine'}}");
    service_spec(&s, "'modelCache': {'claimName': 'mine'}");
    service_run(&s);
    check(json_present(stage_child(&s, "PersistentVolumeClaim")));
}

TEST(a_child_that_is_refused_fails_the_service_with_the_cause)
{
    struct stage s;
    service_init(&s, "");
    stage_trouble(&s, "Service", TROUBLE_REFUSED, "nodePort: 30123 is already allocated");
    service_run(&s);
    check_text(service_phase(&s), "Failed");
    check_text(stage_message(&s, "Degraded"),
        "Failed to create Service: nodePort: 30123 is already allocated");
    check(json_present(stage_child(&s, "Deployment")));
    check(json_present(stage_child(&s, "Service")));
    check(!s.plan.keep_children);
    check_int(s.plan.outcome, OUTCOME_WAIT);
}

/* The engine names it in a condition of its own, Contested. */
TEST(a_service_whose_child_somebody_else_keeps_changing_serves_on)
{
    struct stage s;
    service_init(&s, "");
    stage_trouble(&s, "Service", TROUBLE_CONTESTED, "argocd keeps setting spec.type");
    service_run(&s);
    check_text(service_phase(&s), "Creating");
}

TEST(advice_goes_out_as_events)
{
    struct stage s;
    service_init(&s, "'moeCPUOffload': true");
    service_run(&s);
    check(stage_has_event(&s, "MissingMemoryRequest"));
    service_spec(&s, "'moeCPUOffload': true, 'resources': {'hostMemory': '64Gi'}");
    service_run(&s);
    check(!stage_has_event(&s, "MissingMemoryRequest"));
    service_spec(&s, "'modelCache': {'persistence': 'Ephemeral'}");
    service_run(&s);
    check(stage_has_event(&s, "UnboundedEphemeralCache"));
    service_model(&s, "{'source': 'acme/chat'}");
    service_run(&s);
    check(stage_has_event(&s, "MissingSkipModelInit"));
    service_spec(&s, "'skipModelInit': true");
    service_run(&s);
    check(!stage_has_event(&s, "MissingSkipModelInit"));
}

TEST(a_finding_turns_true_only_after_it_was_false)
{
    struct stage s;
    service_init(&s, "'runtime': 'vllm'");
    service_run(&s);
    check(!stage_condition(&s, "VLLMSpecValid"));
    service_spec(&s, "'runtime': 'vllm', 'vllmConfig': {'speculative': {'enabled': true}}");
    service_run(&s);
    check_text(stage_condition(&s, "VLLMSpecValid"), "False SpeculativeMissingModel");
    service_spec(&s, "'runtime': 'vllm'");
    service_run(&s);
    check_text(stage_condition(&s, "VLLMSpecValid"), "True ConfigValid");
}

TEST(a_finding_is_about_the_runtime_of_now)
{
    struct stage s;
    static const char bad[] = "'runtime': 'vllm', 'vllmConfig': {'speculative': {'enabled': true}}";
    service_init(&s, bad);
    service_run(&s);
    check_text(stage_condition(&s, "VLLMSpecValid"), "False SpeculativeMissingModel");
    /* It stands while nothing can be said about it. */
    stage_add(&s,
        "{'kind': 'Model', 'metadata': {'name': 'base'}, 'spec': {'source': "
        "'https://weights.test/base.gguf'}, 'status': {'phase': 'Failed'}}");
    service_run(&s);
    check_text(service_phase(&s), "Pending");
    check_text(stage_condition(&s, "VLLMSpecValid"), "False SpeculativeMissingModel");
    service_model(&s, CPU_MODEL);
    service_spec(&s, "'runtime': 'sglang'");
    service_run(&s);
    check(!stage_condition(&s, "VLLMSpecValid") && !stage_condition(&s, "SGLangSpecValid"));
    /* An agent on a Mac takes none of this. */
    service_model(
        &s, "{'source': 'https://weights.test/base.gguf', 'hardware': {'accelerator': 'metal'}}");
    service_spec(&s, bad);
    service_run(&s);
    check(!stage_condition(&s, "VLLMSpecValid"));
}

TEST(long_names_fit_labels_and_services)
{
    static const char name[] = "long.abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghij";
    struct stage s;
    service_init(&s, "");
    stage_add(&s,
        arena_printf(test_arena(),
            "{'kind': 'InferenceService', 'metadata': {'name': '%s'}, 'spec': {'modelRef': "
            "'base'}}",
            name));
    stage_run(&s, &llmkube_inference_service_kind, name);
    struct json deployment = stage_child(&s, "Deployment"), service = stage_child(&s, "Service");
    const char *label = json_text(json_member(
        json_get(deployment, "spec.selector.matchLabels"), "inference.llmkube.dev/service"));
    check_int(strlen(label), 63);
    check_text(json_get_text(deployment, "metadata.name"), label);
    check_text(json_get_text(service, "metadata.name"), label);
    check(!strchr(label, '.'));
}

TEST(dots_in_a_name_become_dashes_in_the_service_only)
{
    struct stage s;
    service_init(&s, "");
    stage_add(&s,
        "{'kind': 'InferenceService', 'metadata': {'name': 'llama.3b'}, 'spec': {'modelRef': "
        "'base'}}");
    stage_run(&s, &llmkube_inference_service_kind, "llama.3b");
    check_text(json_get_text(stage_child(&s, "Deployment"), "metadata.name"), "llama.3b");
    check_text(json_get_text(stage_child(&s, "Service"), "metadata.name"), "llama-3b");
}
