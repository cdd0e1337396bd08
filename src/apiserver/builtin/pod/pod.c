/* Defaults of pods: those of the API, and those of admission plugins. */

#include "apiserver/builtin/pod/pod.h"

#include "apiserver/builtin/defaults.h"
#include "apiserver/builtin/pod/security_admit.h"
#include "apiserver/builtin/rules.h"
#include "apiserver/builtin/warn.h"
#include "apiserver/core/meta.h"
#include "apiserver/core/server.h"
#include "apiserver/rules/check.h"
#include "apiserver/rules/fill.h"
#include "apiserver/rules/patterns.h"
#include "base/json_index.h"
#include "base/quantity.h"

/* ---- containers ---- */

#define PROBE(name)                                                                                \
    { name ".timeoutSeconds", FILL_INT(1) }, { name ".periodSeconds", FILL_INT(10) },              \
        { name ".successThreshold", FILL_INT(1) }, { name ".failureThreshold", FILL_INT(3) },      \
        { name ".grpc.service", FILL_STR("") }, HTTP(name)
#define HTTP(name)                                                                                 \
    { name ".httpGet.path", FILL_STR("/") },                                                       \
    {                                                                                              \
        name ".httpGet.scheme", FILL_STR("HTTP")                                                   \
    }

static const struct fill container_defaults[] = {
    { "terminationMessagePath", FILL_STR("/dev/termination-log") },
    { "terminationMessagePolicy", FILL_STR("File") },
    { "ports.*.protocol", FILL_STR("TCP") },
    { "env.*.valueFrom.fieldRef.apiVersion", FILL_STR("v1") },
    { "env.*.valueFrom.fileKeyRef.optional", FILL_BOOL(false) },
    PROBE("livenessProbe"),
    PROBE("readinessProbe"),
    PROBE("startupProbe"),
    HTTP("lifecycle.postStart"),
    HTTP("lifecycle.preStop"),
    { 0 },
};

#define HOST_LABEL "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
#define HOST "(?:" HOST_LABEL "(?:\\." HOST_LABEL ")*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?"
#define IMAGE_STEP "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
#define DIGEST "@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"

/* Images without a tag, or with the tag latest, are always pulled. An invalid image name, such as
 * an incomplete digest, has no tag. */
static const char *pull_policy(const char *image)
{
    static const char form[] =
        "^(?:" HOST "/)?" IMAGE_STEP "(?:/" IMAGE_STEP ")*(?::latest(?:" DIGEST ")?)?$";
    const char *slash = strrchr(image, '/'), *tag = strchr(slash ? slash : image, ':');
    if (tag && !text_starts(tag, ":latest")) /* most images: no need to parse further */
        return "IfNotPresent";
    bool is_digest = strlen(image) == 64 && strspn(image, "0123456789abcdef") == 64;
    return !is_digest && pattern_matches(form, str_of(image)) ? "Always" : "IfNotPresent";
}

static struct json fill_container(struct arena *a, struct json c)
{
    const char *image = json_get_text(c, "image");
    c = fill_path(a, c, "imagePullPolicy", json_str(pull_policy(image ? image : "")));
    return fill_table(a, c, container_defaults);
}

/* ---- volumes ---- */

#define FILE_MODE FILL_INT(0644)

static const struct fill volume_defaults[] = {
    { "secret.defaultMode", FILE_MODE },
    { "configMap.defaultMode", FILE_MODE },
    { "downwardAPI.defaultMode", FILE_MODE },
    { "downwardAPI.items.*.fieldRef.apiVersion", FILL_STR("v1") },
    { "projected.defaultMode", FILE_MODE },
    { "projected.sources.*.serviceAccountToken.expirationSeconds", FILL_INT(3600) },
    { "projected.sources.*.downwardAPI.items.*.fieldRef.apiVersion", FILL_STR("v1") },
    { "hostPath.type", FILL_STR("") },
    { 0 },
};

static struct json fill_volume(struct arena *a, struct json v)
{
    if (v.type == JSON_MAP && v.count == 1 && json_present(json_member(v, "name")))
        return json_with_member(a, v, "emptyDir", json_empty_map());
    v = fill_each(a, v, "ephemeral.volumeClaimTemplate.spec", claim_spec_fill);
    struct json projected = json_member(v, "projected");
    if (projected.type == JSON_MAP && !json_member(projected, "sources").count)
        v = json_with(a, v, "projected.sources", json_null());
    const char *image = json_get_text(v, "image.reference");
    v = fill_path(a, v, "image.pullPolicy", json_str(pull_policy(image ? image : "")));
    return fill_table(a, v, volume_defaults);
}

/* ---- the spec ---- */

static const struct fill spec_defaults[] = {
    { "dnsPolicy", FILL_STR("ClusterFirst") },
    { "restartPolicy", FILL_STR("Always") },
    { "terminationGracePeriodSeconds", FILL_INT(30) },
    { "securityContext", FILL_MAP },
    { "schedulerName", FILL_STR("default-scheduler") },
    { 0 },
};

struct json pod_spec_fill(struct arena *a, struct json spec)
{
    static const char *const lists[] = {
        "containers.*", "initContainers.*", "ephemeralContainers.*"
    };
    spec = fill_table(a, spec, spec_defaults);
    for (size_t i = 0; i < lengthof(lists); i++)
        spec = fill_each(a, spec, lists[i], fill_container);
    /* One is the old name of the other. */
    struct json account = json_member(spec, "serviceAccountName");
    if (!json_present(account))
        account = json_member(spec, "serviceAccount");
    spec = json_with_member(a, spec, "serviceAccountName", account);
    spec = json_with_member(a, spec, "serviceAccount", account);
    return fill_each(a, spec, "volumes.*", fill_volume);
}

struct json pod_template_fill(struct arena *a, struct json object, const char *path)
{
    return fill_each(a, object, arena_printf(a, "%s.spec", path), pod_spec_fill);
}

/* ---- Pods ---- */

/* Limits are the default for requests. */
static struct json fill_requests(struct arena *a, struct json resources)
{
    json_each_member (limit, json_member(resources, "limits")) {
        if (!json_present(json_member(resources, "requests")))
            resources = json_with_member(a, resources, "requests", json_empty_map());
        struct json requests = json_member(resources, "requests");
        if (!json_present(json_member(requests, limit->key)))
            resources = json_with_member(
                a, resources, "requests", json_with_member(a, requests, limit->key, limit->value));
    }
    return resources;
}

static struct json fill_host_port(struct arena *a, struct json port)
{
    return fill_path(a, port, "hostPort", json_member(port, "containerPort"));
}

static struct json fill_pod(struct arena *a, struct json pod)
{
    static const char grace[] = "spec.terminationGracePeriodSeconds";
    pod = fill_each(a, pod, "spec", pod_spec_fill);
    if (json_get_int(pod, grace, 0) < 0) /* not for templates */
        pod = json_with(a, pod, grace, json_int(1));
    if (json_get_bool(pod, "spec.hostNetwork", false)) { /* not for templates */
        pod = fill_each(a, pod, "spec.containers.*.ports.*", fill_host_port);
        pod = fill_each(a, pod, "spec.initContainers.*.ports.*", fill_host_port);
    }
    pod = fill_each(a, pod, "spec.containers.*.resources", fill_requests);
    pod = fill_each(a, pod, "spec.initContainers.*.resources", fill_requests);
    pod = fill_each(a, pod, "spec", pod_level_fill);
    return fill_path(a, pod, "spec.enableServiceLinks", json_bool(true));
}

/* All containers have CPU and memory limits, and equal requests. */
static bool is_guaranteed(struct json containers)
{
    static const char *const names[] = { "cpu", "memory" };
    json_each (c, containers) {
        for (size_t i = 0; i < lengthof(names); i++) {
            struct json limits = json_get(*c, "resources.limits"),
                        requests = json_get(*c, "resources.requests");
            const char *limit = json_text(json_member(limits, names[i]));
            if (!limit || quantity_text_equal(limit, "0") ||
                !quantity_text_equal(limit, json_text(json_member(requests, names[i]))))
                return false;
        }
    }
    return true;
}

static bool asks_for_something(struct json containers)
{
    static const char *const paths[] = { "resources.limits", "resources.requests" };
    json_each (c, containers)
        for (size_t i = 0; i < lengthof(paths); i++)
            json_each_member (m, json_get(*c, paths[i]))
                if ((text_eq(m->key, "cpu") || text_eq(m->key, "memory")) &&
                    !quantity_text_equal(json_text(m->value), "0"))
                    return true;
    return false;
}

const char *pod_quality_of(struct json spec)
{
    struct json main = json_member(spec, "containers"), init = json_member(spec, "initContainers");
    if (!asks_for_something(main) && !asks_for_something(init))
        return "BestEffort";
    return is_guaranteed(main) && is_guaranteed(init) ? "Guaranteed" : "Burstable";
}

static bool tolerates(struct json tolerations, const char *key)
{
    json_each (t, tolerations) {
        const char *k = json_get_text(*t, "key"), *effect = json_get_text(*t, "effect");
        if ((!k || text_eq(k, key)) && (!effect || text_eq(effect, "NoExecute")))
            return true;
    }
    return false;
}

/* Pods stay bound to an unreachable node for five minutes. */
static struct json add_tolerations(struct arena *a, struct json spec)
{
    static const char *const keys[] = { "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable" };
    struct json tolerations = json_member(spec, "tolerations");
    struct json_builder b;
    json_builder_init(&b, a);
    json_push_all(&b, tolerations);
    for (size_t i = 0; i < lengthof(keys); i++)
        if (!tolerates(tolerations, keys[i]))
            json_push(&b,
                json_map(a,
                    { "effect", json_str("NoExecute") },
                    { "key", json_str(keys[i]) },
                    { "operator", json_str("Exists") },
                    { "tolerationSeconds", json_int(300) }));
    return json_with_member(a, spec, "tolerations", json_list_end(&b));
}

static struct json read_class(
    const struct api_write *w, const char *group, const char *kind, const char *name)
{
    if (!w->server)
        return json_none;
    const struct api_kind *k = registry_find_any(apiserver_registry(w->server), group, kind);
    return apiserver_read(w->server, w->arena, k, "", name);
}

/* The priority and the preemption policy come from the Pod's PriorityClass. */
static bool find_priority(const struct api_write *w, struct json object, int64_t *ret,
    struct json *policy, struct error *err)
{
    static const struct {
        const char *name;
        int64_t value;
    } own[] = { { "system-cluster-critical", 2000000000 }, { "system-node-critical", 2000001000 } };
    const char *class_name = json_get_text(object, "spec.priorityClassName");
    const char *name = meta_asked_name(object);
    struct json given = json_get(object, "spec.priority"), found = json_int(0),
                asked = json_get(object, "spec.preemptionPolicy");
    *policy = json_str("PreemptLowerPriority");
    if (!text_empty(class_name)) {
        struct json c = read_class(w, "scheduling.k8s.io", "PriorityClass", class_name);
        found = json_member(c, "value");
        if (check_is_set(json_member(c, "preemptionPolicy")))
            *policy = json_member(c, "preemptionPolicy");
        for (size_t i = 0; i < lengthof(own) && !json_present(found); i++)
            if (text_eq(class_name, own[i].name))
                found = json_int(own[i].value);
        if (!json_present(found))
            return fail(err,
                ERR_FORBIDDEN,
                "pods \"%s\" is forbidden: no PriorityClass with name %s was found",
                name,
                class_name);
    }
    if (given.type == JSON_INT && given.integer != found.integer)
        return fail(err,
            ERR_FORBIDDEN,
            "pods \"%s\" is forbidden: the integer value of priority (%lld) must not be provided "
            "in pod spec; priority admission controller computed %lld from the given PriorityClass "
            "name",
            name,
            (long long)given.integer,
            (long long)found.integer);
    if (check_is_set(asked) && !json_equal(asked, *policy))
        return fail(err,
            ERR_FORBIDDEN,
            "pods \"%s\" is forbidden: the string value of PreemptionPolicy (%s) must not be "
            "provided in pod spec; priority admission controller computed %s from the given "
            "PriorityClass name",
            name,
            json_text(asked),
            json_text(*policy));
    *ret = found.integer;
    return true;
}

static struct json give_priority_class(const struct api_write *w, struct json pod)
{
    if (!text_empty(json_get_text(pod, "spec.priorityClassName")))
        return pod;
    struct json name = json_get(defaults_priority(w), "metadata.name");
    return json_present(name) ? json_with(w->arena, pod, "spec.priorityClassName", name) : pod;
}

struct json pod_runtime_read(const struct api_write *w, struct json pod)
{
    const char *class_name = json_get_text(pod, "spec.runtimeClassName");
    return json_if(class_name, read_class(w, "node.k8s.io", "RuntimeClass", class_name));
}

/* The condition of a Pod with scheduling gates. */
static struct json gated(const struct api_write *w)
{
    return json_map(w->arena,
        { "lastProbeTime", json_null() },
        { "lastTransitionTime", json_str(w->now) },
        { "message", json_str("Scheduling is blocked due to non-empty scheduling gates") },
        { "reason", json_str("SchedulingGated") },
        { "status", json_str("False") },
        { "type", json_str("PodScheduled") });
}

static bool prepare_pod(const struct api_write *w, struct json *object, struct error *err)
{
    struct arena *a = w->arena;
    int64_t priority = 0;
    struct json policy;
    if (*w->subresource) {
        *object = pod_part_keep(w, *object);
        return true;
    }
    if (json_present(w->old)) {
        static const char *const kept[] = { "spec.priority", "spec.preemptionPolicy" };
        for (size_t i = 0; i < lengthof(kept); i++)
            *object = fill_path(a, *object, kept[i], json_get(w->old, kept[i]));
        *object = fill_each(a, *object, "spec", add_tolerations);
        return true;
    }
    pod_limits_fill(w, object);
    *object = give_priority_class(w, *object);
    if (!pod_account_admit(w, object, err) || !find_priority(w, *object, &priority, &policy, err))
        return false;
    *object = defaults_place(w->server, a, *object, json_get_text(*object, "spec.nodeName"));
    *object = pod_keys_merge(a, *object);
    *object = json_with(a, *object, "status.phase", json_str("Pending"));
    struct json spec = json_member(*object, "spec");
    if (json_member(spec, "schedulingGates").count)
        *object = json_with(a, *object, "status.conditions", json_list(a, gated(w)));
    *object = json_with(a, *object, "status.qosClass", json_str(pod_quality_of(spec)));
    spec = add_tolerations(a, spec);
    spec = fill_path(a, spec, "priority", json_int(priority));
    spec = fill_path(a, spec, "preemptionPolicy", policy);
    *object = json_with_member(a, *object, "spec", spec);
    return pod_runtime_admit(w, object, err);
}

static struct json fill_pod_template(struct arena *a, struct json object)
{
    return pod_template_fill(a, object, "template");
}

static const char *const pod_fields[] = { "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
    NULL };

static bool admit_pod(const struct api_write *w, struct json o, struct error *err)
{
    return limits_check(w, o, err) && pod_security_admit(w, o, err) &&
           (json_present(w->old) || pod_overhead_check(w, o, err));
}

static void check_pod(const struct api_write *w, struct json o, struct field_errors *e)
{
    struct json spec = json_member(o, "spec");
    pod_spec_check(e, spec, "spec");
    pod_ephemeral_check(w, o, e);
    if (!json_present(w->old) && json_member(spec, "schedulingGates").count &&
        !check_is_empty(json_member(spec, "nodeName")))
        field_forbidden(
            e, "spec.nodeName", "cannot be set until all schedulingGates have been cleared");
}

static const char *const free_fields[] = {
    "containers", "initContainers", "activeDeadlineSeconds", "tolerations", "schedulingGates"
};

/* The new spec, with the old values of all mutable fields. */
static struct json with_free_fields(struct arena *a, struct json old, struct json fresh)
{
    for (size_t f = 2; f < lengthof(free_fields); f++)
        fresh = json_with_member(a, fresh, free_fields[f], json_member(old, free_fields[f]));
    for (size_t f = 0; f < 2; f++) {
        struct json was = json_member(old, free_fields[f]), is = json_member(fresh, free_fields[f]);
        struct json_builder b;
        json_builder_init(&b, a);
        for (size_t i = 0; i < is.count; i++)
            json_push(&b,
                json_with_member(a, is.items[i], "image", json_member(json_item(was, i), "image")));
        if (json_present(is))
            fresh = json_with_member(a, fresh, free_fields[f], json_list_end(&b));
    }
    return fresh;
}

static struct json bare_tolerations(struct arena *a, struct json spec)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (t, json_member(spec, "tolerations"))
        json_push(&b, json_with_member(a, *t, "tolerationSeconds", json_none));
    return json_list_end(&b);
}

/* Only a few fields of a Pod can be changed. */
static void check_pod_change(const struct api_write *w, struct json o, struct field_errors *e)
{
    struct arena *a = w->arena;
    if (*w->subresource) {
        pod_part_check(w, o, e);
        return;
    }
    struct json old = json_member(w->old, "spec"), fresh = json_member(o, "spec");
    struct json bare = bare_tolerations(a, fresh);
    struct json_index index = json_index_of(a, bare, NULL);
    json_each (t, bare_tolerations(a, old)) {
        if (json_index_find(&index, *t) < 0) {
            field_forbidden(e,
                "spec.tolerations",
                "existing toleration can not be modified except its tolerationSeconds");
            break;
        }
    }
    bool counts_differ = false;
    for (size_t f = 0; f < 2; f++)
        if (json_member(old, free_fields[f]).count != json_member(fresh, free_fields[f]).count) {
            field_forbidden(e,
                field_child(a, "spec", free_fields[f]),
                "pod updates may not add or remove containers");
            counts_differ = true;
        }
    if (counts_differ)
        return;
    struct json kept = with_free_fields(a, old, fresh);
    if (!json_equal(old, kept))
        field_forbidden(e,
            "spec",
            "pod updates may not change fields other than `spec.containers[*].image`,"
            "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` "
            "(only additions to existing tolerations),`spec.terminationGracePeriodSeconds` "
            "(allow it to be set to 1 if it was previously negative)");
}

static void check_pod_template(const struct api_write *w, struct json o, struct field_errors *e)
{
    (void)w;
    pod_template_check(e, json_member(o, "template"), "template");
}

const struct builtin_rules builtin_pod = {
    .fill = fill_pod,
    .prepare = prepare_pod,
    .validate = check_pod,
    .admit = admit_pod,
    .warn = warn_pod,
    .validate_change = check_pod_change,
    .fields = pod_fields,
};
const struct builtin_rules builtin_pod_template = {
    .fill = fill_pod_template,
    .validate = check_pod_template,
    .warn = warn_pod_template,
};
const struct builtin_rules builtin_pod_binding = { 0 };
