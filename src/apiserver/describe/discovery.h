#pragma once

/* Which groups, versions and resources there are, in the two forms that clients ask for: a document
 * for each group and version, and everything in one (apidiscovery.k8s.io/v2).
 *
 * All are made from the registry, whose order is discovery's: what comes first in a group is its
 * preferred version. */

#include "apiserver/core/registry.h"

/* /api; endpoint: where the server is reached, NULL: not known. */
struct json discovery_api_versions(struct arena *a, const char *endpoint);
struct json discovery_groups(struct arena *a, const struct registry *r); /* /apis */
/* /apis/GROUP; absent: no such group. */
struct json discovery_group(struct arena *a, const struct registry *r, const char *group);
/* /api/v1, /apis/GROUP/VERSION; absent: nothing there. */
struct json discovery_resources(
    struct arena *a, const struct registry *r, const char *group, const char *version);
/* The core group (/api) or all others (/apis) in one. */
struct json discovery_aggregated(struct arena *a, const struct registry *r, bool core);

/* A subresource beside status and scale, which kinds say themselves. */
struct subresource {
    const char *group, *plural, *name;
    const char *kind_group, *kind_version, *kind; /* of its objects; version "": the resource's */
    unsigned verbs;
};
#define DISCOVERY_SUBRESOURCES_MAX 16
/* All of a kind: those of the table, scale and status; by name for built-in kinds, status first for
 * custom ones. */
size_t discovery_subresources(
    const struct api_kind *k, struct subresource ret[DISCOVERY_SUBRESOURCES_MAX]);
/* The i-th of a built-in kind; NULL past the last. */
const struct subresource *discovery_subresource(const struct api_kind *k, size_t i);
const struct subresource *discovery_find_subresource(const struct api_kind *k, const char *name);
