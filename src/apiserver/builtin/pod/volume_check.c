/* Validates the volumes of a pod spec. */

#include "apiserver/builtin/pod/pod.h"
#include "apiserver/builtin/rules.h"
#include "apiserver/rules/check.h"
#include "base/json_index.h"
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

/* Files made from the keys of an object. */
#define KEYS(of)                                                                                   \
    { of ".items.*.key", CHECK_REQUIRED }, { of ".items.*.path", CHECK_REQUIRED },                 \
        { of ".items.*.path", CHECK_RESERVED_PATH },                                               \
    {                                                                                              \
        of ".items.*.mode", CHECK_FILE_MODE                                                        \
    }

static const struct check volume_rules[] = {
    { "hostPath.path", CHECK_REQUIRED },
    { "hostPath.type", CHECK_ENUM, builtin_host_path_types },
    { "secret.secretName", CHECK_REQUIRED },
    { "secret.defaultMode", CHECK_FILE_MODE },
    KEYS("secret"),
    { "nfs.server", CHECK_REQUIRED },
    { "nfs.path", CHECK_REQUIRED },
    { "persistentVolumeClaim.claimName", CHECK_REQUIRED },
    { "downwardAPI.defaultMode", CHECK_FILE_MODE },
    { "configMap.name", CHECK_REQUIRED },
    { "configMap.defaultMode", CHECK_FILE_MODE },
    KEYS("configMap"),
    { "projected.defaultMode", CHECK_FILE_MODE },
    { "projected.sources.*.configMap.name", CHECK_REQUIRED },
    KEYS("projected.sources.*.configMap"),
    { "projected.sources.*.secret.name", CHECK_REQUIRED },
    KEYS("projected.sources.*.secret"),
    { "csi.nodePublishSecretRef.name", CHECK_REQUIRED },
    { "ephemeral.volumeClaimTemplate", CHECK_REQUIRED },
    { "image.pullPolicy", CHECK_ENUM, pull_policies },
    { 0 },
};

/* ---- rules for single sources ---- */

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

static void check_downward(struct field_errors *e, struct json source, const char *path)
{
    json_each (file, json_member(source, "items"))
        pod_downward_file_check(e, *file, path);
}

static void check_csi(struct field_errors *e, struct json csi, const char *path)
{
    struct json secret = json_get(csi, "nodePublishSecretRef.name");
    csi_driver_name_check(e, json_member(csi, "driver"), field_child(e->arena, path, "driver"));
    if (!check_is_empty(secret))
        check_name(e, secret, field_child(e->arena, path, "name"), NAME_DNS1123_SUBDOMAIN);
}

/* The pod determines the claim's name and the rest of its metadata. */
static void check_ephemeral(struct field_errors *e, struct json source, const char *path)
{
    struct json tmpl = json_member(source, "volumeClaimTemplate"),
                meta = json_member(tmpl, "metadata");
    if (check_is_empty(tmpl))
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
    struct json spec = json_member(tmpl, "spec");
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

/* Paths of earlier files; shown: the path in the message, which differs in some cases. */
static void check_taken(struct field_errors *e, struct json_seen *paths, struct json file,
    struct json shown, const char *path)
{
    struct json at = json_member(file, "path");
    if (check_is_empty(at))
        return;
    if (json_seen_add(paths, at))
        field_invalid(
            e, path, json_present(shown) ? shown : json_str(""), "conflicting duplicate paths");
}

static void check_projected(struct field_errors *e, struct json projected, const char *path)
{
    static const char *const kinds[] = { "secret", "configMap" };
    struct json_seen paths = { .arena = e->arena };
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

/* ---- all volumes ---- */

/* The sources that workloads here use. Others, such as those of cloud providers, are stored
 * unchecked. */
static const struct source {
    const char *field;
    void (*check)(struct field_errors *e, struct json source, const char *path);
} sources[] = {
    { "emptyDir", check_empty_dir },
    { "hostPath", check_host_path },
    { "secret", NULL },
    { "nfs", check_nfs },
    { "persistentVolumeClaim", NULL },
    { "downwardAPI", check_downward },
    { "configMap", NULL },
    { "projected", check_projected },
    { "csi", check_csi },
    { "ephemeral", check_ephemeral },
    { "image", NULL },
};

static bool is_known(const char *field)
{
    for (size_t i = 0; i < lengthof(sources); i++)
        if (text_eq(sources[i].field, field))
            return true;
    return text_eq(field, "name");
}

static void forbid_second(struct field_errors *e, const char *field, const char *path)
{
    field_forbidden(
        e, field_child(e->arena, path, field), "may not specify more than 1 volume type");
}

static void check_volume(struct field_errors *e, struct json v, const char *path, bool is_pod)
{
    size_t count = 0;
    for (const struct source *s = sources; s < sources + lengthof(sources); s++) {
        struct json source = json_member(v, s->field);
        if (!check_is_set(source))
            continue;
        if (count++) {
            forbid_second(e, s->field, path);
            continue;
        }
        check_table(e, json_map(e->arena, { s->field, source }), path, volume_rules);
        if (s->check)
            s->check(e, source, field_child(e->arena, path, s->field));
    }
    json_each_member (m, v)
        if (!is_known(m->key) && check_is_set(m->value) && count++)
            forbid_second(e, m->key, path);
    struct json image = json_member(v, "image");
    if (is_pod && check_is_set(image) && check_is_empty(json_member(image, "reference")))
        field_required(e, field_child(e->arena, path, "image.reference"), NULL);
}

struct json pod_volumes_check(struct field_errors *e, struct json spec, const char *path)
{
    struct json volumes = json_member(spec, "volumes");
    struct json_seen names = { .arena = e->arena };
    struct json_builder sound;
    json_builder_init(&sound, e->arena);
    for (size_t i = 0; i < volumes.count; i++) {
        const char *here = check_item_path(e->arena, path, "volumes", i);
        const char *name_path = field_child(e->arena, here, "name");
        struct json name = json_member(volumes.items[i], "name");
        size_t before = e->count;
        /* The image is required only in a pod: a template may leave it to another client. */
        check_volume(e, volumes.items[i], here, text_eq(path, "spec"));
        if (check_is_empty(name))
            field_required(e, name_path, NULL);
        else
            check_name(e, name, name_path, NAME_DNS1123_LABEL);
        if (!check_is_empty(name) && json_seen_has(&names, name))
            field_duplicate(e, name_path, name);
        if (e->count == before && !json_seen_add(&names, name))
            json_push(&sound, volumes.items[i]);
    }
    return json_list_end(&sound);
}
