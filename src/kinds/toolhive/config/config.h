#pragma once

/* The kinds that only hold settings for other kinds: checked, hashed, and kept while any workload
 * refers to them.
 *
 *   check ── invalid ──> Valid=False with the path; hash and generation of the last valid spec stay
 *     │ valid
 *     └──> Valid=True, configHash
 *   deleted ── referred to ──> DeletionBlocked names the workloads, the finalizer stays */

#include "kinds/toolhive/toolhive.h"

/* A kind that may refer to a config, and in which field. */
struct config_referent {
    const struct resource *resource;
    const char *path; /* of the name in its spec; the next row may have the same resource */
};

struct config_verdict {
    const char *fault;  /* a sentence with the path; NULL: the spec is valid */
    const char *reason; /* of the condition; NULL: the default */
};

struct config_kind {
    const char *valid, *invalid; /* reasons */
    bool events;                 /* ConfigInvalid, ConfigValid, DeletionBlocked */
    const struct config_referent *referents;
    /* May also plan conditions. */
    struct config_verdict (*check)(const struct view *in, struct plan *out, struct json spec);
};

void config_reconcile(const struct view *in, struct plan *out, const struct config_kind *kind);
/* A verdict with this fault. */
struct config_verdict config_fault(struct arena *a, const char *format, ...) printf_like(2, 3);

#define CONFIG_VALID ((struct config_verdict){ 0 })

extern const struct kind toolhive_tool_config_kind;
extern const struct kind toolhive_external_auth_config_kind;
extern const struct kind toolhive_oidc_config_kind;
extern const struct kind toolhive_authz_config_kind;
extern const struct kind toolhive_telemetry_config_kind;
extern const struct kind toolhive_webhook_config_kind;
