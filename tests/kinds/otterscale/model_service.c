#include "tests/kinds/otterscale/otters.h"

#include "tests/test.h"

#define KIND (&otterscale_model_service_kind)
#define POD "spec.template.spec."

static struct json deployment(const struct plan *p, const char *name)
{
    struct json found = otters_child(p, &RESOURCE_DEPLOYMENT, name);
    check(json_present(found));
    return found;
}

static struct json engine_of(const struct plan *p, const char *name)
{
    return json_get(deployment(p, name), POD "containers.0");
}

TEST(a_small_service_gets_everything_that_it_needs)
{
    struct otters w;
    otters_init(&w);
    otters_service(&w, "owl", "{}");
    const struct plan *p = otters_run(&w, KIND, "owl");
    check_int(p->child_count, 11);
    check_json(json_get(engine_of(p, "owl-decode"), "args"),
        "['/models', '--port', '8000', '--served-model-name', 'acme/owl']");
    check_json(json_get(engine_of(p, "owl-decode"), "resources"),
        "{'limits': {'nvidia.com/gpu': '1'}, 'requests': {'nvidia.com/gpu': '1'}}");
    check_text(
        json_get_text(deployment(p, "owl-decode"), POD "initContainers.0.name"), "model-unpack");
    check_text(json_get_text(
                   otters_child(p, &OTTERSCALE_POOL, "owl"), "spec.endpointPickerRef.failureMode"),
        "FailClose");
    check(!json_present(otters_child(p, &OTTERSCALE_CLUSTER_ROLE, "ml-owl-epp")));
    check_text(otters_condition(p, "Ready"),
        "False PodsStarting: Waiting for serving pods to become ready");
    check(p->outcome == OUTCOME_DONE);
}

TEST(devices_are_counted_from_parallelism)
{
    static const char *const rows[][3] = {
        { "{'accelerator': {'type': 'amd'}}", "amd.com/gpu", "1" },
        { "{'decode': {'parallelism': {'tensor': 4, 'dataLocal': 2, 'data': 8}}}",
            "nvidia.com/gpu",
            "8" },
        { "{'accelerator': {'type': 'google'},"
          " 'decode': {'resources': {'limits': {'google.com/tpu': 7}}}}",
            "google.com/tpu",
            "1" },
        { "{'accelerator': {'type': 'intel-gaudi'}}", "habana.ai/gaudi", "1" },
        { "{'accelerator': {'type': 'cpu'}}", "nvidia.com/gpu", NULL },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct otters w;
        otters_init(&w);
        otters_service(&w, "owl", rows[i][0]);
        struct json limits =
            json_get(engine_of(otters_run(&w, KIND, "owl"), "owl-decode"), "resources.limits");
        check_text(json_text(json_member(limits, rows[i][1])), rows[i][2]);
    }
}

TEST(the_proxy_takes_the_port_and_vllm_the_one_behind_it)
{
    struct otters w;
    otters_init(&w);
    otters_service(&w,
        "owl",
        "{'engine': {'port': 8080, 'env': [{'name': 'VLLM_NIXL_SIDE_CHANNEL_PORT', 'value': "
        "'+6123'}]},"
        " 'routingProxy': {'secureProxy': true, 'prefillerUseTLS': false}, 'prefill': {}}");
    const struct plan *p = otters_run(&w, KIND, "owl");
    check_json(json_get(deployment(p, "owl-decode"), POD "initContainers.1.args"),
        "['--port', '8080', '--vllm-port', '8200', '--connector', 'nixlv2', '--secure-proxy=true',"
        " '--prefiller-use-tls=false']");
    check_int(json_get_int(engine_of(p, "owl-decode"), "ports.0.containerPort", 0), 8200);
    check_int(json_get_int(engine_of(p, "owl-decode"), "ports.1.containerPort", 0), 6123);
    check_int(json_get_int(engine_of(p, "owl-prefill"), "ports.0.containerPort", 0), 8080);
    check(!json_present(json_get(deployment(p, "owl-prefill"), POD "initContainers.1")));
    check_int(
        json_get_int(otters_child(p, &OTTERSCALE_POOL, "owl"), "spec.targetPorts.0.number", 0),
        8080);
}

TEST(a_monitor_is_off_only_where_the_block_is_there)
{
    static const struct {
        const char *spec;
        bool pods, picker;
    } rows[] = {
        { "{}", true, false },
        { "{'monitoring': {}}", true, false },
        { "{'monitoring': {'podMonitor': {}}}", false, false },
        { "{'monitoring': {'podMonitor': {'enabled': true}}}", true, false },
        { "{'inferencePool': {'endpointPicker': {}}}", true, false },
        { "{'inferencePool': {'endpointPicker': {}}, 'monitoring': {'podMonitor': {'enabled': "
          "true}}}",
            true,
            true },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct otters w;
        otters_init(&w);
        otters_service(&w, "owl", rows[i].spec);
        const struct plan *p = otters_run(&w, KIND, "owl");
        check_int(
            json_present(otters_child(p, &OTTERSCALE_POD_MONITOR, "owl-decode")), rows[i].pods);
        check_int(
            json_present(otters_child(p, &OTTERSCALE_SERVICE_MONITOR, "owl-epp")), rows[i].picker);
    }
}

/* Fields that no recorded case has. */
TEST(monitors_policies_and_the_parallelism_of_prefill_pods_are_the_users)
{
    struct otters w;
    otters_init(&w);
    otters_service(&w,
        "owl",
        "{'engine': {'imagePullPolicy': 'Never', 'args': ['--a', 'b c']}, 'accelerator': {'type': "
        "'amd'}, 'prefill': {'parallelism': {'data': 3, 'dataLocal': 2}}, 'monitoring': "
        "{'podMonitor': {'enabled': true, 'portName': 'p', 'path': '/m', 'interval': '5s'}}}");
    const struct plan *p = otters_run(&w, KIND, "owl");
    struct json engine = engine_of(p, "owl-prefill");
    check_text(json_get_text(engine, "imagePullPolicy"), "Never");
    check_json(json_get(engine, "args"),
        "['/models', '--port', '8000', '--served-model-name', 'acme/owl', '--data-parallel-size', "
        "'3', '--data-parallel-size-local', '2', '--a', 'b c']");
    check_json(json_get(engine, "resources"),
        "{'limits': {'amd.com/gpu': '2'}, 'requests': {'amd.com/gpu': '2'}}");
    struct json monitor = otters_child(p, &OTTERSCALE_POD_MONITOR, "owl-prefill");
    monitor = json_get(monitor, "spec.podMetricsEndpoints.0");
    check_text(json_get_text(monitor, "port"), "p");
    check_text(json_get_text(monitor, "path"), "/m");
    check_text(json_get_text(monitor, "interval"), "5s");
}

TEST(a_surplus_does_not_make_up_for_a_lack)
{
    static const struct {
        const char *decode, *prefill, *told;
    } rows[] = {
        { "0", "0", "False PodsStarting: Waiting for serving pods to become ready" },
        { "1", "0", "False PartiallyReady: 1/3 replicas ready" },
        { "1", "5", "False PartiallyReady: 2/3 replicas ready" },
        { "2", "1", "True AllReplicasReady: All 3 replicas are ready" },
        { "4", "1", "True AllReplicasReady: All 5 replicas are ready" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct otters w;
        otters_init(&w);
        otters_service(&w, "owl", "{'decode': {'replicas': 2}, 'prefill': {}, 'routingProxy': {}}");
        otters_run(&w, KIND, "owl");
        otters_set(&w, &RESOURCE_DEPLOYMENT, "owl-decode", "status.readyReplicas", rows[i].decode);
        otters_set(
            &w, &RESOURCE_DEPLOYMENT, "owl-prefill", "status.readyReplicas", rows[i].prefill);
        check_text(otters_condition(otters_run(&w, KIND, "owl"), "Ready"), rows[i].told);
    }
}

TEST(what_is_missing_around_a_service_is_told_and_the_rest_is_made)
{
    struct otters w;
    otters_init(&w);
    otters_service(
        &w, "owl", "{'model': {'name': 'a', 'image': 'b', 'imagePullSecrets': [{'name': 's'}]}}");
    const char *told = otters_condition(otters_run(&w, KIND, "owl"), "Complete");
    test_check_part(told, "Secret s is not in namespace ml", "told", __FILE__, __LINE__);
    test_check_part(told,
        "the CRD httproutes.gateway.networking.k8s.io is not installed",
        "told",
        __FILE__,
        __LINE__);
    check(json_present(
        otters_child(otters_run(&w, KIND, "owl"), &RESOURCE_DEPLOYMENT, "owl-decode")));
}

TEST(only_the_first_pull_secret_needs_a_name)
{
    struct otters w;
    otters_init(&w);
    otters_service(&w,
        "owl",
        "{'model': {'name': 'a', 'image': 'b', 'imagePullSecrets': [{'name': 's'}, {'name': ''},"
        " {'name': 't'}]}}");
    const struct plan *p = otters_run(&w, KIND, "owl");
    check_json(json_get(deployment(p, "owl-decode"), POD "imagePullSecrets"),
        "[{'name': 's'}, {'name': ''}, {'name': 't'}]");
    test_check_part(
        otters_condition(p, "Complete"), "an entry has no name", "told", __FILE__, __LINE__);
    check(!p->keep_children && p->outcome == OUTCOME_DONE);
}

TEST(without_kit_its_folders_are_free)
{
    struct otters w;
    otters_init(&w);
    w.settings.kit_image = NULL;
    otters_service(&w, "owl", "{'model': {'name': 'a', 'mountPath': '/tmp/model-oci'}}");
    const struct plan *p = otters_run(&w, KIND, "owl");
    check_text(
        json_get_text(engine_of(p, "owl-decode"), "volumeMounts.0.mountPath"), "/tmp/model-oci");
    check(p->outcome == OUTCOME_DONE);
}

TEST(what_cannot_be_names_the_path_and_leaves_what_is_there)
{
    static const char *const rows[][2] = {
        { "{'model': {'name': 'a', 'image': 'b', 'imagePullSecrets': [{'name': ''}]}}",
            "spec.model.imagePullSecrets" },
        { "{'model': {'name': 'a', 'image': 'b', 'mountPath': '/tmp/model-oci'}}",
            "spec.model.mountPath" },
        { "{'inferencePool': {'endpointPicker': {'port': 9090}}}",
            "spec.inferencePool.endpointPicker.port" },
        { "{'inferencePool': {'endpointPicker': {'port': 9003}}}", "9003 for its health" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct otters w;
        otters_init(&w);
        otters_service(&w, "owl", rows[i][0]);
        const struct plan *p = otters_run(&w, KIND, "owl");
        test_check_part(otters_condition(p, "Ready"), rows[i][1], rows[i][0], __FILE__, __LINE__);
        check_text(json_get_text(p->status, "phase"), "Failed");
        check(p->keep_children && p->outcome == OUTCOME_WAIT);
    }
}

TEST(a_version_label_that_is_there_stays)
{
    check_text(
        otterscale_version_of(test_json("{'app.kubernetes.io/version': 'v1.0.1'}")), "v1.0.1");
    check_text(otterscale_version_of(json_none), OTTERSCALE_VERSION);
}
