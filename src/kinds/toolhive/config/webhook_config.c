/* An MCPWebhookConfig: servers that are called for each MCP request. */

#include "base/time.h"
#include "base/url.h"
#include "engine/view.h"
#include "kinds/toolhive/config/config.h"

#define REF "spec.webhookConfigRef.name"
#define TIMEOUT_NS_MAX ((int64_t)30 * 1000000000)

/* Why a webhook is invalid; NULL: it is valid. */
static const char *fault_of(struct arena *a, struct json w)
{
    const char *text = toolhive_text(w, "url", ""), *timeout = json_get_text(w, "timeout");
    struct json tls = json_get(w, "tlsConfig");
    int64_t ns = 0;
    struct url url;
    struct error err;
    if (!url_parse(a, text, &url, &err))
        return arena_printf(a, "webhook URL is invalid: %s", err.text);
    if (!text_eq(url.scheme, "https") && !text_eq(url.scheme, "http"))
        return arena_printf(a, "webhook URL must use HTTPS, not \"%s\"", url.scheme);
    if (text_eq(url.scheme, "http") && !json_get_bool(tls, "insecureSkipVerify", false))
        return "webhook URL must use HTTPS (set insecure_skip_verify to allow HTTP for "
               "development/in-cluster use)";
    if (!text_empty(timeout) && !time_duration_parse(timeout, &ns))
        return arena_printf(
            a, "timeout: \"%s\" is not a duration. Use a form such as 5s.", timeout);
    if (ns < 0 || ns > TIMEOUT_NS_MAX)
        return arena_printf(a, "timeout: %s is not between 0s and 30s", timeout);
    if (json_present(json_get(tls, "clientCertSecretRef")) !=
        json_present(json_get(tls, "clientKeySecretRef")))
        return "tlsConfig: clientCertSecretRef and clientKeySecretRef must be set together";
    return NULL;
}

static struct config_verdict check(const struct view *in, struct plan *out, struct json spec)
{
    static const char *const phases[] = { "validating", "mutating" };
    (void)out;
    for (size_t i = 0; i < lengthof(phases); i++) {
        uint32_t place = 0;
        json_each (w, json_get(spec, phases[i])) {
            const char *fault = fault_of(in->arena, *w);
            if (fault)
                return config_fault(in->arena,
                    "%s webhook[%u] \"%s\": %s",
                    phases[i],
                    place,
                    toolhive_text(*w, "name", ""),
                    fault);
            place++;
        }
    }
    return CONFIG_VALID;
}

static const struct config_referent referents[] = {
    { &TOOLHIVE_SERVER, REF },
    { 0 },
};

static const struct config_kind config = {
    .valid = "ValidationSucceeded",
    .invalid = "ValidationFailed",
    .referents = referents,
    .check = check,
};

static void reconcile(const struct view *in, struct plan *out)
{
    config_reconcile(in, out, &config);
}

static const struct kind_watch watches[] = {
    { .resource = &TOOLHIVE_SERVER, .keep = (const char *const[]){ REF, NULL } },
    { 0 },
};

const struct kind toolhive_webhook_config_kind = {
    .resource = &TOOLHIVE_WEBHOOK_CONFIG,
    .watches = watches,
    .finalizer = "mcpwebhookconfig.toolhive.stacklok.dev/finalizer",
    .reconcile = reconcile,
};
