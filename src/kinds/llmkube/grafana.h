#pragma once

/* Dashboards for the runtimes that are in use. The chart puts GrafanaDashboard manifests, one a
 * key, into the ConfigMap that --grafana-dashboard-source names; this kind publishes those whose
 * runtime some InferenceService of the cluster runs, and takes the others away. Its object is that
 * ConfigMap: run it only when the flag is set. */

#include "engine/kind.h"

extern const struct resource GRAFANA_DASHBOARD;
extern const struct kind llmkube_dashboards_kind;
