/* An MCPToolConfig: which tools a server offers, and under which names. */

#include "kinds/toolhive/config/config.h"

#define REF "spec.toolConfigRef.name"

static struct config_verdict check(const struct view *in, struct plan *out, struct json spec)
{
    (void)out;
    (void)in;
    (void)spec; /* the CRD validates everything */
    return CONFIG_VALID;
}

/* An MCPRemoteProxy needs it, too; upstream allows its deletion while the proxy uses it. */
static const struct config_referent referents[] = {
    { &TOOLHIVE_SERVER, REF },
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
    { .resource = &TOOLHIVE_REMOTE_PROXY, .keep = NAMES },
    { 0 },
};

const struct kind toolhive_tool_config_kind = {
    .resource = &TOOLHIVE_TOOL_CONFIG,
    .watches = watches,
    .finalizer = "toolhive.stacklok.dev/toolconfig-finalizer",
    .reconcile = reconcile,
};
