/* The pod template. That every template is upstream's is what golden.c shows; here are the rules
 * that no recording has. */

#include "tests/kinds/llmkube/service_stage.h"

static struct json pod(const struct stage *s)
{
    return json_get(stage_child(s, "Deployment"), "spec.template.spec");
}

static struct json annotation(const struct stage *s, const char *key)
{
    return json_member(
        json_get(stage_child(s, "Deployment"), "spec.template.metadata.annotations"), key);
}

TEST(quantities_that_are_none_fail_with_their_path)
{
    static const char *const fields[] = { "cpu", "memory", "hostMemory", "ephemeralStorage" };
    struct stage s;
    for (size_t i = 0; i < lengthof(fields); i++) {
        service_init(&s, arena_printf(test_arena(), "'resources': {'%s': '4 GB'}", fields[i]));
        service_run(&s);
        check_text(service_phase(&s), "Failed");
        check(strstr(stage_message(&s, "Degraded"),
            arena_printf(test_arena(), "spec.resources.%s: \"4 GB\"", fields[i])));
        check(!json_present(stage_child(&s, "Deployment")));
        check(s.plan.keep_children);
    }
}

TEST(host_memory_wins_and_quantities_are_canonical)
{
    struct stage s;
    service_init(&s,
        "'resources': {'cpu': '1.5', 'memory': '1Gi', 'hostMemory': '65536Mi', "
        "'ephemeralStorage': '10240Mi'}");
    service_run(&s);
    check_json(json_get(pod(&s), "containers.0.resources"),
        "{'requests': {'cpu': '1500m', 'memory': '64Gi', 'ephemeral-storage': '10Gi'}, "
        "'limits': {'ephemeral-storage': '10Gi'}}");
}

TEST(protection_is_given_at_the_start_and_stays)
{
    struct stage s;
    static const char key[] = "karpenter.sh/do-not-disrupt";
    service_init(&s, "");
    service_run(&s);
    check_text(json_text(annotation(&s, key)), "true");
    service_set(&s, "Deployment", "status.readyReplicas", "1");
    service_run(&s);
    check_text(json_text(annotation(&s, key)), "true");
    service_spec(&s, "'disruption': {'protectStartup': false}");
    service_run(&s);
    check_text(json_text(annotation(&s, key)), "true");
}

TEST(protection_does_not_restart_pods_that_serve_without_it)
{
    struct stage s;
    static const char key[] = "karpenter.sh/do-not-disrupt";
    service_init(&s, "'disruption': {'protectStartup': false}");
    service_run(&s);
    check(!json_present(annotation(&s, key)));
    service_set(&s, "Deployment", "status.readyReplicas", "1");
    service_spec(&s, "");
    service_run(&s);
    check(!json_present(annotation(&s, key)));
    service_spec(&s, "'disruption': {'protectAlways': true}");
    service_run(&s);
    check_text(json_text(annotation(&s, key)), "true");
}

TEST(the_users_annotations_win_and_our_labels_do)
{
    struct stage s;
    service_init(&s,
        "'podAnnotations': {'prometheus.io/port': '1'}, 'podLabels': {'app': 'mine', 'team': "
        "'a'}");
    llmkube_stage_settings(&s)->emit_scrape_annotations = true;
    service_run(&s);
    check_text(json_text(annotation(&s, "prometheus.io/port")), "1");
    check_text(json_text(annotation(&s, "prometheus.io/path")), "/metrics");
    struct json labels = json_get(stage_child(&s, "Deployment"), "spec.template.metadata.labels");
    check_text(json_get_text(labels, "app"), "svc");
    check_text(json_get_text(labels, "team"), "a");
}

TEST(what_the_user_takes_out_goes_away)
{
    struct stage s;
    service_init(&s, "'podAnnotations': {'a': '1', 'b': '2'}");
    service_run(&s);
    service_spec(&s, "'podAnnotations': {'b': '2'}");
    service_run(&s);
    check(!json_present(annotation(&s, "a")));
    check_text(json_text(annotation(&s, "b")), "2");
}

TEST(a_variable_that_stands_twice_is_written_once)
{
    struct stage s;
    service_init(&s,
        "'env': [{'name': 'A', 'value': '1'}, {'name': 'B', 'value': '2'}, {'name': 'A', 'value': "
        "'3'}]");
    service_run(&s);
    check_json(json_get(pod(&s), "containers.0.env"),
        "[{'name': 'B', 'value': '2'}, {'name': 'A', 'value': '3'}]");
}

TEST(hostile_text_stays_one_argument)
{
    struct stage s;
    service_init(&s, "'extraArgs': ['--alias', '$(rm -rf /); `id` \\\"x\\ny']");
    service_run(&s);
    struct json args = json_get(pod(&s), "containers.0.args");
    check(json_list_has(args, "$(rm -rf /); `id` \"x\ny"));
    check(!json_present(json_get(pod(&s), "containers.0.command")));
}

TEST(ten_thousand_variables_are_only_many)
{
    struct stage s;
    struct json_builder b;
    json_builder_init(&b, test_arena());
    for (int i = 0; i < 10000; i++)
        json_push(&b,
            json_fields(test_arena(),
                { "name", json_strf(test_arena(), "V%d", i % 9000) },
                { "value", json_strf(test_arena(), "%d", i) }));
    service_init(&s, "");
    for (size_t i = 0; i < s.world.count; i++)
        if (text_eq(json_get_text(s.world.objects[i], "kind"), "InferenceService"))
            s.world.objects[i] =
                json_with(test_arena(), s.world.objects[i], "spec.env", json_list_end(&b));
    service_run(&s);
    struct json env = json_get(pod(&s), "containers.0.env");
    check_int(env.count, 9000);
    check_text(json_get_text(json_find(env, "name", "V0"), "value"), "9000");
}

TEST(a_pod_that_may_not_be_root_prepares_no_cache)
{
    struct stage s;
    service_init(&s, "'podSecurityContext': {'runAsNonRoot': true, 'fsGroup': 2000}");
    service_run(&s);
    struct json init = json_get(pod(&s), "initContainers");
    check_int(init.count, 1);
    check_text(json_get_text(init, "0.name"), "model-downloader");
    service_spec(&s, "'podSecurityContext': {'fsGroup': 2000}");
    service_run(&s);
    check_int(json_get(pod(&s), "initContainers").count, 2);
}

TEST(a_gpu_is_never_shared_by_two_pods_of_a_rollout)
{
    struct stage s;
    service_init(&s, "");
    service_run(&s);
    check_json(json_get(stage_child(&s, "Deployment"), "spec.strategy"),
        "{'type': 'RollingUpdate', 'rollingUpdate': {'maxSurge': '25%', 'maxUnavailable': "
        "'25%'}}");
    service_model(&s, GPU_MODEL);
    service_run(&s);
    check_json(json_get(stage_child(&s, "Deployment"), "spec.strategy"), "{'type': 'Recreate'}");
}

#define CLAIMING_MODEL                                                                             \
    "{'source': 'https://weights.test/base.gguf', 'hardware': {'accelerator': 'cuda', 'gpu': "     \
    "{'enabled': true, 'resourceClaims': [{'name': 'dev', 'resourceClaimTemplateName': "           \
    "'one-gpu'}]}}}"

TEST(claims_for_devices_need_no_count)
{
    struct stage s;
    service_init(&s, "'tolerations': [{'key': 'x'}]");
    service_model(&s, CLAIMING_MODEL);
    service_run(&s);
    check_json(json_get(pod(&s), "resourceClaims"),
        "[{'name': 'dev', 'resourceClaimTemplateName': 'one-gpu'}]");
    check_json(json_get(pod(&s), "containers.0.resources"), "{'claims': [{'name': 'dev'}]}");
    check_json(json_get(pod(&s), "tolerations"), "[{'key': 'x'}]");
    check_json(json_get(stage_child(&s, "Deployment"), "spec.strategy"), "{'type': 'Recreate'}");
}

TEST(claims_and_a_count_give_both)
{
    struct stage s;
    service_init(&s, "'resources': {'gpu': 2}");
    service_model(&s, CLAIMING_MODEL);
    service_run(&s);
    check_json(json_get(pod(&s), "containers.0.resources"),
        "{'claims': [{'name': 'dev'}], 'limits': {'nvidia.com/gpu': '2'}}");
    check_text(json_get_text(pod(&s), "tolerations.0.key"), "nvidia.com/gpu");
    service_spec(&s, "'resources': {'gpu': 2}, 'tolerations': [{'key': 'x'}]");
    service_run(&s);
    check_json(json_get(pod(&s), "tolerations"), "[{'key': 'x'}]");
}

/* As OpenShift's users write it, whose groups come from elsewhere. */
TEST(an_empty_block_takes_the_place_of_ours)
{
    struct stage s;
    service_init(&s, "'podSecurityContext': {}, 'securityContext': {}, 'affinity': {}");
    service_run(&s);
    check_json(json_get(pod(&s), "securityContext"), "{}");
    check_json(json_get(pod(&s), "containers.0.securityContext"), "{}");
    check_json(json_get(pod(&s), "affinity"), "{}");
    service_run(&s);
    check_json(json_get(pod(&s), "containers.0.securityContext"), "{}");
    /* One that was emptied, and so went. */
    stage_owned(&s,
        "Deployment",
        "svc",
        test_json("{'spec': {'template': {'spec': {'containers': [{'name': 'llama-server'}]}}}}"));
    service_run(&s);
    check(!json_present(json_get(pod(&s), "containers.0.securityContext")));
}

TEST(the_render_group_goes_with_the_resource_not_with_the_count)
{
    struct stage s;
    service_init(&s, "");
    llmkube_stage_flags(&s, "--dri-render-gid=992");
    service_model(&s,
        "{'source': 'https://weights.test/base.gguf', 'hardware': {'accelerator': 'vulkan', 'gpu': "
        "{'enabled': true, 'vendor': 'amd', 'runtime': 'vulkan'}}}");
    service_run(&s);
    check_json(json_get(pod(&s), "securityContext.supplementalGroups"), "[992]");
    service_model(&s, GPU_MODEL);
    service_run(&s);
    check(!json_present(json_get(pod(&s), "securityContext.supplementalGroups")));
}

TEST(volumes_and_mounts_that_are_taken_fail_with_their_path)
{
    static const char *const rows[][2] = {
        { "'extraVolumes': [{'name': 'v', 'emptyDir': {}}, {'name': 'model-cache', 'emptyDir': "
          "{}}]",
            "spec.extraVolumes.1.name: \"model-cache\" is taken" },
        { "'extraVolumes': [{'name': 'v'}, {'name': 'v'}]",
            "spec.extraVolumes.1.name: \"v\" is taken" },
        { "'extraVolumeMounts': [{'name': 'v', 'mountPath': '/models'}]",
            "spec.extraVolumeMounts.0.mountPath: \"/models\" is taken" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct stage s;
        service_init(&s, rows[i][0]);
        service_run(&s);
        check_text(service_phase(&s), "Failed");
        check(text_starts(stage_message(&s, "Degraded"), rows[i][1]));
        check(!json_present(stage_child(&s, "Deployment")));
    }
    struct stage s;
    service_init(&s,
        "'skipModelInit': true, 'extraVolumes': [{'name': 'model-cache', 'emptyDir': {}}],"
        " 'extraVolumeMounts': [{'name': 'model-cache', 'mountPath': '/models'}]");
    service_run(&s);
    check_text(service_phase(&s), "Creating");
}

TEST(a_runtime_without_an_image_needs_one)
{
    struct stage s;
    service_init(&s, "'runtime': 'generic'");
    service_run(&s);
    check_text(service_phase(&s), "Failed");
    check(strstr(stage_message(&s, "Degraded"), "spec.image: required"));
}

TEST(a_selector_cannot_be_changed_in_place)
{
    struct stage s;
    service_init(&s, "");
    service_run(&s);
    for (size_t i = 0; i < s.plan.child_count; i++) {
        bool fixed = s.plan.children[i].fixed != NULL;
        check(fixed == text_eq(s.plan.children[i].resource->kind, "Deployment"));
        if (fixed)
            check_text(s.plan.children[i].fixed[0], "spec.selector");
    }
}
