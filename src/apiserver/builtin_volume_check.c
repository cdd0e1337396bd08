/* What is wrong with the volumes of a pod spec. */

#include "apiserver/builtin_pod.h"
#include "apiserver/check.h"

static const char *const host_path_types[] = { "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
    NULL };

static const char *const azure_modes[] = { "None", "ReadOnly", "ReadWrite", NULL };
static const char *const azure_kinds[] = { "Dedicated", "Managed", "Shared", NULL };

static const struct check volume_rules[] = {
    { "azureDisk.diskName", CHECK_REQUIRED },
    { "azureDisk.diskURI", CHECK_REQUIRED },
    { "azureDisk.cachingMode", CHECK_ENUM, azure_modes },
    { "azureDisk.kind", CHECK_ENUM, azure_kinds },
    { "hostPath.path", CHECK_REQUIRED },
    { "hostPath.type", CHECK_ENUM, host_path_types },
    { "secret.secretName", CHECK_REQUIRED },
    { "secret.defaultMode", CHECK_FILE_MODE },
    { "secret.items.*.key", CHECK_REQUIRED },
    { "secret.items.*.path", CHECK_REQUIRED },
    { "secret.items.*.path", CHECK_LOCAL_PATH },
    { "secret.items.*.mode", CHECK_FILE_MODE },
    { "configMap.name", CHECK_REQUIRED },
    { "configMap.defaultMode", CHECK_FILE_MODE },
    { "configMap.items.*.key", CHECK_REQUIRED },
    { "configMap.items.*.path", CHECK_REQUIRED },
    { "configMap.items.*.path", CHECK_LOCAL_PATH },
    { "persistentVolumeClaim.claimName", CHECK_REQUIRED },
    { "nfs.server", CHECK_REQUIRED },
    { "nfs.path", CHECK_REQUIRED },
    { "csi.driver", CHECK_REQUIRED },
    { "downwardAPI.defaultMode", CHECK_FILE_MODE },
    { "downwardAPI.items.*.path", CHECK_REQUIRED },
    { "projected.defaultMode", CHECK_FILE_MODE },
    { "projected.sources.*.configMap.name", CHECK_REQUIRED },
    { "projected.sources.*.secret.name", CHECK_REQUIRED },
    { 0 },
};

/* A volume without its types but the first, in the order in which the server looks at them. */
static struct json first_source(struct arena *a, struct json v)
{
    static const char *const order[] = { "emptyDir",
        "hostPath",
        "gitRepo",
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "secret",
        "nfs",
        "iscsi",
        "glusterfs",
        "persistentVolumeClaim",
        "rbd",
        "cinder",
        "cephfs",
        "flocker",
        "downwardAPI",
        "fc",
        "azureFile",
        "configMap" };
    const char *first = NULL;
    for (size_t i = 0; !first && i < lengthof(order); i++)
        if (json_present(json_member(v, order[i])))
            first = order[i];
    json_each_member (m, v)
        if (!first && !text_eq(m->key, "name"))
            first = m->key;
    struct json name = json_member(v, "name");
    return first ? json_map(a, { "name", name }, { first, json_member(v, first) }) : v;
}

/* Where a disk lies is written in one of two forms, by its kind. */
static void check_azure_disk(struct field_errors *e, struct json disk, const char *path)
{
    static const char *const managed[] = {
        "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/"
        "{disk-id}",
        NULL
    };
    static const char *const blob[] = {
        "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd", NULL
    };
    if (!json_present(disk))
        return;
    bool is_managed = text_eq(json_get_text(disk, "kind"), "Managed");
    struct json uri = json_member(disk, "diskURI");
    if (!text_starts(json_text(uri), is_managed ? "/subscriptions/" : "https://"))
        check_enum(e,
            check_is_set(uri) ? uri : json_str(""),
            field_child(e->arena, path, "azureDisk.diskURI"),
            is_managed ? managed : blob);
}

static void check_volume(struct field_errors *e, struct json v, const char *path)
{
    struct json all = v;
    v = first_source(e->arena, all);
    json_each_member (m, all)
        if (!json_present(json_member(v, m->key)))
            field_forbidden(
                e, field_child(e->arena, path, m->key), "may not specify more than 1 volume type");
    check_table(e, v, path, volume_rules);
    check_azure_disk(e, json_member(v, "azureDisk"), path);
    struct json nfs = json_member(v, "nfs");
    if (json_present(nfs) && !text_starts(json_get_text(nfs, "path"), "/"))
        field_invalid(e,
            field_child(e->arena, path, "nfs.path"),
            json_member(nfs, "path"),
            "must be an absolute path");
    json_each (source, json_get(v, "projected.sources")) {
        struct json token = json_member(*source, "serviceAccountToken");
        if (json_present(token) && check_is_empty(json_member(token, "path")))
            field_required(e, field_child(e->arena, path, "projected.path"), NULL);
    }
    const char *host = json_get_text(v, "hostPath.path");
    if (check_steps_back(host))
        field_invalid(e,
            field_child(e->arena, path, "hostPath.path"),
            json_str(host),
            "must not contain '..'");
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
        check_volume(e, volumes.items[i], here);
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
