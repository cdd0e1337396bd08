/* An MCPServer: a proxy Deployment whose pod starts the MCP server and connects to it. The proxy
 * creates a StatefulSet with the same name; only the finalizer deletes it.
 *
 * The generation of the object goes into the RunConfig, into an annotation of the pod template, and
 * from there into the proxy's environment, frozen per pod (seed 004). */

#include "base/names.h"
#include "base/time.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/pods/pods_healthy.h"
#include "kinds/toolhive/mcp_server.h"
#include "kinds/toolhive/proxy.h"

#define RESTARTED_AT "mcpserver.toolhive.stacklok.dev/restarted-at"
#define LAST_RESTART "mcpserver.toolhive.stacklok.dev/last-processed-restart"

/* ---- the pod patch ---- */

static struct json secret_variables(const struct proxy *p)
{
    struct json_builder env;
    json_builder_init(&env, p->a);
    json_each (s, json_get(p->spec, "secrets"))
        json_push(&env,
            toolhive_env_secret(
                p->a, toolhive_text(*s, "targetEnvName", toolhive_text(*s, "key", "")), *s));
    return json_list_end(&env);
}

/* Adds the variables to the container named mcp; without one it is added. */
static struct json with_variables(struct proxy *p, struct json containers, struct json env)
{
    struct json_builder list;
    json_builder_init(&list, p->a);
    bool found = false;
    json_each (c, containers) {
        bool mcp = text_eq(json_get_text(*c, "name"), "mcp");
        struct json_builder all;
        json_builder_init(&all, p->a);
        json_push_all(&all, json_get(*c, "env"));
        json_push_all(&all, env);
        json_push(&list, mcp ? json_with_member(p->a, *c, "env", json_list_end(&all)) : *c);
        found = found || mcp;
    }
    if (!found)
        json_push(&list, json_fields(p->a, { "name", json_str("mcp") }, { "env", env }));
    return json_list_end(&list);
}

static bool pod_patch(struct proxy *p, const char **ret, struct error *err)
{
    struct arena *a = p->a;
    struct json given = json_get(p->spec, "podTemplateSpec"), env = secret_variables(p);
    const char *own = arena_printf(a, "%s-sa", p->name);
    struct json tmpl = json_present(given) ? given : json_empty_map();
    const char *text, *unknown;
    if (!go_template_print(a, tmpl, &text, err)) /* checks types before anything is changed */
        return false;
    tmpl = go_template_known(a, tmpl, &unknown);
    proxy_ignore_unknown(p, unknown);
    if (json_present(json_get(tmpl, "spec.serviceAccountName")))
        proxy_ignore(p, "spec.podTemplateSpec.spec.serviceAccountName, see spec.serviceAccount");
    tmpl = json_with(a,
        tmpl,
        "spec.serviceAccountName",
        json_str(toolhive_text(p->spec, "serviceAccount", own)));
    struct json containers = json_get(tmpl, "spec.containers");
    if (env.count)
        tmpl = json_with(a, tmpl, "spec.containers", with_variables(p, containers, env));
    else if (!json_present(given))
        tmpl = json_with(a, tmpl, "spec.containers", json_empty_list());
    return go_template_print(a, tmpl, ret, err);
}

/* ---- children ---- */

void proxy_telemetry_env(const struct proxy *p, struct json_builder *env)
{
    struct arena *a = p->a;
    if (!json_present(p->telemetry))
        return;
    json_push(env,
        toolhive_env(a,
            "OTEL_RESOURCE_ATTRIBUTES",
            arena_printf(a,
                "service.name=%s,service.namespace=%s",
                toolhive_text(p->spec, "telemetryConfigRef.serviceName", p->name),
                p->ns)));
    json_each (h, json_get(p->telemetry, "spec.openTelemetry.sensitiveHeaders"))
        json_push(env,
            toolhive_env_secret(a,
                arena_printf(a,
                    "TOOLHIVE_OTEL_HEADER_%s",
                    toolhive_env_word(a, toolhive_text(*h, "name", ""))),
                json_get(*h, "secretKeyRef")));
}

static struct json variables_first(const struct proxy *p)
{
    struct json_builder env;
    json_builder_init(&env, p->a);
    proxy_telemetry_env(p, &env);
    return json_list_end(&env);
}

static struct json generation_variable(struct arena *a)
{
    return json_fields(a,
        { "name", json_str("THV_MCPSERVER_GENERATION") },
        { "valueFrom.fieldRef.apiVersion", json_str("v1") },
        { "valueFrom.fieldRef.fieldPath",
            json_str("metadata.annotations['" TOOLHIVE_GENERATION "']") });
}

/* nil leaves the number to other clients after the creation. stdio has one process and so one
 * replica, even if it was scaled; zero stays zero. */
static struct json replicas(const struct proxy *p, struct json live)
{
    struct json wanted = json_get(p->spec, "replicas");
    if (!text_eq(p->transport, "stdio"))
        return wanted;
    if (json_present(wanted))
        return json_int(json_get_int(p->spec, "replicas", 1) > 1 ? 1 : wanted.integer);
    return json_if(json_get_int(live, "spec.replicas", 1) > 1, json_int(1));
}

static bool is_restart(const struct proxy *p, struct json live, const char **ret)
{
    struct json annotations = json_get(p->in->object, "metadata.annotations");
    const char *asked = json_text(json_member(annotations, RESTARTED_AT));
    const char *done = json_text(json_member(annotations, LAST_RESTART));
    int64_t at_ms;
    *ret = done;
    if (text_empty(asked) || !time_parse(asked, &at_ms))
        return false;
    /* A restart that was requested before the first Deployment has no effect. */
    *ret = json_present(live) ? asked : done;
    return !text_eq(asked, done);
}

static void plan_restart(struct proxy *p, struct json live, const char **ret_stamp)
{
    const char *stamp;
    *ret_stamp = NULL;
    if (is_restart(p, live, &stamp))
        plan_amend(p->out,
            json_fields(p->a,
                { "metadata.annotations",
                    json_map(p->a,
                        { LAST_RESTART,
                            json_member(json_get(p->in->object, "metadata.annotations"),
                                RESTARTED_AT) }) }));
    struct json there =
        json_member(json_get(live, "spec.template.metadata.annotations"), RESTARTED_AT);
    *ret_stamp =
        json_present(live) && stamp && is_restart(p, live, &stamp) ? stamp : json_text(there);
}

static struct json deployment(
    struct proxy *p, struct json live, const char *patch, const char *checksum)
{
    struct arena *a = p->a;
    struct json overrides = json_get(p->spec, "resourceOverrides.proxyDeployment");
    struct json template_then = json_get(live, "spec.template.metadata.annotations");
    const char *generation = arena_printf(a, "%lld", (long long)p->generation), *stamp;
    bool unchanged =
        text_eq(json_text(json_member(template_then, TOOLHIVE_GENERATION)), generation);
    plan_restart(p, live, &stamp);
    struct proxy_pod pod = {
        .args = json_list(a,
            json_str("run"),
            json_strf(a, "--k8s-pod-patch=%s", patch),
            json_get(p->spec, "image")),
        .image =
            proxy_image(p, json_get_text(live, "spec.template.spec.containers.0.image"), unchanged),
        .env_first = variables_first(p),
        .env_last = json_list(a, generation_variable(a)),
        .account = arena_printf(a, "%s-proxy-runner", p->name),
        .ready_delay_s = p->settings->one_machine ? 0 : 5,
        .annotations = json_map(a,
            { TOOLHIVE_RUNCONFIG_CHECKSUM, json_str(checksum) },
            { TOOLHIVE_GENERATION, json_str(generation) },
            { RESTARTED_AT, json_str(stamp) }),
    };
    return json_fields(a,
        { "metadata.name", json_str(p->name) },
        { "metadata.labels", toolhive_merge(a, json_get(overrides, "labels"), p->labels) },
        { "metadata.annotations", json_or_absent(json_get(overrides, "annotations")) },
        { "spec.replicas", replicas(p, live) },
        { "spec.selector.matchLabels", p->labels },
        { "spec.template", proxy_pod_template(p, &pod) });
}

static void plan_identity(struct proxy *p)
{
    static const char all[] = "get list watch create update patch delete";
    static const char *const rows[][3] = {
        { "apps", "statefulsets", all },
        { "", "services", all },
        { "", "pods", "get list watch" },
        { "", "pods/log", "get" },
        { "", "pods/attach", "create get" },
        { "", "configmaps", "get list watch" },
        { 0 },
    };
    proxy_plan_rbac(p, arena_printf(p->a, "%s-proxy-runner", p->name), proxy_rules(p->a, rows));
    if (text_empty(json_get_text(p->spec, "serviceAccount")))
        plan_child(p->out,
            &RESOURCE_SERVICE_ACCOUNT,
            json_fields(p->a,
                { "metadata.name", json_strf(p->a, "%s-sa", p->name) },
                { "imagePullSecrets",
                    toolhive_pull_secrets(p->a,
                        json_get(p->spec, "resourceOverrides.proxyDeployment.imagePullSecrets"),
                        p->settings) }));
}

/* ---- status ---- */

static const char *phase_of(const struct proxy *p, struct json live, const struct toolhive_pods *n,
    const char *trouble, const char **ret_message)
{
    *ret_message = "MCP server is being created";
    if (json_present(live) && json_get_int(live, "spec.replicas", 1) == 0) {
        *ret_message = "MCP server is stopped (scaled to zero)";
        return "Stopped";
    }
    if (!n->total)
        return "Pending";
    /* The only pod of a crashing server is ready now and then. */
    bool down = n->servers && (n->servers == 1 || !n->servers_ready);
    if (trouble && down && n->running == n->total) {
        *ret_message = arena_printf(p->a, "MCP server pod failed: %s", trouble);
        return "Failed";
    }
    if (n->running) {
        *ret_message = "MCP server is running";
        return "Ready";
    }
    if (n->failed) {
        *ret_message = arena_printf(p->a, "MCP server pod failed: %s", n->reason);
        return "Failed";
    }
    *ret_message = n->pending ? "MCP server is starting" : "No healthy pods found";
    return "Pending";
}

/* NULL: not known yet. */
static const char *url(const struct proxy *p)
{
    const char *mode = text_eq(p->transport, "stdio")
                           ? toolhive_text(p->spec, "proxyMode", "streamable-http")
                           : p->transport;
    const char *service = arena_printf(p->a, "mcp-%s-proxy", p->name);
    const char *base = toolhive_service_url(p->in, service, p->port);
    if (!base)
        return NULL;
    return text_eq(mode, "sse") ? arena_printf(p->a, "%s/sse#%s", base, p->name)
                                : arena_printf(p->a, "%s/mcp", base);
}

struct told {
    const char *phase, *message;
    struct json url, ready_replicas, observed;
};

static void tell(struct proxy *p, const struct told *t)
{
    bool ready = text_eq(t->phase, "Ready");
    plan_condition(p->out, "Ready", ready, ready ? "Ready" : "NotReady", "%s", t->message);
    struct json status = json_fields(p->a,
        { "phase", json_str(t->phase) },
        { "message", json_str(t->message) },
        { "url", t->url },
        { "readyReplicas", t->ready_replicas },
        { "observedGeneration", t->observed });
    plan_status(p->out, json_overlay(p->a, p->hashes, status), NULL);
    if (text_eq(t->phase, "Failed"))
        plan_wait(p->out, "%s", t->message);
    else
        plan_done(p->out);
}

/* Keeps the workload and its status, except for the cause. */
static void tell_failure(struct proxy *p, const char *message)
{
    plan_keep_children(p->out);
    tell(p,
        &(struct told){
            .phase = "Failed",
            .message = message,
            .url = json_get(p->status, "url"),
            .ready_replicas = json_get(p->status, "readyReplicas"),
            .observed = json_int(p->generation),
        });
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
        .kind = "MCPServer",
        .labels = toolhive_labels(in->arena, "mcpserver", view_name(in)),
        /* An object in a file has no generation; the API server will set it to this. */
        .generation = json_get_int(in->object, "metadata.generation", 1),
        .port = json_get_int(spec, "proxyPort", 8080),
        .transport = toolhive_text(spec, "transport", "stdio"),
    };
}

static void plan_workload(struct proxy *p, const char *patch, const char *config)
{
    struct arena *a = p->a;
    struct json live = view_child(p->in, &RESOURCE_DEPLOYMENT, p->name);
    const char *service = arena_printf(a, "mcp-%s-proxy", p->name), *message;
    struct json map = toolhive_document_map(a,
        arena_printf(a, "%s-runconfig", p->name),
        toolhive_document_labels(a, "run-config", "mcp-server", p->name),
        json_map(a, { "runconfig.json", json_str(config) }));
    struct json annotations = json_get(map, "metadata.annotations");
    const char *checksum = json_text(json_member(annotations, TOOLHIVE_CONTENT_CHECKSUM));
    proxy_plan_authz(p);
    plan_child(p->out, &TOOLHIVE_CONFIG_MAP, map);
    plan_child(p->out, &RESOURCE_DEPLOYMENT, deployment(p, live, patch, checksum));
    bool served = strlen(service) <= NAME_LABEL_MAX;
    if (served)
        proxy_plan_service(p, service);
    const char *wrong = proxy_trouble(p, service);
    proxy_tell_ignored(p);
    struct toolhive_pods n = toolhive_pods(p->in, "mcpserver");
    const char *trouble = pods_plan_healthy(p->in, p->out, n.list);
    struct told t = { .phase = phase_of(p, live, &n, trouble, &message), .message = message };
    t.observed = json_int(p->generation);
    t.ready_replicas = json_int_or_absent(n.running);
    if (!served)
        wrong = arena_printf(a,
            "metadata.name: the Service would be called %s, which is longer than 63 characters. "
            "Use a name of at most 53.",
            service);
    if (served && !view_trouble(p->in, &RESOURCE_SERVICE, service).what)
        t.url = json_str(url(p));
    if (wrong) {
        t.phase = "Failed";
        t.message = wrong;
    }
    tell(p, &t);
}

static void go(struct proxy *p)
{
    static const struct resource *const made[] = {
        &TOOLHIVE_STATEFUL_SET, &RESOURCE_SERVICE, &RESOURCE_SERVICE
    };
    const char *names[] = { p->name,
        arena_printf(p->a, "mcp-%s", p->name),
        arena_printf(p->a, "mcp-%s-headless", p->name) };
    for (size_t i = 0; i < lengthof(made); i++)
        plan_remove(p->out, made[i], names[i]);
    plan_done(p->out);
}

static void reconcile(const struct view *in, struct plan *out)
{
    struct proxy p = proxy_of(in, out);
    struct json resources;
    struct error err;
    const char *patch = NULL;
    if (json_present(json_get(in->object, "metadata.deletionTimestamp"))) {
        go(&p);
        return;
    }
    proxy_advise(&p);
    if (!pod_patch(&p, &patch, &err)) {
        plan_condition(out,
            "PodTemplateValid",
            false,
            "InvalidPodTemplateSpec",
            "Failed to parse PodTemplateSpec: failed to unmarshal PodTemplateSpec: %s. Deployment "
            "blocked until fixed.",
            err.text);
        plan_event(out,
            true,
            "InvalidPodTemplateSpec",
            "Failed to parse PodTemplateSpec: failed to unmarshal PodTemplateSpec: %s. Deployment "
            "blocked until PodTemplateSpec is fixed.",
            err.text);
        tell_failure(&p,
            arena_printf(
                p.a, "Invalid PodTemplateSpec: failed to unmarshal PodTemplateSpec: %s", err.text));
        return;
    }
    if (json_present(json_get(p.spec, "podTemplateSpec")))
        plan_condition(
            out, "PodTemplateValid", true, "ValidPodTemplateSpec", "PodTemplateSpec is valid");
    proxy_resolve(&p);
    if (p.broken) {
        tell_failure(&p, p.broken);
        return;
    }
    plan_identity(&p);
    const char *config = proxy_run_config(&p);
    bool ok = config && proxy_resources(&p, &resources) && proxy_volumes_fit(&p);
    proxy_tell_auth_server(&p);
    proxy_ignore_fields(&p);
    if (!ok)
        tell_failure(&p, arena_printf(p.a, "Failed to build configuration: %s", p.fault));
    else
        plan_workload(&p, patch, config);
}

static void unreadable(const struct view *in, struct plan *out, const struct error *err)
{
    struct proxy p = proxy_of(in, out);
    tell_failure(&p, arena_strdup(p.a, err->text));
}

#define NOTHING ((const char *const[]){ NULL })
#define CONFIG ((const char *const[]){ "spec", "status.configHash", "status.conditions", NULL })

static const struct kind_watch watches[] = {
    {
        .resource = &RESOURCE_DEPLOYMENT,
        .child = true,
        .keep = (const char *const[]){ "spec.replicas",
            "spec.template.metadata.annotations",
            "spec.template.spec.containers.0.image",
            NULL },
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
    {
        .resource = &TOOLHIVE_STATEFUL_SET,
        .label_selector = "toolhive=true",
        .keep = NOTHING,
    },
    { .resource = &TOOLHIVE_TOOL_CONFIG, .keep = CONFIG },
    { .resource = &TOOLHIVE_TELEMETRY_CONFIG, .keep = CONFIG },
    { .resource = &TOOLHIVE_EXTERNAL_AUTH_CONFIG, .keep = CONFIG },
    { .resource = &TOOLHIVE_WEBHOOK_CONFIG, .keep = CONFIG },
    { .resource = &TOOLHIVE_OIDC_CONFIG, .keep = CONFIG },
    { .resource = &TOOLHIVE_AUTHZ_CONFIG, .keep = CONFIG },
    { .resource = &TOOLHIVE_MCP_GROUP, .keep = (const char *const[]){ "status.phase", NULL } },
    { 0 },
};

static const struct kind_grant grants[] = {
    { "apps", "statefulsets", "get list watch create update patch delete" },
    { "", "services", "get list watch create update patch delete" },
    { "", "pods configmaps", "get list watch" },
    { "", "pods/log", "get" },
    { "", "pods/attach", "create get" },
    { 0 },
};

const struct kind toolhive_server_kind = {
    .resource = &TOOLHIVE_SERVER,
    .watches = watches,
    .grants = grants,
    .finalizer = "mcpserver.toolhive.stacklok.dev/finalizer",
    .reconcile = reconcile,
    .unreadable = unreadable,
};
