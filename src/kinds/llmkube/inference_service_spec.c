/* Reads the spec of an InferenceService: only the fields that decisions depend on. */

#include "kinds/llmkube/inference_service.h"
#include "kinds/llmkube/isvc.h"

#include "base/json_bind.h"
#include "base/names.h"

static const struct json_bind isvc_spec_bind[] = {
    BIND(struct isvc_spec, model_ref, "modelRef", .required = true),
    BIND(struct isvc_spec, runtime, "runtime"),
    BIND(struct isvc_spec, replicas, "replicas", .min = 0, .max = INT32_MAX),
    BIND(struct isvc_spec, suspend, "suspend"),
    BIND(struct isvc_spec, revision_history_limit, "revisionHistoryLimit"),
    BIND(struct isvc_spec, autoscaling, "autoscaling"),
    BIND(struct isvc_spec, min_replicas, "autoscaling.minReplicas"),
    BIND(struct isvc_spec, max_replicas, "autoscaling.maxReplicas"),
    BIND(struct isvc_spec, port, "endpoint.port", .min = 1, .max = 65535),
    BIND(struct isvc_spec, path, "endpoint.path"),
    BIND(struct isvc_spec, type, "endpoint.type"),
    BIND(struct isvc_spec, node_port, "endpoint.nodePort"),
    BIND(struct isvc_spec, gateway_enabled, "endpoint.gateway.enabled"),
    BIND(struct isvc_spec, gateway_name, "endpoint.gateway.gatewayRef.name"),
    BIND(struct isvc_spec, gateway_namespace, "endpoint.gateway.gatewayRef.namespace"),
    BIND(struct isvc_spec, gateway_model, "endpoint.gateway.modelName"),
    BIND(struct isvc_spec, cpu, "resources.cpu"),
    BIND(struct isvc_spec, memory, "resources.memory"),
    BIND(struct isvc_spec, host_memory, "resources.hostMemory"),
    BIND(struct isvc_spec, ephemeral_storage, "resources.ephemeralStorage"),
    BIND(struct isvc_spec, moe_cpu_offload, "moeCPUOffload"),
    BIND(struct isvc_spec, no_kv_offload, "noKvOffload"),
    BIND(struct isvc_spec, moe_cpu_layers, "moeCPULayers"),
    BIND(struct isvc_spec, speculative_type, "speculativeDecoding.type"),
    BIND(struct isvc_spec, draft_model_ref, "speculativeDecoding.draftModelRef"),
    BIND(struct isvc_spec, draft_model, "speculativeDecoding.draftModel"),
    BIND(struct isvc_spec, skip_model_init, "skipModelInit"),
    BIND(struct isvc_spec, persistence, "modelCache.persistence"),
    BIND(struct isvc_spec, claim_name, "modelCache.claimName"),
    BIND(struct isvc_spec, priority, "priority"),
    BIND(struct isvc_spec, priority_class_name, "priorityClassName"),
    BIND(struct isvc_spec, protect_startup, "disruption.protectStartup"),
    BIND(struct isvc_spec, protect_always, "disruption.protectAlways"),
    BIND(struct isvc_spec, wait_for_idle, "rolloutPolicy.waitForIdle"),
    BIND(struct isvc_spec, force_rollout, "rolloutPolicy.force"),
    BIND(struct isvc_spec, idle_timeout_s, "rolloutPolicy.idleTimeoutSeconds"),
    BIND(struct isvc_spec, pod_lifetime_s, "maxPodLifetimeSeconds"),
    BIND(struct isvc_spec, pod_lifetime_idle_s, "maxPodLifetimeIdleTimeoutSeconds"),
    BIND(struct isvc_spec, slo, "slo"),
    BIND(struct isvc_spec, slo_name, "slo.name"),
    BIND(struct isvc_spec, slo_objective, "slo.objective"),
    BIND(struct isvc_spec, slo_window, "slo.window"),
    BIND(struct isvc_spec, slo_indicator, "slo.indicator"),
    BIND(struct isvc_spec, slo_threshold, "slo.latencyThreshold"),
    { 0 },
};

/* Parts that are copied into a child item by item: a value that is not a list or a map would be
 * dropped silently. */
static const struct shape {
    const char *path;
    enum json_type type;
} shapes[] = {
    { "autoscaling", JSON_MAP },
    { "autoscaling.metrics", JSON_LIST },
    { "command", JSON_LIST },
    { "env", JSON_LIST },
    { "extraVolumes", JSON_LIST },
    { "extraVolumeMounts", JSON_LIST },
    { "imagePullSecrets", JSON_LIST },
    { "tolerations", JSON_LIST },
    { "nodeSelector", JSON_MAP },
    { "podAnnotations", JSON_MAP },
    { "podLabels", JSON_MAP },
    { "podSecurityContext", JSON_MAP },
    { "slo", JSON_MAP },
};

static bool check_shapes(struct json spec, struct error *err)
{
    for (size_t i = 0; i < lengthof(shapes); i++) {
        struct json v = json_get(spec, shapes[i].path);
        if (!json_present(v) || json_is(v, JSON_NULL) || json_is(v, shapes[i].type))
            continue;
        return fail(err,
            ERR_INVALID,
            "spec.%s: expected %s, got %s",
            shapes[i].path,
            json_type_name((struct json){ .type = shapes[i].type }),
            json_type_name(v));
    }
    return true;
}

/* Labels and Service names have at most 63 bytes; names that fit are unchanged. */
const char *inference_service_label(struct arena *a, const char *name)
{
    return strlen(name) <= NAME_LABEL_MAX ? name : name_shorten(a, name, NAME_LABEL_MAX);
}

const char *inference_service_host(struct arena *a, const char *name)
{
    char *service = arena_strdup(a, inference_service_label(a, name));
    for (char *c = service; *c; c++)
        if (*c == '.')
            *c = '-';
    return service;
}

bool isvc_read(struct isvc *svc, const struct view *in, struct plan *out, struct error *err)
{
    *svc = (struct isvc){
        .in = in,
        .out = out,
        .arena = in->arena,
        .settings = in->settings,
        .name = view_name(in),
        .ns = view_namespace(in),
        .raw = json_get(in->object, "spec"),
        .spec = {
            .replicas = 1,
            .min_replicas = 1,
            .priority = "normal",
            .protect_startup = true,
            .idle_timeout_s = 300,
            .slo_window = "28d",
            .slo_indicator = "availability",
        },
    };
    svc->child = inference_service_label(svc->arena, svc->name);
    svc->service = inference_service_host(svc->arena, svc->name);
    if (!json_bind(svc->arena, svc->raw, "spec", isvc_spec_bind, &svc->spec, err) ||
        !check_shapes(svc->raw, err))
        return false;
    svc->runtime = runtime_find(svc->spec.runtime);
    svc->container_port = runtime_container_port(svc->runtime, svc->raw);
    svc->live = view_child(in, &RESOURCE_DEPLOYMENT, svc->child);
    return true;
}
