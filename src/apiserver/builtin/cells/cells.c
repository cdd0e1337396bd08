#include "apiserver/builtin/cells/cells.h"

#include <stdlib.h>

#include "apiserver/core/table.h"
#include "base/buf.h"

#define CELL_TEXT_MAX ((size_t)1 << 20)

/* ---- helpers ---- */

const char *cells_text(struct json object, const char *path, const char *otherwise)
{
    const char *text = json_get_text(object, path);
    return text_empty(text) ? otherwise : text;
}

struct json cells_joined(struct arena *a, struct json list, const char *path, const char *between)
{
    cleanup(buf_done) struct buf b = BUF_INIT(CELL_TEXT_MAX);
    size_t count = 0;
    json_each (item, list) {
        const char *text = path ? json_get_text(*item, path) : json_text(*item);
        buf_printf(&b, "%s%s", count++ ? between : "", text ? text : "");
    }
    return json_strf(a, "%s", buf_text(&b));
}

struct requirement {
    const char *key, *text;
};

static int compare_requirements(const void *x, const void *y)
{
    return strcmp(((const struct requirement *)x)->key, ((const struct requirement *)y)->key);
}

static struct json requirements_text(struct arena *a, struct requirement *all, size_t count)
{
    qsort(all, count, sizeof(*all), compare_requirements);
    cleanup(buf_done) struct buf b = BUF_INIT(CELL_TEXT_MAX);
    for (size_t i = 0; i < count; i++)
        buf_printf(&b, "%s%s", i ? "," : "", all[i].text);
    return json_strf(a, "%s", count ? buf_text(&b) : "<none>");
}

/* Sorted by the printed text, not by key: a.b=c is before a=b. */
static struct json labels_text(struct arena *a, struct json labels)
{
    size_t count = 0;
    struct requirement *all = arena_array(a, (size_t)labels.count + 1, sizeof(*all));
    json_each_member (m, labels) {
        const char *text = arena_printf(a, "%s=%s", m->key, json_text(m->value));
        all[count++] = (struct requirement){ text, text };
    }
    return requirements_text(a, all, count);
}

static const char *expression_text(struct arena *a, struct json r)
{
    const char *key = cells_text(r, "key", ""), *op = cells_text(r, "operator", "");
    const char *values = cells_joined(a, json_member(r, "values"), NULL, ",").string;
    if (text_eq(op, "In") || text_eq(op, "NotIn"))
        return arena_printf(a, "%s %s (%s)", key, text_eq(op, "In") ? "in" : "notin", values);
    return arena_printf(a, "%s%s", text_eq(op, "DoesNotExist") ? "!" : "", key);
}

static struct json selector_text(struct arena *a, struct json selector)
{
    struct json labels = json_member(selector, "matchLabels"),
                expressions = json_member(selector, "matchExpressions");
    size_t count = 0;
    struct requirement *all =
        arena_array(a, (size_t)labels.count + expressions.count + 1, sizeof(*all));
    json_each_member (m, labels)
        all[count++] =
            (struct requirement){ m->key, arena_printf(a, "%s=%s", m->key, json_text(m->value)) };
    json_each (r, expressions)
        all[count++] = (struct requirement){ cells_text(*r, "key", ""), expression_text(a, *r) };
    return requirements_text(a, all, count);
}

static struct json name_text(struct arena *a, struct json o)
{
    static const char *const marks[] = { "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
        "ingressclass.kubernetes.io/is-default-class" };
    struct json name = json_get(o, "metadata.name"),
                annotations = json_get(o, "metadata.annotations");
    const char *kind = json_get_text(o, "kind");
    if (text_eq(kind, "StorageClass") || text_eq(kind, "IngressClass"))
        for (size_t i = 0; i < lengthof(marks); i++)
            if (text_eq(json_text(json_member(annotations, marks[i])), "true"))
                return json_strf(a, "%s (default)", json_text(name));
    return json_present(name) ? name : json_str("");
}

/* ---- functions for single kinds ---- */

static struct json access_modes(struct arena *a, struct json modes)
{
    static const struct {
        const char *mode, *text;
    } names[] = {
        { "ReadWriteOnce", "RWO" },
        { "ReadOnlyMany", "ROX" },
        { "ReadWriteMany", "RWX" },
        { "ReadWriteOncePod", "RWOP" },
    };
    struct json_builder b;
    json_builder_init(&b, a);
    for (size_t i = 0; i < lengthof(names); i++)
        if (json_list_has(modes, names[i].mode))
            json_push(&b, json_str(names[i].text));
    return cells_joined(a, json_list_end(&b), NULL, ",");
}

static struct json volume_modes(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    return access_modes(a, json_get(o, "spec.accessModes"));
}

static struct json claim_modes(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    bool bound = *cells_text(o, "spec.volumeName", "");
    return bound ? access_modes(a, json_get(o, "status.accessModes")) : json_str("");
}

static struct json claim_capacity(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)a;
    (void)wall_ms;
    bool bound = *cells_text(o, "spec.volumeName", "");
    return json_str(bound ? cells_text(o, "status.capacity.storage", "0") : "");
}

static struct json volume_claim(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    struct json ref = json_get(o, "spec.claimRef");
    if (!json_present(ref))
        return json_str("");
    return json_strf(a, "%s/%s", cells_text(ref, "namespace", ""), cells_text(ref, "name", ""));
}

static struct json phase(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)a;
    (void)wall_ms;
    if (json_present(json_get(o, "metadata.deletionTimestamp")))
        return json_str("Terminating");
    return json_str(cells_text(o, "status.phase", ""));
}

static struct json data_count(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)a;
    (void)wall_ms;
    return json_int((int64_t)json_member(o, "data").count + json_member(o, "binaryData").count);
}

/* used/hard of requests or of limits. */
static struct json quota_text(struct arena *a, struct json o, bool limits)
{
    cleanup(buf_done) struct buf b = BUF_INIT(CELL_TEXT_MAX);
    size_t count = 0;
    json_each_member (m, json_get(o, "status.hard")) {
        if (text_starts(m->key, "limits.") != limits)
            continue;
        const char *used = json_text(json_member(json_get(o, "status.used"), m->key));
        buf_printf(
            &b, "%s%s: %s/%s", count++ ? ", " : "", m->key, used ? used : "0", json_text(m->value));
    }
    return json_strf(a, "%s", buf_text(&b));
}

static struct json quota_requests(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    return quota_text(a, o, false);
}

static struct json quota_limits(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    return quota_text(a, o, true);
}

static struct json role_text(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    struct json ref = json_member(o, "roleRef");
    return json_strf(a, "%s/%s", cells_text(ref, "kind", ""), cells_text(ref, "name", ""));
}

static struct json subjects_text(struct arena *a, struct json o, const char *kind)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (s, json_member(o, "subjects")) {
        if (!text_eq(json_get_text(*s, "kind"), kind))
            continue;
        const char *name = cells_text(*s, "name", "");
        bool account = text_eq(kind, "ServiceAccount");
        json_push(&b,
            account ? json_strf(a, "%s/%s", cells_text(*s, "namespace", ""), name)
                    : json_str(name));
    }
    return cells_joined(a, json_list_end(&b), NULL, ", ");
}

static struct json users_text(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    return subjects_text(a, o, "User");
}

static struct json groups_text(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    return subjects_text(a, o, "Group");
}

static struct json accounts_text(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    return subjects_text(a, o, "ServiceAccount");
}

static struct json amount(struct arena *a, struct json v)
{
    if (v.type == JSON_STR)
        return v;
    return v.type == JSON_INT ? json_str(json_to_text(a, v)) : json_str("N/A");
}

static struct json min_available(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    return amount(a, json_get(o, "spec.minAvailable"));
}

static struct json max_unavailable(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    return amount(a, json_get(o, "spec.maxUnavailable"));
}

static struct json target_text(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    struct json ref = json_get(o, "spec.scaleTargetRef");
    return json_strf(a, "%s/%s", cells_text(ref, "kind", ""), cells_text(ref, "name", ""));
}

static struct json min_pods(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    struct json min = json_get(o, "spec.minReplicas");
    return json_str(min.type == JSON_INT ? json_to_text(a, min) : "<unset>");
}

static struct json parameters_text(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    struct json p = json_get(o, "spec.parameters");
    if (!json_present(p))
        return json_str("<none>");
    const char *group = cells_text(p, "apiGroup", "");
    return json_strf(a,
        "%s%s%s/%s",
        cells_text(p, "kind", ""),
        *group ? "." : "",
        group,
        cells_text(p, "name", ""));
}

static struct json controller_text(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    json_each (owner, json_get(o, "metadata.ownerReferences")) {
        if (!json_get_bool(*owner, "controller", false))
            continue;
        struct str group = str_of(cells_text(*owner, "apiVersion", ""));
        struct str version = group, name = str_cut(&version, '/');
        char *kind = arena_strdup(a, cells_text(*owner, "kind", ""));
        for (char *c = kind; *c; c++)
            *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + ('a' - 'A') : *c);
        return json_strf(a,
            "%s%s%.*s/%s",
            kind,
            version.ptr ? "." : "",
            version.ptr ? (int)name.len : 0,
            name.ptr,
            cells_text(*owner, "name", ""));
    }
    return json_str("<none>");
}

static struct json suspend_text(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)a;
    (void)wall_ms;
    return json_str(json_get_bool(o, "spec.suspend", false) ? "True" : "False");
}

/* ---- the table ---- */

#define NAME                                                                                       \
    {                                                                                              \
        CELL_NAME                                                                                  \
    }
#define AGE                                                                                        \
    {                                                                                              \
        CELL_AGE                                                                                   \
    }
#define TEXT(path, otherwise)                                                                      \
    {                                                                                              \
        CELL_TEXT, path, otherwise                                                                 \
    }
#define CALL(function)                                                                             \
    {                                                                                              \
        CELL_FUNCTION, NULL, NULL, function                                                        \
    }
#define TEMPLATE(path)                                                                             \
    { CELL_CONTAINERS, path },                                                                     \
    {                                                                                              \
        CELL_IMAGES, path                                                                          \
    }
#define SPEC "spec.template.spec"
#define UNSET "<unset>"

/* clang-format off */
static const struct cell name_and_age[] = { NAME, AGE, { 0 } };

/* Kinds that are not listed have name and age. */
static const struct {
    const char *kind;
    struct cell cells[12];
} kinds[] = {
    { "ConfigMap", { NAME, CALL(data_count), AGE } },
    { "Endpoints", { NAME, CALL(cell_endpoints), AGE } },
    { "Event", { CALL(cell_event_last), TEXT("type", ""), TEXT("reason", ""),
        CALL(cell_event_object), CALL(cell_event_path), CALL(cell_event_source),
        CALL(cell_event_message), CALL(cell_event_first), CALL(cell_event_count), NAME } },
    { "LimitRange", { NAME, { CELL_CREATED } } },
    { "Namespace", { NAME, TEXT("status.phase", ""), AGE } },
    { "Node", { NAME, CALL(cell_node_status), CALL(cell_node_roles), AGE,
        TEXT("status.nodeInfo.kubeletVersion", ""), CALL(cell_node_internal),
        CALL(cell_node_external), TEXT("status.nodeInfo.osImage", "<unknown>"),
        CALL(cell_node_kernel), TEXT("status.nodeInfo.containerRuntimeVersion", "<unknown>") } },
    { "PersistentVolumeClaim", { NAME, CALL(phase), TEXT("spec.volumeName", ""),
        CALL(claim_capacity), CALL(claim_modes), TEXT("spec.storageClassName", ""),
        TEXT("spec.volumeAttributesClassName", UNSET), AGE, TEXT("spec.volumeMode", UNSET) } },
    { "PersistentVolume", { NAME, TEXT("spec.capacity.storage", "0"), CALL(volume_modes),
        TEXT("spec.persistentVolumeReclaimPolicy", ""), CALL(phase), CALL(volume_claim),
        TEXT("spec.storageClassName", ""), TEXT("spec.volumeAttributesClassName", UNSET),
        TEXT("status.reason", ""), AGE, TEXT("spec.volumeMode", UNSET) } },
    { "Pod", { NAME, CALL(cell_pod_ready), CALL(cell_pod_status), CALL(cell_pod_restarts), AGE,
        TEXT("status.podIPs.0.ip", "<none>"), TEXT("spec.nodeName", "<none>"),
        TEXT("status.nominatedNodeName", "<none>"), CALL(cell_pod_gates) } },
    { "PodTemplate", { NAME, TEMPLATE("template.spec"),
        { CELL_LABELS, "template.metadata.labels" } } },
    { "ReplicationController", { NAME, { CELL_INT, "spec.replicas" },
        { CELL_INT, "status.replicas" }, { CELL_INT, "status.readyReplicas" }, AGE,
        TEMPLATE(SPEC), { CELL_LABELS, "spec.selector" } } },
    { "ResourceQuota", { NAME, CALL(quota_requests), CALL(quota_limits), AGE } },
    { "Secret", { NAME, TEXT("type", ""), { CELL_COUNT, "data" }, AGE } },
    { "Service", { NAME, TEXT("spec.type", ""), TEXT("spec.clusterIPs.0", "<none>"),
        CALL(cell_service_external), CALL(cell_service_ports), AGE,
        { CELL_LABELS, "spec.selector" } } },
    { "ControllerRevision", { NAME, CALL(controller_text), { CELL_INT, "revision" }, AGE } },
    { "DaemonSet", { NAME, { CELL_INT, "status.desiredNumberScheduled" },
        { CELL_INT, "status.currentNumberScheduled" }, { CELL_INT, "status.numberReady" },
        { CELL_INT, "status.updatedNumberScheduled" }, { CELL_INT, "status.numberAvailable" },
        { CELL_LABELS, SPEC ".nodeSelector" }, AGE, TEMPLATE(SPEC),
        { CELL_SELECTOR, "spec.selector" } } },
    { "Deployment", { NAME, { CELL_RATIO, "status.readyReplicas", "spec.replicas" },
        { CELL_INT, "status.updatedReplicas" }, { CELL_INT, "status.availableReplicas" }, AGE,
        TEMPLATE(SPEC), { CELL_SELECTOR, "spec.selector" } } },
    { "ReplicaSet", { NAME, { CELL_INT, "spec.replicas" }, { CELL_INT, "status.replicas" },
        { CELL_INT, "status.readyReplicas" }, AGE, TEMPLATE(SPEC),
        { CELL_SELECTOR, "spec.selector" } } },
    { "StatefulSet", { NAME, { CELL_RATIO, "status.readyReplicas", "spec.replicas" }, AGE,
        TEMPLATE(SPEC) } },
    { "HorizontalPodAutoscaler", { NAME, CALL(target_text), CALL(cell_metrics), CALL(min_pods),
        { CELL_INT, "spec.maxReplicas" }, { CELL_INT, "status.currentReplicas" }, AGE } },
    { "CronJob", { NAME, TEXT("spec.schedule", ""), TEXT("spec.timeZone", "<none>"),
        CALL(suspend_text), { CELL_COUNT, "status.active" },
        { CELL_AGE, "status.lastScheduleTime", "<none>" }, AGE,
        TEMPLATE("spec.jobTemplate." SPEC), { CELL_SELECTOR, "spec.jobTemplate.spec.selector" } } },
    { "Job", { NAME, CALL(cell_job_status), CALL(cell_job_completions), CALL(cell_job_duration),
        AGE, TEMPLATE(SPEC), { CELL_SELECTOR, "spec.selector" } } },
    { "IngressClass", { NAME, TEXT("spec.controller", ""), CALL(parameters_text), AGE } },
    { "Ingress", { NAME, TEXT("spec.ingressClassName", "<none>"), CALL(cell_ingress_hosts),
        CALL(cell_ingress_address), CALL(cell_ingress_ports), AGE } },
    { "NetworkPolicy", { NAME, { CELL_SELECTOR, "spec.podSelector" }, AGE } },
    { "PodDisruptionBudget", { NAME, CALL(min_available), CALL(max_unavailable),
        { CELL_INT, "status.disruptionsAllowed" }, AGE } },
    { "ClusterRoleBinding", { NAME, CALL(role_text), AGE, CALL(users_text), CALL(groups_text),
        CALL(accounts_text) } },
    { "RoleBinding", { NAME, CALL(role_text), AGE, CALL(users_text), CALL(groups_text),
        CALL(accounts_text) } },
    { "ClusterRole", { NAME, { CELL_CREATED } } },
    { "Role", { NAME, { CELL_CREATED } } },
    { "StorageClass", { NAME, TEXT("provisioner", ""), TEXT("reclaimPolicy", "Delete"),
        TEXT("volumeBindingMode", "Immediate"), { CELL_BOOL, "allowVolumeExpansion" }, AGE } },
    { "PriorityClass", { NAME, { CELL_INT, "value" }, { CELL_BOOL, "globalDefault" }, AGE,
        TEXT("preemptionPolicy", "") } },
    { "Lease", { NAME, TEXT("spec.holderIdentity", ""), AGE } },
    { "RuntimeClass", { NAME, TEXT("handler", ""), AGE } },
    { "CertificateSigningRequest", { NAME, AGE, TEXT("spec.signerName", ""),
        TEXT("spec.username", "") } },
    { "EndpointSlice", { NAME, TEXT("addressType", ""), CALL(cell_slice_ports),
        CALL(cell_slice_endpoints), AGE } },
};
/* clang-format on */

const struct cell *cells_of(const char *kind)
{
    for (size_t i = 0; i < lengthof(kinds); i++)
        if (text_eq(kinds[i].kind, kind))
            return kinds[i].cells;
    return name_and_age;
}

static struct json make_cell(struct arena *a, const struct cell *c, struct json o, int64_t wall_ms)
{
    struct json v = json_if(c->path, json_get(o, c->path));
    switch (c->kind) {
    case CELL_NAME:
        return name_text(a, o);
    case CELL_AGE:
        if (c->path && !json_present(v))
            return json_str(c->otherwise);
        return json_str(table_age(
            a, c->path ? json_text(v) : json_get_text(o, "metadata.creationTimestamp"), wall_ms));
    case CELL_CREATED:
        return json_str(cells_text(o, "metadata.creationTimestamp", ""));
    case CELL_TEXT:
        return json_str(cells_text(o, c->path, c->otherwise));
    case CELL_INT:
        return json_int(v.type == JSON_INT ? v.integer : 0);
    case CELL_BOOL:
        return json_bool(v.type == JSON_BOOL && v.boolean);
    case CELL_COUNT:
        return json_int(v.type == JSON_LIST || v.type == JSON_MAP ? v.count : 0);
    case CELL_RATIO:
        return json_strf(a,
            "%lld/%lld",
            (long long)json_get_int(o, c->path, 0),
            (long long)json_get_int(o, c->otherwise, 0));
    case CELL_LABELS:
        return labels_text(a, v);
    case CELL_SELECTOR:
        return selector_text(a, v);
    case CELL_CONTAINERS:
        return cells_joined(a, json_member(v, "containers"), "name", ",");
    case CELL_IMAGES:
        return cells_joined(a, json_member(v, "containers"), "image", ",");
    case CELL_FUNCTION:
        return c->function(a, o, wall_ms);
    }
    return json_null();
}

struct json cells_make(
    struct arena *a, const struct cell *cells, struct json object, int64_t wall_ms)
{
    struct json_builder b;
    json_builder_init(&b, a);
    for (; cells->kind; cells++)
        json_push(&b, make_cell(a, cells, object, wall_ms));
    return json_list_end(&b);
}
