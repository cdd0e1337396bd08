#pragma once

/* Migrates objects that an older release stored in an old API version: writes them again in the
 * current one and removes the old version from the CRD's status. Only then a later CRD may drop the
 * old version. For CRDs that opt in by a label, as ToolHive's do.
 *
 *   after the lease, and every hour: each CRD ── status.storedVersions has an old one?
 *       └─> an empty patch for each object (the server stores it in the current version)
 *             └─ all succeeded ─> storedVersions = [ that version ]
 *
 * CRDs are cluster-scoped: an operator of one namespace does not change them. */

#include "base/base.h"

struct env;
struct kube_client;
struct resource;
struct storage_versions;

struct storage_versions_options {
    struct kube_client *client;
    const struct env *env;
    const struct resource *const *resources; /* the CRDs of these; NULL-terminated */
    const char *label;                       /* must be "true" on a CRD */
    const char *manager;                     /* field manager */
    bool (*may_write)(void *ctx);
    void *ctx;
};

/* Everything that options points to must outlive it. */
struct storage_versions *storage_versions_new(const struct storage_versions_options *options);
void storage_versions_free(struct storage_versions *s); /* NULL is allowed */
