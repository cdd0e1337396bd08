#pragma once

/* The served groups, versions and resources, in the two formats that clients request: one document
 * for each group and version, and a single document (apidiscovery.k8s.io/v2).
 *
 * All are built from the registry, whose order is the order of discovery: the first version of a
 * group is its preferred version. */

#include "apiserver/core/registry.h"

/* /api; endpoint: the server's address, NULL: unknown. */
struct json discovery_api_versions(struct arena *a, const char *endpoint);
struct json discovery_groups(struct arena *a, const struct registry *r); /* /apis */
/* /apis/GROUP; absent: no such group. */
struct json discovery_group(struct arena *a, const struct registry *r, const char *group);
/* /api/v1, /apis/GROUP/VERSION; absent: not found. */
struct json discovery_resources(
    struct arena *a, const struct registry *r, const char *group, const char *version);
/* The core group (/api) or all others (/apis) in one document. */
struct json discovery_aggregated(struct arena *a, const struct registry *r, bool core);

/* A subresource other than status and scale, which are part of the kind. */
struct subresource {
    const char *group, *plural, *name;
    const char *kind_group, *kind_version, *kind; /* of its objects; version "": the same */
    unsigned verbs;
};
#define DISCOVERY_SUBRESOURCES_MAX 16
/* All subresources of a kind: those in the table, scale and status; sorted by name for built-in
 * kinds, status first for custom ones. */
size_t discovery_subresources(
    const struct api_kind *k, struct subresource ret[DISCOVERY_SUBRESOURCES_MAX]);
/* The i-th subresource of a built-in kind; NULL after the last. */
const struct subresource *discovery_subresource(const struct api_kind *k, size_t i);
const struct subresource *discovery_find_subresource(const struct api_kind *k, const char *name);
