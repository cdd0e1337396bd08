/* The proxy data plane: a ConfigMap, the Deployment that reads it, and a Service. */

#include "base/atomic.h"
#include "base/quantity.h"
#include "base/time.h"
#include "kinds/llmkube/router.h"

#define CONFIG_HASH "inference.llmkube.dev/router-config-hash"
#define CONFIG_DIR "/etc/llmkube/router"
#define PROXY_PORT 8080
#define METRICS_PORT 9090
#define UID 65532
#define DEFAULT_PATH "/v1/chat/completions"

const struct resource ROUTER_CONFIG_MAP = {
    .group = "",
    .version = "v1",
    .kind = "ConfigMap",
    .plural = "configmaps",
};

void router_child(struct router *r, const struct resource *resource, struct json object)
{
    const char *name = json_get_text(object, "metadata.name");
    plan_child(r->out, resource, object);
    struct view_trouble trouble = view_trouble(r->in, resource, name);
    bool stops = trouble.what == TROUBLE_FOREIGN || trouble.what == TROUBLE_REFUSED;
    if (stops && !r->trouble)
        r->trouble = arena_printf(r->arena, "%s: %s", resource->kind, trouble.message);
}

static struct json selector_of(const struct router *r)
{
    return json_map(r->arena,
        { "app", json_str(r->child) },
        { "inference.llmkube.dev/model-router", json_str(r->label) });
}

static struct json labels_of(const struct router *r)
{
    return json_overlay(r->arena,
        selector_of(r),
        json_map(r->arena,
            { "app.kubernetes.io/name", json_str("llmkube") },
            { "app.kubernetes.io/component", json_str("router-proxy") },
            { "app.kubernetes.io/managed-by", json_str("llmkube-controller") }));
}

/* ---- the image ---- */

/* Whether the spec was changed since we last reported its generation. A router from another
 * operator has no generation in its conditions, and its image is not changed. */
static bool changed_since(const struct router *r)
{
    struct json conditions = json_get(r->in->object, "status.conditions");
    struct json validated = json_find(conditions, "type", "Validated");
    int64_t now = json_get_int(r->in->object, "metadata.generation", 0);
    return json_get_int(validated, "observedGeneration", now) != now;
}

/* A running router keeps its image until its object changes: a new default restarts nothing. An
 * image that another client wrote over ours is not kept. */
const char *router_image(const struct router *r)
{
    static const char path[] = "spec.template.spec.containers.0.image";
    if (!text_empty(r->spec.image))
        return r->spec.image;
    if (!text_empty(r->settings->router_proxy_image))
        return r->settings->router_proxy_image;
    struct json owned = view_owned(r->in, &RESOURCE_DEPLOYMENT, r->child);
    bool ours = json_present(json_get(owned, "spec.template"));
    const char *running = json_get_text(ours ? owned : r->live, path);
    return running && !changed_since(r) ? running : r->settings->own_router_image;
}

/* ---- the pod ---- */

static struct json arguments_of(const struct router *r)
{
    struct arena *a = r->arena;
    static const char *const fixed[] = { "--config",
        CONFIG_DIR "/config.json",
        "--listen",
        ":8080",
        "--metrics-bind-address",
        ":9090",
        "--log-format",
        "json" };
    const struct {
        const char *flag;
        int64_t ns;
    } durations[] = {
        { "--quarantine-duration", r->spec.quarantine_ns },
        { "--response-header-timeout", r->spec.header_timeout_ns },
    };
    struct json_builder b;
    json_builder_init(&b, a);
    for (size_t i = 0; i < lengthof(fixed); i++)
        json_push(&b, json_str(fixed[i]));
    for (size_t i = 0; i < lengthof(durations); i++) {
        if (!durations[i].ns)
            continue;
        json_push(&b, json_str(durations[i].flag));
        json_push(&b, json_str(time_duration_format(a, durations[i].ns)));
    }
    if (r->pooled)
        json_push(&b, json_str("--enable-activation"));
    return json_list_end(&b);
}

/* Each Secret once, in the order of the back ends. */
static struct json secrets_of(const struct router *r)
{
    struct json_builder list, first;
    json_builder_init(&list, r->arena);
    json_builder_init(&first, r->arena);
    for (size_t i = r->backend_count; i-- > 0;)
        if (!text_empty(r->backends[i].secret))
            json_put(&first, r->backends[i].secret, json_int((int64_t)i));
    struct json places = json_map_end(&first);
    for (size_t i = 0; i < r->backend_count; i++) {
        const char *name = r->backends[i].secret;
        if (!text_empty(name) && json_member(places, name).integer == (int64_t)i)
            json_push(&list,
                json_fields(r->arena,
                    { "secretRef.name", json_str(name) },
                    { "secretRef.optional", json_bool(true) }));
    }
    return json_or_absent(json_list_end(&list));
}

/* Quantities in the API server's format; invalid ones are unchanged, and refused by the server. */
static struct json quantities_of(const struct router *r, const char *path)
{
    struct json_builder b;
    json_builder_init(&b, r->arena);
    json_each_member (m, json_get(r->spec.resources, path)) {
        const char *text = json_text(m->value);
        if (json_is(m->value, JSON_INT))
            text = arena_printf(r->arena, "%lld", (long long)m->value.integer);
        const char *canonical = text ? quantity_canonical_resource(r->arena, text) : NULL;
        json_put(&b, m->key, canonical ? json_str(canonical) : m->value);
    }
    return json_or_absent(json_map_end(&b));
}

static struct json resources_of(const struct router *r)
{
    struct arena *a = r->arena;
    struct json requests = quantities_of(r, "requests"), limits = quantities_of(r, "limits");
    if (json_present(requests) || json_present(limits))
        return json_fields(a, { "requests", requests }, { "limits", limits });
    return json_fields(a,
        { "requests", json_map(a, { "cpu", json_str("50m") }, { "memory", json_str("64Mi") }) },
        { "limits", json_map(a, { "cpu", json_str("500m") }, { "memory", json_str("256Mi") }) });
}

static struct json probe(const struct router *r, int64_t delay, int64_t period)
{
    return json_fields(r->arena,
        { "httpGet.path", json_str("/health") },
        { "httpGet.port", json_int(PROXY_PORT) },
        { "initialDelaySeconds", json_int(delay) },
        { "periodSeconds", json_int(period) },
        { "timeoutSeconds", json_int(2) },
        { "failureThreshold", json_int(3) });
}

static struct json port(struct arena *a, const char *name, int64_t number)
{
    return json_fields(a,
        { "name", json_str(name) },
        { "containerPort", json_int(number) },
        { "protocol", json_str("TCP") });
}

static struct json container_of_router(const struct router *r)
{
    struct arena *a = r->arena;
    struct json mount = json_fields(a,
        { "name", json_str("router-config") },
        { "mountPath", json_str(CONFIG_DIR) },
        { "readOnly", json_bool(true) });
    struct json name =
        json_fields(a, { "name", json_str("ROUTER_NAME") }, { "value", json_str(r->name) });
    struct json command = { 0 };
    if (r->settings->one_machine) /* images have no entry point there */
        command = json_list(a, json_str("leeboard"), json_str("router"));
    return json_fields(a,
        { "name", json_str("router-proxy") },
        { "image", json_str(router_image(r)) },
        { "imagePullPolicy", json_str("IfNotPresent") },
        { "command", command },
        { "args", arguments_of(r) },
        { "ports", json_list(a, port(a, "http", PROXY_PORT), port(a, "metrics", METRICS_PORT)) },
        { "env", json_if(r->pooled, json_list(a, name)) },
        { "envFrom", secrets_of(r) },
        { "volumeMounts", json_list(a, mount) },
        { "livenessProbe", probe(r, 20, 10) },
        { "readinessProbe", probe(r, r->settings->one_machine ? 0 : 5, 5) },
        { "resources", resources_of(r) },
        { "securityContext.allowPrivilegeEscalation", json_bool(false) },
        { "securityContext.capabilities.drop", json_list(a, json_str("ALL")) },
        { "securityContext.readOnlyRootFilesystem", json_bool(true) },
        { "securityContext.runAsNonRoot", json_bool(true) });
}

static struct json template_of(const struct router *r)
{
    struct arena *a = r->arena;
    struct json volume = json_fields(
        a, { "name", json_str("router-config") }, { "configMap.name", json_str(r->child) });
    return json_fields(a,
        { "metadata.labels", selector_of(r) },
        { "metadata.annotations", json_map(a, { CONFIG_HASH, json_str(r->config_hash) }) },
        { "spec.containers", json_list(a, container_of_router(r)) },
        { "spec.volumes", json_list(a, volume) },
        { "spec.serviceAccountName", json_if(r->pooled, json_str(r->child)) },
        { "spec.nodeSelector", json_or_absent(r->spec.node_selector) },
        { "spec.imagePullSecrets",
            json_or_absent(atomic_join(a, json_empty_list(), r->spec.pull_secrets, "name")) },
        { "spec.securityContext.runAsNonRoot", json_bool(true) },
        { "spec.securityContext.runAsUser", json_int(UID) },
        { "spec.securityContext.fsGroup", json_int(UID) },
        { "spec.securityContext.seccompProfile.type", json_str("RuntimeDefault") });
}

/* ---- the children ---- */

/* Two routers would not see each other's swaps. */
static int64_t replicas_of(const struct router *r)
{
    return r->pooled ? 1 : r->spec.replicas;
}

static struct json config_map_of(const struct router *r)
{
    struct arena *a = r->arena;
    struct json extras = router_extras(r, replicas_of(r));
    if (!router_image_is_ours(r))
        extras = json_none;
    struct json policy = { 0 };
    if (json_present(extras))
        policy = json_str(json_to_text(a, extras));
    return json_fields(a,
        { "metadata.name", json_str(r->child) },
        { "metadata.labels", labels_of(r) },
        { "metadata.annotations", json_map(a, { CONFIG_HASH, json_str(r->config_hash) }) },
        { "data", json_map(a, { "config.json", json_str(r->config) }, { "policy.json", policy }) });
}

static struct json deployment_of(const struct router *r)
{
    struct json history = { 0 };
    if (r->spec.revision_history_limit)
        history = json_int(*r->spec.revision_history_limit);
    return json_fields(r->arena,
        { "metadata.name", json_str(r->child) },
        { "metadata.labels", labels_of(r) },
        { "spec.replicas", json_int(replicas_of(r)) },
        { "spec.revisionHistoryLimit", history },
        { "spec.selector.matchLabels", selector_of(r) },
        { "spec.template", template_of(r) });
}

static int64_t service_port_of(const struct router *r)
{
    return r->spec.port ? r->spec.port : PROXY_PORT;
}

static struct json service_of(const struct router *r)
{
    struct arena *a = r->arena;
    const char *type = text_empty(r->spec.type) ? "ClusterIP" : r->spec.type;
    bool fixed = text_eq(type, "NodePort") && r->spec.node_port > 0;
    struct json port = json_fields(a,
        { "name", json_str("http") },
        { "protocol", json_str("TCP") },
        { "port", json_int(service_port_of(r)) },
        /* The port of the program, which may differ from the clients' port. */
        { "targetPort", json_int(PROXY_PORT) },
        { "nodePort", json_if(fixed, json_int(r->spec.node_port)) });
    return json_fields(a,
        { "metadata.name", json_str(r->child) },
        { "metadata.labels", labels_of(r) },
        { "spec.type", json_str(type) },
        { "spec.selector", selector_of(r) },
        { "spec.ports", json_list(a, port) });
}

void router_proxy_plan(struct router *r)
{
    router_child(r, &ROUTER_CONFIG_MAP, config_map_of(r));
    if (r->pooled)
        router_account_plan(r, labels_of(r));
    router_child(r, &RESOURCE_DEPLOYMENT, deployment_of(r));
    router_child(r, &RESOURCE_SERVICE, service_of(r));
    plan_exclusive(r->out, "spec.ports", "nodePort");
}

bool router_proxy_ready(const struct router *r)
{
    int64_t generation = json_get_int(r->live, "metadata.generation", 0);
    return json_get_int(r->live, "status.observedGeneration", generation) >= generation &&
           json_get_int(r->live, "status.readyReplicas", 0) >= replicas_of(r);
}

const char *router_endpoint(const struct router *r)
{
    const char *host = arena_printf(r->arena, "%s.%s.svc.cluster.local", r->child, r->ns);
    if (r->settings->one_machine)
        host = json_get_text(view_child(r->in, &RESOURCE_SERVICE, r->child), "spec.clusterIP");
    if (!host)
        return NULL;
    return arena_printf(r->arena,
        "http://%s:%lld%s",
        host,
        (long long)service_port_of(r),
        text_empty(r->spec.path) ? DEFAULT_PATH : r->spec.path);
}
