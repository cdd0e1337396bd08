/* Moving ownership between lists: to and from the Scale of an object, and from an operator that
 * updated to one that applies. */

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

/* Habits: an update's version is part of its identity and differs between the two lists, so the
 * replicas always leave the parent's entry of an update and come back as one of their own, even if
 * nobody took them; and such an entry has no time. */
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
            else /* somebody else has the replicas now */
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

/* ---- taking over ---- */

static bool is_update_of(struct json entry, const char *manager, const char *subresource)
{
    const char *sub = json_text(json_member(entry, "subresource"));
    return text_eq(json_text(json_member(entry, "manager")), manager) &&
           text_eq(json_text(json_member(entry, "operation")), "Update") &&
           text_eq(sub ? sub : "", subresource);
}

/* Our entry, or the first of theirs made ours; -1: neither. */
static int64_t find_target(
    struct json entries, const char *from, const char *to, const char *subresource, bool *ret_ours)
{
    int64_t theirs = -1;
    for (uint32_t i = 0; i < entries.count; i++) {
        const char *sub = json_text(json_member(entries.items[i], "subresource"));
        *ret_ours = text_eq(json_text(json_member(entries.items[i], "manager")), to) &&
                    text_eq(json_text(json_member(entries.items[i], "operation")), "Apply") &&
                    text_eq(sub ? sub : "", subresource);
        if (*ret_ours)
            return i;
        if (theirs < 0 && is_update_of(entries.items[i], from, subresource))
            theirs = i;
    }
    *ret_ours = false;
    return theirs;
}

bool managers_take_over(struct arena *a, struct json managed_fields, const char *from,
    const char *to, const char *subresource, struct json *ret, struct error *err)
{
    *ret = (struct json){ 0 };
    bool ours, any = false;
    int64_t at = managed_fields.type == JSON_LIST
                     ? find_target(managed_fields, from, to, subresource, &ours)
                     : -1;
    if (at < 0)
        return true;
    struct json target = managed_fields.items[at];
    struct json version = json_member(target, "apiVersion");
    const struct fieldset *set, *more;
    if (!fieldset_from_json(a, json_member(target, "fieldsV1"), &set, err))
        return false;
    json_each (entry, managed_fields) {
        if (!is_update_of(*entry, from, subresource))
            continue;
        any = true;
        if (!json_equal(json_member(*entry, "apiVersion"), version))
            continue; /* paths of another version would not mean the same */
        if (!fieldset_from_json(a, json_member(*entry, "fieldsV1"), &more, err))
            return false;
        set = fieldset_union(a, set, more);
    }
    if (!any)
        return true;
    target = json_overlay(a,
        target,
        json_map(a,
            { "manager", json_str(to) },
            { "operation", json_str("Apply") },
            { "fieldsV1", fieldset_to_json(a, set) }));
    struct json_builder list;
    json_builder_init(&list, a);
    for (uint32_t i = 0; i < managed_fields.count; i++)
        if (i == at)
            json_push(&list, target);
        else if (!is_update_of(managed_fields.items[i], from, subresource))
            json_push(&list, managed_fields.items[i]);
    *ret = json_list_end(&list);
    return true;
}
