#pragma once

/* The kinds that only hold settings for others: checked, hashed, and kept while somebody refers to
 * them.
 *
 *   check ── invalid ──> Valid=False with the path; hash and generation of the last valid spec stay
 *     │ valid
 *     └──> Valid=True, configHash
 *   deleted ── referred to ──> DeletionBlocked names the workloads, the finalizer stays */

#include "kinds/toolhive/toolhive.h"

/* Who may refer to a config, and where. */
struct config_referent {
    const struct resource *resource;
    const char *path; /* of the name in its spec; the next one may have the same resource */
};

struct config_verdict {
    const char *fault;  /* a sentence with the path; NULL: the spec is valid */
    const char *reason; /* of the condition; NULL: the usual one */
};

struct config_kind {
    const char *valid, *invalid; /* reasons */
    bool events;                 /* ConfigInvalid, ConfigValid, DeletionBlocked */
    const struct config_referent *referents;
    /* May plan conditions of its own. */
    struct config_verdict (*check)(const struct view *in, struct plan *out, struct json spec);
};

void config_reconcile(const struct view *in, struct plan *out, const struct config_kind *kind);
/* A fault with its text. */
struct config_verdict config_fault(struct arena *a, const char *format, ...) printf_like(2, 3);

#define CONFIG_VALID ((struct config_verdict){ 0 })

extern const struct kind toolhive_tool_config_kind;
extern const struct kind toolhive_external_auth_config_kind;
extern const struct kind toolhive_oidc_config_kind;
extern const struct kind toolhive_authz_config_kind;
extern const struct kind toolhive_telemetry_config_kind;
extern const struct kind toolhive_webhook_config_kind;
