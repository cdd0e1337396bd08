/* Where the data of a PersistentVolume lies. */

#include "apiserver/builtin/rules.h"
#include "apiserver/rules/check.h"

static const struct check source_rules[] = {
    { "awsElasticBlockStore.volumeID", CHECK_REQUIRED },
    { "azureDisk.diskName", CHECK_REQUIRED },
    { "azureDisk.diskURI", CHECK_REQUIRED },
    { "azureDisk.cachingMode", CHECK_ENUM, builtin_azure_modes },
    { "azureDisk.kind", CHECK_ENUM, builtin_azure_kinds },
    { "azureFile.secretName", CHECK_REQUIRED },
    { "azureFile.shareName", CHECK_REQUIRED },
    { "cephfs.monitors", CHECK_REQUIRED },
    { "cinder.volumeID", CHECK_REQUIRED },
    { "csi.driver", CHECK_REQUIRED },
    { "csi.volumeHandle", CHECK_REQUIRED },
    { "flexVolume.driver", CHECK_REQUIRED },
    { "glusterfs.endpoints", CHECK_REQUIRED },
    { "glusterfs.path", CHECK_REQUIRED },
    { "hostPath.path", CHECK_REQUIRED },
    { "hostPath.type", CHECK_ENUM, builtin_host_path_types },
    { "iscsi.targetPortal", CHECK_REQUIRED },
    { "iscsi.iqn", CHECK_REQUIRED },
    { "local.path", CHECK_REQUIRED },
    { "nfs.server", CHECK_REQUIRED },
    { "nfs.path", CHECK_REQUIRED },
    { "photonPersistentDisk.pdID", CHECK_REQUIRED },
    { "portworxVolume.volumeID", CHECK_REQUIRED },
    { "quobyte.volume", CHECK_REQUIRED },
    { "rbd.monitors", CHECK_REQUIRED },
    { "rbd.image", CHECK_REQUIRED },
    { "scaleIO.gateway", CHECK_REQUIRED },
    { "scaleIO.system", CHECK_REQUIRED },
    { "scaleIO.volumeName", CHECK_REQUIRED },
    { "storageos.volumeName", CHECK_REQUIRED },
    { "vsphereVolume.volumePath", CHECK_REQUIRED },
    { 0 },
};

/* Numbers of units and partitions. The field that is named is not always the one that it is. */
static void check_numbers(struct field_errors *e, struct json spec)
{
    static const struct {
        const char *field, *shown;
        int64_t min;
    } rows[] = {
        { "awsElasticBlockStore.partition", "spec.awsElasticBlockStore.partition", 1 },
        { "gcePersistentDisk.partition", "spec.persistentDisk.partition", 1 },
        { "iscsi.lun", "spec.iscsi.lun", 0 },
        { "fc.lun", "spec.fc.lun", 0 },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct json v = json_get(spec, rows[i].field);
        if (v.type == JSON_INT && (v.integer < 0 || v.integer > 255))
            field_invalid(e,
                rows[i].shown,
                v,
                arena_printf(
                    e->arena, "must be between %lld and 255, inclusive", (long long)rows[i].min));
    }
}

/* Secrets lie in a namespace, which a volume has not. */
static void check_secrets(struct field_errors *e, struct json spec)
{
    static const struct {
        const char *field;
        bool names; /* what it says is looked at, too */
    } rows[] = {
        { "csi.controllerPublishSecretRef", true },
        { "csi.controllerExpandSecretRef", true },
        { "csi.nodePublishSecretRef", true },
        { "csi.nodeExpandSecretRef", true },
        { "cinder.secretRef", false },
        { "storageos.secretRef", false },
    };
    static const struct {
        const char *name;
        enum name_kind kind;
    } parts[] = { { "name", NAME_DNS1123_SUBDOMAIN }, { "namespace", NAME_DNS1123_LABEL } };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct json ref = json_get(spec, rows[i].field);
        const char *path = field_child(e->arena, "spec", rows[i].field);
        for (size_t p = 0; p < lengthof(parts) && check_is_set(ref); p++) {
            struct json v = json_member(ref, parts[p].name);
            const char *here = field_child(e->arena, path, parts[p].name);
            if (check_is_empty(v))
                field_required(e, here, NULL);
            else if (rows[i].names)
                check_name(e, v, here, parts[p].kind);
        }
    }
}

static void check_fibre_channel(struct field_errors *e, struct json fc)
{
    size_t names = json_member(fc, "targetWWNs").count, ids = json_member(fc, "wwids").count;
    if (!check_is_set(fc))
        return;
    if (!names && !ids)
        field_required(
            e, "spec.fc.targetWWNs", "must specify either targetWWNs or wwids, but not both");
    if (names && ids)
        check_invalid_text(e,
            FIELD_INVALID,
            "spec.fc.targetWWNs",
            json_to_text(e->arena, json_member(fc, "targetWWNs")),
            "targetWWNs and wwids can not be specified simultaneously");
    if (names && !check_is_set(json_member(fc, "lun")))
        field_required(e, "spec.fc.lun", "lun is required if targetWWNs is specified");
}

void builtin_volume_source_check(struct field_errors *e, struct json spec)
{
    struct json nfs = json_get(spec, "nfs.path"), disk = json_member(spec, "gcePersistentDisk"),
                flocker = json_member(spec, "flocker");
    check_table(e, spec, "spec", source_rules);
    check_numbers(e, spec);
    check_secrets(e, spec);
    check_fibre_channel(e, json_member(spec, "fc"));
    if (check_is_set(json_member(spec, "azureDisk")))
        builtin_azure_disk_check(e, json_member(spec, "azureDisk"), "spec.azureDisk");
    if (check_is_set(json_member(spec, "quobyte")))
        builtin_quobyte_check(e, json_member(spec, "quobyte"), "spec.quobyte");
    struct json namespace = json_get(spec, "glusterfs.endpointsNamespace");
    if (check_is_set(namespace) && !namespace.count)
        field_invalid(e,
            "spec.glusterfs.endpointsNamespace",
            namespace,
            "if the endpointnamespace is set, it must be a valid namespace name");
    else if (check_is_set(namespace))
        check_name(e, namespace, "spec.glusterfs.endpointsNamespace", NAME_DNS1123_LABEL);
    if (check_is_set(json_member(spec, "nfs")) &&
        !text_starts(json_text(nfs) ? json_text(nfs) : "", "/"))
        field_invalid(
            e, "spec.nfs.path", check_is_set(nfs) ? nfs : json_str(""), "must be an absolute path");
    if (check_is_set(disk) && check_is_empty(json_member(disk, "pdName")))
        field_required(e, "spec.persistentDisk.pdName", NULL);
    if (check_is_set(flocker) && check_is_empty(json_member(flocker, "datasetName")) &&
        check_is_empty(json_member(flocker, "datasetUUID")))
        field_required(e, "spec.flocker", "one of datasetName and datasetUUID is required");
}
