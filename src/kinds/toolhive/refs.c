/* References of MCPServer and MCPRemoteProxy. If a reference cannot be used, the running workload
 * is kept and the status reports why (fail stale). */

#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/toolhive/proxy.h"

static const char *say(const struct proxy *p, const char *format, ...) printf_like(2, 3);
static const char *say(const struct proxy *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = arena_vprintf(p->a, format, args);
    va_end(args);
    return text;
}

static void remember(struct proxy *p, const char *field, struct json object)
{
    p->hashes = json_with_member(
        p->a, p->hashes, field, json_str_or_absent(json_get_text(object, "status.configHash")));
}

static bool is_false(struct json object)
{
    return text_eq(toolhive_condition(object, "Valid"), "False");
}

static struct json valid_of(struct json object)
{
    return json_find(json_get(object, "status.conditions"), "type", "Valid");
}

bool proxy_external_is(const struct proxy *p, const char *type)
{
    return text_eq(json_get_text(p->external, "spec.type"), type);
}

struct json proxy_auth_server(const struct proxy *p)
{
    if (json_present(p->server))
        return json_get(p->server, "spec.embeddedAuthServer");
    if (proxy_external_is(p, "embeddedAuthServer"))
        return json_get(p->external, "spec.embeddedAuthServer");
    return json_none;
}

/* ---- one function for each reference ---- */

static void resolve_tool(struct proxy *p)
{
    const char *name = json_get_text(p->spec, "toolConfigRef.name");
    if (!name)
        return;
    p->tool = view_get(p->in, &TOOLHIVE_TOOL_CONFIG, name);
    bool found = json_present(p->tool);
    if (p->remote && found)
        plan_condition(p->out,
            "ToolConfigValidated",
            true,
            "ToolConfigValid",
            "MCPToolConfig '%s' is valid",
            name);
    if (p->remote && !found)
        plan_condition(p->out,
            "ToolConfigValidated",
            false,
            "ToolConfigNotFound",
            "MCPToolConfig '%s' not found in namespace '%s'",
            name,
            p->ns);
    if (!found)
        p->broken = say(p, "MCPToolConfig %s not found in namespace %s", name, p->ns);
    else
        remember(p, "toolConfigHash", p->tool);
}

static void resolve_telemetry(struct proxy *p)
{
    static const char type[] = "TelemetryConfigRefValidated";
    const char *name = json_get_text(p->spec, "telemetryConfigRef.name");
    if (!name)
        return;
    p->telemetry = view_get(p->in, &TOOLHIVE_TELEMETRY_CONFIG, name);
    if (!json_present(p->telemetry)) {
        p->broken = say(p, "MCPTelemetryConfig %s not found", name);
        plan_condition(p->out, type, false, "TelemetryConfigRefNotFound", "%s", p->broken);
    } else if (is_false(p->telemetry)) {
        p->broken = say(p, "MCPTelemetryConfig %s is not valid", name);
        plan_condition(p->out, type, false, "TelemetryConfigRefInvalid", "%s", p->broken);
    } else {
        plan_condition(
            p->out, type, true, "TelemetryConfigRefValid", "MCPTelemetryConfig %s is valid", name);
        remember(p, "telemetryConfigHash", p->telemetry);
    }
}

static size_t upstreams(struct json config)
{
    return json_get(config, "spec.embeddedAuthServer.upstreamProviders").count;
}

/* MCPServer and MCPRemoteProxy support one upstream provider. */
static bool has_many_upstreams(struct proxy *p, struct json config, const char *condition)
{
    size_t count = upstreams(config);
    if (count <= 1)
        return false;
    plan_condition(p->out,
        condition,
        false,
        "MultiUpstreamNotSupported",
        "%s supports only one upstream provider (found %zu); use VirtualMCPServer for "
        "multi-upstream",
        p->kind,
        count);
    p->broken = say(p,
        "%s %s/%s: embedded auth server has %zu upstream providers, but only 1 is supported; use "
        "VirtualMCPServer",
        p->kind,
        p->ns,
        p->name,
        count);
    return true;
}

static void resolve_external(struct proxy *p)
{
    static const char type[] = "ExternalAuthConfigValidated";
    const char *name = json_get_text(p->spec, "externalAuthConfigRef.name");
    if (!name)
        return;
    p->external = view_get(p->in, &TOOLHIVE_EXTERNAL_AUTH_CONFIG, name);
    if (!json_present(p->external)) {
        p->broken = say(p, "MCPExternalAuthConfig %s not found in namespace %s", name, p->ns);
        return;
    }
    /* This type never works, even before the status reports it. */
    bool enterprise = proxy_external_is(p, "obo");
    if (is_false(p->external) || enterprise) {
        struct json valid = valid_of(p->external);
        const char *reason =
            toolhive_text(valid, "reason", enterprise ? "EnterpriseRequired" : "InvalidConfig");
        const char *message = toolhive_text(valid,
            "message",
            enterprise ? "on-behalf-of (OBO) external auth type requires an enterprise build"
                       : "it is not valid");
        plan_condition(p->out, type, false, reason, "%s", message);
        p->broken =
            say(p, "MCPExternalAuthConfig %s/%s: invalid (%s): %s", p->ns, name, reason, message);
        return;
    }
    if (proxy_external_is(p, "embeddedAuthServer") && has_many_upstreams(p, p->external, type))
        return;
    if (p->remote)
        plan_condition(p->out,
            type,
            true,
            "ExternalAuthConfigValid",
            "MCPExternalAuthConfig '%s' is valid",
            name);
    remember(p, "externalAuthConfigHash", p->external);
}

static void resolve_webhooks(struct proxy *p)
{
    const char *name = json_get_text(p->spec, "webhookConfigRef.name");
    if (!name)
        return;
    p->webhooks = view_get(p->in, &TOOLHIVE_WEBHOOK_CONFIG, name);
    if (!json_present(p->webhooks))
        p->broken = say(p, "MCPWebhookConfig.toolhive.stacklok.dev \"%s\" not found", name);
    else if (is_false(p->webhooks))
        p->broken = say(p,
            "MCPWebhookConfig %s is not valid: %s",
            name,
            toolhive_text(valid_of(p->webhooks), "message", "see its conditions"));
    else
        remember(p, "webhookConfigHash", p->webhooks);
}

static void resolve_auth_server(struct proxy *p)
{
    static const char type[] = "AuthServerRefValidated";
    const char *name = json_get_text(p->spec, "authServerRef.name");
    if (!name)
        return;
    struct json config = view_get(p->in, &TOOLHIVE_EXTERNAL_AUTH_CONFIG, name);
    if (!json_present(config)) {
        p->broken = say(p, "MCPExternalAuthConfig '%s' not found in namespace '%s'", name, p->ns);
        plan_condition(p->out, type, false, "AuthServerRefNotFound", "%s", p->broken);
        return;
    }
    const char *of = toolhive_text(config, "spec.type", "");
    if (!text_eq(of, "embeddedAuthServer")) {
        p->broken = say(p,
            "authServerRef '%s' references a MCPExternalAuthConfig with type \"%s\", but only "
            "embeddedAuthServer is supported",
            name,
            of);
        plan_condition(p->out, type, false, "AuthServerRefInvalidType", "%s", p->broken);
        return;
    }
    if (has_many_upstreams(p, config, type))
        return;
    p->server = config;
    remember(p, "authServerConfigHash", config);
}

static void resolve_oidc(struct proxy *p)
{
    static const char type[] = "OIDCConfigRefValidated";
    const char *name = json_get_text(p->spec, "oidcConfigRef.name");
    if (!name)
        return;
    p->oidc = view_get(p->in, &TOOLHIVE_OIDC_CONFIG, name);
    if (!json_present(p->oidc)) {
        p->broken = say(p,
            "failed to get MCPOIDCConfig %s/%s: MCPOIDCConfig.toolhive.stacklok.dev \"%s\" not "
            "found",
            p->ns,
            name,
            name);
        plan_condition(p->out,
            type,
            false,
            "OIDCConfigRefNotFound",
            "MCPOIDCConfig %s not found: %s",
            name,
            p->broken);
    } else if (is_false(p->oidc)) {
        p->broken = say(p, "MCPOIDCConfig %s is not valid", name);
        plan_condition(p->out, type, false, "OIDCConfigRefNotValid", "%s", p->broken);
    } else {
        plan_condition(
            p->out, type, true, "OIDCConfigRefValid", "MCPOIDCConfig %s is valid and ready", name);
        remember(p, "oidcConfigHash", p->oidc);
    }
}

static void resolve_authz(struct proxy *p)
{
    static const char type[] = "AuthzConfigRefValidated";
    const char *name = json_get_text(p->spec, "authzConfigRef.name");
    if (!name)
        return;
    p->authz = view_get(p->in, &TOOLHIVE_AUTHZ_CONFIG, name);
    if (!json_present(p->authz)) {
        p->broken = say(p,
            "failed to get MCPAuthzConfig %s/%s: MCPAuthzConfig.toolhive.stacklok.dev \"%s\" not "
            "found",
            p->ns,
            name,
            name);
        plan_condition(p->out,
            type,
            false,
            "AuthzConfigRefNotFound",
            "MCPAuthzConfig %s not found: %s",
            name,
            p->broken);
    } else if (is_false(p->authz)) {
        p->broken = say(p, "MCPAuthzConfig %s is not valid", name);
        plan_condition(p->out, type, false, "AuthzConfigRefNotValid", "%s", p->broken);
    } else if (p->gateway && !text_eq(json_get_text(p->authz, "spec.type"), "cedarv1")) {
        p->broken = say(p,
            "MCPAuthzConfig %s has unsupported type \"%s\" for VirtualMCPServer; only cedarv1 is "
            "supported",
            name,
            toolhive_text(p->authz, "spec.type", ""));
        plan_condition(p->out, type, false, "AuthzConfigRefNotValid", "%s", p->broken);
    } else {
        plan_condition(p->out,
            type,
            true,
            "AuthzConfigRefValid",
            "MCPAuthzConfig %s is valid and ready",
            name);
        remember(p, "authzConfigHash", p->authz);
    }
}

void proxy_resolve(struct proxy *p)
{
    static void (*const steps[])(struct proxy *) = { resolve_tool,
        resolve_telemetry,
        resolve_external,
        resolve_webhooks,
        resolve_auth_server,
        resolve_oidc,
        resolve_authz };
    for (size_t i = 0; i < lengthof(steps) && !p->broken; i++)
        steps[i](p);
}

void proxy_tell_auth_server(struct proxy *p)
{
    if (!json_present(p->server))
        return;
    if (p->auth_fault)
        plan_condition(
            p->out, "AuthServerRefValidated", false, "AuthServerRefInvalidConfig", "%s", p->fault);
    else
        plan_condition(p->out,
            "AuthServerRefValidated",
            true,
            "AuthServerRefValid",
            "AuthServerRef '%s' is valid",
            json_get_text(p->spec, "authServerRef.name"));
}

/* ---- advisory conditions ---- */

static void advise_group(struct proxy *p)
{
    const char *name = json_get_text(p->spec, "groupRef.name");
    if (!name)
        return;
    struct json group = view_get(p->in, &TOOLHIVE_MCP_GROUP, name);
    const char *phase = toolhive_text(group, "status.phase", "");
    if (!json_present(group))
        plan_condition(p->out,
            "GroupRefValidated",
            false,
            "GroupRefNotFound",
            "MCPGroup '%s' not found in namespace '%s'",
            name,
            p->ns);
    else if (!text_eq(phase, "Ready"))
        plan_condition(p->out,
            "GroupRefValidated",
            false,
            "GroupRefNotReady",
            "MCPGroup '%s' is not ready (current phase: %s)",
            name,
            phase);
    else
        plan_condition(p->out,
            "GroupRefValidated",
            true,
            "GroupRefIsValid",
            "MCPGroup '%s' is valid and ready",
            name);
}

static void advise_ca_bundle(struct proxy *p)
{
    const char *name = json_get_text(p->spec, "oidcConfigRef.name");
    struct json oidc = json_if(name, view_get(p->in, &TOOLHIVE_OIDC_CONFIG, name));
    struct json ref = json_get(oidc, "spec.inline.caBundleRef.configMapRef");
    const char *map = json_get_text(ref, "name");
    if (!map || !text_eq(json_get_text(oidc, "spec.type"), "inline"))
        return;
    const char *key = toolhive_text(ref, "key", "ca.crt");
    struct json bundle = view_get(p->in, &TOOLHIVE_CONFIG_MAP, map);
    if (!json_present(bundle))
        plan_condition(p->out,
            "CABundleRefValidated",
            false,
            "CABundleRefNotFound",
            "CA bundle ConfigMap '%s' not found in namespace '%s'",
            map,
            p->ns);
    else if (!json_present(json_member(json_get(bundle, "data"), key)))
        plan_condition(p->out,
            "CABundleRefValidated",
            false,
            "CABundleRefInvalid",
            "Key '%s' not found in CA bundle ConfigMap '%s'",
            key,
            map);
    else
        plan_condition(p->out,
            "CABundleRefValidated",
            true,
            "CABundleRefValid",
            "CA bundle ConfigMap '%s' is valid (key: %s)",
            map,
            key);
}

void proxy_advise_sessions(struct proxy *p, struct json spec)
{
    bool many = json_get_int(spec, "replicas", 1) > 1;
    bool redis = text_eq(json_get_text(spec, "sessionStorage.provider"), "redis");
    if (many && !redis)
        plan_condition(p->out,
            "SessionStorageWarning",
            true,
            "SessionStorageMissingForReplicas",
            "replicas > 1 but sessionStorage.provider is not redis; sessions are not shared across "
            "replicas");
    else if (many)
        plan_condition(p->out,
            "SessionStorageWarning",
            false,
            "SessionStorageConfigured",
            "Redis session storage is configured");
    else
        plan_condition(p->out,
            "SessionStorageWarning",
            false,
            "SessionStorageWarningNotApplicable",
            "session storage warning is not active");
}

static bool wants_users(struct json limits)
{
    bool wanted = json_present(json_get(limits, "perUser"));
    json_each (tool, json_get(limits, "tools"))
        wanted = wanted || json_present(json_get(*tool, "perUser"));
    return wanted;
}

/* The proxy would exit at startup, which upstream does not report. No MCPRemoteProxy is created
 * then. */
static void advise_policies(struct proxy *p)
{
    const char *fault = toolhive_policy_fault(
        p->a, json_get(p->spec, "authzConfig.inline.policies"), "spec.authzConfig.inline.policies");
    if (fault)
        plan_condition(p->out, "PoliciesParsed", false, "AuthzPolicySyntaxInvalid", "%s", fault);
}

static void advise_rate_limit(struct proxy *p)
{
    struct json limits = json_get(p->spec, "rateLimiting");
    bool identified = json_present(json_get(p->spec, "oidcConfigRef")) ||
                      json_present(json_get(p->spec, "externalAuthConfigRef"));
    if (!json_present(limits))
        plan_condition(p->out,
            "RateLimitConfigValid",
            true,
            "RateLimitNotApplicable",
            "rate limiting is not configured");
    else if (wants_users(limits) && !identified)
        plan_condition(p->out,
            "RateLimitConfigValid",
            false,
            "PerUserRequiresAuth",
            "perUser rate limiting requires authentication to be enabled");
    else
        plan_condition(p->out,
            "RateLimitConfigValid",
            true,
            "RateLimitConfigValid",
            "rate limit configuration is valid");
}

static void advise_stdio(struct proxy *p)
{
    if (text_eq(p->transport, "stdio") && json_get_int(p->spec, "replicas", 1) > 1)
        plan_condition(p->out,
            "StdioReplicaCapped",
            true,
            "StdioTransportCapAt1",
            "stdio transport requires exactly 1 replica; deployment will use 1 regardless of "
            "spec.replicas");
    else
        plan_condition(p->out,
            "StdioReplicaCapped",
            false,
            "StdioReplicaCapNotActive",
            "stdio replica cap is not active");
}

void proxy_advise(struct proxy *p)
{
    advise_group(p);
    advise_ca_bundle(p);
    const char *provider = json_get_text(p->spec, "authzConfig.inline.primaryUpstreamProvider");
    if (!text_empty(provider))
        plan_condition(p->out,
            "AuthzPrimaryUpstreamProviderIgnored",
            true,
            "PrimaryUpstreamProviderIgnored",
            "spec.authzConfig.inline.primaryUpstreamProvider=\"%s\" has no effect on %s; the field "
            "only takes effect on VirtualMCPServer with an embedded auth server",
            provider,
            p->kind);
    proxy_advise_sessions(p, p->spec);
    if (!p->remote) {
        advise_policies(p);
        advise_stdio(p);
        advise_rate_limit(p);
    }
}
