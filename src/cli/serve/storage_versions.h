#pragma once

/* Objects that an older release stored in a version that is not the one of today are stored anew,
 * and the CRD is told that nothing is stored in the old one any more: only then a later CRD may
 * leave the old version out. For CRDs that ask for it by a label, as those of ToolHive do.
 *
 *   after the lease, and every hour: each CRD ── status.storedVersions has an old one?
 *       └─> a patch of nothing for each object (the server stores it in the version of today)
 *             └─ all went well ─> storedVersions = [ that version ]
 *
 * CRDs are in no namespace: an operator of one namespace leaves them alone. */

#include "base/base.h"

struct env;
struct kube_client;
struct resource;
struct storage_versions;

struct storage_versions_options {
    struct kube_client *client;
    const struct env *env;
    const struct resource *const *resources; /* whose CRDs; NULL-terminated */
    const char *label;                       /* must be "true" on a CRD */
    const char *manager;                     /* field manager */
    bool (*may_write)(void *ctx);
    void *ctx;
};

/* What the options point to outlives it. */
struct storage_versions *storage_versions_new(const struct storage_versions_options *options);
void storage_versions_free(struct storage_versions *s); /* NULL is fine */
