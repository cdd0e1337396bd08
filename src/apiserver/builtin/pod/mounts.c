/* Validates the volume mounts and devices of a container. */

#include "apiserver/builtin/pod/pod.h"
#include "apiserver/rules/check.h"
#include "base/json_index.h"

static struct json text_of(struct json item, const char *member)
{
    struct json v = json_member(item, member);
    return check_is_set(v) ? v : json_str("");
}

struct volume_index {
    struct json list;
    struct json_index names;
};

static struct json find_volume(const struct volume_index *x, struct json name)
{
    int64_t at = json_index_find(&x->names, name);
    return at < 0 ? json_none : x->list.items[at];
}

/* Names and paths that are in use. */
struct taken {
    struct json_index names, places;
};

static struct json_index texts_of(struct arena *a, struct json list, const char *member)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (item, list)
        json_push(&b, text_of(*item, member));
    return json_index_of(a, json_list_end(&b), NULL);
}

static struct taken taken_of(struct arena *a, struct json list, const char *place)
{
    return (struct taken){ texts_of(a, list, "name"), texts_of(a, list, place) };
}

static bool is_there(const struct json_index *x, struct json text)
{
    return json_index_find(x, text) >= 0;
}

/* Paths inside a volume; the server's error paths omit the index. */
static void check_sub_paths(
    struct field_errors *e, struct json m, const char *path, const char *here)
{
    static const struct check rules[] = {
        { "subPath", CHECK_LOCAL_PATH },
        { 0 },
    };
    static const struct check expression_rules[] = {
        { "subPathExpr", CHECK_LOCAL_PATH },
        { 0 },
    };
    struct json expression = json_member(m, "subPathExpr");
    check_table(e, m, path, rules);
    if (check_is_empty(expression))
        return;
    if (!check_is_empty(json_member(m, "subPath")))
        field_invalid(e,
            field_child(e->arena, here, "subPathExpr"),
            expression,
            "subPathExpr and subPath are mutually exclusive");
    check_table(e, m, path, expression_rules);
}

static void check_propagation(
    struct field_errors *e, struct json m, const char *path, bool privileged)
{
    static const char *const propagations[] = { "Bidirectional", "HostToContainer", "None", NULL };
    static const char *const read_only[] = { "Disabled", "Enabled", "IfPossible", NULL };
    static const struct check rules[] = {
        { "mountPropagation", CHECK_ENUM, propagations },
        { 0 },
    };
    const char *propagation = json_get_text(m, "mountPropagation"),
               *here = field_child(e->arena, path, "recursiveReadOnly");
    struct json recursive = json_member(m, "recursiveReadOnly");
    check_table(e, m, path, rules);
    if (text_eq(propagation, "Bidirectional") && !privileged)
        field_forbidden(e,
            field_child(e->arena, path, "mountPropagation"),
            "Bidirectional mount propagation is available only to privileged containers");
    if (!check_is_set(recursive) || text_eq(json_text(recursive), "Disabled"))
        return;
    if (!text_eq(json_text(recursive), "Enabled") && !text_eq(json_text(recursive), "IfPossible")) {
        check_enum(e, recursive, here, read_only);
        return;
    }
    if (!json_get_bool(m, "readOnly", false))
        field_forbidden(e, here, "may only be specified when readOnly is true");
    if (propagation && !text_eq(propagation, "None"))
        field_forbidden(
            e, here, "may only be specified when mountPropagation is None or not specified");
}

static void check_devices(struct field_errors *e, struct json c, const struct volume_index *volumes,
    const struct taken *of_mounts, const struct taken *of_devices, const char *path)
{
    struct json devices = json_member(c, "volumeDevices");
    for (size_t i = 0; i < devices.count; i++) {
        const char *here = check_item_path(e->arena, path, "volumeDevices", i);
        const char *name_path = field_child(e->arena, here, "name");
        const char *where_path = field_child(e->arena, here, "devicePath");
        struct json name = text_of(devices.items[i], "name"),
                    where = text_of(devices.items[i], "devicePath"),
                    volume = find_volume(volumes, name);
        if (!name.count)
            field_required(e, name_path, NULL);
        else if (json_index_again(&of_devices->names, (uint32_t)i))
            field_invalid(e, name_path, name, "must be unique");
        if (json_present(volume) && !json_present(json_member(volume, "persistentVolumeClaim")) &&
            !json_present(json_member(volume, "ephemeral")))
            field_invalid(e,
                name_path,
                name,
                "can only use volume source type of PersistentVolumeClaim or Ephemeral for block "
                "mode");
        if (!json_present(volume))
            field_error_add(e, FIELD_NOT_FOUND, name_path, name, NULL);
        if (!where.count)
            field_required(e, where_path, NULL);
        if (check_steps_back(json_text(where)))
            field_invalid(e, where_path, where, "can not contain backsteps ('..')");
        else if (json_index_again(&of_devices->places, (uint32_t)i))
            field_invalid(e, where_path, where, "must be unique");
        if (is_there(&of_mounts->names, name))
            field_invalid(e, name_path, name, "must not already exist in volumeMounts");
        if (is_there(&of_mounts->places, where))
            field_invalid(e, where_path, where, "must not already exist as a path in volumeMounts");
    }
}

void pod_mounts_check(struct field_errors *e, struct json c, struct json volumes, const char *path)
{
    struct json mounts = json_member(c, "volumeMounts"), devices = json_member(c, "volumeDevices");
    const char *list = field_child(e->arena, path, "volumeMounts");
    bool privileged = json_get_bool(c, "securityContext.privileged", false);
    struct taken of_mounts = taken_of(e->arena, mounts, "mountPath");
    struct taken of_devices = taken_of(e->arena, devices, "devicePath");
    struct volume_index index = { volumes, json_index_of(e->arena, volumes, "name") };
    for (size_t i = 0; i < mounts.count; i++) {
        const char *here = field_index(e->arena, list, i);
        const char *name_path = field_child(e->arena, here, "name");
        const char *where_path = field_child(e->arena, here, "mountPath");
        struct json m = mounts.items[i], name = text_of(m, "name"), where = text_of(m, "mountPath");
        if (!name.count)
            field_required(e, name_path, NULL);
        if (!json_present(find_volume(&index, name)))
            field_error_add(e, FIELD_NOT_FOUND, name_path, name, NULL);
        if (!where.count)
            field_required(e, where_path, NULL);
        if (json_index_again(&of_mounts.places, (uint32_t)i))
            field_invalid(e, where_path, where, "must be unique");
        if (is_there(&of_devices.names, name))
            field_invalid(e, name_path, name, "must not already exist in volumeDevices");
        if (is_there(&of_devices.places, where))
            field_invalid(
                e, where_path, where, "must not already exist as a path in volumeDevices");
        check_sub_paths(e, m, list, here);
        check_propagation(e, m, list, privileged);
    }
    check_devices(e, c, &index, &of_mounts, &of_devices, path);
}
