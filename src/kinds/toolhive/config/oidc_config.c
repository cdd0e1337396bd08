/* An MCPOIDCConfig: which tokens a server accepts. */

#include "base/url.h"
#include "engine/view.h"
#include "kinds/toolhive/config/config.h"

#define REF "spec.oidcConfigRef.name"
#define GATEWAY_REF "spec.incomingAuth.oidcConfigRef.name"

static struct config_verdict check_url(
    struct arena *a, const char *what, const char *text, bool insecure)
{
    struct url url;
    struct error err;
    if (text_empty(text))
        return CONFIG_VALID;
    if (!url_parse(a, text, &url, &err))
        return config_fault(a, "%s is invalid: %s", what, err.text);
    if (text_eq(url.scheme, "http") && !insecure)
        return config_fault(a,
            "%s \"%s\" uses HTTP scheme, which is insecure; use HTTPS or set insecureAllowHTTP: "
            "true for development only",
            what,
            text);
    if (!text_eq(url.scheme, "http") && !text_eq(url.scheme, "https"))
        return config_fault(a,
            "%s \"%s\" has unsupported scheme \"%s\"; must be http or https",
            what,
            text,
            url.scheme);
    if (text_empty(url.host))
        return config_fault(a, "%s must have a valid host", what);
    return CONFIG_VALID;
}

/* Tokens of any account are accepted if their audience is right. */
static void tell_ignored(struct arena *a, struct plan *out, struct json account)
{
    static const char *const fields[] = { "serviceAccount", "namespace" };
    const char *list = "";
    for (size_t i = 0; i < lengthof(fields); i++)
        if (!text_empty(json_get_text(account, fields[i])))
            list = arena_printf(
                a, "%s%sspec.kubernetesServiceAccount.%s", list, *list ? ", " : "", fields[i]);
    if (*list)
        toolhive_tell_ignored(out, list);
}

static struct config_verdict check(const struct view *in, struct plan *out, struct json spec)
{
    struct arena *a = in->arena;
    bool cluster = text_eq(json_get_text(spec, "type"), "kubernetesServiceAccount");
    struct json c = json_get(spec, cluster ? "kubernetesServiceAccount" : "inline");
    if (cluster)
        tell_ignored(a, out, c);
    bool insecure = json_get_bool(c, "insecureAllowHTTP", false);
    if (!json_present(c))
        return config_fault(a,
            "%s configuration must be set if and only if type is '%s'",
            cluster ? "kubernetesServiceAccount" : "inline",
            cluster ? "kubernetesServiceAccount" : "inline");
    struct config_verdict v = CONFIG_VALID;
    if (!cluster)
        v = check_url(a, "OIDC issuer URL", json_get_text(c, "issuer"), insecure);
    if (!v.fault)
        v = check_url(a, "JWKS URL", json_get_text(c, "jwksUrl"), insecure);
    return v;
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

const struct kind toolhive_oidc_config_kind = {
    .resource = &TOOLHIVE_OIDC_CONFIG,
    .watches = watches,
    .finalizer = "mcpoidcconfig.toolhive.stacklok.dev/finalizer",
    .reconcile = reconcile,
};
