/* An MCPExternalAuthConfig: how a proxy authenticates to the server behind it, or the embedded
 * OAuth authorization server in front of it. Most of its rules are in the CRD. */

#include "base/time.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/toolhive/config/config.h"

#define REF "spec.externalAuthConfigRef.name"
#define SERVER_REF "spec.authServerRef.name"

static struct config_verdict check_aws(struct arena *a, struct json aws)
{
    struct json mappings = json_get(aws, "roleMappings");
    uint32_t i = 0;
    if (text_empty(json_get_text(aws, "fallbackRoleArn")) && !mappings.count)
        return config_fault(
            a, "awsSts: at least one of fallbackRoleArn or roleMappings must be configured");
    json_each (m, mappings) {
        bool claim = !text_empty(json_get_text(*m, "claim"));
        bool matcher = !text_empty(json_get_text(*m, "matcher"));
        if (!claim && !matcher)
            return config_fault(
                a, "awsSts.roleMappings[%u]: exactly one of claim or matcher must be set", i);
        if (claim && matcher)
            return config_fault(
                a, "awsSts.roleMappings[%u]: claim and matcher are mutually exclusive", i);
        i++;
    }
    return CONFIG_VALID;
}

static struct config_verdict check_redis(struct arena *a, struct json redis)
{
    static const char *const timeouts[] = { "dialTimeout", "readTimeout", "writeTimeout" };
    struct json sentinel = json_get(redis, "sentinelConfig");
    int64_t ns;
    bool addresses = json_get(sentinel, "sentinelAddrs").count > 0;
    bool service = json_present(json_get(sentinel, "sentinelService"));
    if (json_present(sentinel) && addresses == service)
        return config_fault(a,
            "storage.redis.sentinelConfig: exactly one of sentinelAddrs or sentinelService must be "
            "specified%s",
            service ? ", not both" : "");
    if (!json_present(json_get(redis, "aclUserConfig")))
        return config_fault(a, "storage.redis: aclUserConfig is required");
    if (!json_present(json_get(redis, "aclUserConfig.passwordSecretRef")))
        return config_fault(a, "storage.redis.aclUserConfig: passwordSecretRef is required");
    for (size_t i = 0; i < lengthof(timeouts); i++) {
        const char *text = json_get_text(redis, timeouts[i]);
        if (!text_empty(text) && !time_duration_parse(text, &ns))
            return config_fault(a,
                "storage.redis: invalid %s \"%s\": it is not a duration. Use a form such as 5s.",
                timeouts[i],
                text);
    }
    return CONFIG_VALID;
}

/* Without userInfo, and without a way to read it from the token, users get generated subjects. */
static void tell_identity(struct plan *out, struct arena *a, struct json providers)
{
    const char *names = "";
    json_each (p, providers) {
        struct json oauth2 = json_get(*p, "oauth2Config");
        if (json_present(oauth2) && !json_present(json_get(oauth2, "userInfo")) &&
            !json_present(json_get(oauth2, "identityFromToken")))
            names =
                arena_printf(a, "%s%s%s", names, *names ? " " : "", toolhive_text(*p, "name", ""));
    }
    if (*names)
        plan_condition(out,
            "IdentitySynthesized",
            true,
            "OAuth2UpstreamWithoutUserInfo",
            "OAuth2 upstream(s) [%s] have no userInfo configured; the embedded auth server will "
            "synthesize a non-PII subject from the access token (no Name/Email claims). If a "
            "userInfo endpoint exists for these upstreams, configure it to resolve real identity.",
            names);
    else
        plan_condition(out,
            "IdentitySynthesized",
            false,
            "AllUpstreamsHaveUserInfo",
            "All OAuth2 upstreams have userInfo configured; user identity is resolved from the "
            "upstream");
}

static struct config_verdict check_server(struct plan *out, struct arena *a, struct json server)
{
    struct json storage = json_get(server, "storage"), redis = json_get(storage, "redis");
    bool wants = text_eq(json_get_text(storage, "type"), "redis");
    if (wants != json_present(redis))
        return config_fault(a,
            wants ? "storage: redis configuration is required when type is 'redis'"
                  : "storage: redis configuration must not be set when type is 'memory'");
    struct config_verdict v = wants ? check_redis(a, redis) : CONFIG_VALID;
    if (!v.fault)
        tell_identity(out, a, json_get(server, "upstreamProviders"));
    return v;
}

static struct config_verdict check(const struct view *in, struct plan *out, struct json spec)
{
    const char *type = toolhive_text(spec, "type", "");
    if (text_eq(type, "obo"))
        return (struct config_verdict){
            .fault = "on-behalf-of (OBO) external auth type requires an enterprise build",
            .reason = "EnterpriseRequired",
        };
    if (text_eq(type, "awsSts"))
        return check_aws(in->arena, json_get(spec, "awsSts"));
    if (text_eq(type, "embeddedAuthServer"))
        return check_server(out, in->arena, json_get(spec, "embeddedAuthServer"));
    return CONFIG_VALID;
}

/* A gateway and an entry skip configs that they cannot get, as in upstream; they do not block the
 * deletion. */
static const struct config_referent referents[] = {
    { &TOOLHIVE_SERVER, REF },
    { &TOOLHIVE_SERVER, SERVER_REF },
    { &TOOLHIVE_REMOTE_PROXY, REF },
    { &TOOLHIVE_REMOTE_PROXY, SERVER_REF },
    { 0 },
};

static const struct config_kind config = {
    .valid = "ValidationSucceeded",
    .invalid = "ValidationFailed",
    .events = true,
    .referents = referents,
    .check = check,
};

static void reconcile(const struct view *in, struct plan *out)
{
    config_reconcile(in, out, &config);
}

#define NAMES ((const char *const[]){ REF, SERVER_REF, NULL })

static const struct kind_watch watches[] = {
    { .resource = &TOOLHIVE_SERVER, .keep = NAMES },
    { .resource = &TOOLHIVE_REMOTE_PROXY, .keep = NAMES },
    { 0 },
};

const struct kind toolhive_external_auth_config_kind = {
    .resource = &TOOLHIVE_EXTERNAL_AUTH_CONFIG,
    .watches = watches,
    .finalizer = "mcpexternalauthconfig.toolhive.stacklok.dev/finalizer",
    .reconcile = reconcile,
};
