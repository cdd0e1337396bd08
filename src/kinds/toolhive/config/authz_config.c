/* An MCPAuthzConfig: who may call what, by Cedar policies or by an external server. */

#include "base/url.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/toolhive/config/config.h"

#define REF "spec.authzConfigRef.name"
#define GATEWAY_REF "spec.incomingAuth.authzConfigRef.name"

static struct config_verdict check_cedar(
    const struct view *in, struct plan *out, struct json config)
{
    struct arena *a = in->arena;
    struct json policies = json_get(config, "policies");
    if (!json_is(policies, JSON_LIST) || !policies.count)
        return config_fault(a, "at least one policy is required for Cedar authorization");
    /* Upstream reports such an object as valid, and its proxies exit at startup. The object stays
     * usable, as in upstream; the condition reports what is wrong. */
    const char *fault = toolhive_policy_fault(a, policies, "spec.config.policies");
    if (fault)
        plan_condition(out, "PoliciesParsed", false, "AuthzPolicySyntaxInvalid", "%s", fault);
    return CONFIG_VALID;
}

static struct config_verdict check_http(struct arena *a, struct json config)
{
    const char *text = json_get_text(config, "http.url");
    struct url url;
    struct error err;
    if (text_empty(text))
        return config_fault(a, "http.url is required");
    if (!url_parse(a, text, &url, &err))
        return config_fault(a, "http.url is invalid: %s", err.text);
    if (!text_eq(url.scheme, "http") && !text_eq(url.scheme, "https"))
        return config_fault(a, "http.url must use http or https scheme, got \"%s\"", url.scheme);
    return CONFIG_VALID;
}

static struct config_verdict check(const struct view *in, struct plan *out, struct json spec)
{
    const char *type = toolhive_text(spec, "type", "");
    struct json config = json_get(spec, "config");
    if (!json_is(config, JSON_MAP))
        return config_fault(in->arena, "config must be a JSON object");
    if (text_eq(type, "cedarv1"))
        return check_cedar(in, out, config);
    if (text_eq(type, "httpv1"))
        return check_http(in->arena, config);
    return config_fault(in->arena,
        "type \"%s\" is not a registered authorizer backend (registered: [cedarv1 httpv1])",
        type);
}

static const struct config_referent referents[] = {
    { &TOOLHIVE_SERVER, REF },
    { &TOOLHIVE_VIRTUAL_SERVER, GATEWAY_REF },
    { &TOOLHIVE_REMOTE_PROXY, REF },
    { 0 },
};

static const struct config_kind config = {
    .valid = "ConfigValid",
    .invalid = "ConfigInvalid",
    .events = true,
    .referents = referents,
    .check = check,
};

static void reconcile(const struct view *in, struct plan *out)
{
    config_reconcile(in, out, &config);
}

#define NAMES ((const char *const[]){ REF, NULL })

static const struct kind_watch watches[] = {
    { .resource = &TOOLHIVE_SERVER, .keep = NAMES },
    { .resource = &TOOLHIVE_VIRTUAL_SERVER, .keep = (const char *const[]){ GATEWAY_REF, NULL } },
    { .resource = &TOOLHIVE_REMOTE_PROXY, .keep = NAMES },
    { 0 },
};

const struct kind toolhive_authz_config_kind = {
    .resource = &TOOLHIVE_AUTHZ_CONFIG,
    .watches = watches,
    .finalizer = "mcpauthzconfig.toolhive.stacklok.dev/finalizer",
    .reconcile = reconcile,
};
