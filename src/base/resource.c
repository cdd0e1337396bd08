#include "base/resource.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

#define CORE(kind_, plural_, ...)                                                                  \
    {                                                                                              \
        .group = "", .version = "v1", .kind = kind_, .plural = plural_, __VA_ARGS__                \
    }

const struct resource RESOURCE_DEPLOYMENT = { "apps", "v1", "Deployment", "deployments" };
const struct resource RESOURCE_STATEFUL_SET = { "apps", "v1", "StatefulSet", "statefulsets" };
const struct resource RESOURCE_SERVICE = CORE("Service", "services");
const struct resource RESOURCE_CONFIG_MAP = CORE("ConfigMap", "configmaps");
const struct resource RESOURCE_SECRET = CORE("Secret", "secrets");
const struct resource RESOURCE_SERVICE_ACCOUNT = CORE("ServiceAccount", "serviceaccounts");
const struct resource RESOURCE_PVC = CORE("PersistentVolumeClaim", "persistentvolumeclaims");
const struct resource RESOURCE_POD = CORE("Pod", "pods");
const struct resource RESOURCE_NODE = CORE("Node", "nodes", .cluster_scoped = true);
const struct resource RESOURCE_JOB = { "batch", "v1", "Job", "jobs" };
const struct resource RESOURCE_HPA = {
    .group = "autoscaling",
    .version = "v2",
    .kind = "HorizontalPodAutoscaler",
    .plural = "horizontalpodautoscalers",
};
const struct resource RESOURCE_ENDPOINT_SLICE = {
    .group = "discovery.k8s.io",
    .version = "v1",
    .kind = "EndpointSlice",
    .plural = "endpointslices",
};
const struct resource RESOURCE_LEASE = { "coordination.k8s.io", "v1", "Lease", "leases" };
const struct resource RESOURCE_EVENT = { "events.k8s.io", "v1", "Event", "events" };
const struct resource RESOURCE_CRD = {
    .group = "apiextensions.k8s.io",
    .version = "v1",
    .kind = "CustomResourceDefinition",
    .plural = "customresourcedefinitions",
    .cluster_scoped = true,
};

const char *resource_api_version(struct arena *a, const struct resource *r)
{
    return *r->group ? arena_printf(a, "%s/%s", r->group, r->version) : r->version;
}

/* Adds one path segment. On a server names have no special characters, but in a manifest they
 * may. */
static void add_segment(struct buf *b, const char *text)
{
    static const char hex[] = "0123456789ABCDEF";
    buf_add_char(b, '/');
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                     (*c >= '0' && *c <= '9') || strchr("-._~:", *c);
        if (plain)
            buf_add_char(b, (char)*c);
        else
            buf_add(b, (char[]){ '%', hex[*c >> 4], hex[*c & 15] }, 3);
    }
}

const char *resource_path(struct arena *a, const struct resource *r, const char *ns,
    const char *name, const char *subresource)
{
    assert(!(subresource && !name));
    assert(r->cluster_scoped || ns || !name);
    cleanup(buf_done) struct buf b = BUF_INIT(8192);
    buf_add_text(&b, *r->group ? "/apis" : "/api");
    if (*r->group)
        add_segment(&b, r->group);
    add_segment(&b, r->version);
    if (ns && !r->cluster_scoped) {
        buf_add_text(&b, "/namespaces");
        add_segment(&b, ns);
    }
    add_segment(&b, r->plural);
    if (name)
        add_segment(&b, name);
    if (subresource)
        add_segment(&b, subresource);
    assert(!buf_overflowed(&b));
    return arena_strndup(a, b.ptr, b.len);
}
