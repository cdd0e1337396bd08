#include "kinds/otterscale/otterscale.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/names.h"

/* ---- settings ---- */

const struct otterscale_settings otterscale_settings_default = {
    .engine_image = "ghcr.io/llm-d/llm-d-cuda:v0.5.1",
    .picker_image = "ghcr.io/llm-d/llm-d-inference-scheduler:v0.6.0",
    .proxy_image = "ghcr.io/llm-d/llm-d-routing-sidecar:v0.6.0",
    .gateway = "otterscale-llm-d-infra-inference-gateway",
    .gateway_namespace = "llm-d",
    .kit_image = "ghcr.io/kitops-ml/kitops:v1.11.0",
    .provider = "istio",
    .metrics_auth = true,
    .plain_http = true,
    .sampler = "parentbased_traceidratio",
    .sampler_arg = "0.01",
};

SETTING_READER(read_provider)
{
    if (!text_eq(value, "istio") && !text_eq(value, "gke") && !text_eq(value, "none"))
        return setting_refuse(err, flag, value, "istio, gke or none");
    return setting_text(a, flag, value, to, err);
}

SETTING_READER(read_namespace)
{
    if (!name_is_dns1123_label(value))
        return setting_refuse(err, flag, value, "the name of a namespace");
    return setting_text(a, flag, value, to, err);
}

#define TO(member) offsetof(struct otterscale_settings, member)

const struct setting otterscale_flags[] = {
    { "default-engine-image",
        "IMAGE",
        "ghcr.io/llm-d/llm-d-cuda:v0.5.1",
        "vLLM image of ModelServices that name none.",
        setting_text,
        TO(engine_image) },
    { "default-epp-image",
        "IMAGE",
        "ghcr.io/llm-d/llm-d-inference-scheduler:v0.6.0",
        "Endpoint picker image of ModelServices that name none.",
        setting_text,
        TO(picker_image) },
    { "default-routing-proxy-image",
        "IMAGE",
        "ghcr.io/llm-d/llm-d-routing-sidecar:v0.6.0",
        "Routing sidecar image of ModelServices that name none.",
        setting_text,
        TO(proxy_image) },
    { "default-gateway-name",
        "NAME",
        "otterscale-llm-d-infra-inference-gateway",
        "Gateway of ModelServices without spec.httpRoute; empty: they get no route.",
        setting_text,
        TO(gateway) },
    { "default-gateway-namespace",
        "NAME",
        "llm-d",
        "Namespace of that Gateway.",
        read_namespace,
        TO(gateway_namespace) },
    { "kit-image",
        "IMAGE",
        "ghcr.io/kitops-ml/kitops:v1.11.0",
        "KitOps image that unpacks and packs models; empty: engines find their model themselves.",
        setting_text,
        TO(kit_image) },
    { "kit-plain-http",
        NULL,
        "true",
        "Let kit fetch models from registries without TLS.",
        setting_switch,
        TO(plain_http) },
    { "provider",
        "NAME",
        "istio",
        "Gateway implementation: istio (makes DestinationRules), gke or none.",
        read_provider,
        TO(provider) },
    { "metrics-endpoint-auth",
        NULL,
        "true",
        "Endpoint pickers ask for a token before they show metrics.",
        setting_switch,
        TO(metrics_auth) },
    { "tracing-enabled",
        NULL,
        "false",
        "Endpoint pickers and routing sidecars send traces.",
        setting_switch,
        TO(tracing) },
    { "tracing-otel-endpoint",
        "URL",
        "",
        "OpenTelemetry collector that traces go to.",
        setting_text,
        TO(otel_endpoint) },
    { "tracing-sampler",
        "NAME",
        "parentbased_traceidratio",
        "OpenTelemetry sampler.",
        setting_text,
        TO(sampler) },
    { "tracing-sampler-arg",
        "TEXT",
        "0.01",
        "Argument of the sampler.",
        setting_text,
        TO(sampler_arg) },
    { 0 },
};

/* ---- resources ---- */

#define RBAC "rbac.authorization.k8s.io", "v1"
#define GATEWAY "gateway.networking.k8s.io", "v1"
#define MONITORING "monitoring.coreos.com", "v1"

const struct resource OTTERSCALE_MODEL_SERVICE = {
    "model.otterscale.io", "v1alpha1", "ModelService", "modelservices", false
};
const struct resource OTTERSCALE_MODEL_ARTIFACT = {
    "model.otterscale.io", "v1alpha1", "ModelArtifact", "modelartifacts", false
};
const struct resource OTTERSCALE_CONFIG_MAP = { "", "v1", "ConfigMap", "configmaps", false };
const struct resource OTTERSCALE_JOB = { "batch", "v1", "Job", "jobs", false };
const struct resource OTTERSCALE_POD = { "", "v1", "Pod", "pods", false };
const struct resource OTTERSCALE_SERVING_POD = { "", "v1", "Pod", "pods", false };
const struct resource OTTERSCALE_ROLE = { RBAC, "Role", "roles", false };
const struct resource OTTERSCALE_ROLE_BINDING = { RBAC, "RoleBinding", "rolebindings", false };
const struct resource OTTERSCALE_CLUSTER_ROLE = { RBAC, "ClusterRole", "clusterroles", true };
const struct resource OTTERSCALE_CLUSTER_ROLE_BINDING = {
    RBAC, "ClusterRoleBinding", "clusterrolebindings", true
};
const struct resource OTTERSCALE_GATEWAY = { GATEWAY, "Gateway", "gateways", false };
const struct resource OTTERSCALE_ROUTE = { GATEWAY, "HTTPRoute", "httproutes", false };
const struct resource OTTERSCALE_POOL = {
    "inference.networking.k8s.io", "v1", "InferencePool", "inferencepools", false
};
const struct resource OTTERSCALE_RULE = {
    "networking.istio.io", "v1beta1", "DestinationRule", "destinationrules", false
};
const struct resource OTTERSCALE_POD_MONITOR = { MONITORING, "PodMonitor", "podmonitors", false };
const struct resource OTTERSCALE_SERVICE_MONITOR = {
    MONITORING, "ServiceMonitor", "servicemonitors", false
};

/* ---- labels ---- */

#define VERSION_LABEL "app.kubernetes.io/version"

struct json otterscale_selector(struct arena *a, const char *name, const char *component)
{
    return json_map(a,
        { "app.kubernetes.io/name", json_str(name) },
        { "app.kubernetes.io/component", json_str(component) },
        { "app.kubernetes.io/part-of", json_str("otterscale-system") },
        { "app.kubernetes.io/managed-by", json_str("model-operator") });
}

struct json otterscale_labels(
    struct arena *a, const char *name, const char *component, const char *version)
{
    return json_with_member(
        a, otterscale_selector(a, name, component), VERSION_LABEL, json_str(version));
}

const char *otterscale_version_of(struct json labels)
{
    const char *version = json_text(json_member(labels, VERSION_LABEL));
    return version ? version : OTTERSCALE_VERSION;
}

/* ---- names ---- */

#define HASH_DIGITS 8

const char *otterscale_base(struct arena *a, const char *name)
{
    return strlen(name) <= NAME_LABEL_MAX ? name : otterscale_hashed(a, name, "");
}

const char *otterscale_sanitized(struct arena *a, const char *name)
{
    char *out = arena_alloc(a, strlen(name) + sizeof("m-"));
    size_t length = 0;
    for (const char *c = name; *c; c++) {
        bool digit = *c >= '0' && *c <= '9', upper = *c >= 'A' && *c <= 'Z';
        if (strchr("._-", *c) && length && out[length - 1] != '-')
            out[length++] = '-';
        if (digit && !length) {
            out[length++] = 'm';
            out[length++] = '-';
        }
        if (digit || upper || (*c >= 'a' && *c <= 'z'))
            out[length++] = upper ? (char)(*c - 'A' + 'a') : *c;
    }
    while (length && out[length - 1] == '-')
        length--;
    out[length] = '\0';
    return length ? out : "modelservice";
}

const char *otterscale_hashed(struct arena *a, const char *name, const char *suffix)
{
    const char *readable = otterscale_sanitized(a, name);
    size_t room = NAME_LABEL_MAX - HASH_DIGITS - 1 - strlen(suffix), length = strlen(readable);
    length = length < room ? length : room;
    while (length && readable[length - 1] == '-')
        length--;
    return arena_printf(
        a, "%.*s-%.*s%s", (int)length, readable, HASH_DIGITS, sha256_hex(a, str_of(name)), suffix);
}

/* ---- parts of pods ---- */

struct json otterscale_env(struct arena *a, const char *name, const char *value)
{
    return json_fields(a, { "name", json_str(name) }, { "value", json_str(value) });
}

struct json otterscale_env_field(struct arena *a, const char *name, const char *path)
{
    return json_fields(a,
        { "name", json_str(name) },
        { "valueFrom.fieldRef.apiVersion", json_str("v1") },
        { "valueFrom.fieldRef.fieldPath", json_str(path) });
}

struct json otterscale_container_security(struct arena *a)
{
    return json_fields(a,
        { "allowPrivilegeEscalation", json_bool(false) },
        { "capabilities.drop", json_list(a, json_str("ALL")) });
}

struct json otterscale_docker_volume(struct arena *a, const char *secret)
{
    return json_fields(a,
        { "name", json_str("docker-config") },
        { "secret.secretName", json_str(secret) },
        { "secret.items",
            json_list(a,
                json_fields(a,
                    { "key", json_str(".dockerconfigjson") },
                    { "path", json_str("config.json") })) });
}

struct json otterscale_mount(struct arena *a, const char *volume, const char *path, bool read_only)
{
    return json_fields(a,
        { "name", json_str(volume) },
        { "mountPath", json_str(path) },
        { "readOnly", json_true_or_absent(read_only) });
}

/* ---- user input ---- */

const char *otterscale_text(struct json v, const char *path, const char *otherwise)
{
    const char *text = json_get_text(v, path);
    return text_empty(text) ? otherwise : text;
}

struct json otterscale_quantity(struct arena *a, struct json v)
{
    bool number = json_is(v, JSON_INT) || json_is(v, JSON_REAL);
    return number ? json_str(json_to_text(a, v)) : v;
}

static struct json quantities(struct arena *a, struct json map)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_each_member (m, map)
        json_put(&b, m->key, otterscale_quantity(a, m->value));
    return json_or_absent(json_map_end(&b));
}

struct json otterscale_resources(struct arena *a, struct json resources)
{
    return json_fields(a,
        { "claims", json_or_absent(json_get(resources, "claims")) },
        { "limits", quantities(a, json_get(resources, "limits")) },
        { "requests", quantities(a, json_get(resources, "requests")) });
}

struct json otterscale_words(struct arena *a, const char *text)
{
    struct json_builder list;
    json_builder_init(&list, a);
    for (struct str rest = str_of(text); rest.ptr;) {
        struct str word = str_cut(&rest, ' ');
        json_push(&list, json_strn(a, word.ptr, word.len));
    }
    return json_list_end(&list);
}
