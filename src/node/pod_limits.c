/* What local processes cannot do. */

#include "node/action.h"
#include "node/pod_internal.h"

static const char *const pod_paths[] = {
    "spec.nodeSelector",
    "spec.affinity",
    "spec.topologySpreadConstraints",
    "spec.hostIPC",
    "spec.hostPID",
    "spec.shareProcessNamespace",
    "spec.securityContext.runAsUser",
    "spec.securityContext.runAsGroup",
    "spec.securityContext.fsGroup",
    "spec.securityContext.supplementalGroups",
    "spec.securityContext.seLinuxOptions",
    "spec.securityContext.seccompProfile",
    "spec.securityContext.sysctls",
    "spec.dnsConfig",
    "spec.hostAliases",
    "spec.runtimeClassName",
};

static const char *const container_paths[] = {
    "securityContext.runAsUser",
    "securityContext.runAsGroup",
    "securityContext.runAsNonRoot",
    "securityContext.privileged",
    "securityContext.readOnlyRootFilesystem",
    "securityContext.allowPrivilegeEscalation",
    "securityContext.capabilities",
    "securityContext.seLinuxOptions",
    "securityContext.seccompProfile",
    "lifecycle.stopSignal",
    "volumeDevices",
    "resources.limits.cpu",
    "resources.limits.memory",
    "resources.claims",
    "livenessProbe.grpc",
    "readinessProbe.grpc",
    "startupProbe.grpc",
};

/* Texts of the API that ask for nothing do not count. */
static bool asks(struct json v)
{
    switch (v.type) {
    case JSON_ABSENT:
    case JSON_NULL:
        return false;
    case JSON_LIST:
    case JSON_MAP:
        return v.count > 0;
    default:
        return true;
    }
}

static void add(struct arena *a, const char **all, const char *where, const char *path)
{
    *all = arena_printf(a, "%s%s%s%s", *all ? *all : "", *all ? ", " : "", where, path);
}

const char *pod_limits(struct arena *a, struct json pod, const struct node_runtime *runtime)
{
    static const char *const lists[] = { "initContainers", "containers" };
    const char *all = NULL;
    for (size_t i = 0; i < lengthof(pod_paths); i++)
        if (asks(json_get(pod, pod_paths[i])))
            add(a, &all, "", pod_paths[i]);
    bool mounts = false;
    for (size_t k = 0; k < lengthof(lists); k++)
        json_each (c, json_member(json_get(pod, "spec"), lists[k])) {
            const char *where =
                arena_printf(a, "spec.%s[%s].", lists[k], json_get_text(*c, "name"));
            mounts = mounts || json_get(*c, "volumeMounts").count > 0;
            for (size_t i = 0; i < lengthof(container_paths); i++)
                if (asks(json_get(*c, container_paths[i])))
                    add(a, &all, where, container_paths[i]);
        }
    const char *text =
        all ? arena_printf(a, "Containers run as local processes; not in effect: %s.", all) : NULL;
    if (mounts && !runtime->mounts)
        text = arena_printf(a,
            "%s%sWithout root there are no mounts: mount paths in command, args and env are "
            "replaced "
            "by the real ones, read-only mounts can be written to.",
            text ? text : "",
            text ? " " : "");
    return text;
}
