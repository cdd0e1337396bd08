/* The gateway data plane of a ModelRouter: objects of Envoy AI Gateway instead of a proxy. Each
 * back end is a Backend and an AIServiceBackend; the rules are one AIGatewayRoute, with a policy
 * for retries, health and budgets, and one for tokens. */

#include "base/settle.h"
#include "base/time.h"
#include "base/url.h"
#include "kinds/llmkube/gateway.h"
#include "kinds/llmkube/router.h"
#include "kinds/llmkube/router_gateway.h"

const struct resource GATEWAY_TRAFFIC_POLICY = {
    .group = "gateway.envoyproxy.io",
    .version = "v1alpha1",
    .kind = "BackendTrafficPolicy",
    .plural = "backendtrafficpolicies",
};
const struct resource GATEWAY_SECURITY_POLICY = {
    .group = "gateway.envoyproxy.io",
    .version = "v1alpha1",
    .kind = "SecurityPolicy",
    .plural = "securitypolicies",
};

#define MODEL_HEADER "x-ai-eg-model"
#define BACKENDS_MAX ((PLAN_MAX_CHILDREN - 3) / 2)

static const struct resource *const needed[] = {
    &GATEWAY_BACKEND,
    &GATEWAY_AI_BACKEND,
    &GATEWAY_AI_ROUTE,
    &GATEWAY_TRAFFIC_POLICY,
};

/* ---- the route ---- */

static struct json header(struct arena *a, const char *name, const char *value)
{
    return json_fields(
        a, { "name", json_str(name) }, { "type", json_str("Exact") }, { "value", json_str(value) });
}

/* One match per model, each with the headers of the rule. */
static struct json matches_of(struct arena *a, const struct router_rule *rule)
{
    struct json models = json_get(rule->match, "models");
    struct json headers = json_get(rule->match, "headers");
    struct json_builder list;
    json_builder_init(&list, a);
    size_t count = json_is(models, JSON_LIST) && models.count ? models.count : 1;
    for (size_t i = 0; i < count; i++) {
        struct json_builder b;
        json_builder_init(&b, a);
        if (json_present(json_item(models, i)))
            json_push(&b, header(a, MODEL_HEADER, json_text(json_item(models, i))));
        json_each_member (m, headers)
            json_push(&b, header(a, m->key, json_text(m->value)));
        json_push(&list, json_fields(a, { "headers", json_or_absent(json_list_end(&b)) }));
    }
    return json_list_end(&list);
}

static struct json backend_ref(
    struct arena *a, const struct router_backend *b, int64_t priority, int64_t weight)
{
    return json_fields(a,
        { "name", json_str(b->name) },
        { "priority", json_int(priority) },
        { "weight", json_int(weight) });
}

/* The back ends that are serving, or all if none is: an empty rule would answer no request. */
static struct json refs_of(struct gateway_route *g, struct json names, bool weighted)
{
    struct router *r = g->router;
    bool any = false;
    json_each (name, names)
        any = any || router_backend(r, json_text(*name))->serving;
    struct json_builder b;
    json_builder_init(&b, r->arena);
    int64_t place = 0;
    json_each (name, names) {
        const struct router_backend *backend = router_backend(r, json_text(*name));
        if (backend->serving || !any)
            json_push(&b,
                backend_ref(r->arena,
                    backend,
                    weighted ? 0 : place,
                    weighted && backend->weight ? backend->weight : 1));
        else
            json_put(&g->ejected, backend->name, json_bool(true));
        place++;
    }
    return json_list_end(&b);
}

static struct json rules_of(struct gateway_route *g)
{
    struct router *r = g->router;
    struct arena *a = r->arena;
    struct json_builder list;
    json_builder_init(&list, a);
    for (size_t i = 0; i < r->rule_count; i++) {
        const struct router_rule *rule = &r->rules[i];
        struct json timeout = { 0 };
        if (rule->timeout_ns)
            timeout = json_str(time_duration_format(a, rule->timeout_ns));
        json_push(&list,
            json_fields(a,
                { "matches", matches_of(a, rule) },
                { "backendRefs", refs_of(g, rule->backends, text_eq(rule->strategy, "weighted")) },
                { "timeouts.request", timeout }));
    }
    if (!text_empty(r->spec.default_route)) {
        struct json names = json_list(a, json_str(r->spec.default_route));
        json_push(&list,
            json_fields(a,
                { "matches", json_list(a, json_empty_map()) },
                { "backendRefs", refs_of(g, names, false) }));
    }
    return json_list_end(&list);
}

static struct json route_of(struct gateway_route *g)
{
    struct router *r = g->router;
    struct arena *a = r->arena;
    struct json parent = json_fields(a,
        { "group", json_str("gateway.networking.k8s.io") },
        { "kind", json_str("Gateway") },
        { "name", json_str(r->spec.gateway_name) },
        { "namespace", json_str_or_absent(r->spec.gateway_namespace) });
    struct json cost = json_fields(
        a, { "metadataKey", json_str(GATEWAY_TOKENS) }, { "type", json_str("TotalToken") });
    return json_fields(a,
        { "metadata.name", json_str(r->name) },
        { "spec.parentRefs", json_list(a, parent) },
        { "spec.llmRequestCosts", json_if(r->spec.budgets.count, json_list(a, cost)) },
        { "spec.rules", rules_of(g) });
}

/* ---- the back ends ---- */

static bool backend_of(
    struct router *r, const struct router_backend *b, struct json *ret, struct error *err)
{
    struct arena *a = r->arena;
    struct url url;
    const char *address = b->service ? b->address : b->url;
    if (text_empty(address))
        return fail(err,
            ERR_INVALID,
            "backend \"%s\": %s",
            b->name,
            b->service ? b->message : "external.url is required with dataPlane: Gateway");
    if (!url_parse(a, address, &url, err))
        return fail_in(err, "backend \"%s\"", b->name);
    if (!url_port(&url) || text_empty(url.host))
        return fail(err, ERR_INVALID, "backend \"%s\": %s has no host", b->name, address);
    struct json endpoint = json_fields(
        a, { "fqdn.hostname", json_str(url.host) }, { "fqdn.port", json_int(url_port(&url)) });
    *ret = json_fields(a,
        { "metadata.name", json_str(b->name) },
        { "spec.type", json_str("Endpoints") },
        { "spec.endpoints", json_list(a, endpoint) });
    return true;
}

static struct json ai_backend_of(struct router *r, const struct router_backend *b)
{
    return json_fields(r->arena,
        { "metadata.name", json_str(b->name) },
        { "spec.schema.name", json_str("OpenAI") },
        { "spec.backendRef.group", json_str(GATEWAY_BACKEND.group) },
        { "spec.backendRef.kind", json_str(GATEWAY_BACKEND.kind) },
        { "spec.backendRef.name", json_str(b->name) });
}

static void plan_part(struct router *r, const struct resource *resource, struct json object)
{
    struct json stored = view_owned(r->in, resource, json_get_text(object, "metadata.name"));
    router_child(r, resource, settle_lists(r->arena, object, stored));
}

static bool plan_parts(struct gateway_route *g, struct error *err)
{
    struct router *r = g->router;
    if (r->backend_count > BACKENDS_MAX)
        return fail(err,
            ERR_TOO_LARGE,
            "spec.backends: at most %d are possible with dataPlane: Gateway",
            BACKENDS_MAX);
    struct json backends[BACKENDS_MAX];
    for (size_t i = 0; i < r->backend_count; i++)
        if (!backend_of(r, &r->backends[i], &backends[i], err))
            return false;
    for (size_t i = 0; i < r->backend_count; i++) {
        plan_part(r, &GATEWAY_BACKEND, backends[i]);
        plan_part(r, &GATEWAY_AI_BACKEND, ai_backend_of(r, &r->backends[i]));
    }
    plan_part(r, &GATEWAY_AI_ROUTE, route_of(g));
    plan_part(r, &GATEWAY_TRAFFIC_POLICY, gateway_traffic_policy(r));
    if (json_present(r->spec.jwt))
        plan_part(r, &GATEWAY_SECURITY_POLICY, gateway_security_policy(r));
    return true;
}

/* ---- unsupported by a gateway ---- */

static bool has_glob(struct json models)
{
    json_each (model, models)
        if (json_text(*model) && strpbrk(json_text(*model), "*?["))
            return true;
    return false;
}

static const char *unsupported_match(struct arena *a, const struct router_rule *rule)
{
    const struct {
        const char *shown;
        bool given;
    } parts[] = {
        { "glob model pattern", has_glob(json_get(rule->match, "models")) },
        { "dataClassification", json_get(rule->match, "dataClassification").count > 0 },
        { "taskComplexity", !text_empty(json_get_text(rule->match, "taskComplexity")) },
        { "requiredCapabilities", json_get(rule->match, "requiredCapabilities").count > 0 },
        { "latencySLOMs", json_get_int(rule->match, "latencySLOMs", 0) > 0 },
    };
    const char *text = NULL;
    for (size_t i = 0; i < lengthof(parts); i++)
        if (parts[i].given)
            text = text ? arena_printf(a, "%s, %s", text, parts[i].shown) : parts[i].shown;
    return text;
}

static bool check_matches(struct router *r, struct gateway_refusal *ret)
{
    for (size_t i = 0; i < r->rule_count; i++) {
        const char *what = unsupported_match(r->arena, &r->rules[i]);
        if (what)
            return gateway_refuse(r,
                ret,
                "UnsupportedMatchInGatewayMode",
                "rule \"%s\" uses %s, which the gateway data plane cannot match; only model name "
                "and headers are supported in dataPlane: Gateway",
                r->rules[i].name,
                what);
    }
    return true;
}

/* The gateway has no failClosed: data that must not leave the cluster needs the proxy. */
static bool check_sensitive(struct router *r, struct gateway_refusal *ret)
{
    for (size_t i = 0; i < r->rule_count; i++) {
        if (!router_sensitive(r->arena, r, &r->rules[i]).count)
            continue;
        json_each (name, r->rules[i].backends) {
            const struct router_backend *b = router_backend(r, json_text(*name));
            if (b && text_eq(b->tier, "cloud"))
                return gateway_refuse(r,
                    ret,
                    "UnsafeSensitiveRoute",
                    "rule \"%s\" is for sensitive data and cannot route to cloud-tier backend "
                    "\"%s\"",
                    r->rules[i].name,
                    b->name);
        }
    }
    return true;
}

static bool check_spec(struct router *r, struct gateway_refusal *ret)
{
    struct json fault = json_item(router_check(r->arena, r), 0);
    if (json_present(fault))
        return gateway_refuse(r,
            ret,
            "ReconcileFailed",
            "%s: %s",
            json_get_text(fault, "field"),
            json_get_text(fault, "message"));
    if (!text_eq(r->spec.sink, "stdout") || r->spec.include_body)
        return gateway_refuse(r,
            ret,
            "UnsupportedAuditLogInGatewayMode",
            "spec.policy.auditLog: the gateway writes the audit log itself; remove it, or use "
            "dataPlane: Proxy");
    return true;
}

static bool check_gateway(struct router *r, struct gateway_refusal *ret)
{
    for (size_t i = 0; i < lengthof(needed); i++)
        if (!view_served(r->in, needed[i]))
            return gateway_refuse(r,
                ret,
                "GatewayCRDsNotInstalled",
                "The CRDs of Envoy AI Gateway are not installed: install them, or use dataPlane: "
                "Proxy");
    if (text_empty(r->spec.gateway_name))
        return gateway_refuse(r,
            ret,
            "GatewayRefMissing",
            "spec.gatewayRef.name is required with dataPlane: Gateway");
    return true;
}

static bool (*const checks[])(struct router *r, struct gateway_refusal *ret) = {
    check_gateway,
    check_sensitive,
    check_matches,
    gateway_check_budgets,
    gateway_check_auth,
    check_spec,
};

/* ---- the pass ---- */

static void plan_refused(struct router *r, const struct gateway_refusal *refusal)
{
    plan_keep_children(r->out); /* existing routes stay until the spec is valid again */
    plan_status(r->out, json_fields(r->arena, { "gateway", json_empty_map() }), NULL);
    plan_condition(r->out, "GatewayReady", false, refusal->reason, "%s", refusal->message);
    plan_event(r->out, true, refusal->reason, "%s", refusal->message);
    plan_wait(r->out, "%s", refusal->message);
}

static const char *ejected_text(struct arena *a, struct json ejected)
{
    const char *text = "";
    json_each_member (m, ejected)
        text = arena_printf(a, "%s%s%s", text, *text ? ", " : "", m->key);
    return ejected.count
               ? arena_printf(a, "; ejected %u unhealthy backend(s): %s", ejected.count, text)
               : "";
}

static void plan_exposed(struct gateway_route *g)
{
    struct router *r = g->router;
    const char *ns = text_empty(r->spec.gateway_namespace) ? r->ns : r->spec.gateway_namespace;
    const char *gateway = arena_printf(r->arena, "%s/%s", ns, r->spec.gateway_name);
    plan_status(r->out,
        json_fields(r->arena,
            { "gateway.endpoint", json_strf(r->arena, "gateway %s", gateway) },
            { "gateway.routeReady", json_bool(true) },
            { "gateway.authEnabled", json_true_or_absent(json_present(r->spec.jwt)) }),
        NULL);
    plan_condition(r->out,
        "GatewayReady",
        true,
        "Exposed",
        "compiled %zu rule(s) onto gateway %s%s",
        r->rule_count,
        gateway,
        ejected_text(r->arena, json_map_end(&g->ejected)));
    plan_done(r->out);
}

void router_gateway_plan(struct router *r)
{
    struct gateway_refusal refusal;
    for (size_t i = 0; i < lengthof(checks); i++)
        if (!checks[i](r, &refusal)) {
            plan_refused(r, &refusal);
            return;
        }
    router_resolve(r);
    struct error err;
    struct gateway_route g = { .router = r };
    json_builder_init(&g.ejected, r->arena);
    if (!plan_parts(&g, &err)) {
        gateway_refuse(r, &refusal, "ReconcileFailed", "%s", err.text);
        plan_refused(r, &refusal);
    } else if (r->trouble) {
        gateway_refuse(r, &refusal, "ReconcileFailed", "%s", r->trouble);
        plan_refused(r, &refusal);
    } else {
        plan_exposed(&g);
    }
}
