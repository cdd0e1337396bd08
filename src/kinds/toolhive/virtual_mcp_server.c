/* A VirtualMCPServer: one gateway in front of all members of an MCPGroup. vmcp.h has a diagram. */

#include "base/names.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/pods/pods_healthy.h"
#include "kinds/toolhive/virtual_mcp_server.h"
#include "kinds/toolhive/vmcp.h"

#define HMAC_BYTES 32

/* ---- members ---- */

static void add_members(struct vmcp *v, enum member_kind kind, struct json list)
{
    json_each (object, list)
        if (text_eq(json_get_text(*object, "spec.groupRef.name"), v->group))
            v->members[v->member_count++] = (struct member){
                .kind = kind,
                .name = json_get_text(*object, "metadata.name"),
                .object = *object,
            };
}

static void find_members(struct vmcp *v)
{
    static const struct resource *const resources[] = {
        &TOOLHIVE_SERVER, &TOOLHIVE_REMOTE_PROXY, &TOOLHIVE_SERVER_ENTRY
    };
    struct json lists[lengthof(resources)];
    size_t count = 0;
    for (size_t i = 0; i < lengthof(resources); i++) {
        lists[i] = view_list(v->p.in, resources[i], v->p.ns, NULL);
        count += lists[i].count;
    }
    v->members = arena_alloc(v->p.a, (count + 1) * sizeof(*v->members));
    for (size_t i = 0; i < lengthof(resources); i++)
        add_members(v, (enum member_kind)i, lists[i]);
}

static void count_pods(struct vmcp *v)
{
    const char *selector = arena_printf(v->p.a, "toolhive-name=%s", v->p.name);
    struct json_builder list;
    json_builder_init(&list, v->p.a);
    json_each (pod, view_list(v->p.in, &TOOLHIVE_POD, v->p.ns, selector)) {
        struct json labels = json_get(*pod, "metadata.labels");
        struct json ready = json_find(json_get(*pod, "status.conditions"), "type", "Ready");
        if (!text_eq(json_text(json_member(labels, "app")), "virtualmcpserver") ||
            json_present(json_get(*pod, "metadata.deletionTimestamp")))
            continue;
        json_push(&list, *pod);
        if (text_eq(json_get_text(*pod, "status.phase"), "Failed"))
            v->failed++;
        else if (text_eq(json_get_text(ready, "status"), "True"))
            v->ready++;
        else
            v->pending++;
    }
    pods_plan_healthy(v->p.in, v->p.out, json_list_end(&list));
}

/* ---- children ---- */

static void plan_identity(struct vmcp *v)
{
    static const char read[] = "get list watch";
    static const char *const fixed[][3] = {
        { TOOLHIVE_GROUP, "virtualmcpservers", "get" },
        { TOOLHIVE_GROUP, "virtualmcpservers/status", "update patch" },
        { 0 },
    };
    static const char *const discovered[][3] = {
        { "", "configmaps secrets", read },
        { TOOLHIVE_GROUP,
            "mcpgroups mcpservers mcpremoteproxies mcpserverentries mcpexternalauthconfigs "
            "mcptoolconfigs",
            read },
        { TOOLHIVE_GROUP, "virtualmcpservers", "get" },
        { TOOLHIVE_GROUP, "virtualmcpservers/status", "update patch" },
        { 0 },
    };
    if (!text_empty(json_get_text(v->spec, "serviceAccount")))
        return;
    proxy_plan_account(&v->p,
        arena_printf(v->p.a, "%s-vmcp", v->p.name),
        json_get(v->spec, "imagePullSecrets"),
        proxy_rules(v->p.a, v->fixed ? fixed : discovered));
}

/* The key that binds session tokens to this gateway: generated once, never read. */
static void plan_key(struct vmcp *v)
{
    struct arena *a = v->p.a;
    plan_once(v->p.out,
        &RESOURCE_SECRET,
        json_fields(a,
            { "metadata.name", json_strf(a, "%s-hmac-secret", v->p.name) },
            { "metadata.labels",
                json_map(a,
                    { "app.kubernetes.io/name", json_str("virtualmcpserver") },
                    { "app.kubernetes.io/instance", json_str(v->p.name) },
                    { "app.kubernetes.io/component", json_str("session-security") },
                    { "app.kubernetes.io/managed-by", json_str("toolhive-operator") }) },
            { "metadata.annotations",
                json_map(a,
                    { "toolhive.stacklok.dev/purpose",
                        json_str("hmac-secret-for-session-token-binding") }) },
            { "type", json_str("Opaque") }));
    plan_random(v->p.out, "data.hmac-secret", HMAC_BYTES);
}

static void plan_service(struct vmcp *v, const char *name)
{
    struct arena *a = v->p.a;
    plan_child(v->p.out,
        &RESOURCE_SERVICE,
        json_fields(a,
            { "metadata.name", json_str(name) },
            { "metadata.labels", v->p.labels },
            { "spec.type", json_str(toolhive_text(v->spec, "serviceType", "ClusterIP")) },
            { "spec.selector", v->p.labels },
            { "spec.sessionAffinity",
                json_str(toolhive_text(v->spec, "sessionAffinity", "ClientIP")) },
            { "spec.ports",
                json_list(a,
                    json_fields(a,
                        { "name", json_str("http") },
                        { "port", json_int(VMCP_PORT) },
                        { "targetPort", json_int(VMCP_PORT) },
                        { "protocol", json_str("TCP") })) }));
}

/* Why a child cannot be created. */
static const char *trouble(const struct vmcp *v, const char *service)
{
    const struct {
        const struct resource *resource;
        const char *name;
    } children[] = {
        { &RESOURCE_DEPLOYMENT, v->p.name },
        { &TOOLHIVE_CONFIG_MAP, arena_printf(v->p.a, "%s-vmcp-config", v->p.name) },
        { &RESOURCE_SECRET, arena_printf(v->p.a, "%s-hmac-secret", v->p.name) },
        { &RESOURCE_SERVICE, service },
    };
    for (size_t i = 0; i < lengthof(children); i++) {
        struct view_trouble t = view_trouble(v->p.in, children[i].resource, children[i].name);
        if (t.what == TROUBLE_FOREIGN || t.what == TROUBLE_REFUSED)
            return t.message;
    }
    return NULL;
}

/* ---- status ---- */

struct told {
    const char *phase, *message, *reason, *condition;
    bool ready;
};

/* From what the gateway reports about its back ends; its own messages say the same. */
static struct told of_backends(const struct vmcp *v)
{
    struct arena *a = v->p.a;
    struct json backends = json_get(v->p.status, "discoveredBackends");
    size_t routable = 0;
    json_each (backend, backends) {
        const char *status = json_get_text(*backend, "status");
        routable += text_eq(status, "ready") || text_eq(status, "unauthenticated");
    }
    if (routable == backends.count)
        return (struct told){
            "Ready", "Virtual MCP server is running", "DeploymentReady", "Deployment is ready", true
        };
    if (routable)
        return (struct told){ "Degraded",
            arena_printf(a,
                "Virtual MCP server is running with %zu/%u backends available",
                routable,
                backends.count),
            "BackendsDegraded",
            "Some backends are unhealthy",
            false };
    return (struct told){ "Degraded",
        arena_printf(
            a, "Virtual MCP server is running but all %u backends are unhealthy", backends.count),
        "BackendsUnavailable",
        "All backends are unhealthy",
        false };
}

static struct told of_pods(const struct vmcp *v)
{
    if (v->ready)
        return of_backends(v);
    if (v->failed)
        return (struct told){ "Failed",
            "Virtual MCP server failed to start",
            "DeploymentFailed",
            "Deployment failed",
            false };
    return (struct told){ "Pending",
        v->pending ? "Virtual MCP server is starting" : "No pods found for Virtual MCP server",
        "DeploymentNotReady",
        "Deployment is not yet ready",
        false };
}

static void tell(struct vmcp *v, const struct told *t, const char *url)
{
    struct arena *a = v->p.a;
    plan_condition(v->p.out, "Ready", t->ready, t->reason, "%s", t->condition);
    struct json status = json_fields(a,
        { "phase", json_str(t->phase) },
        { "message", json_str(t->message) },
        { "url", json_str(url) },
        { "observedGeneration", json_int(v->p.generation) });
    plan_status(v->p.out, json_overlay(a, v->p.hashes, status), NULL);
    if (v->ready) {
        plan_yield(v->p.out, "phase");
        plan_yield(v->p.out, "message");
        plan_yield(v->p.out, "Ready");
    }
    if (text_eq(t->phase, "Failed"))
        plan_wait(v->p.out, "%s", t->message);
    else
        plan_done(v->p.out);
}

/* Keeps the gateway; the status reports why. */
static void tell_failure(struct vmcp *v, const char *message)
{
    plan_keep_children(v->p.out);
    struct told t = {
        v->waiting ? "Pending" : "Failed", message, "DeploymentNotReady", message, false
    };
    tell(v, &t, json_get_text(v->p.status, "url"));
}

/* ---- the kind ---- */

static struct vmcp vmcp_of(const struct view *in, struct plan *out)
{
    struct json spec = json_get(in->object, "spec");
    struct json incoming = json_get(spec, "incomingAuth");
    return (struct vmcp){
        .p = {
            .in = in,
            .out = out,
            .a = in->arena,
            .settings = in->settings,
            .spec = json_with_member(in->arena,
                json_present(incoming) ? incoming : json_empty_map(),
                "telemetryConfigRef",
                json_get(spec, "telemetryConfigRef")),
            .status = json_get(in->object, "status"),
            .name = view_name(in),
            .ns = view_namespace(in),
            .gateway = true,
            .kind = "VirtualMCPServer",
            .labels = toolhive_labels(in->arena, "virtualmcpserver", view_name(in)),
            .generation = json_get_int(in->object, "metadata.generation", 1),
            .port = VMCP_PORT,
        },
        .spec = spec,
        .group = toolhive_text(spec, "groupRef.name", ""),
        .fixed = text_eq(json_get_text(spec, "outgoingAuth.source"), "inline"),
    };
}

static void plan_workload(struct vmcp *v, struct json documents)
{
    struct arena *a = v->p.a;
    struct json live = view_child(v->p.in, &RESOURCE_DEPLOYMENT, v->p.name), deployment;
    const char *service = arena_printf(a, "vmcp-%s", v->p.name);
    struct error err;
    struct json map = toolhive_document_map(a,
        arena_printf(a, "%s-vmcp-config", v->p.name),
        toolhive_document_labels(a, "vmcp-config", "virtual-mcp-server", v->p.name),
        documents);
    struct json annotations = json_get(map, "metadata.annotations");
    const char *checksum = json_text(json_member(annotations, TOOLHIVE_CONTENT_CHECKSUM));
    if (!vmcp_deployment(v, live, checksum, &deployment, &err)) {
        tell_failure(v, arena_printf(a, "spec.podTemplateSpec: %s", err.text));
        return;
    }
    if (json_present(json_get(v->p.oidc, "spec.inline.jwksAuthTokenPath")))
        proxy_ignore(&v->p,
            "MCPOIDCConfig %s: spec.inline.jwksAuthTokenPath",
            json_get_text(v->p.spec, "oidcConfigRef.name"));
    proxy_tell_ignored(&v->p);
    plan_child(v->p.out, &TOOLHIVE_CONFIG_MAP, map);
    plan_child(v->p.out, &RESOURCE_DEPLOYMENT, deployment);
    bool served = strlen(service) <= NAME_LABEL_MAX;
    if (served)
        plan_service(v, service);
    struct told t = of_pods(v);
    const char *wrong = trouble(v, service);
    if (!served)
        wrong = arena_printf(a,
            "metadata.name: the Service would be called %s, which is longer than 63 characters. "
            "Use a name of at most 58.",
            service);
    if (wrong)
        t = (struct told){ "Failed", wrong, "DeploymentNotReady", wrong, false };
    tell(v, &t, served ? toolhive_service_url(v->p.in, service, VMCP_PORT) : NULL);
}

static void reconcile(const struct view *in, struct plan *out)
{
    struct vmcp v = vmcp_of(in, out);
    struct json documents;
    if (json_present(json_get(in->object, "metadata.deletionTimestamp"))) {
        plan_keep_children(out);
        plan_done(out);
        return;
    }
    count_pods(&v);
    bool ok = vmcp_check(&v);
    bool made = ok;
    if (ok) {
        find_members(&v);
        plan_identity(&v);
        plan_key(&v);
        made = vmcp_documents(&v, &documents);
    }
    if (ok && json_present(json_get(v.spec, "authServerConfig"))) {
        bool fits = made || !v.p.auth_fault;
        plan_condition(out,
            "AuthServerConfigValidated",
            fits,
            fits ? "AuthServerConfigValid" : "AuthServerConfigInvalid",
            "%s",
            fits ? "AuthServerConfig is valid" : v.p.fault);
    }
    if (!ok)
        tell_failure(&v, v.p.broken);
    else if (!made)
        tell_failure(&v, v.p.fault);
    else
        plan_workload(&v, documents);
}

static void unreadable(const struct view *in, struct plan *out, const struct error *err)
{
    struct vmcp v = vmcp_of(in, out);
    count_pods(&v);
    plan_condition(out, "Valid", false, "ValidationFailed", "%s", err->text);
    tell_failure(&v, arena_strdup(in->arena, err->text));
}

#define NOTHING ((const char *const[]){ NULL })
#define CONFIG ((const char *const[]){ "spec", "status.configHash", "status.conditions", NULL })
#define MEMBER                                                                                     \
    ((const char *const[]){ "metadata.annotations",                                                \
        "spec.groupRef",                                                                           \
        "spec.transport",                                                                          \
        "spec.proxyMode",                                                                          \
        "spec.remoteUrl",                                                                          \
        "spec.externalAuthConfigRef",                                                              \
        "spec.caBundleRef",                                                                        \
        "spec.headerForward",                                                                      \
        "status.url",                                                                              \
        "status.phase",                                                                            \
        NULL })

static const struct kind_watch watches[] = {
    {
        .resource = &RESOURCE_DEPLOYMENT,
        .child = true,
        .keep = (const char *const[]){ "spec.template.spec.containers.0.image", NULL },
    },
    { .resource = &RESOURCE_SERVICE,
        .child = true,
        .keep = (const char *const[]){ "spec.clusterIP", NULL } },
    { .resource = &RESOURCE_SERVICE_ACCOUNT, .child = true, .keep = NOTHING },
    { .resource = &RESOURCE_SECRET, .child = true, .keep = NOTHING },
    { .resource = &TOOLHIVE_CONFIG_MAP,
        .child = true,
        .keep = (const char *const[]){ "data", NULL } },
    { .resource = &TOOLHIVE_ROLE, .child = true, .keep = NOTHING },
    { .resource = &TOOLHIVE_ROLE_BINDING, .child = true, .keep = NOTHING },
    {
        .resource = &TOOLHIVE_POD,
        .label_selector = "toolhive=true",
        .index_label = "toolhive-name",
        .keep = (const char *const[]){ "metadata.labels",
            "status.phase",
            "status.conditions",
            "status.initContainerStatuses",
            "status.containerStatuses",
            NULL },
    },
    { .resource = &TOOLHIVE_MCP_GROUP, .keep = (const char *const[]){ "status.phase", NULL } },
    { .resource = &TOOLHIVE_SERVER, .keep = MEMBER },
    { .resource = &TOOLHIVE_REMOTE_PROXY, .keep = MEMBER },
    { .resource = &TOOLHIVE_SERVER_ENTRY, .keep = MEMBER },
    { .resource = &TOOLHIVE_COMPOSITE_TOOL, .keep = (const char *const[]){ "spec", NULL } },
    {
        .resource = &TOOLHIVE_EMBEDDING_SERVER,
        .keep = (const char *const[]){ "status.phase", "status.readyReplicas", "status.url", NULL },
    },
    { .resource = &TOOLHIVE_EXTERNAL_AUTH_CONFIG, .keep = CONFIG },
    { .resource = &TOOLHIVE_TOOL_CONFIG, .keep = CONFIG },
    { .resource = &TOOLHIVE_OIDC_CONFIG, .keep = CONFIG },
    { .resource = &TOOLHIVE_AUTHZ_CONFIG, .keep = CONFIG },
    { .resource = &TOOLHIVE_TELEMETRY_CONFIG, .keep = CONFIG },
    { 0 },
};

static const struct kind_grant grants[] = {
    { "", "configmaps secrets", "get list watch" },
    { TOOLHIVE_GROUP,
        "mcpgroups mcpservers mcpremoteproxies mcpserverentries mcpexternalauthconfigs "
        "mcptoolconfigs",
        "get list watch" },
    { TOOLHIVE_GROUP, "virtualmcpservers", "get" },
    { TOOLHIVE_GROUP, "virtualmcpservers/status", "update patch" },
    { 0 },
};

const struct kind toolhive_virtual_server_kind = {
    .resource = &TOOLHIVE_VIRTUAL_SERVER,
    .watches = watches,
    .grants = grants,
    .reconcile = reconcile,
    .unreadable = unreadable,
};
