/* The table of built-in kinds, and how rows become kinds. */

#include "apiserver/builtin/builtin.h"

#include <stdlib.h>

#include "apiserver/builtin/addresses.h"
#include "apiserver/builtin/cells/cells.h"
#include "apiserver/builtin/rules.h"

#define DEFAULT_SERVICE_RANGE "10.96.0.0/16"

enum row_flag {
    CLUSTER = 1 << 0, /* cluster-scoped */
    STATUS = 1 << 1,
    GENERATION = 1 << 2,
    CONDITIONAL = 1 << 3, /* a PUT needs resourceVersion */
    PUT_CREATES = 1 << 4,
    SCALE = 1 << 5,
    NO_COLLECTION = 1 << 6,  /* has no deletecollection */
    LABEL = 1 << 7,          /* the name is a DNS label */
    FREE_NAME = 1 << 8,      /* the name is anything allowed in a path */
    RETURNS = 1 << 9,        /* a DELETE returns the object */
    CREATED_ONLY = 1 << 10,  /* it can only be created, and is not stored */
    ADDRESS_NAME = 1 << 11,  /* the name is an IP address */
    FREE_BASE = 1 << 12,     /* generateName need not have the form of a name */
    ANY_FINALIZER = 1 << 13, /* including those without a domain */
};

/* Lists of names are separated by commas. Columns are separated by |. After the name of a column
 * there may be its type (# integer, ? boolean, @ date, otherwise a string), ! for the format
 * "name", and + for wide output only. */
struct row {
    const char *kind, *plural, *short_names, *categories;
    unsigned flags;
    const char *columns;
    const struct builtin_rules *rules;
    const char *table; /* NULL: plural and group */
};

struct group {
    const char *name, *version;
    int priority, version_priority;
    const struct row *rows; /* terminated by kind NULL */
};

#define WORKLOAD (STATUS | GENERATION)

/* clang-format off */
static const struct row core[] = {
    { "Binding", "bindings", "", "", CREATED_ONLY,
        "Name!", &builtin_pod_binding },
    { "ConfigMap", "configmaps", "cm", "", 0,
        "Name!|Data|Age", &builtin_config_map },
    { "Endpoints", "endpoints", "ep", "", PUT_CREATES,
        "Name!|Endpoints|Age", &builtin_endpoints },
    { "Event", "events", "ev", "", PUT_CREATES | FREE_NAME,
        "Last Seen|Type|Reason|Object|Subobject+|Source+|Message|First Seen+|Count+|Name!+",
        &builtin_event },
    { "LimitRange", "limitranges", "limits", "", PUT_CREATES,
        "Name!|Created At@", &builtin_limit_range },
    { "Namespace", "namespaces", "ns", "", CLUSTER | STATUS | NO_COLLECTION | LABEL,
        "Name!|Status|Age", &builtin_namespace },
    { "Node", "nodes", "no", "", CLUSTER | STATUS,
        "Name!|Status|Roles|Age|Version|Internal-IP+|External-IP+|OS-Image+|Kernel-Version+|"
        "Container-Runtime+", &builtin_node },
    { "PersistentVolumeClaim", "persistentvolumeclaims", "pvc", "", STATUS | RETURNS,
        "Name!|Status|Volume|Capacity|Access Modes|StorageClass|VolumeAttributesClass|Age|"
        "VolumeMode+", &builtin_claim },
    { "PersistentVolume", "persistentvolumes", "pv", "",
        CLUSTER | STATUS | RETURNS,
        "Name!|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|"
        "VolumeAttributesClass|Reason|Age|VolumeMode+", &builtin_volume },
    { "Pod", "pods", "po", "all", WORKLOAD | RETURNS,
        "Name!|Ready|Status|Restarts|Age|IP+|Node+|Nominated Node+|Readiness Gates+",
        &builtin_pod },
    { "PodTemplate", "podtemplates", "", "", GENERATION | RETURNS,
        "Name!|Containers|Images|Pod Labels", &builtin_pod_template },
    { "ReplicationController", "replicationcontrollers", "rc", "all",
        WORKLOAD | SCALE | FREE_BASE,
        "Name!|Desired#|Current#|Ready#|Age|Containers+|Images+|Selector+",
        &builtin_replication_controller },
    { "ResourceQuota", "resourcequotas", "quota", "", STATUS | RETURNS,
        "Name!|Request|Limit|Age", &builtin_resource_quota },
    { "Secret", "secrets", "", "", 0,
        "Name!|Type|Data|Age", &builtin_secret },
    { "ServiceAccount", "serviceaccounts", "sa", "", RETURNS,
        "Name!|Age", &builtin_service_account },
    { "Service", "services", "svc", "all", STATUS | PUT_CREATES | LABEL | RETURNS,
        "Name!|Type|Cluster-IP|External-IP|Port(s)|Age|Selector+", &builtin_service },
    { 0 },
};

static const struct row apps[] = {
    { "ControllerRevision", "controllerrevisions", "", "", 0,
        "Name!|Controller|Revision|Age", &builtin_controller_revision },
    { "DaemonSet", "daemonsets", "ds", "all", WORKLOAD,
        "Name!|Desired#|Current#|Ready#|Up-to-date#|Available#|Node Selector|Age|Containers+|"
        "Images+|Selector+", &builtin_daemon_set },
    { "Deployment", "deployments", "deploy", "all", WORKLOAD | SCALE,
        "Name!|Ready|Up-to-date|Available|Age|Containers+|Images+|Selector+", &builtin_deployment },
    { "ReplicaSet", "replicasets", "rs", "all", WORKLOAD | SCALE,
        "Name!|Desired#|Current#|Ready#|Age|Containers+|Images+|Selector+", &builtin_replica_set },
    { "StatefulSet", "statefulsets", "sts", "all", WORKLOAD | SCALE | LABEL,
        "Name!|Ready|Age|Containers+|Images+", &builtin_stateful_set },
    { 0 },
};

static const struct row events[] = {
    { "Event", "events", "ev", "", PUT_CREATES,
        "Last Seen|Type|Reason|Object|Subobject+|Source+|Message|First Seen+|Count+|Name!+",
        &builtin_new_event, "/events" },
    { 0 },
};

#define AUTOSCALER                                                                                 \
    "HorizontalPodAutoscaler", "horizontalpodautoscalers", "hpa", "all", STATUS,                   \
        "Name!|Reference|Targets|MinPods|MaxPods|Replicas|Age"

static const struct row autoscaling_v2[] = { { AUTOSCALER, &builtin_autoscaler }, { 0 } };
static const struct row autoscaling_v1[] = { { AUTOSCALER, &builtin_autoscaler_v1 }, { 0 } };

static const struct row batch[] = {
    { "CronJob", "cronjobs", "cj", "all", WORKLOAD,
        "Name!|Schedule|Timezone|Suspend?|Active#|Last Schedule|Age|Containers+|Images+|Selector+",
        &builtin_cron_job },
    { "Job", "jobs", "", "all", WORKLOAD,
        "Name!|Status|Completions|Duration|Age|Containers+|Images+|Selector+", &builtin_job },
    { 0 },
};

static const struct row networking[] = {
    { "IngressClass", "ingressclasses", "", "", CLUSTER | GENERATION,
        "Name!|Controller|Parameters|Age", &builtin_stored },
    { "Ingress", "ingresses", "ing", "", WORKLOAD,
        "Name!|Class|Hosts|Address|Ports|Age", &builtin_ingress },
    { "IPAddress", "ipaddresses", "ip", "", CLUSTER | ADDRESS_NAME,
        "Name!|Age", &builtin_stored },
    { "NetworkPolicy", "networkpolicies", "netpol", "", GENERATION,
        "Name!|Pod-Selector|Age", &builtin_stored },
    { "ServiceCIDR", "servicecidrs", "", "", CLUSTER | STATUS,
        "Name!|Age", &builtin_stored },
    { 0 },
};

static const struct row policy[] = {
    { "PodDisruptionBudget", "poddisruptionbudgets", "pdb", "",
        WORKLOAD | CONDITIONAL,
        "Name!|Min Available|Max Unavailable|Allowed Disruptions#|Age",
        &builtin_disruption_budget },
    { 0 },
};

static const struct row rbac[] = {
    { "ClusterRoleBinding", "clusterrolebindings", "", "",
        CLUSTER | PUT_CREATES | FREE_NAME,
        "Name!|Role|Age|Users+|Groups+|ServiceAccounts+", &builtin_binding },
    { "ClusterRole", "clusterroles", "", "", CLUSTER | PUT_CREATES | FREE_NAME,
        "Name!|Created At@", &builtin_role },
    { "RoleBinding", "rolebindings", "", "", PUT_CREATES | FREE_NAME,
        "Name!|Role|Age|Users+|Groups+|ServiceAccounts+", &builtin_binding },
    { "Role", "roles", "", "", PUT_CREATES | FREE_NAME,
        "Name!|Created At@", &builtin_role },
    { 0 },
};

static const struct row storage[] = {
    { "CSIDriver", "csidrivers", "", "", CLUSTER | CONDITIONAL | RETURNS,
        "Name!|Age", &builtin_stored },
    { "CSINode", "csinodes", "", "", CLUSTER | CONDITIONAL | RETURNS,
        "Name!|Age", &builtin_stored },
    { "CSIStorageCapacity", "csistoragecapacities", "", "", CONDITIONAL,
        "Name!|Age", &builtin_stored },
    { "StorageClass", "storageclasses", "sc", "", CLUSTER | RETURNS,
        "Name!|Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age",
        &builtin_storage_class },
    { "VolumeAttachment", "volumeattachments", "", "", CLUSTER | STATUS | CONDITIONAL | RETURNS,
        "Name!|Age", &builtin_stored },
    { "VolumeAttributesClass", "volumeattributesclasses", "vac", "", CLUSTER | RETURNS,
        "Name!|Age", &builtin_stored },
    { 0 },
};

#define ADMISSION                                                                                  \
    (CLUSTER | GENERATION | CONDITIONAL | ANY_FINALIZER)

static const struct row admission[] = {
    { "MutatingAdmissionPolicy", "mutatingadmissionpolicies", "", "api-extensions",
        ADMISSION, "Name!|Age", &builtin_policy },
    { "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", "", "api-extensions",
        ADMISSION, "Name!|Age", &builtin_policy },
    { "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "", "api-extensions",
        ADMISSION, "Name!|Age", &builtin_webhook },
    { "ValidatingAdmissionPolicy", "validatingadmissionpolicies", "", "api-extensions",
        ADMISSION | STATUS, "Name!|Age", &builtin_policy },
    { "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", "", "api-extensions",
        ADMISSION, "Name!|Age", &builtin_policy },
    { "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "", "api-extensions",
        ADMISSION, "Name!|Age", &builtin_webhook },
    { 0 },
};

static const struct row scheduling[] = {
    { "PriorityClass", "priorityclasses", "pc", "", CLUSTER,
        "Name!|Value#|Global-Default?|Age|PreemptionPolicy", &builtin_priority_class },
    { 0 },
};

static const struct row certificates[] = {
    { "CertificateSigningRequest", "certificatesigningrequests", "csr", "",
        CLUSTER | STATUS | FREE_NAME | FREE_BASE,
        "Name!|Age|SignerName|Requestor", &builtin_certificate_request },
    { 0 },
};

static const struct row registration[] = {
    { "APIService", "apiservices", "", "api-extensions",
        CLUSTER | STATUS | CONDITIONAL | FREE_NAME | ANY_FINALIZER,
        "Name!|Age", &builtin_api_service },
    { 0 },
};

static const struct row flow_control[] = {
    { "FlowSchema", "flowschemas", "", "", CLUSTER | WORKLOAD, "Name!|Age",
        &builtin_stored },
    { "PriorityLevelConfiguration", "prioritylevelconfigurations", "", "",
        CLUSTER | WORKLOAD, "Name!|Age", &builtin_stored },
    { 0 },
};

static const struct row devices[] = {
    { "DeviceClass", "deviceclasses", "", "",
        CLUSTER | GENERATION | RETURNS, "Name!|Age", &builtin_stored },
    { "ResourceClaim", "resourceclaims", "", "", STATUS | RETURNS,
        "Name!|Age", &builtin_stored },
    { "ResourceClaimTemplate", "resourceclaimtemplates", "", "", RETURNS,
        "Name!|Age", &builtin_stored },
    { "ResourceSlice", "resourceslices", "", "", CLUSTER | GENERATION | RETURNS,
        "Name!|Age", &builtin_stored },
    { 0 },
};

static const struct row coordination[] = {
    { "Lease", "leases", "", "", CONDITIONAL | PUT_CREATES | ANY_FINALIZER,
        "Name!|Holder|Age", &builtin_lease },
    { 0 },
};

static const struct row node[] = {
    { "RuntimeClass", "runtimeclasses", "", "",
        CLUSTER | CONDITIONAL | PUT_CREATES | ANY_FINALIZER,
        "Name!|Handler|Age", &builtin_runtime_class },
    { 0 },
};

static const struct row discovery[] = {
    { "EndpointSlice", "endpointslices", "", "", GENERATION,
        "Name!|AddressType|Ports|Endpoints|Age", &builtin_endpoint_slice },
    { 0 },
};
/* clang-format on */

/* The same priorities as the APIService objects of the real server. */
static const struct group groups[] = {
    { "", "v1", 18000, 1, core },
    { "apiregistration.k8s.io", "v1", 20000, 15, registration },
    { "apps", "v1", 17800, 15, apps },
    { "events.k8s.io", "v1", 17750, 15, events },
    { "autoscaling", "v2", 17500, 30, autoscaling_v2 },
    { "autoscaling", "v1", 17500, 15, autoscaling_v1 },
    { "batch", "v1", 17400, 15, batch },
    { "certificates.k8s.io", "v1", 17300, 15, certificates },
    { "networking.k8s.io", "v1", 17200, 15, networking },
    { "policy", "v1", 17100, 15, policy },
    { "rbac.authorization.k8s.io", "v1", 17000, 15, rbac },
    { "storage.k8s.io", "v1", 16800, 15, storage },
    { "admissionregistration.k8s.io", "v1", 16700, 15, admission },
    { "scheduling.k8s.io", "v1", 16600, 15, scheduling },
    { "coordination.k8s.io", "v1", 16500, 15, coordination },
    { "node.k8s.io", "v1", 16300, 15, node },
    { "discovery.k8s.io", "v1", 16200, 15, discovery },
    { "resource.k8s.io", "v1", 16200, 21, devices },
    { "flowcontrol.apiserver.k8s.io", "v1", 16100, 21, flow_control },
};

/* ---- from rows to kinds ---- */

#define KINDS_MAX 80

struct builtin {
    struct arena arena;
    struct schemas *schemas;
    struct addresses *addresses;
    struct api_kind kinds[KINDS_MAX];
    struct builtin_kind contexts[KINDS_MAX];
    size_t count;
};

static size_t parts_of(const char *text, char at)
{
    size_t count = *text != '\0';
    for (; *text; text++)
        count += *text == at;
    return count;
}

static const char *const *names_of(struct arena *a, const char *text)
{
    if (!*text)
        return NULL;
    const char **names = arena_array(a, parts_of(text, ',') + 1, sizeof(*names));
    struct str rest = str_of(text);
    for (size_t i = 0; rest.ptr; i++)
        names[i] = str_dup(a, str_cut(&rest, ','));
    return names;
}

static const char *lower_case(struct arena *a, const char *text)
{
    char *lower = arena_strdup(a, text);
    for (char *c = lower; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + ('a' - 'A') : *c);
    return lower;
}

static struct api_column column_of(struct arena *a, struct str text)
{
    struct api_column c = { .type = "string", .format = "", .description = "" };
    for (; text.len; text.len--) {
        switch (text.ptr[text.len - 1]) {
        case '+':
            c.priority = 1;
            continue;
        case '!':
            c.format = "name";
            continue;
        case '#':
            c.type = "integer";
            continue;
        case '?':
            c.type = "boolean";
            continue;
        case '@':
            c.type = "date";
            continue;
        default:
            break;
        }
        break;
    }
    c.name = str_dup(a, text);
    return c;
}

static void set_columns(struct builtin *b, struct api_kind *k, const char *text)
{
    k->column_count = parts_of(text, '|');
    struct api_column *columns = arena_array(&b->arena, k->column_count, sizeof(*columns));
    struct str rest = str_of(text);
    for (size_t i = 0; rest.ptr; i++)
        columns[i] = column_of(&b->arena, str_cut(&rest, '|'));
    k->columns = columns;
}

static const char *table_of(struct arena *a, const struct group *g, const struct row *row)
{
    if (row->table)
        return row->table;
    return arena_printf(a, "%s/%s", g->name, row->plural);
}

static void add_kind(struct builtin *b, const struct group *g, const struct row *row)
{
    struct arena *a = &b->arena;
    assert(b->count < KINDS_MAX && row->rules);
    struct builtin_kind *context = &b->contexts[b->count];
    struct api_kind *k = &b->kinds[b->count++];
    *context = (struct builtin_kind){ row->rules, b->addresses, cells_of(row->kind) };
    *k = (struct api_kind){
        .resource = { g->name, g->version, row->kind, row->plural, row->flags & CLUSTER },
        .singular = lower_case(a, row->kind),
        .list_kind = arena_printf(a, "%sList", row->kind),
        .short_names = names_of(a, row->short_names),
        .categories = names_of(a, row->categories),
        .verbs = row->flags & CREATED_ONLY    ? API_CREATE
                 : row->flags & NO_COLLECTION ? API_ALL_VERBS & ~API_DELETE_COLLECTION
                                              : API_ALL_VERBS,
        .name_form = row->flags & LABEL          ? API_NAME_LABEL
                     : row->flags & FREE_NAME    ? API_NAME_PATH
                     : row->flags & ADDRESS_NAME ? API_NAME_ADDRESS
                                                 : API_NAME_SUBDOMAIN,
        .warning = row->rules->warning,
        .has_status = row->flags & STATUS,
        .generation = row->flags & GENERATION,
        .unconditional = !(row->flags & CONDITIONAL),
        .creates_on_put = row->flags & PUT_CREATES,
        .returns_deleted = row->flags & RETURNS,
        .free_base = row->flags & FREE_BASE,
        .any_finalizer = row->flags & ANY_FINALIZER,
        .table = table_of(a, g, row),
        .schema = schema_of(b->schemas, g->name, g->version, row->kind),
        .behaviour = row->rules->convert ? &builtin_converting_behaviour : &builtin_behaviour,
        .ctx = context,
        .group_priority = g->priority,
        .version_priority = g->version_priority,
    };
    assert(!k->schema->deduced && (context->cells || row->flags & CREATED_ONLY));
    k->storage_version = resource_api_version(a, &k->resource);
    if (row->flags & SCALE)
        k->scale = (struct api_scale_paths){ "spec.replicas", "status.replicas", "spec.selector" };
    set_columns(b, k, row->columns);
}

/* Two kinds are served in two versions and stored in one. */
static void set_storage_versions(struct builtin *b)
{
    for (size_t i = 0; i < b->count; i++) {
        struct api_kind *k = &b->kinds[i];
        if (text_eq(k->resource.kind, "Event"))
            k->storage_version = "v1";
        if (text_eq(k->resource.kind, "HorizontalPodAutoscaler"))
            k->storage_version = "autoscaling/v2";
        struct json stored = json_map(&b->arena,
            { "apiVersion", json_str(k->storage_version) },
            { "kind", json_str(k->resource.kind) });
        b->contexts[i].stored = schema_of_object(b->schemas, stored);
    }
}

struct builtin *builtin_register(struct registry *r)
{
    struct builtin *b = mem_new_of(struct builtin);
    arena_init(&b->arena, ARENA_LIMIT_DEFAULT);
    b->schemas = schemas_new();
    b->addresses = mem_new_of(struct addresses);
    bool ok = addresses_init(b->addresses, DEFAULT_SERVICE_RANGE, NULL);
    assert(ok);
    for (size_t g = 0; g < lengthof(groups); g++) {
        for (const struct row *row = groups[g].rows; row->kind; row++)
            add_kind(b, &groups[g], row);
    }
    set_storage_versions(b);
    for (size_t i = 0; i < b->count; i++) {
        bool added = registry_add(r, &b->kinds[i]);
        assert(added);
    }
    return b;
}

bool builtin_set_service_range(struct builtin *b, const char *cidr, struct error *err)
{
    return addresses_init(b->addresses, cidr, err);
}

void builtin_free(struct builtin *b)
{
    if (!b)
        return;
    schemas_free(b->schemas);
    free(b->addresses);
    arena_done(&b->arena);
    free(b);
}
