/* The ModelRouter kind: one address in front of InferenceServices and external providers. This file
 * has the order of the steps and the status; the parts are in the files listed in router.h. */

#include "kinds/llmkube/model_router.h"

#include "base/names.h"
#include "base/time.h"
#include "kinds/llmkube/gateway.h"
#include "kinds/llmkube/inference_service.h"
#include "kinds/llmkube/model_pool.h"
#include "kinds/llmkube/router.h"

const struct resource LLMKUBE_MODEL_ROUTER = {
    .group = "inference.llmkube.dev",
    .version = "v1alpha1",
    .kind = "ModelRouter",
    .plural = "modelrouters",
};

/* ---- conditions ---- */

/* Keeps a condition that this pass has no news about. */
static void keep_condition(struct router *r, const char *type)
{
    struct json conditions = json_get(r->in->object, "status.conditions");
    struct json was = json_find(conditions, "type", type);
    if (json_present(was))
        plan_condition(r->out,
            type,
            text_eq(json_get_text(was, "status"), "True"),
            json_get_text(was, "reason"),
            "%s",
            json_get_text(was, "message"));
}

/* The spec cannot be applied: running pods continue, and their address is still reported. */
static void plan_failed(struct router *r, const char *cause)
{
    plan_keep_children(r->out);
    plan_status(r->out,
        json_fields(r->arena,
            { "phase", json_str("Failed") },
            { "endpoint", json_get(r->in->object, "status.endpoint") }),
        "lastUpdated");
    plan_wait(r->out, "%s", cause);
}

static void plan_invalid(struct router *r, const char *cause)
{
    plan_condition(r->out, "Validated", false, "SpecInvalid", "%s", cause);
    keep_condition(r, "BackendsReady");
    keep_condition(r, "Available");
    plan_failed(r, cause);
}

static void plan_uncompiled(struct router *r, const char *cause)
{
    plan_condition(r->out, "Validated", true, "SpecValid", "spec passed static validation");
    keep_condition(r, "BackendsReady");
    plan_condition(r->out,
        "Available",
        false,
        "CompileFailed",
        "compiled router config failed validation: %s",
        cause);
    plan_failed(r, cause);
}

/* ---- fields without effect ---- */

static void plan_inert(struct router *r)
{
    bool ours = router_image_is_ours(r);
    const char *text = router_inert(r, ours);
    if (text)
        plan_condition(r->out,
            "FieldsIgnored",
            true,
            "NotActedOn",
            ours ? "These fields have no effect with dataPlane Proxy: %s"
                 : "These fields have no effect with dataPlane Proxy and the image of LLMKube's "
                   "router-proxy: %s",
            text);
}

/* The schema makes every back end local that is not declared as cloud. A provider outside of the
 * cluster then receives data that must not leave it. */
static void plan_leaks(struct router *r)
{
    for (size_t i = 0; i < r->rule_count; i++) {
        if (!router_sensitive(r->arena, r, &r->rules[i]).count)
            continue;
        json_each (name, r->rules[i].backends) {
            const struct router_backend *b = router_backend(r, json_text(*name));
            if (!b || b->service)
                continue;
            plan_condition(r->out,
                "SensitiveDataLeaves",
                true,
                "ExternalBackendIsLocal",
                "Rule \"%s\" is for sensitive data and may use the external back end \"%s\", whose "
                "tier is local. Set its tier to cloud, or remove it from the rule",
                r->rules[i].name,
                b->name);
            return;
        }
    }
}

/* ---- status ---- */

/* The time at which an entry last changed, not of the last check: otherwise every check would be a
 * write. */
static struct json backend_status(const struct router *r, const struct router_backend *b)
{
    struct json entry = json_fields(r->arena,
        { "name", json_str(b->name) },
        { "tier", json_str(b->tier) },
        { "address", json_str(b->address) },
        { "healthy", json_true_or_absent(!b->message) },
        { "message", json_str(b->message) });
    struct json was = json_find(json_get(r->in->object, "status.backends"), "name", b->name);
    struct json at = json_get(was, "lastProbeTime");
    struct json same = json_with_member(r->arena, was, "lastProbeTime", json_none);
    if (!json_present(at) || !json_equal(same, entry))
        at = json_str(time_format(r->arena, r->in->now_ms));
    return json_with_member(r->arena, entry, "lastProbeTime", at);
}

static const char *phase_of(const struct router *r, bool resolved)
{
    if (r->trouble)
        return "Failed";
    if (!router_proxy_ready(r))
        return "Provisioning";
    return resolved ? "Ready" : "Degraded";
}

static void plan_available(struct router *r)
{
    if (r->trouble)
        plan_condition(r->out, "Available", false, "ReconcileFailed", "%s", r->trouble);
    else if (router_proxy_ready(r))
        plan_condition(r->out, "Available", true, "DeploymentReady", "Deployment is fully Ready");
    else
        plan_condition(r->out,
            "Available",
            false,
            "DeploymentNotReady",
            "Waiting for proxy pods to become Ready");
}

static void plan_proxy_status(struct router *r)
{
    struct json_builder list;
    json_builder_init(&list, r->arena);
    bool resolved = true;
    for (size_t i = 0; i < r->backend_count; i++) {
        json_push(&list, backend_status(r, &r->backends[i]));
        resolved = resolved && !r->backends[i].message;
    }
    plan_status(r->out,
        json_fields(r->arena,
            { "phase", json_str(phase_of(r, resolved)) },
            { "endpoint", json_str(router_endpoint(r)) },
            { "activeRules", json_int_or_absent((int64_t)r->rule_count) },
            { "backends", json_list_end(&list) }),
        "lastUpdated");
    plan_condition(r->out, "Validated", true, "SpecValid", "spec passed static validation");
    if (resolved)
        plan_condition(r->out, "BackendsReady", true, "BackendsResolved", "all backends resolved");
    else
        plan_condition(r->out,
            "BackendsReady",
            false,
            "BackendsUnresolved",
            "some backends unresolved (see status.backends for details)");
    plan_available(r);
    if (r->pooled && r->spec.replicas > 1)
        plan_event(r->out,
            true,
            "ReplicasIgnored",
            "spec.proxy.replicas is %lld, but a router in front of a ModelPool always has one pod",
            (long long)r->spec.replicas);
    plan_inert(r);
    plan_leaks(r);
    if (r->trouble)
        plan_wait(r->out, "%s", r->trouble);
    else
        plan_done(r->out);
}

/* On one machine, addresses are used instead of names: without them a config would be useless, and
 * its pods would be replaced a moment later. */
static void plan_awaited(struct router *r)
{
    plan_keep_children(r->out);
    plan_status(r->out,
        json_fields(r->arena,
            { "phase", json_str("Provisioning") },
            { "endpoint", json_get(r->in->object, "status.endpoint") },
            { "backends", json_get(r->in->object, "status.backends") }),
        "lastUpdated");
    plan_condition(r->out, "Validated", true, "SpecValid", "spec passed static validation");
    plan_condition(r->out, "BackendsReady", false, "BackendsUnresolved", "%s", r->awaited);
    plan_condition(r->out, "Available", false, "DeploymentNotReady", "%s", r->awaited);
    plan_wait(r->out, "%s", r->awaited);
}

/* ---- the kind ---- */

static const char *faults_text(struct arena *a, struct json faults)
{
    const char *text = "";
    json_each (f, faults)
        text = arena_printf(a,
            "%s%s%s: %s",
            text,
            *text ? "; " : "",
            json_get_text(*f, "field"),
            json_get_text(*f, "message"));
    return text;
}

static const char *child_name(struct arena *a, const char *name)
{
    char *base = arena_strdup(a, name);
    for (char *c = base; *c; c++)
        if (*c == '.')
            *c = '-';
    return name_join(a, base, "-router-proxy", NAME_LABEL_MAX);
}

static void begin(struct router *r, const struct view *in, struct plan *out)
{
    r->in = in;
    r->out = out;
    r->arena = in->arena;
    r->settings = in->settings;
    r->name = view_name(in);
    r->ns = view_namespace(in);
    r->child = child_name(in->arena, r->name);
    r->label = strlen(r->name) <= NAME_LABEL_MAX ? r->name
                                                 : name_shorten(in->arena, r->name, NAME_LABEL_MAX);
    r->live = view_child(in, &RESOURCE_DEPLOYMENT, r->child);
}

static void unreadable(const struct view *in, struct plan *out, const struct error *err)
{
    struct router r = { 0 };
    begin(&r, in, out);
    plan_invalid(&r, err->text);
}

static void plan_proxy(struct router *r)
{
    struct error err;
    struct json faults = router_check(r->arena, r);
    if (faults.count) {
        plan_invalid(r, faults_text(r->arena, faults));
        return;
    }
    const char *fault = router_image_is_ours(r) ? router_check_extras(r) : NULL;
    if (fault) {
        plan_invalid(r, fault);
        return;
    }
    router_resolve(r);
    if (r->awaited) {
        plan_awaited(r);
        return;
    }
    if (!router_compile(r, &err)) {
        plan_uncompiled(r, err.text);
        return;
    }
    router_proxy_plan(r);
    plan_proxy_status(r);
}

static void reconcile(const struct view *in, struct plan *out)
{
    struct router r;
    struct error err;
    if (!router_read(in->arena, json_get(in->object, "spec"), &r, &err)) {
        unreadable(in, out, &err);
        return;
    }
    begin(&r, in, out);
    if (text_eq(r.spec.data_plane, "Gateway"))
        router_gateway_plan(&r);
    else
        plan_proxy(&r);
}

static const struct kind_watch watches[] = {
    {
        .resource = &LLMKUBE_INFERENCE_SERVICE,
        .keep = (const char *const[]){ "spec.endpoint.port", "status.readyReplicas", NULL },
    },
    {
        /* Only the existence of a key matters. */
        .resource = &RESOURCE_SECRET,
        .keep = (const char *const[]){ "data.ANTHROPIC_API_KEY",
            "data.OPENAI_API_KEY",
            "data.LITELLM_MASTER_KEY",
            "data.AWS_ACCESS_KEY_ID",
            "data.GOOGLE_APPLICATION_CREDENTIALS",
            NULL },
    },
    {
        .resource = &ROUTER_CONFIG_MAP,
        .child = true,
        .label_selector = "inference.llmkube.dev/model-router",
    },
    {
        .resource = &RESOURCE_DEPLOYMENT,
        .child = true,
        .keep = (const char *const[]){ "metadata.generation",
            "spec.template.spec.containers.0.image",
            "status.observedGeneration",
            "status.readyReplicas",
            NULL },
    },
    {
        .resource = &RESOURCE_SERVICE,
        .child = true,
        .keep = (const char *const[]){ "spec.clusterIP", NULL },
    },
    { .resource = &LLMKUBE_MODEL_POOL },
    { .resource = &RESOURCE_SERVICE_ACCOUNT, .child = true },
    {
        .resource = &ROUTER_ROLE,
        .child = true,
        .label_selector = "inference.llmkube.dev/model-router",
    },
    {
        .resource = &ROUTER_ROLE_BINDING,
        .child = true,
        .label_selector = "inference.llmkube.dev/model-router",
    },
    { .resource = &GATEWAY_BACKEND, .optional = true, .child = true },
    { .resource = &GATEWAY_AI_BACKEND, .optional = true, .child = true },
    { .resource = &GATEWAY_AI_ROUTE, .optional = true, .child = true },
    { .resource = &GATEWAY_TRAFFIC_POLICY, .optional = true, .child = true },
    { .resource = &GATEWAY_SECURITY_POLICY, .optional = true, .child = true },
    { 0 },
};

const struct kind llmkube_model_router_kind = {
    .resource = &LLMKUBE_MODEL_ROUTER,
    .watches = watches,
    .grants = router_grants,
    .reconcile = reconcile,
    .unreadable = unreadable,
};
