/* config.yaml: the configuration of the gateway, in the format of upstream's gateway. It starts
 * with spec.config; other fields of the object override it. */

#include "base/time.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/toolhive/runconfig_tables.h"
#include "kinds/toolhive/vmcp.h"
#include "kinds/toolhive/vmcp_tables.h"

#define ACCOUNT_FILES "/var/run/secrets/kubernetes.io/serviceaccount"

static bool fault(struct vmcp *v, const char *format, ...) printf_like(2, 3);
static bool fault(struct vmcp *v, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    v->p.fault = arena_vprintf(v->p.a, format, args);
    va_end(args);
    return false;
}

/* ---- user input ---- */

/* Always set by the operator, even if the user sets them. */
static const char *const overwritten[] = {
    "groupRef", "incomingAuth", "name", "outgoingAuth", "sessionStorage", "telemetry"
};

static void tell_ignored(struct vmcp *v, struct json config)
{
    const char *list = "";
    json_each_member (m, config) {
        bool used = false;
        for (const struct document_field *f = vmcp_config_fields; f->name; f++)
            used |= text_eq(f->name, m->key);
        for (size_t i = 0; i < lengthof(overwritten); i++)
            used &= !text_eq(overwritten[i], m->key);
        used &= !(v->fixed && text_eq(m->key, "backends"));
        if (!used && strlen(list) < 512)
            list = arena_printf(v->p.a, "%s%sspec.config.%s", list, *list ? ", " : "", m->key);
    }
    if (*list)
        plan_condition(v->p.out,
            "ConfigFieldsIgnored",
            true,
            "FieldsHaveNoEffect",
            "these fields do not reach the gateway: %s",
            list);
}

static bool bucket(
    struct vmcp *v, struct json given, const char *path, struct json *ret, struct error *err)
{
    int64_t ns;
    *ret = json_none;
    if (!json_present(given))
        return true;
    const char *period = toolhive_text(given, "refillPeriod", "");
    if (!time_duration_parse(period, &ns))
        return fail(err,
            ERR_INVALID,
            "spec.config.rateLimiting.%s.refillPeriod: \"%s\" is not a duration. Use a form such "
            "as 1m30s.",
            path,
            period);
    *ret = json_fields(v->p.a,
        { "maxTokens", json_get(given, "maxTokens") },
        { "refillPeriod.duration", json_str(time_duration_format(v->p.a, ns)) });
    return true;
}

static bool buckets(
    struct vmcp *v, struct json given, const char *path, struct json *ret, struct error *err)
{
    struct arena *a = v->p.a;
    struct json shared, user;
    if (!bucket(v, json_get(given, "shared"), arena_printf(a, "%sshared", path), &shared, err) ||
        !bucket(v, json_get(given, "perUser"), arena_printf(a, "%sperUser", path), &user, err))
        return false;
    *ret = json_fields(
        a, { "name", json_get(given, "name") }, { "shared", shared }, { "perUser", user });
    return true;
}

static bool read_limits(struct vmcp *v, struct json given, struct error *err)
{
    struct json_builder tools;
    if (!json_present(given))
        return true;
    json_builder_init(&tools, v->p.a);
    json_each (tool, json_get(given, "tools")) {
        struct json one;
        const char *path = arena_printf(v->p.a, "tools[%s].", toolhive_text(*tool, "name", ""));
        if (!buckets(v, *tool, path, &one, err))
            return false;
        json_push(&tools, one);
    }
    if (!buckets(v, given, "", &v->limits, err))
        return false;
    v->limits = json_with_member(v->p.a, v->limits, "tools", json_or_absent(json_list_end(&tools)));
    return true;
}

bool vmcp_read_config(struct vmcp *v, struct error *err)
{
    struct json config = json_get(v->spec, "config");
    if (!json_present(config))
        config = json_empty_map();
    tell_ignored(v, config);
    struct json typed = json_with_member(v->p.a, config, "rateLimiting", json_none);
    for (size_t i = 0; i < lengthof(overwritten); i++)
        typed = json_with_member(v->p.a, typed, overwritten[i], json_none);
    return document_read(v->p.a, vmcp_config_fields, typed, "spec.config", &v->given, err) &&
           read_limits(v, json_get(config, "rateLimiting"), err);
}

/* ---- incoming authentication ---- */

static struct json oidc(const struct vmcp *v)
{
    struct arena *a = v->p.a;
    struct json given = v->p.oidc;
    if (!json_present(given))
        return given;
    bool cluster = text_eq(json_get_text(given, "spec.type"), "kubernetesServiceAccount");
    bool with_account =
        cluster && json_get_bool(given, "spec.kubernetesServiceAccount.useClusterAuth", true);
    struct json c = json_get(given, cluster ? "spec.kubernetesServiceAccount" : "spec.inline");
    struct json ca = json_get(c, "caBundleRef.configMapRef");
    bool secret = !cluster && json_present(json_get(c, "clientSecretRef"));
    return json_fields(a,
        { "issuer",
            json_str(toolhive_text(c, "issuer", cluster ? "https://kubernetes.default.svc" : "")) },
        { "clientId", json_get(c, "clientId") },
        { "clientSecretEnv", json_str(secret ? "VMCP_OIDC_CLIENT_SECRET" : NULL) },
        { "audience", json_get(v->p.spec, "oidcConfigRef.audience") },
        { "resource", json_str(proxy_resource_url(&v->p)) },
        { "jwksUrl", json_get(c, "jwksUrl") },
        { "introspectionUrl", json_get(c, "introspectionUrl") },
        { "scopes", json_get(v->p.spec, "oidcConfigRef.scopes") },
        { "protectedResourceAllowPrivateIp", json_get(c, "protectedResourceAllowPrivateIP") },
        { "jwksAllowPrivateIp",
            with_account ? json_bool(true) : json_get(c, "jwksAllowPrivateIP") },
        { "insecureAllowHttp", json_get(c, "insecureAllowHTTP") },
        { "caBundlePath",
            with_account ? json_str(ACCOUNT_FILES "/ca.crt")
                         : json_if(json_present(ca),
                               json_strf(a,
                                   "/config/certs/%s/%s",
                                   toolhive_text(ca, "name", ""),
                                   toolhive_text(ca, "key", "ca.crt"))) });
}

/* The upstream whose token Cedar policies see: the named one, or else the first. */
static const char *upstream_of_policies(const struct vmcp *v)
{
    struct json server = json_get(v->spec, "authServerConfig");
    const char *named = toolhive_text(server,
        "primaryUpstreamProvider",
        json_get_text(v->p.spec, "authzConfig.inline.primaryUpstreamProvider"));
    if (!text_empty(named) || !json_get(server, "upstreamProviders").count)
        return named;
    return toolhive_text(server, "upstreamProviders.0.name", "default");
}

static bool authz(struct vmcp *v, struct json *ret)
{
    struct json document;
    bool inline_policies;
    *ret = json_none;
    if (!proxy_authz(&v->p, &document, &inline_policies))
        return false;
    if (!json_present(document))
        return true;
    struct json cedar = json_get(document, "cedar");
    *ret = json_fields(v->p.a,
        { "type", json_str("cedar") },
        { "policies", json_get(cedar, "policies") },
        { "entitiesJson", json_get(cedar, "entities_json") },
        { "primaryUpstreamProvider", json_str(upstream_of_policies(v)) },
        { "groupClaimName", json_get(cedar, "group_claim_name") },
        { "roleClaimName", json_get(cedar, "role_claim_name") },
        { "groupEntityType", json_get(cedar, "group_entity_type") });
    return true;
}

/* ---- aggregation ---- */

/* An MCPToolConfig adds what the workload's own row does not set. */
static bool with_tool_config(struct vmcp *v, struct json row, struct json *ret)
{
    struct arena *a = v->p.a;
    const char *name = json_get_text(row, "toolConfigRef.name");
    *ret = json_with_member(a, row, "toolConfigRef", json_none);
    if (!name)
        return true;
    struct json config = view_get(v->p.in, &TOOLHIVE_TOOL_CONFIG, name);
    if (!json_present(config))
        return fault(v,
            "failed to create vmcp Config from VirtualMCPServer: failed to convert aggregation "
            "config: MCPToolConfig resolution failed for \"%s\": failed to get MCPToolConfig "
            "%s/%s: MCPToolConfig.toolhive.stacklok.dev \"%s\" not found",
            name,
            v->p.ns,
            name,
            name);
    struct json filter = json_get(row, "filter"), overrides = json_get(row, "overrides");
    if (!filter.count)
        filter = json_or_absent(json_get(config, "spec.toolsFilter"));
    overrides = json_overlay(a, json_get(config, "spec.toolsOverride"), overrides);
    *ret = json_with_member(a, *ret, "filter", filter);
    *ret = json_with_member(a, *ret, "overrides", json_or_absent(overrides));
    return true;
}

static bool aggregation(struct vmcp *v, struct json *ret)
{
    struct arena *a = v->p.a;
    struct json given = json_get(v->given, "aggregation");
    struct json conflicts = json_get(given, "conflictResolutionConfig");
    const char *how = toolhive_text(given, "conflictResolution", "prefix");
    struct json_builder tools;
    json_builder_init(&tools, a);
    json_each (row, json_get(given, "tools")) {
        struct json one;
        if (!with_tool_config(v, *row, &one))
            return false;
        json_push(&tools, one);
    }
    if (!json_present(conflicts))
        conflicts = text_eq(how, "prefix")
                        ? json_fields(a, { "prefixFormat", json_str("{workload}_") })
                        : json_empty_map();
    *ret = json_fields(a,
        { "conflictResolution", json_str(how) },
        { "conflictResolutionConfig", conflicts },
        { "tools", json_or_absent(json_list_end(&tools)) },
        { "excludeAllTools", json_get(given, "excludeAllTools") },
        { "defaultToolVisibility", json_get(given, "defaultToolVisibility") });
    return true;
}

/* ---- composite tools, operation, sessions ---- */

static bool composite_tools(struct vmcp *v, struct json *ret)
{
    struct json_builder all, names;
    json_builder_init(&all, v->p.a);
    json_builder_init(&names, v->p.a);
    json_push_all(&all, json_get(v->given, "compositeTools"));
    json_push_all(&all, v->tools);
    *ret = json_or_absent(json_list_end(&all));
    uint32_t i = 0;
    json_each (tool, *ret)
        json_put(&names, toolhive_text(*tool, "name", ""), json_int(i++));
    struct json by_name = json_map_end(&names);
    i = 0;
    json_each (tool, *ret) {
        const char *name = toolhive_text(*tool, "name", "");
        if (json_member(by_name, name).integer != i++)
            return fault(v,
                "failed to create vmcp Config from VirtualMCPServer: failed to convert composite "
                "tools: invalid composite tools: duplicate composite tool name: \"%s\"",
                name);
    }
    return true;
}

static bool is_zero(struct json v)
{
    return !json_present(v) || json_is(v, JSON_NULL) || (json_is(v, JSON_STR) && !v.count) ||
           (json_is(v, JSON_INT) && !v.integer);
}

/* Defaults replace zero values, level by level. */
static struct json with_defaults(struct arena *a, struct json given, struct json defaults)
{
    json_each_member (m, defaults) {
        struct json v = json_member(given, m->key);
        if (json_is(v, JSON_MAP) && json_is(m->value, JSON_MAP))
            given = json_with_member(a, given, m->key, with_defaults(a, v, m->value));
        else if (is_zero(v))
            given = json_with_member(a, given, m->key, m->value);
    }
    return given;
}

static struct json operational(const struct vmcp *v)
{
    struct arena *a = v->p.a;
    struct json given = json_get(v->given, "operational");
    return with_defaults(a,
        json_present(given) ? given : json_empty_map(),
        json_fields(a,
            { "timeouts.default", json_str("30s") },
            { "failureHandling.healthCheckInterval", json_str("30s") },
            { "failureHandling.unhealthyThreshold", json_int(3) },
            { "failureHandling.statusReportingInterval", json_str("30s") },
            { "failureHandling.partialFailureMode", json_str("fail") },
            { "failureHandling.circuitBreaker.failureThreshold", json_int(5) },
            { "failureHandling.circuitBreaker.timeout", json_str("1m0s") }));
}

static struct json audit(const struct vmcp *v)
{
    struct json given = json_get(v->given, "audit");
    if (!json_present(given) || !text_empty(json_get_text(given, "component")))
        return given;
    return json_with_member(v->p.a, given, "component", json_str(v->p.name));
}

static struct json optimizer(const struct vmcp *v)
{
    struct json given = json_get(v->given, "optimizer");
    if (text_empty(v->embedding_url))
        return given;
    return json_with_member(v->p.a,
        json_present(given) ? given : json_empty_map(),
        "embeddingService",
        json_str(v->embedding_url));
}

static struct json sessions(const struct vmcp *v)
{
    struct json s = json_get(v->spec, "sessionStorage");
    const char *usual = v->p.settings->redis_addr;
    if (text_eq(json_get_text(s, "provider"), "redis"))
        return json_fields(v->p.a,
            { "provider", json_str("redis") },
            { "address", json_get(s, "address") },
            { "db", json_get(s, "db") },
            { "keyPrefix", json_get(s, "keyPrefix") });
    if (text_empty(usual))
        return json_none;
    return json_fields(v->p.a, { "provider", json_str("redis") }, { "address", json_str(usual) });
}

static struct json telemetry(const struct vmcp *v)
{
    return json_with_member(v->p.a, proxy_telemetry(&v->p), "caCertPath", json_none);
}

/* ---- the document ---- */

static bool config(struct vmcp *v, struct json *ret)
{
    struct arena *a = v->p.a;
    struct json outgoing, policies, shown, tools;
    if (!authz(v, &policies) || !vmcp_outgoing(v, &outgoing) || !aggregation(v, &shown) ||
        !composite_tools(v, &tools))
        return false;
    struct json backends = v->fixed ? vmcp_backends(v) : json_get(v->given, "backends");
    if (v->fixed && !backends.count)
        return fault(v,
            "static mode requires at least one backend with valid transport ([sse "
            "streamable-http]), but none were discovered in group %s",
            v->group);
    struct json headers = json_get(v->spec, "passthroughHeaders");
    *ret = json_fields(a,
        { "name", json_str(v->p.name) },
        { "groupRef", json_str(v->group) },
        { "backends", backends },
        { "incomingAuth.type", json_get(v->p.spec, "type") },
        { "incomingAuth.oidc", oidc(v) },
        { "incomingAuth.authz", policies },
        { "outgoingAuth", outgoing },
        { "aggregation", shown },
        { "compositeTools", tools },
        { "compositeToolRefs", json_get(v->given, "compositeToolRefs") },
        { "operational", operational(v) },
        { "metadata", json_get(v->given, "metadata") },
        { "telemetry", json_if(json_present(v->p.telemetry), telemetry(v)) },
        { "audit", audit(v) },
        { "optimizer", optimizer(v) },
        { "codeMode", json_get(v->given, "codeMode") },
        { "sessionStorage", sessions(v) },
        { "rateLimiting", v->limits },
        { "passthroughHeaders",
            headers.count ? headers : json_get(v->given, "passthroughHeaders") });
    return true;
}

/* ---- the auth server and settings that must match it ---- */

static bool integration(struct vmcp *v, const char *format, ...) printf_like(2, 3);
static bool integration(struct vmcp *v, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = arena_vprintf(v->p.a, format, args);
    va_end(args);
    v->p.auth_fault = true;
    return fault(v, "invalid auth server integration: %s", text);
}

static bool has_upstream(struct json server, const char *name)
{
    json_each (provider, json_get(server, "upstreamProviders"))
        if (text_eq(toolhive_text(*provider, "name", "default"), name))
            return true;
    return false;
}

static bool check_strategy(
    struct vmcp *v, struct json server, const char *name, struct json strategy)
{
    const char *provider = toolhive_text(strategy, "upstreamInject.providerName", "default");
    if (!text_eq(json_get_text(strategy, "type"), "upstream_inject"))
        return true;
    if (!json_present(server))
        return integration(
            v, "upstream_inject requires an embedded auth server (authServer must be configured)");
    return has_upstream(server, provider) ||
           integration(v,
               "backend \"%s\": upstream_inject providerName \"%s\" not found in auth server "
               "upstreams",
               name,
               provider);
}

static bool check_integration(struct vmcp *v, struct json server, struct json config_)
{
    struct json in = json_get(config_, "incomingAuth.oidc");
    const char *issuer = toolhive_text(server, "issuer", "");
    if (!check_strategy(v, server, "<default-strategy>", json_get(config_, "outgoingAuth.default")))
        return false;
    json_each_member (m, json_get(config_, "outgoingAuth.backends"))
        if (!check_strategy(v, server, m->key, m->value))
            return false;
    if (!json_present(server))
        return true;
    if (!json_present(in))
        return integration(v,
            "auth server requires at least one allowed audience (MCP clients must send RFC 8707 "
            "resource parameter)");
    if (!text_eq(json_get_text(config_, "incomingAuth.type"), "oidc"))
        return integration(v, "embedded auth server requires OIDC incoming auth");
    if (!text_eq(json_get_text(in, "issuer"), issuer))
        return integration(v,
            "auth server issuer mismatch: auth server issuer \"%s\" != incomingAuth.oidc.issuer "
            "\"%s\"",
            issuer,
            toolhive_text(in, "issuer", ""));
    const char *audience = toolhive_text(in, "audience", ""), *url = proxy_resource_url(&v->p);
    return text_eq(audience, url) ||
           integration(v,
               "incomingAuth.oidc.audience \"%s\" not in auth server's allowed audiences [%s]",
               audience,
               url);
}

bool vmcp_documents(struct vmcp *v, struct json *ret)
{
    struct arena *a = v->p.a;
    struct json server = json_get(v->spec, "authServerConfig"), document, auth = { 0 };
    if (!config(v, &document))
        return false;
    if (json_present(server) && json_present(v->p.oidc) &&
        !proxy_auth_server_config(&v->p, server, &auth))
        return false;
    if (!check_integration(v, server, document))
        return false;
    *ret = json_map(a,
        { "config.yaml", json_str(document_yaml(a, vmcp_config_fields, document)) },
        { "authserver-config.yaml",
            json_if(json_present(auth), json_str(document_yaml(a, auth_server_fields, auth))) });
    return true;
}
