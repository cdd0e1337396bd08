/* What is wrong with the volumes of a pod spec. */

#include "apiserver/builtin/pod/pod.h"
#include "apiserver/builtin/rules.h"
#include "apiserver/rules/check.h"
#include "apiserver/rules/patterns.h"
#include "base/quantity.h"

const char *const builtin_host_path_types[] = { "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
    NULL };

static const char *const pull_policies[] = { "Always", "IfNotPresent", "Never", NULL };
const char *const builtin_azure_modes[] = { "None", "ReadOnly", "ReadWrite", NULL };
const char *const builtin_azure_kinds[] = { "Dedicated", "Managed", "Shared", NULL };

/* Files made of the keys of something. */
#define KEYS(of)                                                                                   \
    { of ".items.*.key", CHECK_REQUIRED }, { of ".items.*.path", CHECK_REQUIRED },                 \
        { of ".items.*.path", CHECK_RESERVED_PATH },                                               \
    {                                                                                              \
        of ".items.*.mode", CHECK_FILE_MODE                                                        \
    }

static const struct check volume_rules[] = {
    { "hostPath.path", CHECK_REQUIRED },
    { "hostPath.type", CHECK_ENUM, builtin_host_path_types },
    { "gitRepo.repository", CHECK_REQUIRED },
    { "gitRepo.directory", CHECK_LOCAL_PATH },
    { "persistentDisk.pdName", CHECK_REQUIRED },
    { "persistentDisk.partition", CHECK_RANGE, .min = 1, .max = 255 },
    { "awsElasticBlockStore.volumeID", CHECK_REQUIRED },
    { "awsElasticBlockStore.partition", CHECK_RANGE, .min = 1, .max = 255 },
    { "secret.secretName", CHECK_REQUIRED },
    { "secret.defaultMode", CHECK_FILE_MODE },
    KEYS("secret"),
    { "nfs.server", CHECK_REQUIRED },
    { "nfs.path", CHECK_REQUIRED },
    { "iscsi.targetPortal", CHECK_REQUIRED },
    { "iscsi.iqn", CHECK_REQUIRED },
    { "iscsi.lun", CHECK_RANGE, .max = 255 },
    { "glusterfs.endpoints", CHECK_REQUIRED },
    { "glusterfs.path", CHECK_REQUIRED },
    { "persistentVolumeClaim.claimName", CHECK_REQUIRED },
    { "rbd.monitors", CHECK_REQUIRED },
    { "rbd.image", CHECK_REQUIRED },
    { "cinder.volumeID", CHECK_REQUIRED },
    { "cinder.secretRef.name", CHECK_REQUIRED },
    { "cephfs.monitors", CHECK_REQUIRED },
    { "quobyte.volume", CHECK_REQUIRED },
    { "downwardAPI.defaultMode", CHECK_FILE_MODE },
    { "flexVolume.driver", CHECK_REQUIRED },
    { "configMap.name", CHECK_REQUIRED },
    { "configMap.defaultMode", CHECK_FILE_MODE },
    KEYS("configMap"),
    { "azureFile.secretName", CHECK_REQUIRED },
    { "azureFile.shareName", CHECK_REQUIRED },
    { "vsphereVolume.volumePath", CHECK_REQUIRED },
    { "photonPersistentDisk.pdID", CHECK_REQUIRED },
    { "portworxVolume.volumeID", CHECK_REQUIRED },
    { "azureDisk.diskName", CHECK_REQUIRED },
    { "azureDisk.diskURI", CHECK_REQUIRED },
    { "azureDisk.cachingMode", CHECK_ENUM, builtin_azure_modes },
    { "azureDisk.kind", CHECK_ENUM, builtin_azure_kinds },
    { "storageos.volumeName", CHECK_REQUIRED },
    { "storageos.secretRef.name", CHECK_REQUIRED },
    { "projected.defaultMode", CHECK_FILE_MODE },
    { "projected.sources.*.configMap.name", CHECK_REQUIRED },
    KEYS("projected.sources.*.configMap"),
    { "projected.sources.*.secret.name", CHECK_REQUIRED },
    KEYS("projected.sources.*.secret"),
    { "scaleIO.gateway", CHECK_REQUIRED },
    { "scaleIO.system", CHECK_REQUIRED },
    { "scaleIO.volumeName", CHECK_REQUIRED },
    { "csi.nodePublishSecretRef.name", CHECK_REQUIRED },
    { "ephemeral.volumeClaimTemplate", CHECK_REQUIRED },
    { "image.pullPolicy", CHECK_ENUM, pull_policies },
    { 0 },
};

/* ---- rules of one source each ---- */

static void check_empty_dir(struct field_errors *e, struct json dir, const char *path)
{
    struct quantity q;
    const char *limit = json_get_text(dir, "sizeLimit");
    if (limit && quantity_parse(str_of(limit), &q, NULL) && quantity_value(q) < 0)
        field_forbidden(e,
            field_child(e->arena, path, "sizeLimit"),
            "SizeLimit field must be a valid resource quantity");
}

static void check_host_path(struct field_errors *e, struct json source, const char *path)
{
    struct json host = json_member(source, "path");
    if (check_steps_back(json_text(host)))
        field_invalid(e, field_child(e->arena, path, "path"), host, "must not contain '..'");
}

static void check_nfs(struct field_errors *e, struct json nfs, const char *path)
{
    struct json at = json_member(nfs, "path");
    if (!text_starts(json_text(at), "/"))
        field_invalid(e, field_child(e->arena, path, "path"), at, "must be an absolute path");
}

static void check_initiator(struct field_errors *e, struct json name, const char *path)
{
    static const struct {
        const char *start, *pattern;
    } forms[] = {
        { "iqn", "iqn\\.\\d{4}-\\d{2}\\.([[:alnum:]-.]+)(:[^,;*&$|\\s]+)$" },
        { "eui", "^eui.[[:alnum:]]{16}$" },
        { "naa", "^naa.[[:alnum:]]{32}$" },
    };
    const char *text = json_text(name) ? json_text(name) : "";
    for (size_t i = 0; i < lengthof(forms); i++)
        if (text_starts(text, forms[i].start)) {
            if (!pattern_matches(forms[i].pattern, str_of(text)))
                field_invalid(e, path, name, "must be valid format");
            return;
        }
    field_invalid(e, path, name, "must be valid format starting with iqn, eui, or naa");
}

static void check_iscsi(struct field_errors *e, struct json iscsi, const char *path)
{
    struct json iqn = json_member(iscsi, "iqn"), initiator = json_member(iscsi, "initiatorName");
    if (!check_is_empty(iqn))
        check_initiator(e, iqn, field_child(e->arena, path, "iqn"));
    if ((json_get_bool(iscsi, "chapAuthDiscovery", false) ||
            json_get_bool(iscsi, "chapAuthSession", false)) &&
        !check_is_set(json_member(iscsi, "secretRef")))
        field_required(e, field_child(e->arena, path, "secretRef"), NULL);
    if (check_is_set(initiator))
        check_initiator(e, initiator, field_child(e->arena, path, "initiatorname"));
}

static void check_flocker(struct field_errors *e, struct json flocker, const char *path)
{
    struct json name = json_member(flocker, "datasetName");
    bool named = !check_is_empty(name),
         unique = !check_is_empty(json_member(flocker, "datasetUUID"));
    if (!named && !unique)
        field_required(e, path, "one of datasetName and datasetUUID is required");
    if (named && unique)
        field_invalid(e,
            path,
            json_str("resource"),
            "datasetName and datasetUUID can not be specified simultaneously");
    if (named && strchr(name.string, '/'))
        field_invalid(e, field_child(e->arena, path, "datasetName"), name, "must not contain '/'");
}

/* host:port, where a host that has colons stands in brackets. */
static bool is_host_port(struct arena *a, struct str pair)
{
    const char *text = str_dup(a, pair), *colon = strrchr(text, ':');
    if (!colon)
        return false;
    bool bracketed = *text == '[';
    const char *close = strchr(text, ']');
    return bracketed ? close && close + 1 == colon && !strchr(text + 1, '[')
                     : strchr(text, ':') == colon && !close && !strchr(text, '[');
}

#define QUOBYTE_TENANT_MAX 64

void builtin_quobyte_check(struct field_errors *e, struct json quobyte, const char *path)
{
    static const char words[] = "must be a host:port pair or multiple pairs separated by commas";
    struct json registry = json_member(quobyte, "registry");
    const char *here = field_child(e->arena, path, "registry");
    if (check_is_empty(registry)) {
        field_required(e, here, words);
        return;
    }
    if (json_member(quobyte, "tenant").count > QUOBYTE_TENANT_MAX) {
        field_required(e,
            field_child(e->arena, path, "tenant"),
            "must be a UUID and may not exceed a length of 64 characters");
        return;
    }
    struct str rest = str_of(registry.string);
    while (rest.ptr)
        if (!is_host_port(e->arena, str_cut(&rest, ',')))
            field_invalid(e, here, registry, words);
}

static void check_downward(struct field_errors *e, struct json source, const char *path)
{
    json_each (file, json_member(source, "items"))
        pod_downward_file_check(e, *file, path);
}

static void check_fc(struct field_errors *e, struct json fc, const char *path)
{
    static const struct check range = { "lun", CHECK_RANGE, .max = 255 };
    struct json targets = json_member(fc, "targetWWNs"), lun = json_member(fc, "lun");
    const char *here = field_child(e->arena, path, "targetWWNs"),
               *lun_path = field_child(e->arena, path, "lun");
    bool has_ids = json_member(fc, "wwids").count;
    if (!targets.count && !has_ids)
        field_required(e, here, "must specify either targetWWNs or wwids, but not both");
    if (targets.count && has_ids)
        field_invalid(e, here, targets, "targetWWNs and wwids can not be specified simultaneously");
    if (targets.count && !check_is_set(lun))
        field_required(e, lun_path, "lun is required if targetWWNs is specified");
    else if (targets.count)
        check_value(e, lun, lun_path, &range);
}

static void check_flex(struct field_errors *e, struct json flex, const char *path)
{
    const char *here = field_child(e->arena, path, "options");
    json_each_member (m, json_member(flex, "options")) {
        struct str rest = str_of(m->key);
        const char *owner = arena_printf(
            e->arena, ".%s", check_lower(e->arena, str_dup(e->arena, str_cut(&rest, '/'))));
        if (text_ends(owner, ".kubernetes.io") || text_ends(owner, ".k8s.io"))
            field_invalid(e,
                field_key(e->arena, here, m->key),
                json_str(m->key),
                "kubernetes.io and k8s.io namespaces are reserved");
    }
}

/* Where a disk lies is written in one of two forms, by its kind. */
void builtin_azure_disk_check(struct field_errors *e, struct json disk, const char *path)
{
    static const char *const managed[] = {
        "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/"
        "{disk-id}",
        NULL
    };
    static const char *const blob[] = {
        "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd", NULL
    };
    bool is_managed = text_eq(json_get_text(disk, "kind"), "Managed");
    struct json uri = json_member(disk, "diskURI");
    if (!text_starts(json_text(uri), is_managed ? "/subscriptions/" : "https://"))
        check_enum(e,
            check_is_set(uri) ? uri : json_str(""),
            field_child(e->arena, path, "diskURI"),
            is_managed ? managed : blob);
}

static void check_storageos(struct field_errors *e, struct json source, const char *path)
{
    static const char *const names[] = { "volumeName", "volumeNamespace" };
    for (size_t i = 0; i < lengthof(names); i++) {
        struct json name = json_member(source, names[i]);
        if (!check_is_empty(name))
            check_name(e, name, field_child(e->arena, path, names[i]), NAME_DNS1123_LABEL);
    }
}

static void check_csi(struct field_errors *e, struct json csi, const char *path)
{
    struct json secret = json_get(csi, "nodePublishSecretRef.name");
    csi_driver_name_check(e, json_member(csi, "driver"), field_child(e->arena, path, "driver"));
    if (!check_is_empty(secret))
        check_name(e, secret, field_child(e->arena, path, "name"), NAME_DNS1123_SUBDOMAIN);
}

/* A claim gets its name and the rest of its metadata from the pod. */
static void check_ephemeral(struct field_errors *e, struct json source, const char *path)
{
    struct json template = json_member(source, "volumeClaimTemplate"),
                meta = json_member(template, "metadata");
    if (check_is_empty(template))
        return;
    const char *here = field_child(e->arena, path, "volumeClaimTemplate"),
               *meta_path = field_child(e->arena, here, "metadata"),
               *notes_path = field_child(e->arena, meta_path, "annotations");
    json_each_member (m, meta)
        if (!text_eq(m->key, "labels") && !text_eq(m->key, "annotations") &&
            !check_is_empty(m->value))
            field_forbidden(e,
                field_child(e->arena, meta_path, text_eq(m->key, "uid") ? "uID" : m->key),
                "cannot be set");
    check_labels(e, json_member(meta, "labels"), field_child(e->arena, meta_path, "labels"));
    json_each_member (m, json_member(meta, "annotations")) {
        const char *key = check_lower(e->arena, m->key);
        check_label_key(e, json_str(m->key), notes_path, key);
    }
    struct json spec = json_member(template, "spec");
    builtin_claim_check(
        e, json_present(spec) ? spec : json_empty_map(), field_child(e->arena, here, "spec"));
}

/* ---- projected ---- */

static void check_token(
    struct field_errors *e, struct json token, const char *path, const char *volume_path)
{
    static const struct check local = { "path", CHECK_RESERVED_PATH };
    struct json seconds = json_member(token, "expirationSeconds"),
                file = json_member(token, "path");
    const char *here = field_child(e->arena, path, "serviceAccountToken.expirationSeconds"),
               *file_path = field_child(e->arena, volume_path, "path");
    if (seconds.type == JSON_INT && seconds.integer < 600)
        field_invalid(e, here, seconds, "may not specify a duration less than 10 minutes");
    if (seconds.type == JSON_INT && seconds.integer > INT64_C(1) << 32)
        field_invalid(e, here, seconds, "may not specify a duration larger than 2^32 seconds");
    if (check_is_empty(file))
        field_required(e, file_path, NULL);
    else
        check_value(e, file, file_path, &local);
}

/* Paths of files that were there before; shown: what the error names, for reasons of its own. */
static void check_taken(struct field_errors *e, struct json_builder *paths, struct json file,
    struct json shown, const char *path)
{
    struct json at = json_member(file, "path");
    if (check_is_empty(at))
        return;
    if (json_list_has(json_list_end(paths), json_text(at)))
        field_invalid(
            e, path, json_present(shown) ? shown : json_str(""), "conflicting duplicate paths");
    else
        json_push(paths, at);
}

static void check_projected(struct field_errors *e, struct json projected, const char *path)
{
    static const char *const kinds[] = { "secret", "configMap" };
    struct json_builder paths;
    json_builder_init(&paths, e->arena);
    size_t i = 0;
    json_each (source, json_member(projected, "sources")) {
        const char *here = check_item_path(e->arena, path, "sources", i++);
        struct json token = json_member(*source, "serviceAccountToken");
        for (size_t k = 0; k < lengthof(kinds); k++) {
            struct json keys = json_member(*source, kinds[k]);
            json_each (item, json_member(keys, "items"))
                check_taken(e, &paths, *item, json_member(keys, "name"), path);
        }
        json_each (file, json_get(*source, "downwardAPI.items")) {
            pod_downward_file_check(e, *file, field_child(e->arena, here, "downwardAPI"));
            check_taken(e, &paths, *file, json_member(*file, "path"), path);
        }
        if (json_present(token))
            check_token(e, token, here, path);
        if (source->count > 1)
            field_forbidden(e, here, "may not specify more than 1 volume type per source");
    }
}

/* ---- all of them ---- */

/* In the order in which the server looks at them: the first one counts. */
static const struct source {
    const char *field;
    void (*check)(struct field_errors *e, struct json source, const char *path);
    const char *shown; /* in errors, if the name is another one there */
    const char *twice; /* the same, in the error about a second source */
} sources[] = {
    { "emptyDir", check_empty_dir },
    { "hostPath", check_host_path },
    { "gitRepo" },
    { "gcePersistentDisk", .shown = "persistentDisk" },
    { "awsElasticBlockStore" },
    { "secret" },
    { "nfs", check_nfs },
    { "iscsi", check_iscsi },
    { "glusterfs" },
    { "flocker", check_flocker },
    { "persistentVolumeClaim" },
    { "rbd" },
    { "cinder" },
    { "cephfs", .twice = "cephFS" },
    { "quobyte", builtin_quobyte_check },
    { "downwardAPI", check_downward, .twice = "downwarAPI" },
    { "fc", check_fc },
    { "flexVolume", check_flex },
    { "configMap" },
    { "azureFile" },
    { "vsphereVolume" },
    { "photonPersistentDisk" },
    { "portworxVolume" },
    { "azureDisk", builtin_azure_disk_check },
    { "storageos", check_storageos },
    { "projected", check_projected },
    { "scaleIO" },
    { "csi", check_csi },
    { "ephemeral", check_ephemeral },
    { "image" },
};

#define ISCSI_NAME_MAX 64

static void check_volume(struct field_errors *e, struct json v, const char *path, bool is_pod)
{
    bool first = true;
    for (const struct source *s = sources; s < sources + lengthof(sources); s++) {
        struct json source = json_member(v, s->field);
        const char *shown = s->shown ? s->shown : s->field;
        if (!check_is_set(source))
            continue;
        if (first) {
            check_table(e, json_map(e->arena, { shown, source }), path, volume_rules);
            if (s->check)
                s->check(e, source, field_child(e->arena, path, shown));
        } else
            field_forbidden(e,
                field_child(e->arena, path, s->twice ? s->twice : s->field),
                "may not specify more than 1 volume type");
        first = false;
    }
    struct json iscsi = json_member(v, "iscsi"), name = json_member(v, "name");
    if (check_is_set(json_member(iscsi, "initiatorName")) &&
        name.count + 1 + json_member(iscsi, "targetPortal").count > ISCSI_NAME_MAX)
        field_invalid(e,
            field_child(e->arena, path, "name"),
            name,
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if "
            "iscsi.initiatorName is specified.");
    struct json image = json_member(v, "image");
    if (is_pod && check_is_set(image) && check_is_empty(json_member(image, "reference")))
        field_required(e, field_child(e->arena, path, "image.reference"), NULL);
}

struct json pod_volumes_check(struct field_errors *e, struct json spec, const char *path)
{
    struct json volumes = json_member(spec, "volumes");
    struct json_builder sound;
    json_builder_init(&sound, e->arena);
    for (size_t i = 0; i < volumes.count; i++) {
        const char *here = check_item_path(e->arena, path, "volumes", i);
        const char *name_path = field_child(e->arena, here, "name");
        struct json name = json_member(volumes.items[i], "name");
        size_t before = e->count;
        /* Only a pod has to name the image: a template may leave it to somebody. */
        check_volume(e, volumes.items[i], here, text_eq(path, "spec"));
        if (check_is_empty(name))
            field_required(e, name_path, NULL);
        else
            check_name(e, name, name_path, NAME_DNS1123_LABEL);
        if (!check_is_empty(name) &&
            json_present(json_find(json_list_end(&sound), "name", json_text(name))))
            field_duplicate(e, name_path, name);
        if (e->count == before)
            json_push(&sound, volumes.items[i]);
    }
    return json_list_end(&sound);
}
