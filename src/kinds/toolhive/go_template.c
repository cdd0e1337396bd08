/* Pod templates as Go reads and writes them. The proxy of an MCPServer gets one as an argument, so
 * its bytes decide whether pods roll: fields are in the order of Go's structs, structs that are
 * never absent are {}, and fields that Kubernetes does not know are dropped.
 *
 * The types of fields are in the table of built-in kinds (merge/schema.h). Only the order of
 * fields, which that table does not have, is here. */

#include "base/buf.h"
#include "base/quantity.h"
#include "kinds/toolhive/proxy.h"
#include "merge/gojson.h"
#include "merge/schema.h"
#include "merge/strategic.h"

#define TEXT_BYTES_MAX ((size_t)2 << 20)
/* Limit of the list of unknown fields; the rest is left out. */
#define UNKNOWN_BYTES_MAX 512

/* Structs that are not listed have their fields sorted. */
static const struct {
    const char *type, *fields;
} orders[] = {
    { "PodTemplateSpec", "metadata spec" },
    { "ObjectMeta",
        "name generateName namespace selfLink uid resourceVersion generation "
        "creationTimestamp deletionTimestamp deletionGracePeriodSeconds labels "
        "annotations ownerReferences finalizers managedFields" },
    { "PodSpec",
        "volumes initContainers containers ephemeralContainers restartPolicy "
        "terminationGracePeriodSeconds activeDeadlineSeconds dnsPolicy nodeSelector "
        "serviceAccountName serviceAccount automountServiceAccountToken nodeName "
        "hostNetwork hostPID hostIPC shareProcessNamespace securityContext "
        "imagePullSecrets hostname subdomain affinity schedulerName tolerations "
        "hostAliases priorityClassName priority dnsConfig readinessGates "
        "runtimeClassName enableServiceLinks preemptionPolicy overhead "
        "topologySpreadConstraints setHostnameAsFQDN os hostUsers schedulingGates "
        "resourceClaims resources hostnameOverride workloadRef" },
    { "Container",
        "name image command args workingDir ports envFrom env resources resizePolicy "
        "restartPolicy restartPolicyRules volumeMounts volumeDevices livenessProbe "
        "readinessProbe startupProbe lifecycle terminationMessagePath "
        "terminationMessagePolicy imagePullPolicy securityContext stdin stdinOnce tty" },
    { "ContainerPort", "name hostPort containerPort protocol hostIP" },
    { "EnvVar", "name value valueFrom" },
    { "EnvVarSource", "fieldRef resourceFieldRef configMapKeyRef secretKeyRef fileKeyRef" },
    { "ObjectFieldSelector", "apiVersion fieldPath" },
    { "ResourceFieldSelector", "containerName resource divisor" },
    { "ConfigMapKeySelector", "name key optional" },
    { "SecretKeySelector", "name key optional" },
    { "EnvFromSource", "prefix configMapRef secretRef" },
    { "ResourceRequirements", "limits requests claims" },
    { "VolumeMount",
        "name readOnly recursiveReadOnly mountPath subPath mountPropagation "
        "subPathExpr" },
    { "VolumeDevice", "name devicePath" },
    { "Probe",
        "exec httpGet tcpSocket grpc initialDelaySeconds timeoutSeconds periodSeconds "
        "successThreshold failureThreshold terminationGracePeriodSeconds" },
    { "HTTPGetAction", "path port host scheme httpHeaders" },
    { "HTTPHeader", "name value" },
    { "TCPSocketAction", "port host" },
    { "GRPCAction", "port service" },
    { "Lifecycle", "postStart preStop stopSignal" },
    { "LifecycleHandler", "exec httpGet tcpSocket sleep" },
    { "SecurityContext",
        "capabilities privileged seLinuxOptions windowsOptions runAsUser "
        "runAsGroup runAsNonRoot readOnlyRootFilesystem "
        "allowPrivilegeEscalation procMount seccompProfile appArmorProfile" },
    { "PodSecurityContext",
        "seLinuxOptions windowsOptions runAsUser runAsGroup runAsNonRoot "
        "supplementalGroups supplementalGroupsPolicy fsGroup sysctls "
        "fsGroupChangePolicy seccompProfile appArmorProfile "
        "seLinuxChangePolicy" },
    { "SELinuxOptions", "user role type level" },
    { "SeccompProfile", "type localhostProfile" },
    { "AppArmorProfile", "type localhostProfile" },
    { "Volume",
        "name hostPath emptyDir gcePersistentDisk awsElasticBlockStore gitRepo secret nfs "
        "iscsi glusterfs persistentVolumeClaim rbd flexVolume cinder cephfs flocker "
        "downwardAPI fc azureFile configMap vsphereVolume quobyte azureDisk "
        "photonPersistentDisk projected portworxVolume scaleIO storageos csi ephemeral "
        "image" },
    { "HostPathVolumeSource", "path type" },
    { "EmptyDirVolumeSource", "medium sizeLimit" },
    { "SecretVolumeSource", "secretName items defaultMode optional" },
    { "ConfigMapVolumeSource", "name items defaultMode optional" },
    { "KeyToPath", "key path mode" },
    { "PersistentVolumeClaimVolumeSource", "claimName readOnly" },
    { "NFSVolumeSource", "server path readOnly" },
    { "ProjectedVolumeSource", "sources defaultMode" },
    { "VolumeProjection", "secret downwardAPI configMap serviceAccountToken clusterTrustBundle" },
    { "SecretProjection", "name items optional" },
    { "ConfigMapProjection", "name items optional" },
    { "ServiceAccountTokenProjection", "audience expirationSeconds path" },
    { "DownwardAPIVolumeSource", "items defaultMode" },
    { "DownwardAPIVolumeFile", "path fieldRef resourceFieldRef mode" },
    { "CSIVolumeSource", "driver readOnly fsType volumeAttributes nodePublishSecretRef" },
    { "Toleration", "key operator value effect tolerationSeconds" },
    { "Affinity", "nodeAffinity podAffinity podAntiAffinity" },
    { "NodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution "
        "preferredDuringSchedulingIgnoredDuringExecution" },
    { "PodAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution "
        "preferredDuringSchedulingIgnoredDuringExecution" },
    { "PodAntiAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution "
        "preferredDuringSchedulingIgnoredDuringExecution" },
    { "NodeSelectorTerm", "matchExpressions matchFields" },
    { "NodeSelectorRequirement", "key operator values" },
    { "PreferredSchedulingTerm", "weight preference" },
    { "WeightedPodAffinityTerm", "weight podAffinityTerm" },
    { "PodAffinityTerm",
        "labelSelector namespaces topologyKey namespaceSelector matchLabelKeys "
        "mismatchLabelKeys" },
    { "LabelSelector", "matchLabels matchExpressions" },
    { "LabelSelectorRequirement", "key operator values" },
    { "TopologySpreadConstraint",
        "maxSkew topologyKey whenUnsatisfiable labelSelector minDomains "
        "nodeAffinityPolicy nodeTaintsPolicy matchLabelKeys" },
    { "HostAlias", "ip hostnames" },
    { "PodDNSConfig", "nameservers searches options" },
    { "PodDNSConfigOption", "name value" },
    { "Sysctl", "name value" },
    { "FileKeySelector", "volumeName path key optional" },
    { "WindowsSecurityContextOptions",
        "gmsaCredentialSpecName gmsaCredentialSpec runAsUserName hostProcess" },
    { "ClusterTrustBundleProjection", "name signerName labelSelector optional path" },
    { "ImageVolumeSource", "reference pullPolicy" },
    { "PersistentVolumeClaimSpec",
        "accessModes selector resources volumeName storageClassName volumeMode dataSource "
        "dataSourceRef volumeAttributesClassName" },
    { "AzureFileVolumeSource", "secretName shareName readOnly" },
    { "AzureDiskVolumeSource", "diskName diskURI cachingMode fsType readOnly kind" },
    { "CephFSVolumeSource", "monitors path user secretFile secretRef readOnly" },
    { "CinderVolumeSource", "volumeID fsType readOnly secretRef" },
    { "FCVolumeSource", "targetWWNs lun fsType readOnly wwids" },
    { "FlexVolumeSource", "driver fsType secretRef readOnly options" },
    { "GCEPersistentDiskVolumeSource", "pdName fsType partition readOnly" },
    { "AWSElasticBlockStoreVolumeSource", "volumeID fsType partition readOnly" },
    { "GitRepoVolumeSource", "repository revision directory" },
    { "GlusterfsVolumeSource", "endpoints path readOnly" },
    { "ISCSIVolumeSource",
        "targetPortal iqn lun iscsiInterface fsType readOnly portals chapAuthDiscovery "
        "chapAuthSession secretRef initiatorName" },
    { "PhotonPersistentDiskVolumeSource", "pdID fsType" },
    { "PortworxVolumeSource", "volumeID fsType readOnly" },
    { "QuobyteVolumeSource", "registry volume readOnly user group tenant" },
    { "RBDVolumeSource", "monitors image fsType pool user keyring secretRef readOnly" },
    { "ScaleIOVolumeSource",
        "gateway system secretRef sslEnabled protectionDomain storagePool storageMode "
        "volumeName fsType readOnly" },
    { "StorageOSVolumeSource", "volumeName volumeNamespace fsType readOnly secretRef" },
    { "VsphereVirtualDiskVolumeSource", "volumePath fsType storagePolicyName storagePolicyID" },
};

static uint16_t deployment_root(void)
{
    for (uint32_t i = 0; i < schema_builtin_kind_count; i++)
        if (text_eq(schema_builtin.names + schema_builtin_kinds[i].name, "apps/v1/Deployment"))
            return (uint16_t)schema_builtin_kinds[i].root;
    assert(!"Deployment is built in");
    return 0;
}

static struct schema deployment_schema(void)
{
    return (struct schema){ .table = schema_builtin, .root = deployment_root() };
}

/* The type of spec.template of a Deployment. */
static uint16_t template_type(const struct schema *s)
{
    uint16_t spec = schema_member_type(s, schema_type(s, s->root), "spec");
    return schema_member_type(s, schema_type(s, spec), "template");
}

/* ---- printing ---- */

struct go {
    const struct schema *schema;
    struct arena *a;
    struct buf *to;
    struct error *err;
};

static bool print_value(struct go *g, uint16_t type, struct json v, const char *path);

static bool is_zero(struct json v)
{
    switch (v.type) {
    case JSON_BOOL:
        return !v.boolean;
    case JSON_INT:
        return v.integer == 0;
    case JSON_REAL:
        return v.real == 0;
    case JSON_STR:
    case JSON_LIST:
    case JSON_MAP:
        return v.count == 0;
    default:
        return true;
    }
}

/* The value of a field that the user did not set; absent: the field is left out. */
static struct json filled(const struct schema_field *f)
{
    switch ((enum schema_filled)f->filled) {
    case FILLED_STRUCT:
        return json_empty_map();
    case FILLED_NULL:
        return json_null();
    case FILLED_TEXT:
        return json_str("");
    case FILLED_NUMBER:
        return json_int(0);
    case FILLED_BOOL:
        return json_bool(false);
    case FILLED_NOT:
        break;
    }
    return json_none;
}

static const char *type_word(struct json v)
{
    switch (v.type) {
    case JSON_MAP:
        return "object";
    case JSON_LIST:
        return "array";
    case JSON_STR:
        return "string";
    case JSON_BOOL:
        return "bool";
    default:
        return "number";
    }
}

static bool fits(const struct schema_type *t, struct json v)
{
    if (t->scalar == SCALAR_ANY || json_is(v, JSON_NULL))
        return true;
    bool number = json_is(v, JSON_INT) || json_is(v, JSON_REAL);
    if (t->format == FORMAT_QUANTITY || t->format == FORMAT_INT_OR_STRING)
        return number || json_is(v, JSON_STR);
    return (t->map && json_is(v, JSON_MAP)) || (t->list && json_is(v, JSON_LIST)) ||
           (t->scalar == SCALAR_STRING && json_is(v, JSON_STR)) ||
           (t->scalar == SCALAR_NUMBER && number) ||
           (t->scalar == SCALAR_BOOL && json_is(v, JSON_BOOL));
}

struct member {
    struct go *g;
    const struct schema_type *owner;
    struct json object;
    const char *path;
    bool first;
};

static bool print_field(struct member *m, const struct schema_field *f)
{
    struct go *g = m->g;
    const char *name = schema_name(g->schema, f->name);
    struct json v = json_member(m->object, name);
    bool nil = !json_present(v) || json_is(v, JSON_NULL);
    const struct schema_type *t = schema_type(g->schema, f->type);
    const char *path = *m->path ? arena_printf(g->a, "%s.%s", m->path, name) : name;
    if (!nil && !fits(t, v)) {
        const char *go = schema_name(g->schema, f->go), *of = strchr(go, ':');
        return fail(g->err,
            ERR_INVALID,
            "json: cannot unmarshal %s into Go struct field %s.%s of type %s",
            type_word(v),
            schema_name(g->schema, m->owner->go),
            path,
            of ? of + 1 : go);
    }
    if (nil || ((f->flags & SCHEMA_OMIT) && is_zero(v)))
        v = filled(f);
    if (!json_present(v))
        return true;
    if (!m->first)
        buf_add_char(g->to, ',');
    m->first = false;
    buf_printf(g->to, "\"%s\":", name);
    return print_value(g, f->type, v, path);
}

static const char *order_of(const char *type)
{
    for (size_t i = 0; i < lengthof(orders); i++)
        if (text_eq(orders[i].type, type))
            return orders[i].fields;
    return "";
}

static bool is_ordered(const char *order, const char *name)
{
    struct str rest = str_of(order);
    while (rest.ptr)
        if (str_eq(str_cut(&rest, ' '), str_of(name)))
            return true;
    return false;
}

static bool print_struct(struct go *g, const struct schema_type *t, struct json v, const char *path)
{
    struct member m = { .g = g, .owner = t, .object = v, .path = path, .first = true };
    const char *order = order_of(schema_name(g->schema, t->go));
    struct str rest = str_of(order);
    buf_add_char(g->to, '{');
    while (*order && rest.ptr) {
        const struct schema_field *f =
            schema_field(g->schema, t, str_dup(g->a, str_cut(&rest, ' ')));
        if (f && !print_field(&m, f))
            return false;
    }
    for (uint16_t i = 0; i < t->field_count; i++) {
        const struct schema_field *f = &g->schema->table.fields[t->fields + i];
        if (!is_ordered(order, schema_name(g->schema, f->name)) && !print_field(&m, f))
            return false;
    }
    buf_add_char(g->to, '}');
    return true;
}

static bool print_list(struct go *g, const struct schema_type *t, struct json v, const char *path)
{
    bool first = true;
    buf_add_char(g->to, '[');
    json_each (item, v) {
        if (!first)
            buf_add_char(g->to, ',');
        first = false;
        if (!print_value(g, t->item, *item, path))
            return false;
    }
    buf_add_char(g->to, ']');
    return true;
}

static bool print_members(
    struct go *g, const struct schema_type *t, struct json v, const char *path)
{
    bool first = true;
    buf_add_char(g->to, '{');
    json_each_member (m, v) {
        if (!first)
            buf_add_char(g->to, ',');
        first = false;
        buf_printf(g->to, "%s:", gojson_text(g->a, json_str(m->key)));
        if (!print_value(g, t->member, m->value, path))
            return false;
    }
    buf_add_char(g->to, '}');
    return true;
}

static bool print_value(struct go *g, uint16_t type, struct json v, const char *path)
{
    const struct schema_type *t = schema_type(g->schema, type);
    struct quantity q;
    if (json_is(v, JSON_MAP) && t->map && t->field_count)
        return print_struct(g, t, v, path);
    if (json_is(v, JSON_MAP) && t->map && t->member != SCHEMA_NO_TYPE)
        return print_members(g, t, v, path);
    if (json_is(v, JSON_LIST) && t->list)
        return print_list(g, t, v, path);
    if (t->format == FORMAT_QUANTITY && !json_is(v, JSON_NULL)) {
        const char *text = json_is(v, JSON_STR) ? v.string : json_to_text(g->a, v);
        if (!quantity_parse(str_of(text), &q, NULL))
            return fail(g->err,
                ERR_INVALID,
                "quantities must match the regular expression "
                "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
        v = json_str(quantity_to_text(g->a, q));
    }
    buf_add_text(g->to, gojson_text(g->a, v));
    return true;
}

bool go_template_print(struct arena *a, struct json tmpl, const char **ret_text, struct error *err)
{
    struct buf b = BUF_INIT(TEXT_BYTES_MAX);
    struct schema schema = deployment_schema();
    struct go g = { .schema = &schema, .a = a, .to = &b, .err = err };
    bool ok = print_value(&g, template_type(&schema), tmpl, "");
    if (ok && buf_overflowed(&b))
        ok = fail(err, ERR_INVALID, "it is larger than %zu bytes", TEXT_BYTES_MAX);
    if (ok)
        *ret_text = arena_strndup(a, buf_text(&b), b.len);
    buf_done(&b);
    return ok;
}

/* ---- fields that Kubernetes does not know ---- */

struct known {
    const struct schema *schema;
    struct arena *a;
    const char *unknown; /* paths, separated by commas */
};

static struct json known(struct known *k, uint16_t type, struct json v, const char *path)
{
    const struct schema_type *t = schema_type(k->schema, type);
    struct json_builder b;
    json_builder_init(&b, k->a);
    if (json_is(v, JSON_LIST) && t->list) {
        json_each (item, v)
            json_push(&b, known(k, t->item, *item, arena_printf(k->a, "%s[]", path)));
        return json_list_end(&b);
    }
    if (!json_is(v, JSON_MAP) || !t->map || t->scalar == SCALAR_ANY)
        return v;
    json_each_member (m, v) {
        uint16_t below = schema_member_type(k->schema, t, m->key);
        const char *here = arena_printf(k->a, "%s.%s", path, m->key);
        if (below != SCHEMA_NO_TYPE)
            json_put(&b, m->key, known(k, below, m->value, here));
        else if (strlen(k->unknown) < UNKNOWN_BYTES_MAX)
            k->unknown = arena_printf(k->a, "%s%s%s", k->unknown, *k->unknown ? ", " : "", here);
    }
    return json_map_end(&b);
}

struct json go_template_known(struct arena *a, struct json tmpl, const char **ret_unknown)
{
    struct schema schema = deployment_schema();
    struct known k = { &schema, a, "" };
    struct json cleaned = known(&k, template_type(&schema), tmpl, "spec.podTemplateSpec");
    *ret_unknown = *k.unknown ? k.unknown : NULL;
    return cleaned;
}

bool go_template_merge(
    struct arena *a, struct json tmpl, struct json patch, struct json *ret, struct error *err)
{
    struct schema schema = deployment_schema();
    struct json whole;
    if (!strategic_merge(a,
            &schema,
            json_fields(a, { "spec.template", tmpl }),
            json_fields(a, { "spec.template", patch }),
            &whole,
            err))
        return false;
    *ret = json_get(whole, "spec.template");
    return true;
}

struct json go_template_keep(
    struct arena *a, struct json tmpl, struct json labels, struct json annotations)
{
    struct json metadata = json_get(tmpl, "metadata");
    if (!json_present(metadata))
        metadata = json_empty_map();
    struct json all = toolhive_merge(a, json_get(metadata, "annotations"), annotations);
    metadata = json_with_member(
        a, metadata, "labels", toolhive_merge(a, json_get(metadata, "labels"), labels));
    metadata = json_with_member(a, metadata, "annotations", json_or_absent(all));
    return json_with_member(a, tmpl, "metadata", metadata);
}
