/* An MCPTelemetryConfig: where traces and metrics go. */

#include "kinds/toolhive/config/config.h"
#include "engine/view.h"

#define REF "spec.telemetryConfigRef.name"

static struct config_verdict check_headers(struct arena *a, struct json otel)
{
    uint32_t i = 0;
    json_each (h, json_get(otel, "sensitiveHeaders")) {
        const char *name = json_get_text(*h, "name");
        static const char *const parts[] = { "name", "secretKeyRef.name", "secretKeyRef.key" };
        for (size_t k = 0; k < lengthof(parts); k++)
            if (text_empty(json_get_text(*h, parts[k])))
                return config_fault(
                    a, "openTelemetry.sensitiveHeaders[%u].%s must not be empty", i, parts[k]);
        if (json_present(json_member(json_get(otel, "headers"), name)))
            return config_fault(
                a, "header \"%s\" appears in both headers and sensitiveHeaders", name);
        i++;
    }
    return CONFIG_VALID;
}

static struct config_verdict check(const struct view *in, struct plan *out, struct json spec)
{
    (void)out;
    struct arena *a = in->arena;
    struct json otel = json_get(spec, "openTelemetry"), bundle = json_get(otel, "caBundleRef");
    bool signals = json_get_bool(otel, "tracing.enabled", false) ||
                   json_get_bool(otel, "metrics.enabled", false);
    if (!text_empty(json_get_text(otel, "endpoint")) && !signals)
        return config_fault(
            a, "endpoint requires at least one of tracing or metrics to be enabled");
    struct config_verdict v = check_headers(a, otel);
    if (v.fault || !json_present(bundle))
        return v;
    if (!json_present(json_get(bundle, "configMapRef")))
        return config_fault(a, "openTelemetry.caBundleRef.configMapRef must be specified");
    if (text_empty(json_get_text(bundle, "configMapRef.name")))
        return config_fault(a, "openTelemetry.caBundleRef.configMapRef.name must not be empty");
    if (json_get_bool(otel, "insecure", false))
        return config_fault(a, "caBundleRef cannot be specified when insecure is true");
    return CONFIG_VALID;
}

static const struct config_referent referents[] = {
    { &TOOLHIVE_SERVER, REF },
    { &TOOLHIVE_VIRTUAL_SERVER, REF },
    { &TOOLHIVE_REMOTE_PROXY, REF },
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

#define NAMES ((const char *const[]){ REF, NULL })

static const struct kind_watch watches[] = {
    { .resource = &TOOLHIVE_SERVER, .keep = NAMES },
    { .resource = &TOOLHIVE_VIRTUAL_SERVER, .keep = NAMES },
    { .resource = &TOOLHIVE_REMOTE_PROXY, .keep = NAMES },
    { 0 },
};

const struct kind toolhive_telemetry_config_kind = {
    .resource = &TOOLHIVE_TELEMETRY_CONFIG,
    .watches = watches,
    .finalizer = "mcptelemetryconfig.toolhive.stacklok.dev/finalizer",
    .reconcile = reconcile,
};
