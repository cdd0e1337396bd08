/* Checks of a VirtualMCPServer before anything is created. Each check sets its condition. The first
 * that fails sets v->p.broken, and the gateway is kept. */

#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/toolhive/composite_tool.h"
#include "kinds/toolhive/vmcp.h"
#include "kinds/toolhive/vmcp_tables.h"

static bool broken(struct vmcp *v, const char *format, ...) printf_like(2, 3);
static bool broken(struct vmcp *v, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    v->p.broken = arena_vprintf(v->p.a, format, args);
    va_end(args);
    return false;
}

/* ---- the spec alone ---- */

static bool check_aggregation(struct vmcp *v, struct error *err)
{
    struct json given = json_get(v->given, "aggregation");
    struct json conflicts = json_get(given, "conflictResolutionConfig");
    if (json_present(conflicts) && !json_get(conflicts, "priorityOrder").count &&
        text_eq(json_get_text(given, "conflictResolution"), "priority"))
        return fail(err,
            ERR_INVALID,
            "config.aggregation.conflictResolutionConfig.priorityOrder is required when "
            "conflictResolution is priority");
    size_t i = 0;
    json_each (tool, json_get(given, "tools")) {
        struct json ref = json_get(*tool, "toolConfigRef");
        if (text_empty(json_get_text(*tool, "workload")))
            return fail(err, ERR_INVALID, "config.aggregation.tools[%zu].workload is required", i);
        if (json_present(ref) && text_empty(json_get_text(ref, "name")))
            return fail(err,
                ERR_INVALID,
                "config.aggregation.tools[%zu].toolConfigRef.name is required when toolConfigRef "
                "is specified",
                i);
        i++;
    }
    return true;
}

static bool check_inline_tools(struct vmcp *v, struct error *err)
{
    struct json_builder names;
    json_builder_init(&names, v->p.a);
    struct json tools = json_get(v->given, "compositeTools");
    int64_t i = 0;
    json_each (tool, tools)
        json_put(&names, toolhive_text(*tool, "name", ""), json_int(i++));
    struct json by_name = json_map_end(&names);
    i = 0;
    json_each (tool, tools) {
        const char *name = toolhive_text(*tool, "name", "");
        const char *path = arena_printf(v->p.a, "spec.config.compositeTools[%lld]", (long long)i);
        if (json_member(by_name, name).integer != i++)
            return fail(err, ERR_INVALID, "%s.name \"%s\" is duplicated", path, name);
        if (!composite_tool_check(v->p.a, *tool, path, err))
            return false;
    }
    return true;
}

static bool check_backends(struct vmcp *v, struct error *err)
{
    json_each_member (m, json_get(v->spec, "outgoingAuth.backends"))
        if (text_eq(json_get_text(m->value, "type"), "externalAuthConfigRef") &&
            text_empty(json_get_text(m->value, "externalAuthConfigRef.name")))
            return fail(err,
                ERR_INVALID,
                "spec.outgoingAuth.backends[%s].externalAuthConfigRef is required when type is "
                "externalAuthConfigRef",
                m->key);
    struct json usual = json_get(v->spec, "outgoingAuth.default");
    return !text_eq(json_get_text(usual, "type"), "externalAuthConfigRef") ||
           !text_empty(json_get_text(usual, "externalAuthConfigRef.name")) ||
           fail(err,
               ERR_INVALID,
               "spec.outgoingAuth.default.externalAuthConfigRef is required when type is "
               "externalAuthConfigRef");
}

static bool check_optimizer(struct vmcp *v, struct error *err)
{
    struct json optimizer = json_get(v->given, "optimizer");
    return !json_present(optimizer) || json_present(json_get(v->spec, "embeddingServerRef")) ||
           !text_empty(json_get_text(optimizer, "embeddingService")) ||
           fail(err,
               ERR_INVALID,
               "spec.config.optimizer requires an embedding service: set spec.embeddingServerRef "
               "(recommended) or spec.config.optimizer.embeddingService");
}

static bool check_spec(struct vmcp *v)
{
    struct error err;
    bool ok = vmcp_read_config(v, &err) && check_backends(v, &err) && check_aggregation(v, &err) &&
              check_inline_tools(v, &err) && check_optimizer(v, &err);
    plan_condition(v->p.out,
        "Valid",
        ok,
        ok ? "ValidationSucceeded" : "ValidationFailed",
        "%s",
        ok ? "Spec validation passed" : err.text);
    return ok || broken(v, "%s", err.text);
}

static bool check_template(struct vmcp *v)
{
    struct json given = json_get(v->spec, "podTemplateSpec");
    struct error err;
    const char *text;
    if (!json_present(given))
        return true;
    bool ok = go_template_print(v->p.a, given, &text, &err);
    plan_condition(v->p.out,
        "PodTemplateSpecValid",
        ok,
        ok ? "PodTemplateSpecValid" : "InvalidPodTemplateSpec",
        ok ? "PodTemplateSpec is valid"
           : "Failed to parse PodTemplateSpec: failed to unmarshal PodTemplateSpec: %s. Deployment "
             "blocked until fixed.",
        ok ? "" : err.text);
    if (ok)
        return true;
    plan_event(v->p.out,
        true,
        "InvalidPodTemplateSpec",
        "Failed to parse PodTemplateSpec: failed to unmarshal PodTemplateSpec: %s. Deployment "
        "blocked until PodTemplateSpec is fixed.",
        err.text);
    return broken(v, "Invalid PodTemplateSpec: failed to unmarshal PodTemplateSpec: %s", err.text);
}

/* ---- group, composite tools, embedding server ---- */

static bool check_group(struct vmcp *v)
{
    static const char type[] = "GroupRefValidated";
    struct json group = view_get(v->p.in, &TOOLHIVE_MCP_GROUP, v->group);
    const char *phase = toolhive_text(group, "status.phase", "");
    if (json_present(group) && text_eq(phase, "Ready")) {
        plan_condition(
            v->p.out, type, true, "GroupRefValid", "MCPGroup %s is valid and ready", v->group);
        return true;
    }
    v->waiting = json_present(group);
    if (v->waiting)
        broken(v, "Referenced MCPGroup %s is not ready (phase: %s)", v->group, phase);
    else
        broken(v, "Referenced MCPGroup %s not found", v->group);
    plan_condition(v->p.out,
        type,
        false,
        v->waiting ? "GroupRefNotReady" : "GroupRefNotFound",
        "%s",
        v->p.broken);
    return false;
}

static bool check_tool(struct vmcp *v, const char *name, struct json *ret)
{
    static const char type[] = "CompositeToolRefsValidated";
    struct error err;
    struct json definition = view_get(v->p.in, &TOOLHIVE_COMPOSITE_TOOL, name);
    if (!json_present(definition)) {
        broken(v, "Referenced VirtualMCPCompositeToolDefinition %s not found", name);
        plan_condition(v->p.out, type, false, "CompositeToolRefNotFound", "%s", v->p.broken);
        return false;
    }
    if (document_read(
            v->p.a, composite_tool_fields, json_get(definition, "spec"), "spec", ret, &err) &&
        composite_tool_check(v->p.a, *ret, "spec", &err))
        return true;
    broken(v, "Referenced VirtualMCPCompositeToolDefinition %s is invalid: %s", name, err.text);
    plan_condition(v->p.out, type, false, "CompositeToolRefInvalid", "%s", v->p.broken);
    return false;
}

static bool check_tools(struct vmcp *v)
{
    struct json refs = json_get(v->given, "compositeToolRefs");
    struct json_builder tools;
    json_builder_init(&tools, v->p.a);
    json_each (ref, refs) {
        struct json tool;
        if (!check_tool(v, toolhive_text(*ref, "name", ""), &tool))
            return false;
        json_push(&tools, tool);
    }
    v->tools = json_list_end(&tools);
    plan_condition(v->p.out,
        "CompositeToolRefsValidated",
        true,
        "CompositeToolRefsValid",
        refs.count ? "All %u composite tool references are valid"
                   : "No composite tool references to validate",
        refs.count);
    return true;
}

static bool check_embedding(struct vmcp *v)
{
    const char *name = json_get_text(v->spec, "embeddingServerRef.name");
    if (!name || json_present(view_get(v->p.in, &TOOLHIVE_EMBEDDING_SERVER, name)))
        return true;
    broken(v, "Referenced EmbeddingServer %s not found", name);
    plan_condition(
        v->p.out, "EmbeddingServerReady", false, "EmbeddingServerNotFound", "%s", v->p.broken);
    plan_event(v->p.out, true, "EmbeddingServerRefNotFound", "%s", v->p.broken);
    return false;
}

/* ---- the embedded auth server ---- */

static bool auth_broken(struct vmcp *v, const char *reason, const char *format, ...)
    printf_like(3, 4);
static bool auth_broken(struct vmcp *v, const char *reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    v->p.broken = arena_vprintf(v->p.a, format, args);
    va_end(args);
    plan_condition(v->p.out, "AuthServerConfigValidated", false, reason, "%s", v->p.broken);
    return false;
}

static bool is_loopback(const char *issuer)
{
    const char *host = issuer + strlen("http://");
    return text_starts(host, "localhost") || text_starts(host, "127.") ||
           text_starts(host, "[::1]");
}

static void tell_identity(struct vmcp *v, struct json server)
{
    struct json_builder names;
    json_builder_init(&names, v->p.a);
    json_each (provider, json_get(server, "upstreamProviders")) {
        struct json config = json_get(*provider, "oauth2Config");
        if (text_eq(json_get_text(*provider, "type"), "oauth2") && json_present(config) &&
            !json_present(json_get(config, "userInfo")) &&
            !json_present(json_get(config, "identityFromToken")))
            json_put(&names, toolhive_text(*provider, "name", ""), json_bool(true));
    }
    const char *list = "";
    struct json map = json_map_end(&names);
    json_each_member (m, map)
        list = arena_printf(v->p.a, "%s%s%s", list, *list ? " " : "", m->key);
    if (*list)
        plan_condition(v->p.out,
            "IdentitySynthesized",
            true,
            "OAuth2UpstreamWithoutUserInfo",
            "OAuth2 upstream(s) [%s] have no userInfo configured; the embedded auth server will "
            "synthesize a non-PII subject from the access token (no Name/Email claims). If a "
            "userInfo endpoint exists for these upstreams, configure it to resolve real identity.",
            list);
    else
        plan_condition(v->p.out,
            "IdentitySynthesized",
            false,
            "AllUpstreamsHaveUserInfo",
            "All OAuth2 upstreams have userInfo configured; user identity is resolved from the "
            "upstream");
}

static bool check_parameters(struct vmcp *v, struct json server)
{
    static const char *const reserved[] = { "response_type",
        "client_id",
        "redirect_uri",
        "scope",
        "state",
        "code_challenge",
        "code_challenge_method",
        "nonce" };
    static const char *const configs[] = { "oidcConfig", "oauth2Config" };
    size_t i = 0;
    json_each (provider, json_get(server, "upstreamProviders")) {
        for (size_t j = 0; j < lengthof(configs); j++) {
            struct json given =
                json_get(json_get(*provider, configs[j]), "additionalAuthorizationParams");
            for (size_t k = 0; k < lengthof(reserved); k++)
                if (json_present(json_member(given, reserved[k])))
                    return auth_broken(v,
                        "AuthServerConfigInvalid",
                        "spec.authServerConfig.upstreamProviders[%zu].additionalAuthorizationParams"
                        ": reserved parameter \"%s\" is managed by the framework and cannot be "
                        "overridden",
                        i,
                        reserved[k]);
        }
        i++;
    }
    return true;
}

static bool check_auth_server(struct vmcp *v)
{
    struct json server = json_get(v->spec, "authServerConfig");
    const char *issuer = toolhive_text(server, "issuer", "");
    if (!json_present(server))
        return true;
    bool plain = text_starts(issuer, "http://");
    bool clients = json_get_bool(server, "allowConfidentialClientRegistration", false) ||
                   json_get(server, "delegateClients").count;
    bool insecure = json_get_bool(server, "insecureAllowHTTP", false);
    tell_identity(v, server);
    if (plain && !is_loopback(issuer) && !insecure)
        return auth_broken(v,
            "AuthServerConfigInvalid",
            "spec.authServerConfig.issuer \"%s\" uses http:// with a non-localhost host; set "
            "spec.authServerConfig.insecureAllowHTTP: true to allow this for trusted in-cluster "
            "deployments, or use https:// for production deployments",
            issuer);
    if (clients && insecure)
        return auth_broken(v,
            "AuthServerConfigInvalid",
            "spec.authServerConfig: allow_confidential_client_registration cannot be combined with "
            "insecure_allow_http: confidential clients would send secrets over cleartext HTTP");
    if (clients && plain && is_loopback(issuer) &&
        !json_get_bool(server, "insecureAllowConfidentialOverLoopbackHTTP", false))
        return auth_broken(v,
            "AuthServerConfigInvalid",
            "spec.authServerConfig: allow_confidential_client_registration cannot be combined with "
            "a plain-HTTP loopback issuer (\"%s\") unless "
            "insecure_allow_confidential_over_loopback_http is set: confidential clients would "
            "send secrets over cleartext HTTP",
            issuer);
    return check_parameters(v, server);
}

/* It must be clear whose token Cedar policies see. */
static bool check_policies(struct vmcp *v)
{
    struct json server = json_get(v->spec, "authServerConfig");
    struct json providers = json_get(server, "upstreamProviders");
    const char *old = json_get_text(v->p.spec, "authzConfig.inline.primaryUpstreamProvider");
    const char *named = toolhive_text(server, "primaryUpstreamProvider", old);
    bool policies = json_present(json_get(v->p.spec, "authzConfig")), found = text_empty(named);
    json_each (provider, providers)
        found = found || text_eq(json_get_text(*provider, "name"), named);
    if (policies && !text_empty(old) && named == old)
        plan_event(v->p.out,
            true,
            "AuthzPrimaryUpstreamProviderDeprecated",
            "spec.incomingAuth.authzConfig.inline.primaryUpstreamProvider is deprecated; move the "
            "value to spec.authServerConfig.primaryUpstreamProvider");
    if (policies && !json_present(server) && !text_empty(named))
        return auth_broken(v,
            "AuthzPrimaryProviderRequiresAuthServer",
            "primaryUpstreamProvider=\"%s\" is set but spec.authServerConfig is not configured. "
            "The field names an upstream IDP on the embedded auth server, which is required for it "
            "to take effect. Remove primaryUpstreamProvider, or configure spec.authServerConfig "
            "with an upstream of that name.",
            named);
    if (policies && !found)
        return auth_broken(v,
            "AuthzUpstreamUnknown",
            "primaryUpstreamProvider=\"%s\" does not match any upstream declared on "
            "spec.authServerConfig.upstreamProviders. Set primaryUpstreamProvider to one of the "
            "configured upstream names, or leave it empty to default to the first upstream.",
            named);
    if (policies && providers.count > 1 && text_empty(named))
        plan_condition(v->p.out,
            "AuthzUpstreamSelectionWarning",
            true,
            "AuthzUpstreamAutoSelected",
            "multiple upstreamProviders configured; Cedar policies will evaluate claims from the "
            "first upstream (\"%s\"). If another upstream should be authoritative, set "
            "spec.incomingAuth.authzConfig.inline.primaryUpstreamProvider explicitly, or remove or "
            "reorder the list.",
            toolhive_text(providers, "0.name", ""));
    return true;
}

/* ---- references ---- */

static bool check_references(struct vmcp *v)
{
    proxy_advise_sessions(&v->p, v->spec);
    proxy_resolve(&v->p);
    return !v->p.broken;
}

static bool secret_missing(struct vmcp *v, const char *what, struct json ref)
{
    const char *name = json_get_text(ref, "name");
    if (!name || json_present(view_get(v->p.in, &RESOURCE_SECRET, name)))
        return false;
    const char *why = arena_printf(v->p.a,
        "failed to get %s secret %s/%s: Secret \"%s\" not found",
        what,
        v->p.ns,
        name,
        name);
    broken(v, "Authentication configuration is invalid: %s", why);
    plan_condition(v->p.out, "AuthConfigured", false, "AuthInvalid", "%s", v->p.broken);
    plan_event(v->p.out, true, "SecretValidationFailed", "Secret validation failed: %s", why);
    return true;
}

/* Only checks whether Secrets exist; their values are never read. */
static bool check_secrets(struct vmcp *v)
{
    struct json document;
    bool inline_policies;
    if (text_eq(json_get_text(v->p.oidc, "spec.type"), "inline") &&
        secret_missing(v,
            "MCPOIDCConfig OIDC client secret",
            json_get(v->p.oidc, "spec.inline.clientSecretRef")))
        return false;
    json_each (client, json_get(v->spec, "authServerConfig.delegateClients"))
        if (secret_missing(v,
                arena_printf(
                    v->p.a, "delegate client \"%s\"", toolhive_text(*client, "clientId", "")),
                json_get(*client, "clientSecretRef")))
            return false;
    bool from_map = text_eq(json_get_text(v->p.spec, "authzConfig.type"), "configMap");
    bool ok = !from_map || proxy_authz(&v->p, &document, &inline_policies);
    if (from_map && ok && !text_eq(json_get_text(document, "type"), "cedarv1")) {
        v->p.fault = arena_printf(v->p.a,
            "authz ConfigMap %s/%s is not a Cedar config: its type is \"%s\"",
            v->p.ns,
            toolhive_text(v->p.spec, "authzConfig.configMap.name", ""),
            toolhive_text(document, "type", ""));
        ok = false;
    }
    if (!ok) {
        const char *map = toolhive_text(v->p.spec, "authzConfig.configMap.name", "");
        bool found = json_present(view_get(v->p.in, &TOOLHIVE_CONFIG_MAP, map));
        const char *reason = found ? "AuthzConfigMapInvalid" : "AuthzConfigMapNotFound";
        broken(v, "Authorization ConfigMap is invalid: %s", v->p.fault);
        plan_condition(v->p.out, "AuthConfigured", false, reason, "%s", v->p.broken);
        plan_event(v->p.out, true, reason, "Authz ConfigMap validation failed: %s", v->p.fault);
        return false;
    }
    plan_condition(
        v->p.out, "AuthConfigured", true, "AuthValid", "Authentication configuration is valid");
    return true;
}

static bool wait_for_embedding(struct vmcp *v)
{
    const char *name = json_get_text(v->spec, "embeddingServerRef.name");
    const char *manual = json_get_text(v->given, "optimizer.embeddingService");
    if (!name) {
        if (!text_empty(manual))
            plan_event(v->p.out,
                true,
                "EmbeddingServiceManual",
                "config.optimizer.embeddingService is set without embeddingServerRef; specifying "
                "an embeddingServerRef is the recommended configuration");
        return true;
    }
    struct json server = view_get(v->p.in, &TOOLHIVE_EMBEDDING_SERVER, name);
    const char *phase = json_get_text(server, "status.phase");
    bool ready = text_eq(phase, "Ready") && json_get_int(server, "status.readyReplicas", 0) > 0;
    plan_condition(v->p.out,
        "EmbeddingServerReady",
        ready,
        ready ? "EmbeddingServerReady" : "EmbeddingServerNotReady",
        "%s",
        ready ? "EmbeddingServer is ready" : "EmbeddingServer is not yet ready");
    if (text_eq(phase, "Failed"))
        return broken(v, "EmbeddingServer %s has failed", name);
    v->waiting = !ready;
    if (!ready)
        return broken(v, "Waiting for EmbeddingServer to become ready");
    v->embedding_url = json_get_text(server, "status.url");
    if (!text_empty(manual))
        plan_event(v->p.out,
            true,
            "EmbeddingServiceOverridden",
            "config.optimizer.embeddingService will be replaced by EmbeddingServerRef \"%s\" URL",
            name);
    return true;
}

bool vmcp_check(struct vmcp *v)
{
    static bool (*const steps[])(struct vmcp *) = { check_spec,
        check_template,
        check_group,
        check_tools,
        check_embedding,
        check_auth_server,
        check_policies,
        check_references,
        check_secrets,
        wait_for_embedding };
    for (size_t i = 0; i < lengthof(steps); i++)
        if (!steps[i](v))
            return false;
    return true;
}
