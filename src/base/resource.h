#pragma once

/* The API that a Kubernetes object belongs to. A resource is a static constant, compared by
 * address; built-in resources that several modules use are here. */

#include "base/base.h"

struct resource {
    const char *group; /* "" for core */
    const char *version;
    const char *kind;   /* "Deployment" */
    const char *plural; /* "deployments" */
    bool cluster_scoped;
};

extern const struct resource RESOURCE_DEPLOYMENT;
extern const struct resource RESOURCE_STATEFUL_SET;
extern const struct resource RESOURCE_SERVICE;
extern const struct resource RESOURCE_CONFIG_MAP;
extern const struct resource RESOURCE_SECRET;
extern const struct resource RESOURCE_SERVICE_ACCOUNT;
extern const struct resource RESOURCE_PVC;
extern const struct resource RESOURCE_POD;
extern const struct resource RESOURCE_NODE;
extern const struct resource RESOURCE_JOB;
extern const struct resource RESOURCE_HPA;
extern const struct resource RESOURCE_ENDPOINT_SLICE;
extern const struct resource RESOURCE_LEASE;
extern const struct resource RESOURCE_EVENT;
extern const struct resource RESOURCE_CRD;

struct arena;
/* "v1" or "apps/v1". */
const char *resource_api_version(struct arena *a, const struct resource *r);
/* "/apis/apps/v1/namespaces/NS/deployments/NAME/SUBRESOURCE", percent-encoded; the last three may
 * be NULL. namespace NULL on a namespaced resource means all namespaces (and name must be NULL). */
const char *resource_path(struct arena *a, const struct resource *r, const char *ns,
    const char *name, const char *subresource);
