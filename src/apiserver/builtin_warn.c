#include "apiserver/builtin_warn.h"

#include <stdarg.h>

#include "apiserver/call.h"
#include "base/buf.h"
#include "base/names.h"
#include "base/quantity.h"

/* So many items of a list are compared with the others: enough for people, little for machines. */
#define COMPARED_MAX 256

static void warn(const struct api_write *w, const char *format, ...) printf_like(2, 3);
static void warn(const struct api_write *w, const char *format, ...)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)64 << 10);
    va_list args;
    va_start(args, format);
    buf_vprintf(&b, format, args);
    va_end(args);
    call_warn(w->call, buf_text(&b));
}

static void warn_name(const struct api_write *w, struct json object, const char *use)
{
    const char *name = json_get_text(object, "metadata.name");
    bool is_long = name && strlen(name) > NAME_LABEL_MAX, dotted = name && strchr(name, '.');
    if (json_present(w->old) || (!is_long && !dotted))
        return;
    warn(w,
        "metadata.name: this is used in %s, which can result in surprising behavior; a DNS label "
        "is recommended: [%s%s%s]",
        use,
        is_long ? "must be no more than 63 characters" : "",
        is_long && dotted ? " " : "",
        dotted ? "must not contain dots" : "");
}

/* ---- pod specs ---- */

static const struct {
    const char *label, *since, *instead;
} old_labels[] = {
    { "beta.kubernetes.io/arch", "v1.14", "kubernetes.io/arch" },
    { "beta.kubernetes.io/os", "v1.14", "kubernetes.io/os" },
    { "failure-domain.beta.kubernetes.io/region", "v1.17", "topology.kubernetes.io/region" },
    { "failure-domain.beta.kubernetes.io/zone", "v1.17", "topology.kubernetes.io/zone" },
    { "beta.kubernetes.io/instance-type", "v1.17", "node.kubernetes.io/instance-type" },
};

static void warn_placement(const struct api_write *w, struct json spec, const char *path)
{
    for (size_t i = 0; i < lengthof(old_labels); i++)
        if (json_present(json_member(json_member(spec, "nodeSelector"), old_labels[i].label)))
            warn(w,
                "%s.nodeSelector[%s]: deprecated since %s; use \"%s\" instead",
                path,
                old_labels[i].label,
                old_labels[i].since,
                old_labels[i].instead);
    struct json spread = json_member(spec, "topologySpreadConstraints");
    for (uint32_t n = 0; spread.type == JSON_LIST && n < spread.count; n++) {
        const char *key = json_get_text(spread.items[n], "topologyKey");
        for (size_t i = 0; i < lengthof(old_labels); i++)
            if (text_eq(key, old_labels[i].label))
                warn(w,
                    "%s.topologySpreadConstraints[%u].topologyKey: %s is deprecated since %s; use "
                    "\"%s\" instead",
                    path,
                    n,
                    key,
                    old_labels[i].since,
                    old_labels[i].instead);
        if (!json_present(json_member(spread.items[n], "labelSelector")))
            warn(w,
                "%s.topologySpreadConstraints[%u].labelSelector: a null labelSelector results in "
                "matching no pod",
                path,
                n);
    }
}

static void warn_volumes(const struct api_write *w, struct json spec, const char *path)
{
    uint32_t n = 0;
    json_each (volume, json_member(spec, "volumes")) {
        if (json_present(json_member(*volume, "gitRepo")))
            warn(w,
                "%s.volumes[%u].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
                path,
                n);
        n++;
    }
}

/* Items of a list that have the same text in a field; those with none, if that is worth a word. */
static void warn_twice(const struct api_write *w, struct json spec, const char *path,
    const char *list_name, const char *field, bool empty_too)
{
    struct json list = json_member(spec, list_name);
    for (uint32_t i = 0; list.type == JSON_LIST && i < list.count; i++) {
        const char *text = json_get_text(list.items[i], field);
        bool again = false;
        if (text_empty(text) && empty_too)
            warn(w, "%s.%s[%u].%s: invalid empty %s \"\"", path, list_name, i, field, field);
        for (uint32_t j = 0; j < i && j < COMPARED_MAX && !again && !text_empty(text); j++)
            again = text_eq(text, json_get_text(list.items[j], field));
        if (again)
            warn(w, "%s.%s[%u].%s: duplicate %s \"%s\"", path, list_name, i, field, field, text);
    }
}

static void warn_fraction(
    const struct api_write *w, struct json amounts, const char *path, const char *what)
{
    struct quantity q;
    const char *text = json_get_text(amounts, what);
    if (text && quantity_parse(str_of(text), &q, NULL) && quantity_milli_value(q) % 1000 != 0)
        warn(w,
            "%s[%s]: fractional byte value \"%s\" is invalid, must be an integer",
            path,
            what,
            text);
}

static void warn_resources(const struct api_write *w, struct json resources, const char *path)
{
    static const char *const parts[] = { "limits", "requests" };
    for (size_t i = 0; i < lengthof(parts); i++) {
        struct json amounts = json_member(resources, parts[i]);
        const char *here = arena_printf(w->arena, "%s.%s", path, parts[i]);
        warn_fraction(w, amounts, here, "memory");
        warn_fraction(w, amounts, here, "ephemeral-storage");
    }
}

/* A variable that stands twice, unless the later one is made of the earlier one. */
static void warn_env(const struct api_write *w, struct json env, const char *path)
{
    for (uint32_t i = 0; env.type == JSON_LIST && i < env.count; i++) {
        const char *name = json_get_text(env.items[i], "name");
        const char *value = json_get_text(env.items[i], "value");
        bool again = false;
        for (uint32_t j = 0; j < i && j < COMPARED_MAX && !again; j++)
            again = text_eq(name, json_get_text(env.items[j], "name"));
        if (again && !(value && strstr(value, arena_printf(w->arena, "$(%s)", name))))
            warn(w,
                "%s.env[%u]: hides previous definition of \"%s\", which may be dropped when using "
                "apply",
                path,
                i,
                name);
    }
}

static void warn_ports(const struct api_write *w, struct json ports, const char *path)
{
    static const char *const same[] = { "containerPort", "protocol", "hostPort", "hostIP" };
    for (uint32_t i = 0; ports.type == JSON_LIST && i < ports.count; i++)
        for (uint32_t j = 0; j < i && j < COMPARED_MAX; j++) {
            bool again = true;
            for (size_t f = 0; f < lengthof(same); f++)
                again = again && json_equal(json_member(ports.items[i], same[f]),
                                     json_member(ports.items[j], same[f]));
            if (!again)
                continue;
            warn(w, "%s.ports[%u]: duplicate port definition with %s.ports[%u]", path, i, path, j);
            break;
        }
}

static void warn_affinity(const struct api_write *w, struct json spec, const char *path)
{
    static const char *const kinds[] = { "podAffinity", "podAntiAffinity" };
    static const char *const lists[] = { "requiredDuringSchedulingIgnoredDuringExecution",
        "preferredDuringSchedulingIgnoredDuringExecution" };
    for (size_t i = 0; i < lengthof(kinds) * lengthof(lists); i++) {
        const char *kind = kinds[i / 2], *list = lists[i % 2];
        uint32_t n = 0;
        json_each (term, json_member(json_member(json_member(spec, "affinity"), kind), list)) {
            struct json t = i % 2 ? json_member(*term, "podAffinityTerm") : *term;
            if (!json_present(json_member(t, "labelSelector")))
                warn(w,
                    "%s.affinity.%s.%s[%u]%s.labelSelector: a null labelSelector results in "
                    "matching no pod",
                    path,
                    kind,
                    list,
                    n,
                    i % 2 ? ".podAffinityTerm" : "");
            n++;
        }
    }
}

static void warn_pod_spec(const struct api_write *w, struct json spec, const char *path)
{
    static const char *const lists[] = { "initContainers", "containers" };
    warn_placement(w, spec, path);
    warn_volumes(w, spec, path);
    warn_twice(w, spec, path, "hostAliases", "ip", false);
    warn_twice(w, spec, path, "imagePullSecrets", "name", true);
    if (json_get_int(spec, "terminationGracePeriodSeconds", 0) < 0)
        warn(w,
            "%s.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will "
            "be treated as 1",
            path);
    for (size_t i = 0; i < lengthof(lists); i++) {
        uint32_t n = 0;
        json_each (container, json_member(spec, lists[i])) {
            const char *here = arena_printf(w->arena, "%s.%s[%u]", path, lists[i], n++);
            warn_resources(w,
                json_member(*container, "resources"),
                arena_printf(w->arena, "%s.resources", here));
            warn_env(w, json_member(*container, "env"), here);
            warn_ports(w, json_member(*container, "ports"), here);
        }
    }
    warn_affinity(w, spec, path);
}

#define CRITICAL "scheduler.alpha.kubernetes.io/critical-pod"
#define APPARMOR "container.apparmor.security.beta.kubernetes.io/"

void warn_pod(const struct api_write *w, struct json object)
{
    warn_name(w, object, "the Pod's hostname");
    json_each_member (m, json_get(object, "metadata.annotations")) {
        if (text_eq(m->key, CRITICAL))
            warn(w,
                "metadata.annotations[%s]: non-functional in v1.16+; use the \"priorityClassName\" "
                "field instead",
                m->key);
        if (text_starts(m->key, APPARMOR))
            warn(w,
                "metadata.annotations[%s]: deprecated since v1.30; use the \"appArmorProfile\" "
                "field instead",
                m->key);
    }
    warn_pod_spec(w, json_member(object, "spec"), "spec");
}

/* A change that leaves the spec alone is not the template's fault. */
static bool is_new(const struct api_write *w, struct json object)
{
    return !json_present(w->old) || json_get_int(w->old, "metadata.generation", 0) !=
                                        json_get_int(object, "metadata.generation", 0);
}

void warn_template(const struct api_write *w, struct json object)
{
    if (is_new(w, object))
        warn_pod_spec(w, json_get(object, "spec.template.spec"), "spec.template.spec");
}

void warn_workload(const struct api_write *w, struct json object)
{
    warn_name(w, object, "Pod names and hostnames");
    warn_template(w, object);
}

void warn_job(const struct api_write *w, struct json object)
{
    struct json spec = json_member(object, "spec");
    warn_workload(w, object);
    if (text_eq(json_get_text(spec, "completionMode"), "Indexed") &&
        json_get_int(spec, "completions", 0) > 100000 &&
        json_get_int(spec, "parallelism", 0) > 10000)
        warn(w,
            "spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism "
            "higher than 10^4, Kubernetes might not be able to track completedIndexes when a big "
            "number of indexes fail");
}

void warn_cron_job(const struct api_write *w, struct json object)
{
    static const char path[] = "spec.jobTemplate.spec.template.spec";
    warn_name(w, object, "Pod names and hostnames");
    if (is_new(w, object))
        warn_pod_spec(w, json_get(object, path), path);
}

/* ---- others ---- */

void warn_service(const struct api_write *w, struct json object)
{
    struct json spec = json_member(object, "spec");
    if (json_member(spec, "externalIPs").count)
        warn(w, "spec.externalIPs is deprecated and may no longer be implemented in some clusters");
    if (text_eq(json_get_text(spec, "clusterIP"), "None") &&
        text_eq(json_get_text(spec, "sessionAffinity"), "ClientIP"))
        warn(w, "spec.SessionAffinity is ignored for headless services");
}

#define OLD_CLASS "volume.beta.kubernetes.io/storage-class"

static void warn_class(const struct api_write *w, struct json object)
{
    if (json_present(json_member(json_get(object, "metadata.annotations"), OLD_CLASS)))
        warn(w,
            "metadata.annotations[" OLD_CLASS
            "]: deprecated since v1.8; use \"storageClassName\" attribute instead");
}

void warn_claim(const struct api_write *w, struct json object)
{
    warn_class(w, object);
    warn_fraction(
        w, json_get(object, "spec.resources.requests"), "spec.resources.requests", "storage");
}

void warn_volume(const struct api_write *w, struct json object)
{
    warn_class(w, object);
    if (text_eq(json_get_text(object, "spec.persistentVolumeReclaimPolicy"), "Recycle"))
        warn(w,
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
            "Instead, the recommended approach is to use dynamic provisioning.");
}

void warn_ingress(const struct api_write *w, struct json object)
{
    static const char old[] = "kubernetes.io/ingress.class";
    if (!json_present(w->old) &&
        json_present(json_member(json_get(object, "metadata.annotations"), old)))
        warn(w, "annotation \"%s\" is deprecated, please use 'spec.ingressClassName' instead", old);
}

void warn_node(const struct api_write *w, struct json object)
{
    if (!text_empty(json_get_text(object, "spec.externalID")))
        warn(w, "spec.externalID: this field is deprecated, and is unused by Kubernetes");
}
