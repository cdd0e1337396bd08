#include "tests/kinds/llmkube/service_stage.h"

#define WAITS "'rolloutPolicy': {'waitForIdle': true, 'idleTimeoutSeconds': 60}"
#define CHANGED "'contextSize': 4096, " WAITS

static bool rolls(const struct stage *s)
{
    return json_list_has(
        json_get(stage_child(s, "Deployment"), "spec.template.spec.containers.0.args"),
        "--ctx-size");
}

/* A service that serves from one pod, with a changed spec. */
static void change(struct stage *s, const char *spec)
{
    service_init(s, WAITS);
    service_run(s);
    service_set(s, "Deployment", "status.readyReplicas", "1");
    stage_add(s,
        "{'kind': 'EndpointSlice', 'metadata': {'name': 'e', 'labels': "
        "{'kubernetes.io/service-name': 'svc'}}, 'endpoints': [{'addresses': ['10.0.0.7'], "
        "'conditions': {'ready': true}}, {'addresses': ['fd00::8'], 'conditions': {'ready': "
        "true}}]}");
    service_run(s);
    check(!stage_has_effect(s, "pods.idle"));
    service_spec(s, spec);
}

static void answer(struct stage *s, const char *result)
{
    stage_fact(s,
        "pods.idle",
        arena_printf(test_arena(), "{'at': %lld, %s}", (long long)s->world.now_ms, result));
}

#define BUSY "'result': {'idle': false, 'reason': 'PodsBusy'}"
#define IDLE "'result': {'idle': true}"

TEST(a_rollout_waits_while_requests_are_served)
{
    struct stage s;
    change(&s, CHANGED);
    service_run(&s);
    check(!rolls(&s)); /* nobody was asked yet */
    check(stage_has_effect(&s, "pods.idle"));
    check_json(
        json_get(s.plan.effects[0].args, "addresses"), "['10.0.0.7:8080', '[fd00::8]:8080']");
    check(!stage_condition(&s, "RolloutDeferred"));
    answer(&s, BUSY);
    service_run(&s);
    check(!rolls(&s));
    check_text(stage_condition(&s, "RolloutDeferred"), "True PodsBusy");
    check_int(s.plan.outcome, OUTCOME_RECHECK);
    check_text(service_phase(&s), "Ready");
    answer(&s, IDLE);
    service_run(&s);
    check(rolls(&s));
    check(!stage_condition(&s, "RolloutDeferred"));
    service_run(&s);
    check(!stage_has_effect(&s, "pods.idle"));
}

TEST(a_rollout_does_not_wait_for_ever)
{
    struct stage s;
    change(&s, CHANGED);
    answer(&s, BUSY);
    service_run(&s);
    /* Time goes on; when the wait began stays in the condition. */
    struct json waiting = { 0 };
    for (size_t i = 0; i < s.world.count; i++)
        if (text_eq(json_get_text(s.world.objects[i], "kind"), "InferenceService"))
            waiting = s.world.objects[i];
    s.world.now_ms += 59000;
    answer(&s, BUSY);
    stage_run(&s, &llmkube_inference_service_kind, "svc");
    check(!rolls(&s));
    stage_add_json(&s, waiting);
    s.world.now_ms += 2000;
    answer(&s, BUSY);
    service_run(&s);
    check(rolls(&s));
    check_text(stage_condition(&s, "RolloutDeferred"), "False IdleTimeoutExceeded");
    service_run(&s);
    check_text(stage_condition(&s, "RolloutDeferred"), "False IdleTimeoutExceeded");
}

TEST(an_answer_that_is_old_does_not_count)
{
    struct stage s;
    change(&s, CHANGED);
    answer(&s, IDLE);
    s.world.now_ms += 60000;
    service_run(&s);
    check(!rolls(&s));
}

TEST(a_check_that_fails_keeps_the_pods)
{
    struct stage s;
    change(&s, CHANGED);
    answer(&s, "'error': {'code': 'Timeout', 'message': 'no answer in 5 s'}");
    service_run(&s);
    check(!rolls(&s));
    check_text(stage_condition(&s, "RolloutDeferred"), "True IdleCheckFailed");
    check(strstr(stage_message(&s, "RolloutDeferred"), "no answer in 5 s"));
}

TEST(force_rolls_at_once)
{
    struct stage s;
    change(&s, "'contextSize': 4096, 'rolloutPolicy': {'waitForIdle': true, 'force': true}");
    service_run(&s);
    check(rolls(&s));
    check(!stage_has_effect(&s, "pods.idle"));
}

TEST(a_service_that_is_stopped_waits_for_nobody)
{
    struct stage s;
    change(&s, "'replicas': 0, " CHANGED);
    service_run(&s);
    check(rolls(&s));
    check(!stage_has_effect(&s, "pods.idle"));
    check_json(json_get(stage_child(&s, "Deployment"), "spec.replicas"), "0");
}

TEST(pods_that_serve_nothing_are_not_waited_for)
{
    struct stage s;
    change(&s, CHANGED);
    service_set(&s,
        "EndpointSlice",
        "endpoints",
        "[{'addresses': ['10.0.0.7'], 'conditions': {'ready': false}}]");
    service_run(&s);
    check(rolls(&s));
}

TEST(pods_that_crash_beside_busy_ones_are_told)
{
    struct stage s;
    change(&s, CHANGED);
    service_set(&s,
        "EndpointSlice",
        "endpoints",
        "[{'addresses': ['10.0.0.7'], 'conditions': {'ready': true}}, {'addresses': ['10.0.0.8'], "
        "'conditions': {'ready': false, 'serving': false}}]");
    answer(&s, BUSY);
    service_run(&s);
    check_text(stage_condition(&s, "RolloutDeferred"), "True PodsCrashLooping");
    check_json(json_get(s.plan.effects[0].args, "addresses"), "['10.0.0.7:8080']");
}

TEST(a_runtime_that_cannot_be_asked_waits_for_the_timeout)
{
    struct stage s;
    service_init(&s, "'runtime': 'personaplex', 'image': 'a', " WAITS);
    service_run(&s);
    stage_add(&s,
        "{'kind': 'EndpointSlice', 'metadata': {'name': 'e', 'labels': "
        "{'kubernetes.io/service-name': 'svc'}}, 'endpoints': [{'addresses': ['10.0.0.7']}]}");
    service_spec(&s, "'runtime': 'personaplex', 'image': 'b', " WAITS);
    service_run(&s);
    check_text(stage_condition(&s, "RolloutDeferred"), "True IdleCheckUnsupported");
}

TEST(a_change_that_is_taken_back_is_no_longer_deferred)
{
    struct stage s;
    change(&s, CHANGED);
    answer(&s, BUSY);
    service_run(&s);
    service_spec(&s, WAITS);
    service_run(&s);
    check(!stage_condition(&s, "RolloutDeferred"));
    check(!stage_has_effect(&s, "pods.idle"));
}

TEST(the_same_in_the_api_servers_words_is_no_change)
{
    struct stage s;
    static const char volumes[] =
        WAITS ", 'extraVolumes': [{'name': 'v', 'emptyDir': {'sizeLimit': '1024Mi'}}], 'env': "
              "[{'name': 'A', 'valueFrom': {'fieldRef': {'fieldPath': 'spec.nodeName'}}}]";
    service_init(&s, volumes);
    service_run(&s);
    struct json stored = json_with(test_arena(),
        stage_child(&s, "Deployment"),
        "spec.template.spec.volumes",
        test_json("[{'name': 'model-cache', 'persistentVolumeClaim': {'claimName': "
                  "'llmkube-model-cache'}}, {'name': 'v', 'emptyDir': {'sizeLimit': '1Gi'}}]"));
    struct json container = json_get(stored, "spec.template.spec.containers.0");
    container = json_with(test_arena(),
        container,
        "env",
        test_json("[{'name': 'A', 'valueFrom': {'fieldRef': {'apiVersion': 'v1', 'fieldPath': "
                  "'spec.nodeName'}}}]"));
    stored = json_with(
        test_arena(), stored, "spec.template.spec.containers", json_list(test_arena(), container));
    stage_owned(&s, "Deployment", "svc", stored);
    stage_add(&s,
        "{'kind': 'EndpointSlice', 'metadata': {'name': 'e', 'labels': "
        "{'kubernetes.io/service-name': 'svc'}}, 'endpoints': [{'addresses': ['10.0.0.7']}]}");
    stage_run(&s, &llmkube_inference_service_kind, "svc");
    check(!stage_has_effect(&s, "pods.idle"));
}

/* ---- program texts ---- */

static struct json with_program(struct json deployment, const char *text)
{
    struct json init = json_get(deployment, "spec.template.spec.initContainers");
    struct json_builder b;
    json_builder_init(&b, test_arena());
    json_each (container, init)
        json_push(&b,
            json_with(test_arena(),
                *container,
                "command",
                json_list(test_arena(), json_str("sh"), json_str("-c"), json_str(text))));
    return json_with(
        test_arena(), deployment, "spec.template.spec.initContainers", json_list_end(&b));
}

static const char *program(const struct stage *s)
{
    return json_get_text(
        stage_child(s, "Deployment"), "spec.template.spec.initContainers.0.command.2");
}

TEST(a_program_text_alone_restarts_no_pod)
{
    struct stage s;
    service_init(&s, "");
    service_run(&s);
    const char *ours = program(&s);
    /* As upstream's operator left it: its text, and the API server's defaults among its fields. */
    struct json upstream = json_with(test_arena(),
        with_program(stage_child(&s, "Deployment"), "echo upstream"),
        "spec.template.spec.dnsPolicy",
        json_str("ClusterFirst"));
    stage_owned(&s, "Deployment", "svc", upstream);
    stage_run(&s, &llmkube_inference_service_kind, "svc");
    check_text(program(&s), "echo upstream");
    check(!json_present(json_get(stage_child(&s, "Deployment"), "spec.template.spec.dnsPolicy")));
    /* It stays when the fields are ours. */
    service_run(&s);
    service_run(&s);
    check_text(program(&s), "echo upstream");
    /* A real change brings our text along. */
    service_spec(&s, "'contextSize': 4096");
    service_run(&s);
    check_text(program(&s), ours);
}

static const char *downloader(const struct stage *s)
{
    return json_get_text(
        stage_child(s, "Deployment"), "spec.template.spec.initContainers.1.command.2");
}

/* Pods that failed for the digest that the Model had would fail for ever. */
TEST(a_digest_or_policy_that_changes_replaces_pods)
{
    static const char *const specs[] = {
        "{'source': 'https://weights.test/base.gguf'}",
        "{'source': 'https://weights.test/base.gguf', 'sha256': "
        "'abababababababababababababababababababababababababababababababab'}",
        "{'source': 'https://weights.test/base.gguf', 'sha256': "
        "'cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd'}",
        "{'source': 'https://weights.test/base.gguf', 'refreshPolicy': 'OnChange'}",
    };
    struct stage s;
    const char *before = "";
    service_init(&s, "");
    for (size_t i = 0; i < lengthof(specs); i++) {
        service_model(&s, specs[i]);
        service_run(&s);
        check(!text_eq(downloader(&s), before));
        before = downloader(&s);
        service_run(&s);
        check_text(downloader(&s), before);
    }
}

/* ---- pods that are too old ---- */

static void age(struct stage *s, const char *spec)
{
    service_init(s, spec);
    service_run(s);
    service_set(s,
        "Deployment",
        "status",
        "{'replicas': 2, 'readyReplicas': 2, 'updatedReplicas': 2, 'observedGeneration': 1}");
    service_set(s, "Deployment", "spec.replicas", "2");
    for (int i = 0; i < 2; i++)
        stage_add(s,
            arena_printf(test_arena(),
                "{'kind': 'Pod', 'metadata': {'name': 'p%d', 'labels': {'app': 'svc', "
                "'inference.llmkube.dev/service': 'svc'}}, 'status': {'podIP': '10.0.0.%d', "
                "'startTime': '2026-11-15T15:0%d:00Z'}}",
                i,
                i,
                5 - i));
}

#define OLD "'replicas': 2, 'maxPodLifetimeSeconds': 3600"

TEST(the_oldest_pod_that_outlived_its_time_is_ended)
{
    struct stage s;
    age(&s, OLD);
    stage_run(&s, &llmkube_inference_service_kind, "svc");
    check_text(s.plan.eviction.pod, "p1");
    check_text(s.plan.eviction.uid, "Pod/p1");
    check(stage_has_event(&s, "PodRecycled"));
    check_int(s.plan.after_ms, 30000);
}

TEST(a_pod_that_is_young_is_looked_at_when_its_time_comes)
{
    struct stage s;
    age(&s, "'replicas': 2, 'maxPodLifetimeSeconds': 7200");
    stage_run(&s, &llmkube_inference_service_kind, "svc");
    check(!s.plan.eviction.pod);
    check_int(s.plan.outcome, OUTCOME_RECHECK);
    check_int(s.plan.after_ms, 4 * 60 * 1000); /* started 15:04, it is 17:00 */
}

TEST(no_pod_is_ended_while_another_is_not_ready)
{
    struct stage s;
    age(&s, OLD);
    service_set(&s, "Deployment", "status.readyReplicas", "1");
    stage_run(&s, &llmkube_inference_service_kind, "svc");
    check(!s.plan.eviction.pod);
    age(&s, OLD);
    for (size_t i = 0; i < s.world.count; i++)
        if (text_eq(json_get_text(s.world.objects[i], "metadata.name"), "p0"))
            s.world.objects[i] = json_with(test_arena(),
                s.world.objects[i],
                "metadata.deletionTimestamp",
                json_str("2026-11-15T16:59:59Z"));
    stage_run(&s, &llmkube_inference_service_kind, "svc");
    check(!s.plan.eviction.pod);
}

TEST(a_pod_that_is_busy_may_finish_for_a_while)
{
    struct stage s;
    age(&s,
        OLD ", 'maxPodLifetimeIdleTimeoutSeconds': 7200, 'rolloutPolicy': {'waitForIdle': true}");
    answer(&s, BUSY);
    stage_run(&s, &llmkube_inference_service_kind, "svc");
    check(!s.plan.eviction.pod);
    check_json(json_get(s.plan.effects[0].args, "addresses"), "['10.0.0.1:8080']");
    answer(&s, IDLE);
    stage_run(&s, &llmkube_inference_service_kind, "svc");
    check_text(s.plan.eviction.pod, "p1");
    s.world.now_ms += 2 * 3600 * 1000;
    answer(&s, BUSY);
    stage_run(&s, &llmkube_inference_service_kind, "svc");
    check_text(s.plan.eviction.pod, "p1");
}

TEST(an_eviction_that_is_forbidden_is_told)
{
    struct stage s;
    age(&s, OLD);
    stage_trouble(&s, "Pod", TROUBLE_REFUSED, "pods/eviction is forbidden");
    stage_run(&s, &llmkube_inference_service_kind, "svc");
    check(stage_has_event(&s, "PodRecycleForbidden"));
    check_text(stage_condition(&s, "PodsRecycled"), "False PodRecycleForbidden");
}
