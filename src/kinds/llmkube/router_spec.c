/* Reading the spec of a ModelRouter. */

#include "kinds/llmkube/router.h"

#include "base/json_bind.h"
#include "base/time.h"

static const struct json_bind spec_bind[] = {
    BIND(struct router_spec, data_plane, "dataPlane"),
    BIND(struct router_spec, gateway_name, "gatewayRef.name"),
    BIND(struct router_spec, gateway_namespace, "gatewayRef.namespace"),
    BIND(struct router_spec, backends, "backends", .required = true),
    BIND(struct router_spec, rules, "rules"),
    BIND(struct router_spec, default_route, "defaultRoute"),
    BIND(struct router_spec, default_route_strategy, "defaultRouteStrategy"),
    BIND(struct router_spec, mode, "policy.classification.mode"),
    BIND(struct router_spec, class_header, "policy.classification.headerKey"),
    BIND(struct router_spec, sensitive, "policy.classification.sensitiveClassifications"),
    BIND(struct router_spec, sink, "policy.auditLog.sink"),
    BIND(struct router_spec, file_path, "policy.auditLog.filePath"),
    BIND(struct router_spec, include_body, "policy.auditLog.includeRequestBody"),
    BIND(struct router_spec, budgets, "policy.budgets"),
    BIND(struct router_spec, jwt, "policy.auth.jwt"),
    BIND(struct router_spec, allowlists, "policy.auth.allowlists"),
    BIND(struct router_spec, port, "endpoint.port", .min = 0, .max = 65535),
    BIND(struct router_spec, path, "endpoint.path"),
    BIND(struct router_spec, type, "endpoint.type"),
    BIND(struct router_spec, node_port, "endpoint.nodePort"),
    BIND(struct router_spec, replicas, "proxy.replicas"),
    BIND(struct router_spec, revision_history_limit, "proxy.revisionHistoryLimit"),
    BIND(struct router_spec, image, "proxy.image"),
    BIND(struct router_spec, resources, "proxy.resources"),
    BIND(struct router_spec, pull_secrets, "proxy.imagePullSecrets"),
    BIND(struct router_spec, node_selector, "proxy.nodeSelector"),
    BIND(struct router_spec, quarantine, "proxy.quarantineDuration"),
    BIND(struct router_spec, header_timeout, "proxy.responseHeaderTimeout"),
    { 0 },
};

static const struct json_bind backend_bind[] = {
    BIND(struct router_backend, name, "name", .required = true),
    BIND(struct router_backend, display_name, "displayName"),
    BIND(struct router_backend, service, "inferenceServiceRef.name"),
    BIND(struct router_backend, external, "external"),
    BIND(struct router_backend, provider, "external.provider"),
    BIND(struct router_backend, url, "external.url"),
    BIND(struct router_backend, model, "external.model"),
    BIND(struct router_backend, secret, "external.credentialsSecretRef.name"),
    BIND(struct router_backend, tier, "tier"),
    BIND(struct router_backend, capabilities, "capabilities"),
    BIND(struct router_backend, weight, "weight"),
    BIND(struct router_backend, timeout, "timeout"),
    { 0 },
};

static const struct json_bind rule_bind[] = {
    BIND(struct router_rule, name, "name", .required = true),
    BIND(struct router_rule, match, "match"),
    BIND(struct router_rule, backends, "route.backends"),
    BIND(struct router_rule, strategy, "route.strategy"),
    BIND(struct router_rule, fail_closed, "failClosed"),
    BIND(struct router_rule, timeout, "timeout"),
    { 0 },
};

/* An invalid duration is 0 here; router_check() reports it. */
static int64_t duration_of(const char *text)
{
    int64_t ns;
    return text && time_duration_parse(text, &ns) && ns > 0 ? ns : 0;
}

static bool read_backends(struct arena *a, struct router *r, struct error *err)
{
    r->backends = arena_array(a, r->spec.backends.count, sizeof(*r->backends));
    json_each (item, r->spec.backends) {
        struct router_backend *b = &r->backends[r->backend_count];
        const char *at = arena_printf(a, "spec.backends[%zu]", r->backend_count);
        b->tier = "local";
        if (!json_bind(a, *item, at, backend_bind, b, err))
            return false;
        b->timeout_ns = duration_of(b->timeout);
        if (text_empty(b->service))
            b->service = NULL;
        if (!json_is(b->external, JSON_MAP))
            b->external = json_none;
        r->backend_count++;
    }
    struct json_builder index;
    json_builder_init(&index, a);
    for (size_t i = r->backend_count; i-- > 0;)
        json_put(&index, r->backends[i].name, json_int((int64_t)i));
    r->backend_index = json_map_end(&index);
    return true;
}

static bool read_rules(struct arena *a, struct router *r, struct error *err)
{
    r->rules = arena_array(a, r->spec.rules.count + 1, sizeof(*r->rules));
    json_each (item, r->spec.rules) {
        struct router_rule *rule = &r->rules[r->rule_count];
        const char *at = arena_printf(a, "spec.rules[%zu]", r->rule_count);
        if (!json_bind(a, *item, at, rule_bind, rule, err))
            return false;
        rule->timeout_ns = duration_of(rule->timeout);
        r->rule_count++;
    }
    return true;
}

bool router_read(struct arena *a, struct json spec, struct router *ret, struct error *err)
{
    *ret = (struct router){
        .arena = a,
        .raw = spec,
        .spec = {
            .data_plane = "Proxy",
            .default_route_strategy = "Static",
            .mode = "header-only",
            .sink = "stdout",
            .replicas = 1,
        },
    };
    struct router_spec *s = &ret->spec;
    if (!json_bind(a, spec, "spec", spec_bind, s, err))
        return false;
    const struct {
        const char *path;
        struct json value;
    } lists[] = {
        { "backends", s->backends },
        { "rules", s->rules },
        { "policy.budgets", s->budgets },
    };
    for (size_t i = 0; i < lengthof(lists); i++)
        if (json_present(lists[i].value) && !json_is(lists[i].value, JSON_NULL) &&
            !json_is(lists[i].value, JSON_LIST))
            return fail(err,
                ERR_INVALID,
                "spec.%s: expected list, got %s",
                lists[i].path,
                json_type_name(lists[i].value));
    s->quarantine_ns = duration_of(s->quarantine);
    s->header_timeout_ns = duration_of(s->header_timeout);
    if (!json_is(s->sensitive, JSON_LIST) || !s->sensitive.count)
        s->sensitive = json_list(a, json_str("pii"), json_str("phi"));
    return read_backends(a, ret, err) && read_rules(a, ret, err);
}
