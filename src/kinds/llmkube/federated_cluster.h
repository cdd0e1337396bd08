#pragma once

/* FederatedCluster: a site that reports to this cluster. Its operator (--federation-role=edge)
 * writes its resources and a timestamp; from these the kind here decides whether the site is up. */

#include "engine/kind.h"

extern const struct resource FEDERATION_CLUSTER;
extern const struct kind federation_cluster_kind;

struct arena;
struct json;

/* The report of an edge: { capacity, inference } of a status. */
struct json federated_cluster_report(
    struct arena *a, struct json models, struct json services, struct json nodes);
