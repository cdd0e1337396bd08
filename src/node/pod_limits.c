/* What local processes do not support. */

#include "node/host_ports.h"
#include "node/pod_internal.h"

/* path: "x[]" is each item of a list. fine: the value that requests nothing, as do a missing field,
 * false and empty values. */
struct limit {
    const char *path, *fine;
    enum { ALWAYS, WITHOUT_GROUPS, WITHOUT_MOUNTS, WITHOUT_USERS } when;
};

static const struct limit of_pod[] = {
    { "spec.nodeSelector" },
    { "spec.affinity" },
    { "spec.topologySpreadConstraints" },
    { "spec.schedulerName", "default-scheduler" },
    { "spec.priorityClassName" },
    { "spec.runtimeClassName" },
    { "spec.overhead" },
    { "spec.resources" },
    { "spec.resourceClaims" },
    { "spec.hostUsers", "true" },
    { "spec.setHostnameAsFQDN" },
    { "spec.hostnameOverride" },
    { "spec.imagePullSecrets" },
    { "spec.ephemeralContainers" },
    { "spec.dnsConfig" },
    { "spec.hostAliases", NULL, WITHOUT_MOUNTS },
    { "spec.os.name", "linux" },
    { "spec.securityContext.runAsUser", NULL, WITHOUT_USERS },
    { "spec.securityContext.runAsGroup", NULL, WITHOUT_USERS },
    { "spec.securityContext.fsGroup", NULL, WITHOUT_USERS },
    { "spec.securityContext.supplementalGroups", NULL, WITHOUT_USERS },
    { "spec.securityContext.appArmorProfile" },
    { "spec.securityContext.seLinuxOptions" },
    { "spec.securityContext.seccompProfile" },
    { "spec.securityContext.sysctls" },
    { "spec.volumes[].emptyDir.medium" },
    { "spec.volumes[].emptyDir.sizeLimit" },
    { "spec.volumes[].persistentVolumeClaim.readOnly" },
};

static const struct limit of_container[] = {
    { "securityContext.runAsUser", NULL, WITHOUT_USERS },
    { "securityContext.runAsGroup", NULL, WITHOUT_USERS },
    { "securityContext.privileged" },
    { "securityContext.readOnlyRootFilesystem" },
    { "securityContext.capabilities" },
    { "securityContext.procMount", "Default" },
    { "securityContext.appArmorProfile" },
    { "securityContext.seLinuxOptions" },
    { "securityContext.seccompProfile" },
    { "volumeDevices" },
    { "volumeMounts[].mountPropagation", "None" },
    { "volumeMounts[].recursiveReadOnly", "Disabled" },
    { "resources.limits.cpu", NULL, WITHOUT_GROUPS },
    { "resources.limits.memory", NULL, WITHOUT_GROUPS },
    { "resources.limits.ephemeral-storage" },
    { "resources.claims" },
    { "restartPolicyRules" },
    { "tty" },
};

struct looking {
    struct arena *arena;
    const struct pod *pod;
    const char *all;     /* the findings so far */
    bool mounts, groups; /* containers have mounts; limits that need cgroups */
};

static bool asks(struct json v, const char *fine)
{
    switch (v.type) {
    case JSON_ABSENT:
    case JSON_NULL:
        return false;
    case JSON_LIST:
    case JSON_MAP:
        return v.count > 0;
    case JSON_BOOL:
        return v.boolean != text_eq(fine, "true");
    case JSON_STR:
        return v.count > 0 && !text_eq(json_text(v), fine);
    default:
        return true;
    }
}

static void list(struct looking *l, const char *where, const char *path)
{
    l->all =
        arena_printf(l->arena, "%s%s%s%s", l->all ? l->all : "", l->all ? ", " : "", where, path);
}

static void look(
    struct looking *l, struct json in, const char *where, const char *path, const char *fine)
{
    const char *items_at = strstr(path, "[]");
    if (!items_at) {
        if (asks(json_get(in, path), fine))
            list(l, where, path);
        return;
    }
    const char *name = arena_strndup(l->arena, path, (size_t)(items_at - path));
    struct json items = json_get(in, name);
    json_each (item, items) {
        const char *title = json_get_text(*item, "name");
        if (!title)
            title = arena_printf(l->arena, "%td", item - items.items);
        look(l,
            *item,
            arena_printf(l->arena, "%s%s[%s].", where, name, title),
            items_at + strlen("[]."),
            fine);
    }
}

static bool applies(struct looking *l, const struct limit *limit)
{
    const struct pod_host *host = l->pod->host;
    switch (limit->when) {
    case WITHOUT_GROUPS:
        return !host->cgroups;
    case WITHOUT_MOUNTS:
        return !host->runtime->mounts;
    case WITHOUT_USERS:
        return !host->runtime->users;
    default:
        return true;
    }
}

static void look_at_containers(struct looking *l)
{
    static const char *const lists[] = { "spec.initContainers[].", "spec.containers[]." };
    for (size_t k = 0; k < lengthof(lists); k++)
        for (size_t i = 0; i < lengthof(of_container); i++) {
            const struct limit *limit = &of_container[i];
            const char *before = l->all;
            if (applies(l, limit))
                look(l,
                    l->pod->object,
                    "",
                    arena_printf(l->arena, "%s%s", lists[k], limit->path),
                    limit->fine);
            l->groups = l->groups || (limit->when == WITHOUT_GROUPS && l->all != before);
        }
    for (size_t i = 0; i < l->pod->count; i++) {
        const struct container *c = &l->pod->containers[i];
        l->mounts = l->mounts || json_get(c->spec, "volumeMounts").count > 0;
    }
    const char *ports = host_ports_idle(l->arena, l->pod->object, !l->pod->host->host_ports);
    if (ports)
        list(l, ports, "");
}

const char *pod_limits(struct arena *a, const struct pod *p)
{
    struct looking l = { .arena = a, .pod = p };
    for (size_t i = 0; i < lengthof(of_pod); i++)
        if (applies(&l, &of_pod[i]))
            look(&l, p->object, "", of_pod[i].path, of_pod[i].fine);
    look_at_containers(&l);
    const char *text = "";
    if (l.all)
        text = arena_printf(a, "Containers run as local processes; not in effect: %s.", l.all);
    if (l.groups)
        text = arena_printf(a, "%s Limits need control groups: %s.", text, p->host->no_cgroups);
    if (!p->host->runtime->mounts)
        text = arena_printf(a,
            "%s%sWithout root there are no mounts: names of Services do not resolve (use their "
            "addresses, or the variables NAME_SERVICE_HOST and NAME_SERVICE_PORT)%s.",
            text,
            *text ? " " : "",
            l.mounts ? ", mount paths in command, args and env are replaced by the real ones, "
                       "read-only mounts can be written to"
                     : "");
    return *text ? text : NULL;
}
