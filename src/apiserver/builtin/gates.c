/* Fields of features that are off by default: the server takes an object without them, unless it
 * had them before. */

#include "apiserver/builtin/rules.h"
#include "apiserver/rules/fill.h"

static struct json without(struct arena *a, struct json map, const char *name)
{
    return json_with_member(a, map, name, (struct json){ 0 });
}

/* ---- pods ---- */

static const char *const container_lists[] = { "containers", "initContainers" };

static bool stops_by_signal(struct json spec)
{
    for (size_t i = 0; i < lengthof(container_lists); i++)
        json_each (c, json_member(spec, container_lists[i]))
            if (json_present(json_get(*c, "lifecycle.stopSignal")))
                return true;
    return false;
}

static struct json drop_signal(struct arena *a, struct json container)
{
    struct json lifecycle = without(a, json_member(container, "lifecycle"), "stopSignal");
    return json_with_member(a, container, "lifecycle", json_or_absent(lifecycle));
}

static struct json drop_signals(struct arena *a, struct json spec)
{
    spec = fill_each(a, spec, "containers.*", drop_signal);
    return fill_each(a, spec, "initContainers.*", drop_signal);
}

static bool projects(struct json spec, const char *source)
{
    json_each (v, json_member(spec, "volumes"))
        json_each (s, json_get(*v, "projected.sources"))
            if (json_present(json_member(*s, source)))
                return true;
    return false;
}

static bool projects_bundle(struct json spec)
{
    return projects(spec, "clusterTrustBundle");
}

static bool projects_certificate(struct json spec)
{
    return projects(spec, "podCertificate");
}

static struct json drop_bundle(struct arena *a, struct json source)
{
    return without(a, source, "clusterTrustBundle");
}

static struct json drop_certificate(struct arena *a, struct json source)
{
    return without(a, source, "podCertificate");
}

static struct json drop_bundles(struct arena *a, struct json spec)
{
    return fill_each(a, spec, "volumes.*.projected.sources.*", drop_bundle);
}

static struct json drop_certificates(struct arena *a, struct json spec)
{
    return fill_each(a, spec, "volumes.*.projected.sources.*", drop_certificate);
}

static bool has_group(struct json spec)
{
    return json_present(json_member(spec, "schedulingGroup"));
}

static struct json drop_group(struct arena *a, struct json spec)
{
    return without(a, spec, "schedulingGroup");
}

/* ---- others ---- */

static bool limits_unavailable(struct json spec)
{
    return json_present(json_get(spec, "updateStrategy.rollingUpdate.maxUnavailable"));
}

static struct json drop_unavailable(struct arena *a, struct json spec)
{
    return json_with(a, spec, "updateStrategy.rollingUpdate.maxUnavailable", (struct json){ 0 });
}

static bool has_foreign_source(struct json spec)
{
    return !text_empty(json_get_text(spec, "dataSourceRef.namespace"));
}

static struct json drop_source(struct arena *a, struct json spec)
{
    return without(a, spec, "dataSourceRef");
}

static bool elects(struct json spec)
{
    return json_present(json_member(spec, "strategy")) ||
           json_present(json_member(spec, "preferredHolder"));
}

static struct json drop_election(struct arena *a, struct json spec)
{
    return without(a, without(a, spec, "strategy"), "preferredHolder");
}

static bool has_config(struct json spec)
{
    return json_present(json_member(spec, "configSource"));
}

static struct json drop_config(struct arena *a, struct json spec)
{
    return without(a, spec, "configSource");
}

struct gate {
    const char *kind; /* NULL: a pod's spec, wherever it is */
    bool (*uses)(struct json spec);
    struct json (*drop)(struct arena *a, struct json spec);
};

static const struct gate gates[] = {
    { NULL, stops_by_signal, drop_signals },                      /* ContainerStopSignals */
    { NULL, projects_bundle, drop_bundles },                      /* ClusterTrustBundleProjection */
    { NULL, projects_certificate, drop_certificates },            /* PodCertificateRequest */
    { NULL, has_group, drop_group },                              /* GenericWorkload */
    { "StatefulSet", limits_unavailable, drop_unavailable },      /* MaxUnavailable… */
    { "PersistentVolumeClaim", has_foreign_source, drop_source }, /* CrossNamespaceVolume… */
    { "Lease", elects, drop_election },                           /* CoordinatedLeaderElection */
    { "Node", has_config, drop_config }, /* DynamicKubeletConfig, which is gone */
};

static const char *pod_path(const struct api_kind *k)
{
    static const char *const workloads[] = {
        "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController"
    };
    const char *kind = k->resource.kind;
    if (api_kind_is_core(k, "Pod"))
        return "spec";
    if (api_kind_is_core(k, "PodTemplate"))
        return "template.spec";
    if (text_eq(kind, "CronJob"))
        return "spec.jobTemplate.spec.template.spec";
    for (size_t i = 0; i < lengthof(workloads); i++)
        if (text_eq(kind, workloads[i]))
            return "spec.template.spec";
    return NULL;
}

struct json builtin_drop_gated(const struct api_write *w, struct json object)
{
    const char *pod = pod_path(w->kind);
    for (size_t i = 0; i < lengthof(gates); i++) {
        const struct gate *g = &gates[i];
        const char *path = !g->kind                                   ? pod
                           : text_eq(g->kind, w->kind->resource.kind) ? "spec"
                                                                      : NULL;
        struct json spec = path ? json_get(object, path) : (struct json){ 0 };
        if (json_present(spec) && g->uses(spec) && !g->uses(json_get(w->old, path)))
            object = json_with(w->arena, object, path, g->drop(w->arena, spec));
    }
    return object;
}
