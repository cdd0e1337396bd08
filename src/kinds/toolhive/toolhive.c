#include "kinds/toolhive/toolhive.h"

#include "base/buf.h"
#include "base/hash.h"
#include "engine/view.h"
#include "merge/gojson.h"

/* ---- resources ---- */

#define STABLE TOOLHIVE_GROUP, "v1beta1"
#define RBAC "rbac.authorization.k8s.io", "v1"

const struct resource TOOLHIVE_SERVER = { STABLE, "MCPServer", "mcpservers", false };
const struct resource TOOLHIVE_REMOTE_PROXY = {
    STABLE, "MCPRemoteProxy", "mcpremoteproxies", false
};
const struct resource TOOLHIVE_VIRTUAL_SERVER = {
    STABLE, "VirtualMCPServer", "virtualmcpservers", false
};
const struct resource TOOLHIVE_COMPOSITE_TOOL = {
    STABLE, "VirtualMCPCompositeToolDefinition", "virtualmcpcompositetooldefinitions", false
};
const struct resource TOOLHIVE_MCP_GROUP = { STABLE, "MCPGroup", "mcpgroups", false };
const struct resource TOOLHIVE_REGISTRY = { STABLE, "MCPRegistry", "mcpregistries", false };
const struct resource TOOLHIVE_TOOL_CONFIG = { STABLE, "MCPToolConfig", "mcptoolconfigs", false };
const struct resource TOOLHIVE_EXTERNAL_AUTH_CONFIG = {
    STABLE, "MCPExternalAuthConfig", "mcpexternalauthconfigs", false
};
const struct resource TOOLHIVE_OIDC_CONFIG = { STABLE, "MCPOIDCConfig", "mcpoidcconfigs", false };
const struct resource TOOLHIVE_AUTHZ_CONFIG = {
    STABLE, "MCPAuthzConfig", "mcpauthzconfigs", false
};
const struct resource TOOLHIVE_TELEMETRY_CONFIG = {
    STABLE, "MCPTelemetryConfig", "mcptelemetryconfigs", false
};
const struct resource TOOLHIVE_WEBHOOK_CONFIG = {
    TOOLHIVE_GROUP, "v1alpha1", "MCPWebhookConfig", "mcpwebhookconfigs", false
};
const struct resource TOOLHIVE_SERVER_ENTRY = {
    STABLE, "MCPServerEntry", "mcpserverentries", false
};
const struct resource TOOLHIVE_EMBEDDING_SERVER = {
    STABLE, "EmbeddingServer", "embeddingservers", false
};
const struct resource TOOLHIVE_ROLE = { RBAC, "Role", "roles", false };
const struct resource TOOLHIVE_ROLE_BINDING = { RBAC, "RoleBinding", "rolebindings", false };
const struct resource TOOLHIVE_CONFIG_MAP = { "", "v1", "ConfigMap", "configmaps", false };
const struct resource TOOLHIVE_POD = { "", "v1", "Pod", "pods", false };
const struct resource TOOLHIVE_STATEFUL_SET = {
    "apps", "v1", "StatefulSet", "statefulsets", false
};

/* ---- labels and annotations ---- */

struct json toolhive_labels(struct arena *a, const char *app, const char *name)
{
    return json_map(a,
        { "app", json_str(app) },
        { "app.kubernetes.io/name", json_str(app) },
        { "app.kubernetes.io/instance", json_str(name) },
        { "toolhive", json_str("true") },
        { "toolhive-name", json_str(name) });
}

struct json toolhive_document_labels(
    struct arena *a, const char *component, const char *owner_key, const char *name)
{
    return json_map(a,
        { "toolhive.stacklok.io/component", json_str(component) },
        { "toolhive.stacklok.io/managed-by", json_str("toolhive-operator") },
        { arena_printf(a, "toolhive.stacklok.io/%s", owner_key), json_str(name) });
}

static void add_sorted(struct sha256 *h, struct json map)
{
    json_each_member (m, map) {
        if (text_eq(m->key, TOOLHIVE_CONTENT_CHECKSUM))
            continue;
        const char *text = json_text(m->value);
        sha256_add(h, m->key, strlen(m->key));
        sha256_add(h, text ? text : "", text ? strlen(text) : 0);
    }
}

const char *toolhive_checksum(
    struct arena *a, struct json data, struct json labels, struct json annotations)
{
    struct sha256 h;
    sha256_init(&h);
    add_sorted(&h, data);
    add_sorted(&h, labels);
    add_sorted(&h, annotations);
    return sha256_end_hex(&h, a);
}

struct json toolhive_document_map(
    struct arena *a, const char *name, struct json labels, struct json data)
{
    const char *checksum = toolhive_checksum(a, data, labels, json_none);
    return json_fields(a,
        { "metadata.name", json_str(name) },
        { "metadata.labels", labels },
        { "metadata.annotations", json_map(a, { TOOLHIVE_CONTENT_CHECKSUM, json_str(checksum) }) },
        { "data", data });
}

struct json toolhive_merge(struct arena *a, struct json users, struct json ours)
{
    return json_overlay(a, users, ours);
}

/* ---- parts of pods ---- */

struct json toolhive_env(struct arena *a, const char *name, const char *value)
{
    return json_fields(a, { "name", json_str(name) }, { "value", json_str(value) });
}

struct json toolhive_env_secret(struct arena *a, const char *name, struct json secret_key_ref)
{
    return json_fields(a,
        { "name", json_str(name) },
        { "valueFrom.secretKeyRef.name", json_get(secret_key_ref, "name") },
        { "valueFrom.secretKeyRef.key", json_get(secret_key_ref, "key") });
}

const char *toolhive_env_word(struct arena *a, const char *text)
{
    char *word = arena_strdup(a, text);
    for (char *c = word; *c; c++) {
        bool lower = *c >= 'a' && *c <= 'z', upper = *c >= 'A' && *c <= 'Z';
        bool digit = *c >= '0' && *c <= '9';
        *c = lower ? (char)(*c - 'a' + 'A') : upper || digit ? *c : '_';
    }
    return word;
}

const char *toolhive_text(struct json v, const char *path, const char *otherwise)
{
    const char *text = json_get_text(v, path);
    return text_empty(text) ? otherwise : text;
}

static void push_once(struct json_builder *list, struct arena *a, struct str name)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (str_eq(str_of(json_get_text(list->members[i].value, "name")), name))
            return;
    if (name.len)
        json_push(list, json_fields(a, { "name", json_str(str_dup(a, name)) }));
}

struct json toolhive_pull_secrets(
    struct arena *a, struct json given, const struct toolhive_settings *settings)
{
    struct json_builder list;
    json_builder_init(&list, a);
    json_each (item, given)
        push_once(&list, a, str_of(json_get_text(*item, "name")));
    struct str rest = str_of(settings->image_pull_secrets);
    while (rest.ptr)
        push_once(&list, a, str_trim(str_cut(&rest, ',')));
    return json_or_absent(json_list_end(&list));
}

const char *toolhive_condition(struct json object, const char *type)
{
    struct json condition = json_find(json_get(object, "status.conditions"), "type", type);
    return toolhive_text(condition, "status", "");
}

const char *toolhive_hash(struct arena *a, struct json v)
{
    return sha256_hex(a, str_of(gojson_text(a, v)));
}

/* ---- pods ---- */

static const char *bad_container(struct json pod)
{
    static const char *const reasons[] = {
        "CrashLoopBackOff", "CreateContainerError", "InvalidImageName", NULL
    };
    json_each (c, json_get(pod, "status.containerStatuses")) {
        const char *reason = json_get_text(*c, "state.waiting.reason");
        for (size_t i = 0; reasons[i]; i++)
            if (text_eq(reason, reasons[i]))
                return reason;
        if (json_get_int(*c, "state.terminated.exitCode", 0))
            return toolhive_text(*c, "state.terminated.reason", "Error");
    }
    return NULL;
}

static bool all_ready(struct json pod)
{
    json_each (c, json_get(pod, "status.containerStatuses"))
        if (!json_get_bool(*c, "ready", false))
            return false;
    return true;
}

static void count_server(struct toolhive_pods *n, struct json pod, bool is_server)
{
    struct json ready = json_find(json_get(pod, "status.conditions"), "type", "Ready");
    n->servers += is_server;
    n->servers_ready += is_server && text_eq(json_get_text(ready, "status"), "True");
}

struct toolhive_pods toolhive_pods(const struct view *in, const char *app)
{
    struct toolhive_pods n = { 0 };
    struct json_builder list;
    json_builder_init(&list, in->arena);
    const char *selector = arena_printf(in->arena, "toolhive-name=%s", view_name(in));
    json_each (pod, view_list(in, &TOOLHIVE_POD, view_namespace(in), selector)) {
        const char *of = json_text(json_member(json_get(*pod, "metadata.labels"), "app"));
        const char *phase = toolhive_text(*pod, "status.phase", "Pending");
        if (text_eq(of, app) || text_eq(of, view_name(in)))
            json_push(&list, *pod);
        if (!text_eq(of, app)) {
            count_server(&n, *pod, text_eq(of, view_name(in)));
            continue;
        }
        n.total++;
        if (json_present(json_get(*pod, "metadata.deletionTimestamp")))
            continue;
        const char *bad = bad_container(*pod);
        if (bad || text_eq(phase, "Failed")) {
            n.failed++;
            n.reason = bad ? bad : toolhive_text(*pod, "status.reason", "Failed");
        } else if (text_eq(phase, "Succeeded") || (text_eq(phase, "Running") && all_ready(*pod))) {
            n.running++;
        } else {
            n.pending++;
        }
    }
    n.list = json_list_end(&list);
    return n;
}

const char *toolhive_service_url(const struct view *in, const char *service, int64_t port)
{
    const struct toolhive_settings *settings = in->settings;
    const char *host =
        arena_printf(in->arena, "%s.%s.svc.cluster.local", service, view_namespace(in));
    if (settings->one_machine) /* there is no DNS */
        host = json_get_text(view_child(in, &RESOURCE_SERVICE, service), "spec.clusterIP");
    return host ? arena_printf(in->arena, "http://%s:%lld", host, (long long)port) : NULL;
}
