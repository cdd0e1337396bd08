#include "tests/kinds/llmkube/service_stage.h"

static void add_pod(struct stage *s, const char *name, const char *status)
{
    stage_add(s,
        arena_printf(test_arena(),
            "{'kind': 'Pod', 'metadata': {'name': '%s', 'labels': {'app': 'svc', "
            "'inference.llmkube.dev/service': 'svc'}}, 'spec': {'nodeName': 'node-1'}, 'status': "
            "%s}",
            name,
            status));
}

static void unscheduled(struct stage *s, const char *message)
{
    add_pod(s,
        "p",
        arena_printf(test_arena(),
            "{'phase': 'Pending', 'conditions': [{'type': 'PodScheduled', 'status': 'False', "
            "'reason': 'Unschedulable', 'message': '%s'}]}",
            message));
}

/* ---- scheduling ---- */

TEST(a_pod_without_a_gpu_waits_in_the_queue)
{
    struct stage s;
    service_init(&s, "");
    service_model(&s, GPU_MODEL);
    unscheduled(&s, "0/3 nodes are available: 1 Insufficient cpu, 3 Insufficient nvidia.com/gpu.");
    service_run(&s);
    check_text(service_phase(&s), "WaitingForGPU");
    check_text(json_get_text(s.plan.status, "schedulingStatus"), "InsufficientGPU");
    check_text(json_get_text(s.plan.status, "waitingFor"), "nvidia.com/gpu: 2");
    check_int(json_get_int(s.plan.status, "queuePosition", 0), 1);
    check_text(stage_condition(&s, "GPUAvailable"), "False InsufficientGPU");
    check_text(stage_message(&s, "GPUAvailable"),
        "No node has this to give: nvidia.com/gpu: 2. Free some, add nodes, or ask for less");
    check_text(stage_message(&s, "Progressing"),
        "No node has a free GPU for it; number 1 of the services that wait for one");
}

TEST(every_name_of_a_gpu_counts_and_no_other)
{
    struct stage s;
    service_init(&s, "");
    service_model(&s,
        "{'source': 'https://weights.test/base.gguf', 'hardware': {'accelerator': 'rocm', 'gpu': "
        "{'enabled': true, 'count': 1, 'vendor': 'amd'}}}");
    unscheduled(&s, "0/1 nodes are available: 1 Insufficient amd.com/gpu. no new claims");
    service_run(&s);
    check_text(service_phase(&s), "WaitingForGPU");
    check_text(json_get_text(s.plan.status, "waitingFor"), "amd.com/gpu: 1");
    unscheduled(&s, "0/1 nodes are available: 1 Insufficient amd.com/gpu-slice.");
    service_run(&s);
    check_text(service_phase(&s), "Creating");
    check_text(json_get_text(s.plan.status, "schedulingStatus"), "InsufficientResources");
}

TEST(the_queue_goes_by_age_over_the_whole_cluster)
{
    struct stage s;
    service_init(&s, "");
    service_model(&s, GPU_MODEL);
    unscheduled(&s, "1 Insufficient nvidia.com/gpu");
    static const char other[] =
        "{'kind': 'InferenceService', 'metadata': {'name': '%s', 'namespace': 'other', "
        "'creationTimestamp': '%s'}, 'spec': {'modelRef': 'x'}, 'status': {'phase': '%s'}}";
    stage_add(
        &s, arena_printf(test_arena(), other, "older", "2026-11-15T15:00:00Z", "WaitingForGPU"));
    stage_add(
        &s, arena_printf(test_arena(), other, "younger", "2026-11-15T16:30:00Z", "WaitingForGPU"));
    stage_add(
        &s, arena_printf(test_arena(), other, "youngest", "2026-11-15T16:40:00Z", "WaitingForGPU"));
    stage_add(&s, arena_printf(test_arena(), other, "served", "2026-11-15T14:00:00Z", "Ready"));
    service_run(&s);
    check_int(json_get_int(s.plan.status, "queuePosition", 0), 2);
}

TEST(why_a_pod_is_not_scheduled_is_told_until_it_is)
{
    struct stage s;
    service_init(&s, "");
    unscheduled(&s, "0/1 nodes are available: 1 node(s) had untolerated taint {x: y}.");
    service_run(&s);
    check_text(service_phase(&s), "Creating");
    check_text(json_get_text(s.plan.status, "schedulingStatus"), "Unschedulable");
    unscheduled(&s, "0/1 nodes are available: 1 node(s) had volume node affinity conflict.");
    service_run(&s);
    check_text(json_get_text(s.plan.status, "schedulingStatus"), "UnbindableModelCache");
    check(strstr(json_get_text(s.plan.status, "schedulingMessage"), "llmkube-model-cache"));
    add_pod(&s, "p", "{'phase': 'Running'}");
    service_set(&s, "Deployment", "status.readyReplicas", "1");
    service_run(&s);
    check_text(service_phase(&s), "Ready");
    check(!json_present(json_get(s.plan.status, "schedulingStatus")));
    check(!json_present(json_get(s.plan.status, "schedulingMessage")));
}

/* ---- crashes ---- */

static void server_ended(struct stage *s, const char *pod, const char *message, bool ready)
{
    add_pod(s,
        pod,
        arena_printf(test_arena(),
            "{'phase': 'Running', 'containerStatuses': [{'name': 'llama-server', 'ready': %s, "
            "'lastState': {'terminated': {'exitCode': 1, 'message': '%s'}}}]}",
            ready ? "true" : "false",
            message));
}

static void download_ended(struct stage *s, int code, const char *message)
{
    add_pod(s,
        "p",
        arena_printf(test_arena(),
            "{'phase': 'Pending', 'initContainerStatuses': [{'name': 'model-cache-prep', 'state': "
            "{'terminated': {'exitCode': 0}}}, {'name': 'model-downloader', 'state': "
            "{'terminated': {'exitCode': %d, 'message': '%s'}}}]}",
            code,
            message));
}

TEST(a_driver_that_is_too_old_is_told_until_the_server_runs)
{
    struct stage s;
    service_init(&s, "");
    server_ended(&s,
        "p",
        "loading\\nggml_cuda_init: CUDA driver version is INSUFFICIENT for CUDA runtime "
        "version\\nbye",
        false);
    service_run(&s);
    check_text(stage_condition(&s, "DriverCompatible"), "False CUDADriverInsufficient");
    check(strstr(stage_message(&s, "DriverCompatible"),
        "CUDA driver version is INSUFFICIENT for CUDA runtime version on node node-1"));
    check(!strstr(stage_message(&s, "DriverCompatible"), "loading"));
    check(stage_has_event(&s, "CUDADriverInsufficient"));
    service_run(&s);
    check(!stage_has_event(&s, "CUDADriverInsufficient"));
    add_pod(&s, "p", "{'phase': 'Pending'}"); /* proves nothing */
    service_run(&s);
    check_text(stage_condition(&s, "DriverCompatible"), "False CUDADriverInsufficient");
    server_ended(&s, "p", "cudaErrorInsufficientDriver", true);
    service_run(&s);
    check_text(stage_condition(&s, "DriverCompatible"), "True RuntimeStarted");
}

/* As each program prints it. */
TEST(a_driver_that_is_too_old_is_known_by_the_words_of_each_program)
{
    static const char *const lines[] = {
        "ggml_cuda_init: failed to initialize CUDA: CUDA driver version is insufficient for CUDA "
        "runtime version",
        "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).",
        "CUDA error: the provided PTX was compiled with an unsupported toolchain.",
        "Error 803: system has unsupported display driver / cuda driver combination",
        "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update "
        "your driver to a newer version",
    };
    for (size_t i = 0; i < lengthof(lines); i++) {
        struct stage s;
        service_init(&s, "");
        server_ended(&s, "p", lines[i], false);
        service_run(&s);
        check_text(stage_condition(&s, "DriverCompatible"), "False CUDADriverInsufficient");
    }
}

TEST(a_pod_that_runs_does_not_hide_one_that_crashes)
{
    struct stage s;
    service_init(&s, "");
    server_ended(&s, "good", "fine", true);
    server_ended(&s, "bad", "cudaErrorInsufficientDriver", false);
    service_run(&s);
    check_text(stage_condition(&s, "DriverCompatible"), "False CUDADriverInsufficient");
}

TEST(a_download_that_failed_is_told_with_the_remedy)
{
    static const char *const cases[][2] = {
        { "curl: (22) The requested URL returned error: 403", "False ModelSourceUnauthorized" },
        { "ERROR: HTTP 401 from https://weights.test/a.gguf", "False ModelSourceUnauthorized" },
        { "ERROR: HTTP 410 from https://weights.test/a.gguf", "False ModelSourceNotFound" },
        { "curl: (7) Failed to connect to weights.test port 443", "False ModelSourceUnreachable" },
        { "curl: (56) Recv failure: Connection reset by peer", "False ModelSourceUnreachable" },
        { "cp: write error: Disk quota exceeded", "False ModelTransferOutOfSpace" },
        { "curl: (22) The requested URL returned error: 404", "False ModelSourceNotFound" },
        { "curl: (60) SSL certificate problem: unable to get local issuer certificate",
            "False ModelSourceUntrusted" },
        { "curl: (6) Could not resolve host: weights.test", "False ModelSourceUnreachable" },
        { "sh: write error: No space left on device", "False ModelTransferOutOfSpace" },
        { "curl: (18) transfer closed with outstanding read data remaining", NULL },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct stage s;
        service_init(&s, "");
        download_ended(&s, 1, cases[i][0]);
        service_run(&s);
        check_text(stage_condition(&s, "ModelTransferHealthy"), cases[i][1]);
        download_ended(&s, 0, "");
        service_run(&s);
        check_text(stage_condition(&s, "ModelTransferHealthy"),
            cases[i][1] ? "True ModelTransferSucceeded" : NULL);
    }
}

TEST(a_download_that_worked_at_last_is_no_failure)
{
    struct stage s;
    service_init(&s, "");
    add_pod(&s,
        "p",
        "{'phase': 'Running', 'initContainerStatuses': [{'name': 'model-downloader', 'state': "
        "{'terminated': {'exitCode': 0}}, 'lastState': {'terminated': {'exitCode': 1, 'message': "
        "'curl: (6) Could not resolve host: weights.test'}}}]}");
    service_run(&s);
    check(!stage_condition(&s, "ModelTransferHealthy"));
}

TEST(what_a_container_printed_cannot_grow_a_condition)
{
    struct stage s;
    char line[4096];
    service_init(&s, "");
    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\0';
    download_ended(&s, 1, arena_printf(test_arena(), "a\\tNo space left on device %s", line));
    service_run(&s);
    const char *message = stage_message(&s, "ModelTransferHealthy");
    check(strlen(message) < 500);
    check(!strchr(message, '\t') && !strchr(message, '\n'));
}

TEST(a_pod_that_cannot_run_is_a_condition_and_one_event_until_it_runs)
{
    struct stage s;
    service_init(&s, "");
    add_pod(&s,
        "p",
        "{'phase': 'Pending', 'containerStatuses': [{'name': 'llama', 'image': 'llama.test/s:9', "
        "'state': {'waiting': {'reason': 'ErrImagePull'}}}]}");
    service_run(&s);
    check_text(stage_condition(&s, "PodsHealthy"), "False ImagePullBackOff");
    check(strstr(stage_message(&s, "PodsHealthy"), "llama.test/s:9"));
    check(stage_has_event(&s, "ImagePullBackOff"));
    service_run(&s);
    check(!stage_has_event(&s, "ImagePullBackOff"));
    add_pod(&s, "p", "{'phase': 'Running', 'conditions': [{'type': 'Ready', 'status': 'True'}]}");
    service_run(&s);
    check_text(stage_condition(&s, "PodsHealthy"), "True NoTrouble");
}

TEST(a_service_without_trouble_has_no_condition_about_its_pods)
{
    struct stage s;
    service_init(&s, "");
    add_pod(&s, "p", "{'phase': 'Pending'}");
    service_run(&s);
    check(!stage_condition(&s, "PodsHealthy"));
}

/* ---- acceleration ---- */

TEST(acceleration_is_read_from_the_log_once)
{
    struct stage s;
    service_init(&s, "");
    service_model(&s, GPU_MODEL);
    service_run(&s);
    check(!stage_has_effect(&s, "pod.acceleration"));
    add_pod(&s,
        "p",
        "{'phase': 'Running', 'containerStatuses': [{'name': 'llama-server', 'ready': true}]}");
    service_set(&s, "Deployment", "status.readyReplicas", "1");
    service_run(&s);
    check(stage_has_effect(&s, "pod.acceleration"));
    check_json(
        s.plan.effects[0].args, "{'namespace': 'ns', 'pod': 'p', 'container': 'llama-server'}");
    stage_fact(&s,
        "pod.acceleration",
        "{'at': 1, 'result': {'device': 'CUDA0', 'layersOffloaded': 33, 'layersTotal': 33}}");
    service_run(&s);
    check_json(json_get(s.plan.status, "acceleration"),
        "{'device': 'CUDA0', 'layersOffloaded': 33, 'layersTotal': 33}");
    /* Facts are forgotten at a restart; what they said is not. */
    stage_fact(&s, "pod.acceleration", "{}");
    service_run(&s);
    check_int(json_get_int(s.plan.status, "acceleration.layersOffloaded", 0), 33);
}
