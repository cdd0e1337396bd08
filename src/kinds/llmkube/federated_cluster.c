#include "kinds/llmkube/federated_cluster.h"

#include "base/json.h"
#include "base/quantity.h"
#include "base/time.h"
#include "engine/plan.h"
#include "engine/view.h"

#define INTERVAL_DEFAULT_S 30
/* Number of missed heartbeats. */
#define CONNECTED_INTERVALS 3
#define STALE_INTERVALS 10

const struct resource FEDERATION_CLUSTER = {
    .group = "federation.llmkube.dev",
    .version = "v1alpha1",
    .kind = "FederatedCluster",
    .plural = "federatedclusters",
    .cluster_scoped = true,
};

/* ---- the hub ---- */

static void reconcile(const struct view *in, struct plan *out)
{
    int64_t interval_s =
        json_get_int(in->object, "spec.heartbeatIntervalSeconds", INTERVAL_DEFAULT_S);
    int64_t interval_ms = (interval_s > 0 ? interval_s : INTERVAL_DEFAULT_S) * 1000;
    int64_t connected_ms = CONNECTED_INTERVALS * interval_ms,
            stale_ms = STALE_INTERVALS * interval_ms;
    int64_t last_ms;
    bool heard = time_parse(json_get_text(in->object, "status.lastHeartbeatTime"), &last_ms);
    int64_t age_ms = heard ? in->now_ms - last_ms : stale_ms + 1;
    const char *phase = age_ms <= connected_ms ? "Connected"
                        : age_ms <= stale_ms   ? "Stale"
                                               : "Unreachable";
    plan_status(out, json_fields(in->arena, { "phase", json_str(phase) }), NULL);
    /* Checked again when the silence would change the result, not at every expected heartbeat. */
    if (age_ms <= connected_ms)
        plan_recheck(out, connected_ms - age_ms + 1);
    else if (age_ms <= stale_ms)
        plan_recheck(out, stale_ms - age_ms + 1);
    else
        plan_done(out);
}

static const struct kind_watch watches[] = { { 0 } };

const struct kind federation_cluster_kind = {
    .resource = &FEDERATION_CLUSTER,
    .watches = watches,
    .shares_status = true,
    .reconcile = reconcile,
};

/* ---- an edge ---- */

static int64_t gpus_of(struct json quantities)
{
    static const char *const names[] = {
        "nvidia.com/gpu",
        "amd.com/gpu",
        "gpu.intel.com/i915",
        "gpu.intel.com/xe",
        "devices.squat.ai/dri",
    };
    int64_t sum = 0;
    for (size_t i = 0; i < lengthof(names); i++) {
        struct quantity q;
        const char *text = json_text(json_member(quantities, names[i]));
        if (text && quantity_parse(str_of(text), &q, NULL))
            sum += quantity_value(q);
    }
    return sum;
}

struct json federated_cluster_report(
    struct arena *a, struct json models, struct json services, struct json nodes)
{
    int64_t ready = 0, failed = 0, total = 0, allocatable = 0;
    json_each (service, services) {
        ready += text_eq(json_get_text(*service, "status.phase"), "Ready");
        failed += text_eq(json_get_text(*service, "status.phase"), "Failed");
    }
    json_each (node, nodes) {
        total += gpus_of(json_get(*node, "status.capacity"));
        allocatable += gpus_of(json_get(*node, "status.allocatable"));
    }
    return json_fields(a,
        { "capacity.nodes", json_int(nodes.count) },
        { "capacity.gpusTotal", json_int(total) },
        { "capacity.gpusAllocatable", json_int(allocatable) },
        { "inference.models", json_int(models.count) },
        { "inference.servicesTotal", json_int(services.count) },
        { "inference.servicesReady", json_int(ready) },
        { "inference.servicesFailed", json_int(failed) });
}
