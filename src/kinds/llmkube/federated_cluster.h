#pragma once

/* FederatedCluster: a site that reports to this cluster. Its operator (--federation-role=edge)
 * writes what it has and when; the kind here says from that whether it is there. */

#include "engine/kind.h"

extern const struct resource FEDERATION_CLUSTER;
extern const struct kind federation_cluster_kind;

struct arena;
struct json;

/* What an edge reports of itself: { capacity, inference } of a status. */
struct json federated_cluster_report(
    struct arena *a, struct json models, struct json services, struct json nodes);
