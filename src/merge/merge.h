#pragma once

/* Whether a write is needed, decided from the cached object, our managedFields entry and the plan.
 *
 *   struct merge_owned owned;
 *   merge_owned(a, schema, live, "leeboard", "", &owned);
 *   if (!merge_equal(schema, &owned, wanted))
 *       … merge_difference() says what, merge_field_managers() who; then apply
 *
 * A write can be skipped if and only if our entry is exactly the one that applying `wanted` would
 * store, and every owned value means the same as ours: quantities compare as numbers, times as
 * instants, base64 as bytes, items of a list by key and in our relative order. Fields that we did
 * not send are not compared. A value that the server stores differently from what we send (a
 * default inside an atomic value) compares as different; the caller remembers such responses.
 *
 * Zero values: the server keeps built-in objects in Go structs, which omit false, 0, "", [] and
 * empty maps where they may. A field that we own and that is missing equals those. An empty list
 * that is a set or a map has no field to own, so it does not matter whether it exists. An empty map
 * that others filled with fields without owners is equal here; the server would delete those fields
 * and restore the empty map, so do not plan empty maps that others fill.
 * tests/cluster/test_merge.py compares all this with the server.
 *
 * apiVersion, kind and, in metadata, name, namespace, uid, resourceVersion, generation,
 * creationTimestamp, selfLink and managedFields have no owner and are ignored on both sides. */

#include "merge/fieldset.h"
#include "merge/schema.h"

struct merge_owned {
    bool found; /* there is an Apply entry of that manager and subresource */
    /* The entry is one that applying `fields` would produce. False after a user moved ownership,
     * for another apiVersion, or if the entry cannot be read: then a write is needed. */
    bool exact;
    /* The owned fields of live, as a configuration: items of keyed lists include their keys and are
     * in the order of live; a field that we own but that is missing is null. */
    struct json fields;
    /* Of the entry. May be NULL in what is passed to the functions below, so that a cache need not
     * keep it. */
    const struct fieldset *set;
};

/* Selects the fields of the live object that the manager owns by apply; subresource "" is the
 * object itself. Never fails; an entry that cannot be read is found but not exact. */
void merge_owned(struct arena *a, const struct schema *s, struct json live, const char *manager,
    const char *subresource, struct merge_owned *ret);

/* True: applying `wanted` would change nothing. */
bool merge_equal(const struct schema *s, const struct merge_owned *owned, struct json wanted);

enum merge_change {
    MERGE_ADDED,   /* wanted, not owned yet */
    MERGE_REMOVED, /* owned, no longer wanted */
    MERGE_CHANGED, /* both, with another value */
    MERGE_MOVED,   /* items of this list are in another order */
};

struct merge_difference {
    struct field_path path;
    const char *text; /* the readable path: .spec.containers[name="x"].image */
    enum merge_change what;
    struct json owned;  /* absent where there is no such value */
    struct json wanted; /* absent where there is no such value */
};

struct merge_differences {
    const struct merge_difference *items;
    size_t count;
};

/* All differences, sorted by path; none iff merge_equal(). */
struct merge_differences merge_difference(
    struct arena *a, const struct schema *s, const struct merge_owned *owned, struct json wanted);
const char *merge_change_name(enum merge_change what); /* "added", "removed", … */

/* A manager that owns a path of the live object now. */
struct merge_manager {
    const char *name;
    const char *subresource; /* "" for the object itself */
    bool applies;            /* by apply; otherwise by update */
};
struct merge_managers {
    const struct merge_manager *items;
    size_t count;
};
/* The managers that own this field, or the atomic value that contains it. */
struct merge_managers merge_field_managers(
    struct arena *a, struct json live, const struct field_path *path);

/* The field set that the server stores when `wanted` is applied. Fails on anything that the server
 * would refuse: unknown fields, wrong types, duplicate keys. The error names the path. */
bool merge_set_of(struct arena *a, const struct schema *s, struct json wanted,
    const struct fieldset **ret, struct error *err) must_check;
/* The self-check after a write: whether the entry stored in live is this set. *ret_text, unless
 * NULL, becomes the first path that differs, prefixed with + (only computed) or - (only stored). */
bool merge_set_equal_entry(struct arena *a, const struct fieldset *set, struct json live,
    const char *manager, const char *subresource, const char **ret_text);
