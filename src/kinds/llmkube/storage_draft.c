/* A draft model next to the main one: equal parts are shared, conflicting ones are renamed. */

#include "kinds/llmkube/storage.h"

/* A volume is shared only if name and source are both the same; a different one with the same name
 * is renamed everywhere in the draft's storage. */
static const char *volume_name(struct arena *a, struct json taken, struct json volume)
{
    const char *name = json_get_text(volume, "name");
    struct json other = json_find(taken, "name", name);
    bool clash = json_present(other) && !json_equal(other, volume);
    return clash ? arena_printf(a, "draft-%s", name) : name;
}

static struct json renamed_mounts(
    struct arena *a, struct json taken, struct json volumes, struct json mounts)
{
    struct json_builder b;
    json_builder_init(&b, a);
    for (uint32_t i = 0; i < mounts.count; i++) {
        struct json volume = json_find(volumes, "name", json_get_text(mounts.items[i], "name"));
        const char *name = volume_name(a, taken, volume);
        json_push(&b, json_with(a, mounts.items[i], "name", json_str(name)));
    }
    return json_list_end(&b);
}

static struct json joined_volumes(struct arena *a, struct json main, struct json draft)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_push_all(&b, main);
    for (uint32_t i = 0; i < draft.count; i++) {
        const char *name = volume_name(a, main, draft.items[i]);
        if (!json_present(json_find(main, "name", name)))
            json_push(&b, json_with(a, draft.items[i], "name", json_str(name)));
    }
    return json_list_end(&b);
}

/* Two volumes cannot have the same mount path: the draft's is moved below /draft, and *path too. */
static struct json joined_mounts(
    struct arena *a, struct json main, struct json draft, const char **path)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_push_all(&b, main);
    for (uint32_t i = 0; i < draft.count; i++) {
        struct json one = draft.items[i];
        const char *place = json_get_text(one, "mountPath");
        struct json there = json_find(main, "mountPath", place);
        if (json_equal(there, one))
            continue;
        if (json_present(there)) {
            one = json_with(a, one, "mountPath", json_strf(a, "/draft%s", place));
            if (text_starts(*path, place))
                *path = arena_printf(a, "/draft%s", *path);
        }
        json_push(&b, one);
    }
    return json_list_end(&b);
}

static struct json joined_init_containers(
    struct arena *a, const struct storage *main, const struct storage *draft)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_push_all(&b, main->init_containers);
    for (uint32_t i = 0; i < draft->init_containers.count; i++) {
        struct json one = draft->init_containers.items[i];
        struct json mounts = json_get(one, "volumeMounts");
        one = json_with(
            a, one, "volumeMounts", renamed_mounts(a, main->volumes, draft->volumes, mounts));
        const char *name = json_get_text(one, "name");
        if (json_equal(json_find(main->init_containers, "name", name), one))
            continue;
        json_push(&b, json_with(a, one, "name", json_strf(a, "draft-%s", name)));
    }
    return json_list_end(&b);
}

struct storage storage_join_draft(struct arena *a, const struct storage *main,
    const struct storage *draft, const char **ret_draft_path)
{
    struct storage joined = *main;
    struct json mounts = renamed_mounts(a, main->volumes, draft->volumes, draft->mounts);
    *ret_draft_path = draft->model_path;
    if (draft->file_etag)
        joined.file_etag = main->file_etag
                               ? arena_printf(a, "%s %s", main->file_etag, draft->file_etag)
                               : draft->file_etag;
    joined.volumes = joined_volumes(a, main->volumes, draft->volumes);
    joined.mounts = joined_mounts(a, main->mounts, mounts, ret_draft_path);
    joined.init_containers = joined_init_containers(a, main, draft);
    return joined;
}
