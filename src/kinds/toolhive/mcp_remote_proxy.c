/* An MCPRemoteProxy: a proxy in front of an MCP server that runs elsewhere.
 *
 *   spec ── checks (URL, policies, Secrets) ──> references ──> RunConfig ──> Deployment, Service
 *             │ failed                             │ broken
 *             └────────────────────────────────────┴──> workload kept, status says why */

#include "base/names.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/pods/pods_healthy.h"
#include "kinds/toolhive/mcp_server.h"
#include "kinds/toolhive/proxy.h"

/* ---- checks before anything is created ---- */

struct fault {
    const char *reason; /* NULL: the check passed */
    const char *message;
};

static struct fault check_url(struct proxy *p)
{
    const char *message = toolhive_remote_url_fault(p->a, json_get_text(p->spec, "remoteUrl"));
    return (struct fault){ message ? "RemoteURLInvalid" : NULL, message };
}

static struct fault check_policies(struct proxy *p)
{
    const char *message = toolhive_policy_fault(
        p->a, json_get(p->spec, "authzConfig.inline.policies"), "spec.authzConfig.inline.policies");
    return (struct fault){ message ? "AuthzPolicySyntaxInvalid" : NULL, message };
}

static struct fault check_policy_map(struct proxy *p)
{
    struct json config = json_get(p->spec, "authzConfig"), document;
    const char *name = toolhive_text(config, "configMap.name", "");
    bool is_inline;
    if (!text_eq(json_get_text(config, "type"), "configMap"))
        return (struct fault){ 0 };
    if (!json_present(view_get(p->in, &TOOLHIVE_CONFIG_MAP, name)))
        return (struct fault){
            "AuthzConfigMapNotFound",
            arena_printf(
                p->a, "authorization ConfigMap \"%s\" not found in namespace \"%s\"", name, p->ns),
        };
    if (proxy_authz(p, &document, &is_inline)) {
        const char *fault = toolhive_policy_fault(p->a,
            json_get(document, "cedar.policies"),
            arena_printf(p->a, "ConfigMap %s: cedar.policies", name));
        return (struct fault){ fault ? "AuthzPolicySyntaxInvalid" : NULL, fault };
    }
    const char *message = p->fault;
    p->fault = NULL;
    return (struct fault){ "AuthzConfigMapInvalid", message };
}

static struct fault check_headers(struct proxy *p)
{
    json_each (h, json_get(p->spec, "headerForward.addHeadersFromSecret")) {
        const char *name = toolhive_text(*h, "valueSecretRef.name", "");
        if (!json_present(view_get(p->in, &RESOURCE_SECRET, name)))
            return (struct fault){
                "HeaderSecretNotFound",
                arena_printf(p->a,
                    "Secret \"%s\" of header \"%s\" not found in namespace \"%s\"; create it",
                    name,
                    toolhive_text(*h, "headerName", ""),
                    p->ns),
            };
    }
    return (struct fault){ 0 };
}

static struct fault check_external(struct proxy *p)
{
    const char *name = json_get_text(p->spec, "externalAuthConfigRef.name");
    if (!name || json_present(view_get(p->in, &TOOLHIVE_EXTERNAL_AUTH_CONFIG, name)))
        return (struct fault){ 0 };
    return (struct fault){
        "ExternalAuthConfigFetchError",
        arena_printf(p->a, "MCPExternalAuthConfig %s not found in namespace %s", name, p->ns),
    };
}

static struct fault check(struct proxy *p)
{
    static struct fault (*const checks[])(struct proxy *) = {
        check_url, check_policies, check_policy_map, check_headers, check_external
    };
    struct fault f = { 0 };
    for (size_t i = 0; i < lengthof(checks) && !f.reason; i++)
        f = checks[i](p);
    return f;
}

/* ---- children ---- */

static struct json variables_first(const struct proxy *p)
{
    struct arena *a = p->a;
    struct json headers = json_get(p->spec, "headerForward.addHeadersFromSecret");
    struct json_builder env;
    json_builder_init(&env, a);
    proxy_push_otel_headers(p, &env);
    if (headers.count)
        json_push(&env, toolhive_env(a, "TOOLHIVE_SECRETS_PROVIDER", "environment"));
    json_each (h, headers)
        json_push(&env,
            toolhive_env_secret(a,
                arena_printf(a,
                    "TOOLHIVE_SECRET_HEADER_FORWARD_%s_%s",
                    toolhive_env_word(a, toolhive_text(*h, "headerName", "")),
                    toolhive_env_word(a, p->name)),
                json_get(*h, "valueSecretRef")));
    return json_list_end(&env);
}

static bool deployment(
    struct proxy *p, struct json live, const char *checksum, struct json *ret, struct error *err)
{
    struct arena *a = p->a;
    struct json overrides = json_get(p->spec, "resourceOverrides.proxyDeployment");
    struct json patch = json_get(p->spec, "podTemplateSpec"), none = { 0 };
    struct json sum = json_map(a, { TOOLHIVE_RUNCONFIG_CHECKSUM, json_str(checksum) });
    const char *own = arena_printf(a, "%s-remote-proxy-runner", p->name);
    bool unchanged = json_get_int(p->status, "observedGeneration", 0) == p->generation;
    struct proxy_pod pod = {
        .args = json_list(a,
            json_str("run"),
            json_str("--foreground=true"),
            json_str("placeholder-for-remote-proxy")),
        .image =
            proxy_image(p, json_get_text(live, "spec.template.spec.containers.0.image"), unchanged),
        .env_first = variables_first(p),
        .account = toolhive_text(p->spec, "serviceAccount", own),
        .ready_delay_s = 15,
        .annotations = sum,
    };
    struct json tmpl = proxy_pod_template(p, &pod);
    const char *unknown;
    if (json_present(patch) && !go_template_merge(a, tmpl, patch, &tmpl, err))
        return false;
    tmpl = go_template_keep(a, go_template_known(a, tmpl, &unknown), p->labels, sum);
    proxy_ignore_unknown(p, unknown);
    struct json hash = json_or_absent(json_map(a,
        { TOOLHIVE_POD_TEMPLATE_HASH,
            json_present(patch) ? json_str(toolhive_hash(a, patch)) : none }));
    *ret = json_fields(a,
        { "metadata.name", json_str(p->name) },
        { "metadata.labels", toolhive_merge(a, json_get(overrides, "labels"), p->labels) },
        { "metadata.annotations",
            json_or_absent(toolhive_merge(a, json_get(overrides, "annotations"), hash)) },
        { "spec.replicas", json_get(p->spec, "replicas") },
        { "spec.selector.matchLabels", p->labels },
        { "spec.template", tmpl });
    return true;
}

static void plan_identity(struct proxy *p)
{
    static const char *const rows[][3] = {
        { "", "configmaps", "get list watch" },
        { "", "secrets", "get list watch" },
        { 0 },
    };
    if (text_empty(json_get_text(p->spec, "serviceAccount")))
        proxy_plan_rbac(
            p, arena_printf(p->a, "%s-remote-proxy-runner", p->name), proxy_rules(p->a, rows));
}

/* ---- status ---- */

struct told {
    const char *phase, *message;
    const char *reason, *because; /* of the condition Ready */
    struct json url, observed;
};

static void tell(struct proxy *p, const struct told *t)
{
    plan_condition(p->out,
        "Ready",
        text_eq(t->phase, "Ready"),
        t->reason,
        "%s",
        t->because ? t->because : t->message);
    struct json status = json_fields(p->a,
        { "phase", json_str(t->phase) },
        { "message", json_str(t->message) },
        { "url", t->url },
        { "observedGeneration", t->observed });
    plan_status(p->out, json_overlay(p->a, p->hashes, status), NULL);
    if (text_eq(t->phase, "Failed"))
        plan_wait(p->out, "%s", t->message);
    else
        plan_done(p->out);
}

/* Keeps the workload and its status, except for the cause. */
static void tell_failure(struct proxy *p, const char *reason, const char *message)
{
    plan_keep_children(p->out);
    tell(p,
        &(struct told){
            .phase = "Failed",
            .message = message,
            .reason = reason,
            .url = json_get(p->status, "url"),
            .observed = json_get(p->status, "observedGeneration"),
        });
}

static void tell_invalid(struct proxy *p, struct fault f)
{
    plan_condition(p->out, "ConfigurationValid", false, f.reason, "%s", f.message);
    plan_condition(p->out, "AuthConfigured", false, "AuthInvalid", "%s", f.message);
    plan_event(p->out, true, f.reason, "%s", f.message);
    tell_failure(p, "NotReady", arena_printf(p->a, "Validation failed: %s", f.message));
}

static void tell_template(struct proxy *p, const struct error *err)
{
    plan_condition(p->out,
        "PodTemplateValid",
        false,
        "InvalidPodTemplateSpec",
        "Failed to parse PodTemplateSpec: failed to unmarshal PodTemplateSpec: %s. Deployment "
        "blocked until fixed.",
        err->text);
    plan_event(p->out,
        true,
        "InvalidPodTemplateSpec",
        "Failed to parse PodTemplateSpec: failed to unmarshal PodTemplateSpec: %s. Deployment "
        "blocked until PodTemplateSpec is fixed.",
        err->text);
    tell_failure(p,
        "DeploymentNotReady",
        arena_printf(
            p->a, "Invalid PodTemplateSpec: failed to unmarshal PodTemplateSpec: %s", err->text));
}

static struct told state(const struct proxy *p)
{
    struct toolhive_pods n = toolhive_pods(p->in, "mcpremoteproxy");
    pods_plan_healthy(p->in, p->out, n.list);
    struct told t = { .phase = "Pending", .reason = "DeploymentNotReady" };
    if (n.running)
        return (struct told){
            .phase = "Ready",
            .message = "Remote proxy is running",
            .reason = "DeploymentReady",
            .because = "Deployment is ready and running",
        };
    if (n.pending) {
        t.message = "Remote proxy is starting";
        t.because = "Deployment is not yet ready";
    } else if (n.failed) {
        t.phase = "Failed";
        t.message = arena_printf(p->a, "Remote proxy failed to start: %s", n.reason);
    } else {
        t.message = "No pods found for remote proxy";
        t.because = "No pods found";
    }
    return t;
}

/* ---- the kind ---- */

static struct proxy proxy_of(const struct view *in, struct plan *out)
{
    struct json spec = json_get(in->object, "spec");
    return (struct proxy){
        .in = in,
        .out = out,
        .a = in->arena,
        .settings = in->settings,
        .spec = spec,
        .status = json_get(in->object, "status"),
        .name = view_name(in),
        .ns = view_namespace(in),
        .remote = true,
        .kind = "MCPRemoteProxy",
        .labels = toolhive_labels(in->arena, "mcpremoteproxy", view_name(in)),
        .generation = json_get_int(in->object, "metadata.generation", 1),
        .port = json_get_int(spec, "proxyPort", 8080),
        .transport = toolhive_text(spec, "transport", "streamable-http"),
    };
}

static void plan_workload(struct proxy *p, const char *config)
{
    struct arena *a = p->a;
    struct json live = view_child(p->in, &RESOURCE_DEPLOYMENT, p->name), workload;
    const char *service = arena_printf(a, "mcp-%s-remote-proxy", p->name);
    struct error err;
    struct json map = toolhive_document_map(a,
        arena_printf(a, "%s-runconfig", p->name),
        toolhive_document_labels(a, "run-config", "mcp-remote-proxy", p->name),
        json_map(a, { "runconfig.json", json_str(config) }));
    const char *checksum =
        json_text(json_member(json_get(map, "metadata.annotations"), TOOLHIVE_CONTENT_CHECKSUM));
    if (!deployment(p, live, checksum, &workload, &err)) {
        tell_template(p, &err);
        return;
    }
    plan_identity(p);
    proxy_plan_authz(p);
    plan_child(p->out, &TOOLHIVE_CONFIG_MAP, map);
    plan_child(p->out, &RESOURCE_DEPLOYMENT, workload);
    bool served = strlen(service) <= NAME_LABEL_MAX;
    if (served)
        proxy_plan_service(p, service);
    const char *wrong = proxy_trouble(p, service);
    if (!served)
        wrong = arena_printf(a,
            "metadata.name: the Service would be called %s, which is longer than 63 characters. "
            "Use a name of at most 46.",
            service);
    struct told t = state(p);
    if (wrong)
        t = (struct told){ .phase = "Failed", .message = wrong, .reason = "DeploymentNotReady" };
    t.observed = json_int(p->generation);
    proxy_tell_ignored(p);
    if (served && !view_trouble(p->in, &RESOURCE_SERVICE, service).what)
        t.url = json_str(toolhive_service_url(p->in, service, p->port));
    tell(p, &t);
}

static void reconcile(const struct view *in, struct plan *out)
{
    struct proxy p = proxy_of(in, out);
    struct json tmpl = json_get(p.spec, "podTemplateSpec"), resources;
    const char *text;
    struct error err;
    struct fault f = check(&p);
    if (f.reason) {
        tell_invalid(&p, f);
        return;
    }
    plan_condition(out,
        "ConfigurationValid",
        true,
        "ConfigurationValid",
        "All configuration validations passed");
    if (json_present(tmpl) && !go_template_print(p.a, tmpl, &text, &err)) {
        tell_template(&p, &err);
        return;
    }
    if (json_present(tmpl))
        plan_condition(
            out, "PodTemplateValid", true, "ValidPodTemplateSpec", "PodTemplateSpec is valid");
    proxy_advise(&p);
    proxy_resolve(&p);
    if (p.broken) {
        tell_failure(&p, "NotReady", p.broken);
        return;
    }
    const char *config = proxy_run_config(&p);
    bool ok = config && proxy_resources(&p, &resources) && proxy_volumes_fit(&p);
    proxy_ignore_fields(&p);
    proxy_tell_auth_server(&p);
    if (!ok)
        tell_failure(
            &p, "NotReady", arena_printf(p.a, "Failed to build configuration: %s", p.fault));
    else
        plan_workload(&p, config);
}

static void unreadable(const struct view *in, struct plan *out, const struct error *err)
{
    struct proxy p = proxy_of(in, out);
    tell_failure(&p, "NotReady", arena_strdup(p.a, err->text));
}

#define NOTHING ((const char *const[]){ NULL })
#define CONFIG ((const char *const[]){ "spec", "status.configHash", "status.conditions", NULL })

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
    { .resource = &TOOLHIVE_CONFIG_MAP,
        .child = true,
        .keep = (const char *const[]){ "data", NULL } },
    { .resource = &TOOLHIVE_ROLE, .child = true, .keep = NOTHING },
    { .resource = &TOOLHIVE_ROLE_BINDING, .child = true, .keep = NOTHING },
    { .resource = &RESOURCE_SECRET, .keep = NOTHING },
    {
        .resource = &TOOLHIVE_POD,
        .label_selector = "toolhive=true",
        .index_label = "toolhive-name",
        .keep = (const char *const[]){ "metadata.labels",
            "status.phase",
            "status.reason",
            "status.conditions",
            "status.initContainerStatuses",
            "status.containerStatuses",
            NULL },
    },
    { .resource = &TOOLHIVE_TOOL_CONFIG, .keep = CONFIG },
    { .resource = &TOOLHIVE_TELEMETRY_CONFIG, .keep = CONFIG },
    { .resource = &TOOLHIVE_EXTERNAL_AUTH_CONFIG, .keep = CONFIG },
    { .resource = &TOOLHIVE_OIDC_CONFIG, .keep = CONFIG },
    { .resource = &TOOLHIVE_AUTHZ_CONFIG, .keep = CONFIG },
    { .resource = &TOOLHIVE_MCP_GROUP, .keep = (const char *const[]){ "status.phase", NULL } },
    { 0 },
};

static const struct kind_grant grants[] = {
    { "", "configmaps secrets", "get list watch" },
    { 0 },
};

const struct kind toolhive_remote_proxy_kind = {
    .resource = &TOOLHIVE_REMOTE_PROXY,
    .watches = watches,
    .grants = grants,
    .reconcile = reconcile,
    .unreadable = unreadable,
};
