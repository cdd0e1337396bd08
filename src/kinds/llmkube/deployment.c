/* The Deployment: one pod template from the runtime, GPU, storage and user's additions. Upstream
 * sets all these fields, too; a template that differs restarts every pod. */

#include "kinds/llmkube/isvc.h"

#include "base/quantity.h"
#include "kinds/llmkube/args.h"

#define DO_NOT_DISRUPT "karpenter.sh/do-not-disrupt"
/* Changes the template when a file that is used in place is replaced. */
#define MODEL_FILE "leeboard.dev/model-file"

/* A part of the spec to copy; absent if it is empty. */
static struct json of_spec(const struct isvc *svc, const char *path)
{
    struct json v = json_or_absent(json_get(svc->raw, path));
    return json_is(v, JSON_NULL) ? json_none : v;
}

/* A block that replaces ours. An empty one does, too: it means that nothing of ours is wanted. */
static struct json block_of_spec(const struct isvc *svc, const char *path)
{
    struct json v = json_get(svc->raw, path);
    return json_if(json_is(v, JSON_MAP), v);
}

/* ---- resources ---- */

static bool quantity_of(struct isvc *svc, const char *path, const char *text, struct json *ret)
{
    *ret = json_none;
    if (text_empty(text))
        return true;
    const char *canonical = quantity_canonical_resource(svc->arena, text);
    if (!canonical)
        return isvc_fail(
            svc, "spec.resources.%s: \"%s\" is not a quantity, such as 500m or 16Gi", path, text);
    *ret = json_str(canonical);
    return true;
}

static struct json claim_names(struct arena *a, struct json claims)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (claim, claims)
        json_push(&b, json_fields(a, { "name", json_get(*claim, "name") }));
    return json_or_absent(json_list_end(&b));
}

static bool resources_of(struct isvc *svc, struct json *ret)
{
    struct arena *a = svc->arena;
    const struct isvc_spec *spec = &svc->spec;
    struct json cpu, memory, host_memory, ephemeral;
    if (!quantity_of(svc, "cpu", spec->cpu, &cpu) ||
        !quantity_of(svc, "memory", spec->memory, &memory) ||
        !quantity_of(svc, "hostMemory", spec->host_memory, &host_memory) ||
        !quantity_of(svc, "ephemeralStorage", spec->ephemeral_storage, &ephemeral))
        return false;
    struct json gpus = { 0 };
    if (svc->gpu.count > 0)
        gpus = json_strf(a, "%lld", (long long)svc->gpu.count);
    struct json requests = json_map(a,
        { "cpu", cpu },
        { "memory", json_present(host_memory) ? host_memory : memory },
        { "ephemeral-storage", ephemeral });
    struct json limits = json_map(a,
        { "ephemeral-storage", ephemeral },
        { svc->gpu.resource_name ? svc->gpu.resource_name : "nvidia.com/gpu", gpus });
    *ret = json_or_absent(json_fields(a,
        { "requests", json_or_absent(requests) },
        { "limits", json_or_absent(limits) },
        { "claims", claim_names(a, svc->gpu.claims) }));
    return true;
}

/* ---- metadata of the pods ---- */

/* Adding or removing an annotation replaces every pod, so protection is set when the pods start and
 * then kept: removing it when they are ready would restart them, which would set it again. */
static bool is_protected(const struct isvc *svc)
{
    static const char path[] = "spec.template.metadata.annotations";
    struct json owned = view_owned(svc->in, &RESOURCE_DEPLOYMENT, svc->child);
    struct json now = json_overlay(svc->arena, json_get(svc->live, path), json_get(owned, path));
    bool there = text_eq(json_text(json_member(now, DO_NOT_DISRUPT)), "true");
    bool serving = json_get_int(svc->live, "status.readyReplicas", 0) > 0;
    return there || svc->spec.protect_always || (svc->spec.protect_startup && !serving);
}

static struct json annotations_of(const struct isvc *svc, const struct storage *storage)
{
    struct arena *a = svc->arena;
    struct json scrape = { 0 };
    struct json file = json_str_or_absent(storage->file_etag);
    if (svc->settings->emit_scrape_annotations)
        scrape = json_map(a,
            { "prometheus.io/scrape", json_str("true") },
            { "prometheus.io/path", json_str("/metrics") },
            { "prometheus.io/port", json_strf(a, "%lld", (long long)svc->container_port) });
    struct json ours = json_overlay(a,
        scrape,
        json_map(a,
            { DO_NOT_DISRUPT, json_if(is_protected(svc), json_str("true")) },
            { MODEL_FILE, file }));
    return json_or_absent(json_overlay(a, ours, of_spec(svc, "podAnnotations")));
}

/* ---- the pod ---- */

static struct json without_item(struct arena *a, struct json list, const char *name)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (item, list)
        if (!text_eq(json_get_text(*item, "name"), name))
            json_push(&b, *item);
    return json_list_end(&b);
}

/* The container that prepares the cache runs as root, which the kubelet refuses in a pod with
 * runAsNonRoot. Such a pod relies on fsGroup for the volume's group. */
static struct json init_containers_of(const struct isvc *svc, struct json staged)
{
    bool non_root = json_get_bool(svc->raw, "podSecurityContext.runAsNonRoot", false);
    return json_or_absent(non_root ? without_item(svc->arena,
                                         without_item(svc->arena, staged, "model-cache-prep"),
                                         "draft-model-cache-prep")
                                   : staged);
}

/* Of the container. The API server removes an empty one, so none is planned then; otherwise every
 * start would write it again. */
static struct json security_of(const struct isvc *svc)
{
    struct json own = block_of_spec(svc, "securityContext");
    if (!json_present(own))
        return json_fields(svc->arena,
            { "allowPrivilegeEscalation", json_bool(false) },
            { "capabilities.drop", json_list(svc->arena, json_str("ALL")) });
    struct json owned = view_owned(svc->in, &RESOURCE_DEPLOYMENT, svc->child);
    struct json container = json_find(
        json_get(owned, "spec.template.spec.containers"), "name", svc->runtime->container_name);
    bool gone = json_present(container) && !json_present(json_get(container, "securityContext"));
    return json_if(own.count || !gone, own);
}

static struct json container_of_server(
    struct isvc *svc, const struct runtime_input *in, struct json mounts, struct json resources)
{
    struct arena *a = svc->arena;
    const struct runtime *r = svc->runtime;
    struct json command = of_spec(svc, "command");
    if (!json_present(command))
        command = runtime_command(a, r);
    struct json probes = runtime_probes(a, r, svc->raw);
    return json_fields(a,
        { "name", json_str(r->container_name) },
        { "image", json_str(runtime_image(a, r, in)) },
        { "command", command },
        { "args", json_or_absent(args_build(a, in, r->rules)) },
        { "env",
            atomic_join(
                a, runtime_env(a, r, svc->raw), atomic_fill(a, of_spec(svc, "env")), "name") },
        { "ports",
            json_list(a,
                json_fields(a,
                    { "name", json_str("http") },
                    { "containerPort", json_int(svc->container_port) },
                    { "protocol", json_str("TCP") })) },
        { "volumeMounts", atomic_join(a, mounts, of_spec(svc, "extraVolumeMounts"), "mountPath") },
        { "startupProbe", json_get(probes, "startupProbe") },
        { "livenessProbe", json_get(probes, "livenessProbe") },
        { "readinessProbe", json_get(probes, "readinessProbe") },
        { "resources", resources },
        { "securityContext", security_of(svc) },
        /* The end of the log shows why it ended; diagnosis.c reads it. */
        { "terminationMessagePolicy", json_str("FallbackToLogsOnError") });
}

static struct json pod_security_of(const struct isvc *svc)
{
    struct arena *a = svc->arena;
    const struct llmkube_settings *s = svc->settings;
    struct json own = block_of_spec(svc, "podSecurityContext");
    if (json_present(own))
        return own;
    bool render = text_eq(svc->gpu.resource_name, "devic.es/dri-render") && s->dri_render_gid > 0;
    return json_fields(a,
        { "seccompProfile.type", json_str("RuntimeDefault") },
        { "fsGroup", json_if(s->default_fsgroup > 0, json_int(s->default_fsgroup)) },
        { "supplementalGroups", json_if(render, json_list(a, json_int(s->dri_render_gid))) });
}

/* If claims select devices, the user's tolerations replace ours. */
static struct json tolerations_of(const struct isvc *svc)
{
    struct arena *a = svc->arena;
    struct json own = of_spec(svc, "tolerations");
    struct json_builder b;
    json_builder_init(&b, a);
    if (svc->gpu.count > 0 && !(json_present(svc->gpu.claims) && json_present(own)))
        json_push(&b,
            json_fields(a,
                { "key", json_str(svc->gpu.toleration_key) },
                { "operator", json_str("Equal") },
                { "value", json_str("present") },
                { "effect", json_str("NoSchedule") }));
    json_push_all(&b, own);
    return json_or_absent(json_list_end(&b));
}

static const char *priority_class(const struct isvc *svc)
{
    static const char *const known[] = { "critical", "high", "normal", "low", "batch" };
    if (!text_empty(svc->spec.priority_class_name))
        return svc->spec.priority_class_name;
    for (size_t i = 0; i < lengthof(known); i++)
        if (text_eq(svc->spec.priority, known[i]))
            return arena_printf(svc->arena, "llmkube-%s", known[i]);
    return "llmkube-normal";
}

/* ---- weights ---- */

static struct storage storage_of_service(struct isvc *svc, const char **ret_draft_path)
{
    struct arena *a = svc->arena;
    struct storage none = { .model_path = "" };
    *ret_draft_path = NULL;
    if (!svc->stages)
        return none;
    struct storage_options options = {
        .ns = svc->ns,
        .claim = svc->claim,
        .ephemeral_size = quantity_canonical(a, svc->spec.ephemeral_storage),
        .ephemeral = text_eq(svc->spec.persistence, "Ephemeral"),
        .pod_security = of_spec(svc, "podSecurityContext"),
    };
    struct storage main = storage_of(a, svc->settings, &svc->model, &options);
    if (!text_empty(svc->spec.draft_model) && main.staged_dir)
        *ret_draft_path = arena_printf(a, "%s/%s", main.staged_dir, svc->spec.draft_model);
    if (!svc->has_draft)
        return main;
    struct storage draft = storage_of(a, svc->settings, &svc->draft, &options);
    return storage_join_draft(a, &main, &draft, ret_draft_path);
}

/* ---- what users add ---- */

/* Two volumes with the same name, or two mounts at the same path, make a pod invalid. `ours` are
 * already in it. */
static bool check_added(struct isvc *svc, const char *path, const char *key, struct json ours)
{
    struct json own = of_spec(svc, path);
    if (atomic_join(svc->arena, ours, own, key).count == ours.count + own.count)
        return true;
    for (uint32_t i = 0; i < own.count; i++) {
        const char *text = json_get_text(own.items[i], key);
        struct json before = own;
        before.count = i;
        if (text && (json_present(json_find(ours, key, text)) ||
                        json_present(json_find(before, key, text))))
            return isvc_fail(
                svc, "spec.%s.%u.%s: \"%s\" is taken; choose another", path, i, key, text);
    }
    return true;
}

/* ---- the whole ---- */

static struct json template_of(struct isvc *svc, struct json container, struct storage storage)
{
    struct arena *a = svc->arena;
    struct json links = { 0 };
    if (text_eq(svc->runtime->name, "vllm"))
        links =
            json_bool(false); /* VLLM_* variables of a Service named vllm would be read as flags */
    return json_fields(a,
        { "metadata.labels", json_overlay(a, of_spec(svc, "podLabels"), isvc_labels(svc)) },
        { "metadata.annotations", annotations_of(svc, &storage) },
        { "spec.initContainers", init_containers_of(svc, storage.init_containers) },
        { "spec.containers", json_list(a, container) },
        { "spec.volumes",
            atomic_join(a, storage.volumes, atomic_fill(a, of_spec(svc, "extraVolumes")), "name") },
        { "spec.securityContext", pod_security_of(svc) },
        { "spec.tolerations", tolerations_of(svc) },
        { "spec.nodeSelector",
            json_or_absent(json_overlay(a, svc->gpu.node_selector, of_spec(svc, "nodeSelector"))) },
        { "spec.affinity", block_of_spec(svc, "affinity") },
        { "spec.topologySpreadConstraints", of_spec(svc, "topologySpreadConstraints") },
        { "spec.runtimeClassName",
            json_str_or_absent(json_get_text(svc->raw, "runtimeClassName")) },
        { "spec.imagePullSecrets",
            atomic_join(a, json_empty_list(), of_spec(svc, "imagePullSecrets"), "name") },
        { "spec.priorityClassName", json_str(priority_class(svc)) },
        { "spec.resourceClaims", json_or_absent(svc->gpu.claims) },
        { "spec.enableServiceLinks", links });
}

/* Two pods cannot share a GPU, so the old one is deleted first. The API server's defaults for the
 * other strategy are set explicitly: when a GPU is added later, only fields that we own are
 * removed, and with the defaults left over the API server refuses Recreate. */
static struct json strategy_of(const struct isvc *svc)
{
    if (svc->gpu.present)
        return json_fields(svc->arena, { "type", json_str("Recreate") });
    return json_fields(svc->arena,
        { "type", json_str("RollingUpdate") },
        { "rollingUpdate.maxSurge", json_str("25%") },
        { "rollingUpdate.maxUnavailable", json_str("25%") });
}

void deployment_stop(struct isvc *svc)
{
    struct json now = view_owned(svc->in, &RESOURCE_DEPLOYMENT, svc->child);
    bool stopped = svc->spec.suspend || svc->spec.replicas == 0;
    if (!stopped || !json_present(json_get(now, "spec.template")))
        return;
    isvc_child(svc,
        &RESOURCE_DEPLOYMENT,
        json_fields(svc->arena,
            { "metadata.name", json_str(svc->child) },
            { "metadata.labels", json_get(now, "metadata.labels") },
            { "spec", json_with(svc->arena, json_get(now, "spec"), "replicas", json_int(0)) }));
}

bool deployment_plan(struct isvc *svc)
{
    struct arena *a = svc->arena;
    struct runtime_input in = {
        .settings = svc->settings,
        .model = &svc->model,
        .spec = svc->raw,
        .gpu = &svc->gpu,
    };
    struct json resources;
    if (!resources_of(svc, &resources))
        return false;
    if (!runtime_image(a, svc->runtime, &in))
        return isvc_fail(
            svc, "spec.image: required, runtime %s has no image of its own", svc->runtime->name);
    struct storage storage = storage_of_service(svc, &in.draft_path);
    in.model_path = storage.model_path;
    in.staged_dir = storage.staged_dir;
    in.mmproj_path = storage.mmproj_path;
    if (!check_added(svc, "extraVolumes", "name", storage.volumes) ||
        !check_added(svc, "extraVolumeMounts", "mountPath", storage.mounts))
        return false;
    struct json container = container_of_server(svc, &in, storage.mounts, resources);
    struct json tmpl = rollout_template(svc, template_of(svc, container, storage));
    const int64_t *history = svc->spec.revision_history_limit;
    isvc_child(svc,
        &RESOURCE_DEPLOYMENT,
        json_fields(a,
            { "metadata.name", json_str(svc->child) },
            { "metadata.labels", isvc_labels(svc) },
            { "spec.replicas", autoscaler_replicas(svc) },
            { "spec.revisionHistoryLimit", json_if(history, json_int(*history)) },
            /* Only the immutable labels: a Deployment's selector cannot change. */
            { "spec.selector.matchLabels", isvc_selector(svc) },
            { "spec.strategy", strategy_of(svc) },
            { "spec.template", tmpl }));
    static const char *const fixed[] = { "spec.selector", NULL };
    plan_replaceable(svc->out, fixed);
    return true;
}
