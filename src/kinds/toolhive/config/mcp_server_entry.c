/* An MCPServerEntry: a remote server that gateways connect to directly. It is only checked. */

#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/toolhive/toolhive.h"

struct verdict {
    const char *reason; /* NULL: the condition does not apply */
    bool ok;
    const char *message;
};

static struct verdict check_url(const struct view *in, struct json spec)
{
    const char *fault = toolhive_remote_url_fault(in->arena, json_get_text(spec, "remoteUrl"));
    return (struct verdict){
        .reason = fault ? "RemoteURLInvalid" : "RemoteURLValid",
        .ok = !fault,
        .message = fault ? fault : "Remote URL is valid",
    };
}

static struct verdict check_group(const struct view *in, struct json spec)
{
    const char *name = toolhive_text(spec, "groupRef.name", "");
    struct json group = view_get(in, &TOOLHIVE_MCP_GROUP, name);
    const char *phase = toolhive_text(group, "status.phase", "");
    if (!json_present(group))
        return (struct verdict){
            .reason = "GroupRefNotFound",
            .message = arena_printf(
                in->arena, "MCPGroup '%s' not found in namespace '%s'", name, view_namespace(in)),
        };
    if (!text_eq(phase, "Ready"))
        return (struct verdict){
            .reason = "GroupRefNotReady",
            .message = arena_printf(
                in->arena, "MCPGroup '%s' is not ready (current phase: %s)", name, phase),
        };
    return (struct verdict){
        .reason = "GroupRefIsValid",
        .ok = true,
        .message = "Referenced MCPGroup exists and is ready",
    };
}

static struct verdict check_auth(const struct view *in, struct json spec)
{
    const char *name = json_get_text(spec, "externalAuthConfigRef.name");
    if (!name)
        return (struct verdict){
            .reason = "AuthConfigNotConfigured",
            .ok = true,
            .message = "No external auth config reference configured",
        };
    struct json config = view_get(in, &TOOLHIVE_EXTERNAL_AUTH_CONFIG, name);
    struct json valid = json_find(json_get(config, "status.conditions"), "type", "Valid");
    if (!json_present(config))
        return (struct verdict){
            .reason = "AuthConfigNotFound",
            .message = "Referenced MCPExternalAuthConfig not found",
        };
    if (text_eq(json_get_text(valid, "status"), "False"))
        return (struct verdict){
            .reason = toolhive_text(valid, "reason", "InvalidConfig"),
            .message = toolhive_text(valid, "message", "it is not valid"),
        };
    return (struct verdict){
        .reason = "AuthConfigValid",
        .ok = true,
        .message = "Referenced MCPExternalAuthConfig exists",
    };
}

static struct verdict check_bundle(const struct view *in, struct json spec)
{
    const char *name = json_get_text(spec, "caBundleRef.configMapRef.name");
    if (!name)
        return (struct verdict){
            .reason = "CABundleRefNotConfigured",
            .ok = true,
            .message = "No CA bundle reference configured",
        };
    bool found = json_present(view_get(in, &TOOLHIVE_CONFIG_MAP, name));
    return (struct verdict){
        .reason = found ? "CABundleRefValid" : "CABundleRefNotFound",
        .ok = found,
        .message = found ? "Referenced CA bundle ConfigMap exists"
                         : "Referenced CA bundle ConfigMap not found",
    };
}

/* Only checks whether the Secrets exist, and never reads their content. */
static struct verdict check_headers(const struct view *in, struct json spec)
{
    struct json headers = json_get(spec, "headerForward.addHeadersFromSecret");
    if (!headers.count)
        return (struct verdict){ .ok = true };
    json_each (h, headers) {
        const char *name = toolhive_text(*h, "valueSecretRef.name", "");
        if (!json_present(view_get(in, &RESOURCE_SECRET, name)))
            return (struct verdict){
                .reason = "HeaderSecretNotFound",
                .message = arena_printf(in->arena,
                    "Secret '%s' of header '%s' not found in namespace '%s'; create it",
                    name,
                    toolhive_text(*h, "headerName", ""),
                    view_namespace(in)),
            };
    }
    return (struct verdict){
        .reason = "HeaderSecretsValid",
        .ok = true,
        .message = "All referenced header Secrets exist",
    };
}

static void tell(const struct view *in, struct plan *out, bool valid)
{
    plan_condition(out,
        "Valid",
        valid,
        valid ? "ConfigValid" : "ConfigInvalid",
        valid ? "All referenced resources are valid"
              : "One or more referenced resources are missing or invalid");
    plan_status(out,
        json_fields(in->arena,
            { "phase", json_str(valid ? "Valid" : "Failed") },
            { "observedGeneration", json_int(json_get_int(in->object, "metadata.generation", 1)) }),
        NULL);
}

static void reconcile(const struct view *in, struct plan *out)
{
    static const struct {
        const char *condition;
        struct verdict (*check)(const struct view *in, struct json spec);
    } checks[] = {
        { "RemoteURLValidated", check_url },
        { "GroupRefValidated", check_group },
        { "ExternalAuthConfigValidated", check_auth },
        { "CABundleRefValidated", check_bundle },
        { "HeaderSecretRefsValidated", check_headers },
    };
    const char *wrong = NULL;
    for (size_t i = 0; i < lengthof(checks); i++) {
        struct verdict v = checks[i].check(in, json_get(in->object, "spec"));
        if (v.reason)
            plan_condition(out, checks[i].condition, v.ok, v.reason, "%s", v.message);
        wrong = wrong || v.ok ? wrong : v.message;
    }
    tell(in, out, !wrong);
    if (wrong)
        plan_wait(out, "%s", wrong);
    else
        plan_done(out);
}

#define NOTHING ((const char *const[]){ NULL })

static const struct kind_watch watches[] = {
    { .resource = &TOOLHIVE_MCP_GROUP, .keep = (const char *const[]){ "status.phase", NULL } },
    { .resource = &TOOLHIVE_EXTERNAL_AUTH_CONFIG,
        .keep = (const char *const[]){ "status.conditions", NULL } },
    { .resource = &TOOLHIVE_CONFIG_MAP, .keep = NOTHING },
    { .resource = &RESOURCE_SECRET, .keep = NOTHING },
    { 0 },
};

const struct kind toolhive_server_entry_kind = {
    .resource = &TOOLHIVE_SERVER_ENTRY,
    .watches = watches,
    .reconcile = reconcile,
};
