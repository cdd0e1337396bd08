/* What is accepted and yet worth a word: the warnings of built-in kinds. */

#include "apiserver/builtin_rules.h"
#include "apiserver/call.h"
#include "apiserver/check.h"
#include "base/names.h"
#include "base/quantity.h"

struct warner {
    const struct api_write *write;
    struct arena *arena;
};

static void say(struct warner *w, const char *path, const char *what)
{
    call_warn(w->write->call, arena_printf(w->arena, "%s: %s", path, what));
}

/* ---- names that have newer ones ---- */

static const struct {
    const char *key, *since, *instead;
} old_labels[] = {
    { "beta.kubernetes.io/arch", "v1.14", "kubernetes.io/arch" },
    { "beta.kubernetes.io/os", "v1.14", "kubernetes.io/os" },
    { "failure-domain.beta.kubernetes.io/region", "v1.17", "topology.kubernetes.io/region" },
    { "failure-domain.beta.kubernetes.io/zone", "v1.17", "topology.kubernetes.io/zone" },
    { "beta.kubernetes.io/instance-type", "v1.17", "node.kubernetes.io/instance-type" },
};

/* The words about a label, or NULL; named: the label is not in the path. */
static const char *old_label(struct warner *w, const char *key, bool named)
{
    for (size_t i = 0; key && i < lengthof(old_labels); i++)
        if (text_eq(key, old_labels[i].key))
            return arena_printf(w->arena,
                "%s%sdeprecated since %s; use \"%s\" instead",
                named ? key : "",
                named ? " is " : "",
                old_labels[i].since,
                old_labels[i].instead);
    return NULL;
}

static void warn_key(struct warner *w, struct json holder, const char *field, const char *path)
{
    const char *words = old_label(w, json_get_text(holder, field), true);
    if (words)
        say(w, field_child(w->arena, path, field), words);
}

static void warn_node_term(struct warner *w, struct json term, const char *path)
{
    size_t i = 0;
    json_each (e, json_member(term, "matchExpressions"))
        warn_key(w, *e, "key", check_item_path(w->arena, path, "matchExpressions", i++));
}

static void warn_selector(struct warner *w, struct json holder, const char *path)
{
    if (!check_is_set(json_member(holder, "labelSelector")))
        say(w,
            field_child(w->arena, path, "labelSelector"),
            "a null labelSelector results in matching no pod");
}

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

static void warn_affinity(struct warner *w, struct json affinity, const char *path)
{
    static const char *const sorts[] = { "podAffinity", "podAntiAffinity" };
    for (size_t s = 0; s < lengthof(sorts); s++) {
        const char *here = field_child(w->arena, path, sorts[s]);
        struct json terms = json_member(affinity, sorts[s]);
        size_t i = 0;
        json_each (t, json_member(terms, REQUIRED))
            warn_selector(w, *t, check_item_path(w->arena, here, REQUIRED, i++));
        i = 0;
        json_each (t, json_member(terms, PREFERRED))
            warn_selector(w,
                json_member(*t, "podAffinityTerm"),
                field_child(
                    w->arena, check_item_path(w->arena, here, PREFERRED, i++), "podAffinityTerm"));
    }
}

static void warn_placement(struct warner *w, struct json spec, const char *path)
{
    struct arena *a = w->arena;
    json_each_member (m, json_member(spec, "nodeSelector")) {
        const char *words = old_label(w, m->key, false);
        if (words)
            say(w, field_key(a, field_child(a, path, "nodeSelector"), m->key), words);
    }
    struct json node = json_get(spec, "affinity.nodeAffinity");
    const char *node_path = field_child(a, path, "affinity.nodeAffinity");
    size_t i = 0;
    json_each (t, json_get(node, REQUIRED ".nodeSelectorTerms"))
        warn_node_term(w,
            *t,
            check_item_path(a, field_child(a, node_path, REQUIRED), "nodeSelectorTerms", i++));
    i = 0;
    json_each (t, json_member(node, PREFERRED))
        warn_node_term(w,
            json_member(*t, "preference"),
            field_child(a, check_item_path(a, node_path, PREFERRED, i++), "preference"));
    i = 0;
    json_each (t, json_member(spec, "topologySpreadConstraints")) {
        const char *here = check_item_path(a, path, "topologySpreadConstraints", i++);
        warn_key(w, *t, "topologyKey", here);
        warn_selector(w, *t, here);
    }
}

/* ---- volumes and secrets ---- */

static void warn_volumes(struct warner *w, struct json spec, const char *path)
{
    static const struct {
        const char *field, *shown, *words;
    } old[] = {
        { "photonPersistentDisk",
            "photonPersistentDisk",
            "deprecated in v1.11, non-functional in v1.16+" },
        { "gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+" },
        { "scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+" },
        { "flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+" },
        { "storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+" },
        { "quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+" },
        { "glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+" },
        { "rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+" },
        { "cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+" },
    };
    size_t i = 0;
    json_each (v, json_member(spec, "volumes")) {
        const char *here = check_item_path(w->arena, path, "volumes", i++);
        for (size_t j = 0; j < lengthof(old); j++)
            if (json_present(json_member(*v, old[j].field)))
                say(w, field_child(w->arena, here, old[j].shown), old[j].words);
    }
}

/* Duplicates are told of before names that are empty. */
static void warn_pull_secrets(struct warner *w, struct json spec, const char *path)
{
    struct json secrets = json_member(spec, "imagePullSecrets");
    for (int empty = 0; empty < 2; empty++)
        for (size_t i = 0; i < secrets.count; i++) {
            const char *name = json_get_text(secrets.items[i], "name");
            bool taken = false;
            for (size_t j = 0; j < i; j++)
                taken = taken || text_eq(json_get_text(secrets.items[j], "name"), name);
            const char *here = field_child(
                w->arena, check_item_path(w->arena, path, "imagePullSecrets", i), "name");
            if (empty && text_empty(name))
                say(w, here, "invalid empty name \"\"");
            else if (!empty && taken && !text_empty(name))
                say(w, here, arena_printf(w->arena, "duplicate name \"%s\"", name));
        }
}

/* ---- containers ---- */

static void warn_fraction(struct warner *w, struct json list, const char *name, const char *path)
{
    struct quantity q;
    struct json v = json_member(list, name);
    if (json_present(v) && quantity_parse(str_of(json_text(v)), &q, NULL) &&
        quantity_milli_value(q) % 1000)
        say(w,
            field_key(w->arena, path, name),
            arena_printf(w->arena,
                "fractional byte value \"%s\" is invalid, must be an integer",
                json_text(v)));
}

static void warn_resources(struct warner *w, struct json c, const char *path)
{
    static const char *const names[] = { "memory", "ephemeral-storage" };
    static const char *const lists[] = { "limits", "requests" };
    const char *here = field_child(w->arena, path, "resources");
    for (size_t n = 0; n < lengthof(names); n++)
        for (size_t l = 0; l < lengthof(lists); l++)
            warn_fraction(w,
                json_member(json_member(c, "resources"), lists[l]),
                names[n],
                field_child(w->arena, here, lists[l]));
}

static void warn_env(struct warner *w, struct json c, const char *path)
{
    struct json env = json_member(c, "env");
    for (size_t i = 0; i < env.count; i++) {
        const char *name = json_get_text(env.items[i], "name"),
                   *value = json_get_text(env.items[i], "value");
        bool taken = false;
        for (size_t j = 0; j < i; j++)
            taken = taken || text_eq(json_get_text(env.items[j], "name"), name);
        /* One that has its earlier self in it is meant. */
        if (taken && !(value && strstr(value, arena_printf(w->arena, "$(%s)", name))))
            say(w,
                check_item_path(w->arena, path, "env", i),
                arena_printf(w->arena,
                    "hides previous definition of \"%s\", which may be dropped when using apply",
                    name));
    }
}

struct seen_port {
    struct json port;
    const char *path;
    bool named; /* its name counts */
};

static const char *overlap(struct json a, struct json b)
{
    const char *ip = json_get_text(a, "hostIP"), *other_ip = json_get_text(b, "hostIP");
    int64_t host = json_get_int(a, "hostPort", 0), other = json_get_int(b, "hostPort", 0);
    if (json_get_int(a, "containerPort", 0) != json_get_int(b, "containerPort", 0) ||
        !json_equal(json_member(a, "protocol"), json_member(b, "protocol")))
        return NULL;
    if (host == other && text_eq(ip ? ip : "", other_ip ? other_ip : ""))
        return "duplicate";
    if (!host || !other)
        return "overlapping";
    return host == other && text_empty(ip) != text_empty(other_ip) ? "dangerously ambiguous" : NULL;
}

static void warn_port(struct warner *w, const struct seen_port *seen, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        const char *how = overlap(seen[index].port, seen[i].port);
        if (how)
            say(w,
                seen[index].path,
                arena_printf(w->arena, "%s port definition with %s", how, seen[i].path));
    }
}

static void warn_port_name(struct warner *w, const struct seen_port *seen, size_t index)
{
    const char *name = seen[index].named ? json_get_text(seen[index].port, "name") : NULL;
    for (size_t i = 0; !text_empty(name) && i < index; i++)
        if (seen[i].named && text_eq(json_get_text(seen[i].port, "name"), name)) {
            say(w,
                seen[index].path,
                arena_printf(w->arena,
                    "duplicate port name \"%s\" with %s, services and probes that select ports by "
                    "name will use %s",
                    name,
                    seen[i].path,
                    seen[i].path));
            return;
        }
}

static const char *const container_lists[] = { "initContainers", "containers" };

static void warn_ports(struct warner *w, struct json spec, const char *path)
{
    size_t count = 0, total = 0;
    for (size_t l = 0; l < lengthof(container_lists); l++)
        json_each (c, json_member(spec, container_lists[l]))
            total += json_member(*c, "ports").count;
    struct seen_port *seen = arena_array(w->arena, total + 1, sizeof(*seen));
    for (size_t l = 0; l < lengthof(container_lists); l++) {
        size_t i = 0;
        json_each (c, json_member(spec, container_lists[l])) {
            const char *here = check_item_path(w->arena, path, container_lists[l], i++);
            bool stays = l == 1 || text_eq(json_get_text(*c, "restartPolicy"), "Always");
            size_t j = 0;
            json_each (p, json_member(*c, "ports")) {
                seen[count] =
                    (struct seen_port){ *p, check_item_path(w->arena, here, "ports", j++), stays };
                warn_port(w, seen, count++);
            }
        }
    }
    for (size_t i = 0; i < count; i++)
        warn_port_name(w, seen, i);
}

static void warn_pod_spec(struct warner *w, struct json spec, const char *path)
{
    warn_placement(w, spec, path);
    warn_pull_secrets(w, spec, path);
    warn_volumes(w, spec, path);
    for (size_t l = 0; l < lengthof(container_lists); l++) {
        size_t i = 0;
        json_each (c, json_member(spec, container_lists[l])) {
            const char *here = check_item_path(w->arena, path, container_lists[l], i++);
            warn_resources(w, *c, here);
            warn_env(w, *c, here);
        }
    }
    warn_affinity(w, json_member(spec, "affinity"), field_child(w->arena, path, "affinity"));
    warn_ports(w, spec, path);
}

/* ---- kinds ---- */

/* Where kinds have a pod, and how a name with dots in it is spoken of. */
static const struct {
    const char *kind, *spec, *dots;
} with_pods[] = {
#define POD_NAMES "this is used in Pod names and hostnames"
    { "Pod", "spec", "this is used in the Pod's hostname" },
    { "PodTemplate", "template.spec", NULL },
    { "ReplicationController", "spec.template.spec", POD_NAMES },
    { "ReplicaSet", "spec.template.spec", POD_NAMES },
    { "Deployment", "spec.template.spec", POD_NAMES },
    { "DaemonSet", "spec.template.spec", NULL },
    { "StatefulSet", "spec.template.spec", NULL },
    { "Job", "spec.template.spec", POD_NAMES },
    { "CronJob", "spec.jobTemplate.spec.template.spec", POD_NAMES },
};

static void warn_name(struct warner *w, struct json object, const char *dots)
{
    const char *name = json_get_text(object, "metadata.name");
    if (dots && name && strchr(name, '.'))
        say(w,
            "metadata.name",
            arena_printf(w->arena,
                "%s, which can result in surprising behavior; a DNS label is recommended: "
                "[must not contain dots]",
                dots));
}

static void warn_service(struct warner *w, struct json spec)
{
    bool external = text_eq(json_get_text(spec, "type"), "ExternalName");
    if (json_member(spec, "externalIPs").count)
        call_warn(w->write->call,
            external ? "spec.externalIPs is ignored when spec.type is \"ExternalName\""
                     : "spec.externalIPs is deprecated and may no longer be implemented in some "
                       "clusters");
    if (!external && text_eq(json_get_text(spec, "clusterIP"), "None") &&
        text_eq(json_get_text(spec, "sessionAffinity"), "ClientIP"))
        call_warn(w->write->call, "spec.SessionAffinity is ignored for headless services");
    if (text_eq(json_get_text(spec, "trafficDistribution"), "PreferClose"))
        say(w, "spec.trafficDistribution", "\"PreferClose\" is deprecated; use \"PreferSameZone\"");
}

static void warn_storage(struct warner *w, struct json object)
{
    static const char old[] = "volume.beta.kubernetes.io/storage-class";
    if (json_present(json_member(json_get(object, "metadata.annotations"), old)))
        say(w,
            field_key(w->arena, "metadata.annotations", old),
            "deprecated since v1.8; use \"storageClassName\" attribute instead");
    if (text_eq(json_get_text(object, "spec.persistentVolumeReclaimPolicy"), "Recycle"))
        say(w,
            "spec.persistentVolumeReclaimPolicy",
            "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use "
            "dynamic provisioning.");
    warn_fraction(
        w, json_get(object, "spec.resources.requests"), "storage", "spec.resources.requests");
}

void builtin_warn(const struct api_write *write, struct json object)
{
    const char *kind = write->kind->resource.kind;
    struct warner w = { write, write->arena };
    if (!write->call || *write->subresource)
        return;
    for (size_t i = 0; i < lengthof(with_pods); i++) {
        if (!text_eq(kind, with_pods[i].kind))
            continue;
        /* A change is worth a word if it is one of the spec; pods are changed by machines. */
        if (json_present(write->old) &&
            (i == 0 || json_equal(json_get(write->old, "metadata.generation"),
                           json_get(object, "metadata.generation"))))
            return;
        if (!json_present(write->old))
            warn_name(&w, object, with_pods[i].dots);
        warn_pod_spec(&w, json_get(object, with_pods[i].spec), with_pods[i].spec);
    }
    if (api_kind_is_core(write->kind, "Service"))
        warn_service(&w, json_member(object, "spec"));
    if (api_kind_is_core(write->kind, "PersistentVolume") ||
        api_kind_is_core(write->kind, "PersistentVolumeClaim"))
        warn_storage(&w, object);
}
