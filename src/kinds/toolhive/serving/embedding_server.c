/* An EmbeddingServer: a StatefulSet that serves a model for embeddings, and its Service. Users'
 * labels and annotations win here, as in upstream, except for those of selectors. */

#include "base/quantity.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/pods/pods_healthy.h"
#include "kinds/toolhive/proxy.h"
#include "kinds/toolhive/serving/serving.h"

#define CACHE "model-cache"
#define CACHE_PATH "/data"
/* A label of the pods is this name plus a revision of eleven characters. */
#define NAME_MAX_OF_PODS 52
#define OVERRIDES "resourceOverrides."
#define INSTANCE "app.kubernetes.io/instance"

/* A separate list in the cache: these pods have other labels than the family's other pods. */
static const struct resource embedding_pod = { "", "v1", "Pod", "pods", false };

struct server {
    const struct view *in;
    struct plan *out;
    struct arena *a;
    struct json spec, labels;
    const char *name, *model;
    int64_t port;
    bool cached;
};

static struct server server_of(const struct view *in, struct plan *out)
{
    struct json spec = json_get(in->object, "spec");
    return (struct server){
        .in = in,
        .out = out,
        .a = in->arena,
        .spec = spec,
        .name = view_name(in),
        .labels = json_map(in->arena,
            { "app.kubernetes.io/component", json_str("embedding-server") },
            { INSTANCE, json_str(view_name(in)) },
            { "app.kubernetes.io/managed-by", json_str("toolhive-operator") },
            { "app.kubernetes.io/name", json_str("embeddingserver") }),
        .model = toolhive_text(spec, "model", "BAAI/bge-small-en-v1.5"),
        .port = json_get_int(spec, "port", 8080),
        .cached = json_present(json_get(spec, "modelCache")) &&
                  json_get_bool(spec, "modelCache.enabled", true),
    };
}

/* ---- children ---- */

static struct json labels_with(const struct server *s, const char *path)
{
    return json_overlay(s->a, s->labels, json_get(s->spec, path));
}

static struct json arguments(const struct server *s)
{
    struct json_builder list;
    json_builder_init(&list, s->a);
    json_push(&list, json_str("--model-id"));
    json_push(&list, json_str(s->model));
    json_push(&list, json_str("--port"));
    json_push(&list, json_strf(s->a, "%lld", (long long)s->port));
    json_push_all(&list, json_get(s->spec, "args"));
    return json_list_end(&list);
}

static struct json environment(const struct server *s)
{
    struct json token = json_get(s->spec, "hfTokenSecretRef");
    struct json_builder env;
    json_builder_init(&env, s->a);
    json_push(&env, toolhive_env(s->a, "MODEL_ID", s->model));
    if (json_present(token))
        json_push(&env, toolhive_env_secret(s->a, "HF_TOKEN", token));
    json_each (e, json_get(s->spec, "env"))
        json_push(&env,
            toolhive_env(s->a, toolhive_text(*e, "name", ""), toolhive_text(*e, "value", "")));
    if (s->cached)
        json_push(&env, toolhive_env(s->a, "HF_HOME", CACHE_PATH));
    return proxy_env_once(s->a, json_list_end(&env));
}

static struct json probe(const struct server *s, int64_t delay, int64_t period, int64_t timeout)
{
    return json_fields(s->a,
        { "httpGet.path", json_str("/health") },
        { "httpGet.port", json_int(s->port) },
        { "initialDelaySeconds", json_int(delay) },
        { "periodSeconds", json_int(period) },
        { "timeoutSeconds", json_int(timeout) },
        { "failureThreshold", json_int(3) });
}

static struct json container(const struct server *s, struct json resources)
{
    struct json mounts = { 0 };
    if (s->cached)
        mounts = json_list(s->a,
            json_fields(s->a, { "name", json_str(CACHE) }, { "mountPath", json_str(CACHE_PATH) }));
    return json_fields(s->a,
        { "name", json_str("embedding") },
        { "image",
            json_str(toolhive_text(
                s->spec, "image", "ghcr.io/huggingface/text-embeddings-inference:cpu-latest")) },
        { "imagePullPolicy", json_str(toolhive_text(s->spec, "imagePullPolicy", "IfNotPresent")) },
        { "args", arguments(s) },
        { "env", environment(s) },
        { "ports",
            json_list(s->a,
                json_fields(s->a,
                    { "name", json_str("http") },
                    { "containerPort", json_int(s->port) },
                    { "protocol", json_str("TCP") })) },
        { "resources", resources },
        { "volumeMounts", mounts },
        { "livenessProbe", probe(s, 60, 30, 10) },
        { "readinessProbe", probe(s, 30, 10, 5) });
}

/* Including the API server's defaults, because the list is one atomic value. */
static struct json claims(const struct server *s)
{
    struct json cache = json_get(s->spec, "modelCache");
    if (!s->cached)
        return json_none;
    return json_list(s->a,
        json_fields(s->a,
            { "apiVersion", json_str("v1") },
            { "kind", json_str("PersistentVolumeClaim") },
            { "metadata.name", json_str(CACHE) },
            { "metadata.labels", labels_with(s, OVERRIDES "persistentVolumeClaim.labels") },
            { "metadata.annotations",
                json_or_absent(json_get(s->spec, OVERRIDES "persistentVolumeClaim.annotations")) },
            { "spec.accessModes",
                json_list(s->a, json_str(toolhive_text(cache, "accessMode", "ReadWriteOnce"))) },
            { "spec.storageClassName", json_get(cache, "storageClassName") },
            { "spec.resources.requests.storage", json_str(toolhive_text(cache, "size", "10Gi")) },
            { "spec.volumeMode", json_str("Filesystem") },
            { "status.phase", json_str("Pending") }));
}

static void tell_ignored(const struct server *s, const char *unknown)
{
    const char *list = unknown ? unknown : "";
    if (s->cached && json_present(json_find(json_get(s->spec, "env"), "name", "HF_HOME")))
        list = arena_printf(s->a, "%s%sspec.env[HF_HOME]", list, *list ? ", " : "");
    if (*list)
        toolhive_tell_ignored(s->out, list);
}

static bool workload(
    const struct server *s, struct json resources, struct json *ret, struct error *err)
{
    struct arena *a = s->a;
    struct json overrides = json_get(s->spec, OVERRIDES "statefulSet");
    struct json pods = json_get(overrides, "podTemplateMetadataOverrides");
    struct json patch = json_get(s->spec, "podTemplateSpec");
    struct json tmpl = json_fields(a,
        { "metadata.labels", toolhive_merge(a, json_get(pods, "labels"), s->labels) },
        { "metadata.annotations", json_or_absent(json_get(pods, "annotations")) },
        { "spec.imagePullSecrets", toolhive_pull_secrets(a, json_none, s->in->settings) },
        { "spec.containers", json_list(a, container(s, resources)) });
    const char *unknown;
    if (json_present(patch) && !go_template_merge(a, tmpl, patch, &tmpl, err))
        return false;
    tmpl = go_template_keep(a, go_template_known(a, tmpl, &unknown), s->labels, json_none);
    tell_ignored(s, unknown);
    *ret = json_fields(a,
        { "metadata.name", json_str(s->name) },
        { "metadata.labels", labels_with(s, OVERRIDES "statefulSet.labels") },
        { "metadata.annotations", json_or_absent(json_get(overrides, "annotations")) },
        { "spec.replicas", json_int(json_get_int(s->spec, "replicas", 1)) },
        { "spec.serviceName", json_str(s->name) },
        { "spec.selector.matchLabels", s->labels },
        { "spec.template", tmpl },
        { "spec.volumeClaimTemplates", claims(s) });
    return true;
}

static void plan_service(const struct server *s)
{
    plan_child(s->out,
        &RESOURCE_SERVICE,
        json_fields(s->a,
            { "metadata.name", json_str(s->name) },
            { "metadata.labels", labels_with(s, OVERRIDES "service.labels") },
            { "metadata.annotations",
                json_or_absent(json_get(s->spec, OVERRIDES "service.annotations")) },
            { "spec.selector", s->labels },
            { "spec.ports",
                json_list(s->a,
                    json_fields(s->a,
                        { "name", json_str("http") },
                        { "port", json_int(s->port) },
                        { "targetPort", json_int(s->port) },
                        { "protocol", json_str("TCP") })) }));
}

/* ---- status ---- */

static void tell(const struct server *s, const char *phase, const char *message, bool known)
{
    struct json live = view_child(s->in, &RESOURCE_STATEFUL_SET, s->name);
    struct json url = json_str(toolhive_service_url(s->in, s->name, s->port));
    struct json then = json_get(s->in->object, "status");
    plan_status(s->out,
        json_fields(s->a,
            { "phase", json_str(phase) },
            { "message", json_str(message) },
            { "url", known ? url : json_get(then, "url") },
            { "readyReplicas", json_int_or_absent(json_get_int(live, "status.readyReplicas", 0)) },
            { "observedGeneration",
                known ? json_int(json_get_int(s->in->object, "metadata.generation", 1))
                      : json_get(then, "observedGeneration") }),
        NULL);
    if (text_eq(phase, "Failed"))
        plan_wait(s->out, "%s", message);
    else
        plan_done(s->out);
}

/* Keeps the workload. */
static void tell_failure(const struct server *s, const char *message)
{
    plan_keep_children(s->out);
    tell(s, "Failed", message, false);
}

static void tell_state(const struct server *s)
{
    struct json live = view_child(s->in, &RESOURCE_STATEFUL_SET, s->name);
    struct view_trouble pods = view_trouble(s->in, &RESOURCE_STATEFUL_SET, s->name);
    struct view_trouble service = view_trouble(s->in, &RESOURCE_SERVICE, s->name);
    if (strlen(s->name) > NAME_MAX_OF_PODS)
        tell(s,
            "Failed",
            "metadata.name: Kubernetes cannot make pods of a StatefulSet with so long a name. Use "
            "one of at most 52 characters.",
            true);
    else if (pods.what == TROUBLE_FOREIGN || pods.what == TROUBLE_REFUSED)
        tell(s, "Failed", pods.message, true);
    else if (service.what == TROUBLE_FOREIGN || service.what == TROUBLE_REFUSED)
        tell(s, "Failed", service.message, true);
    else if (json_get_int(live, "status.readyReplicas", 0) > 0)
        tell(s, "Ready", "Embedding server is running", true);
    else if (json_get_int(live, "status.replicas", 0) > 0)
        tell(s, "Downloading", "Downloading embedding model", true);
    else
        tell(s, "Pending", "Waiting for statefulset", true);
}

static void tell_pods(const struct server *s)
{
    const char *of = arena_printf(s->a, INSTANCE "=%s", s->name);
    pods_plan_healthy(s->in, s->out, view_list(s->in, &embedding_pod, view_namespace(s->in), of));
}

/* ---- the kind ---- */

static const char *size_fault(const struct server *s)
{
    const char *size = toolhive_text(s->spec, "modelCache.size", "10Gi");
    struct quantity q;
    if (!s->cached || quantity_parse(str_of(size), &q, NULL))
        return NULL;
    return arena_printf(
        s->a, "spec.modelCache.size: \"%s\" is not a quantity. Use a form such as 10Gi.", size);
}

static void reconcile(const struct view *in, struct plan *out)
{
    static const char *const fixed[] = { "spec.volumeClaimTemplates", "spec.serviceName", NULL };
    struct server s = server_of(in, out);
    struct proxy p = { .a = in->arena, .spec = s.spec };
    struct json tmpl = json_get(s.spec, "podTemplateSpec"), resources, object;
    const char *text, *size = size_fault(&s);
    struct error err;
    if (json_present(json_get(in->object, "metadata.deletionTimestamp"))) {
        plan_done(out);
        return;
    }
    tell_pods(&s);
    bool ok = !json_present(tmpl) || go_template_print(s.a, tmpl, &text, &err);
    plan_condition(out,
        "PodTemplateValid",
        ok,
        ok ? "ValidPodTemplateSpec" : "InvalidPodTemplateSpec",
        "%s",
        !ok                  ? err.text
        : json_present(tmpl) ? "PodTemplateSpec is valid"
                             : "No PodTemplateSpec provided");
    if (!ok)
        tell_failure(&s, arena_printf(s.a, "Invalid PodTemplateSpec: %s", err.text));
    else if (size)
        tell_failure(&s, size);
    else if (!proxy_resources(&p, &resources))
        tell_failure(&s, p.fault);
    else if (!workload(&s, resources, &object, &err))
        tell_failure(&s, arena_printf(s.a, "Invalid PodTemplateSpec: %s", err.text));
    else {
        plan_child(out, &RESOURCE_STATEFUL_SET, object);
        plan_replaceable(out, fixed);
        plan_service(&s);
        tell_state(&s);
    }
}

static void unreadable(const struct view *in, struct plan *out, const struct error *err)
{
    struct server s = server_of(in, out);
    tell_failure(&s, arena_strdup(s.a, err->text));
}

#define NOTHING ((const char *const[]){ NULL })

static const struct kind_watch watches[] = {
    {
        .resource = &RESOURCE_STATEFUL_SET,
        .child = true,
        .keep = (const char *const[]){ "status.replicas", "status.readyReplicas", NULL },
    },
    { .resource = &RESOURCE_SERVICE,
        .child = true,
        .keep = (const char *const[]){ "spec.clusterIP", NULL } },
    {
        .resource = &embedding_pod,
        .label_selector = "app.kubernetes.io/component=embedding-server,"
                          "app.kubernetes.io/managed-by=toolhive-operator",
        .index_label = INSTANCE,
        .keep = PODS_HEALTHY_READS,
    },
    { 0 },
};

const struct kind toolhive_embedding_server_kind = {
    .resource = &TOOLHIVE_EMBEDDING_SERVER,
    .watches = watches,
    .finalizer = "embeddingserver.toolhive.stacklok.dev/finalizer",
    .reconcile = reconcile,
    .unreadable = unreadable,
};
