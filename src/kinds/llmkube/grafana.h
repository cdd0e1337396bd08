#pragma once

/* Dashboards for the runtimes that are in use. The chart puts GrafanaDashboard manifests, one per
 * key, into the ConfigMap that --grafana-dashboard-source names. This kind creates those whose
 * runtime is used by any InferenceService of the cluster, and deletes the others. The object that
 * it reconciles is that ConfigMap: run it only when the flag is set. */

#include "engine/kind.h"

extern const struct resource GRAFANA_DASHBOARD;
extern const struct kind llmkube_dashboards_kind;
