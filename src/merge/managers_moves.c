/* Moving ownership between lists: to and from the Scale of an object. */

#include "merge/managers.h"

#include <string.h>

/* ---- scale ---- */

#define SCALE_API_VERSION "autoscaling/v1"

static const struct fieldset *replicas_in_scale(struct arena *a)
{
    return fieldset_of_texts(a, (const char *const[]){ ".spec.replicas" }, 1);
}

/* NULL: this version is unknown. */
static const struct field_path *path_of(
    const struct managers_scale_paths *paths, const char *api_version)
{
    for (size_t i = 0; i < paths->count; i++)
        if (text_eq(paths->items[i].api_version, api_version))
            return &paths->items[i].path;
    return NULL;
}

bool managers_to_scale(struct arena *a, struct json parent,
    const struct managers_scale_paths *paths, struct json *ret, struct error *err)
{
    struct managers from, to = { .arena = a };
    if (!managers_decode(a, parent, &from, err))
        return false;
    for (size_t i = 0; i < from.count; i++) {
        struct managers_entry e = from.entries[i];
        const struct field_path *path = path_of(paths, e.api_version);
        if (!path || !fieldset_has(e.set, path))
            continue;
        e.set = replicas_in_scale(a);
        e.api_version = SCALE_API_VERSION;
        managers_add(&to, e);
    }
    *ret = managers_encode(&to);
    return true;
}

/* Quirks: an update's version is part of its identity and differs between the two lists, so the
 * replicas always leave the parent's entry of an update and return as an entry of their own, even
 * if no client changed them; and that entry has no time. */
bool managers_from_scale(struct arena *a, struct json parent, struct json scale,
    const struct managers_scale_paths *paths, const char *api_version, struct json *ret,
    struct error *err)
{
    struct managers before, changed, after = { .arena = a };
    if (!managers_decode(a, parent, &before, err) || !managers_decode(a, scale, &changed, err))
        return false;
    for (size_t i = 0; i < before.count; i++) {
        struct managers_entry e = before.entries[i];
        const struct field_path *path = path_of(paths, e.api_version);
        if (!path)
            continue;
        if (path->count && fieldset_has(e.set, path)) {
            struct managers_entry *kept = managers_find(&changed, &e);
            if (kept)
                managers_delete(&changed, kept);
            else /* another client now owns the replicas */
                e.set = fieldset_difference(a, e.set, fieldset_of_path(a, path));
        }
        managers_add(&after, e);
    }
    for (size_t i = 0; i < changed.count; i++) {
        struct managers_entry e = changed.entries[i];
        const struct field_path *path = path_of(paths, api_version);
        if (!path || fieldset_is_empty(fieldset_intersection(a, e.set, replicas_in_scale(a))))
            continue;
        struct managers_entry *same = managers_find(&after, &e);
        e.set = fieldset_of_path(a, path);
        e.api_version = api_version;
        e.time = same ? same->time : NULL;
        if (same)
            *same = e;
        else
            managers_add(&after, e);
    }
    managers_delete_empty(&after);
    *ret = managers_encode(&after);
    return true;
}
