#pragma once

/* Whether a write is needed, decided from the cached object, our managedFields entry and the plan.
 *
 *   struct merge_owned owned;
 *   merge_owned(a, schema, live, "leeboard", "", &owned);
 *   if (!merge_equal(schema, &owned, wanted))
 *       … merge_difference() says what, merge_field_managers() who; then apply
 *
 * Skipping is right iff our entry is exactly the one that applying `wanted` would store, and every
 * owned value says the same as ours: quantities as numbers, times as instants, base64 as bytes,
 * items of a list by key and in our relative order. What we did not send is not compared. What the
 * server stores differently from what we send (a default inside an atomic value) does compare as
 * different; the caller remembers such answers.
 *
 * Zero values: the server keeps built-in objects in Go structs, which leave out false, 0, "", []
 * and empty maps where they may; what we own and is gone equals those. An empty list that is a set
 * or a map has no field that one could own: whether it is there does not matter. An empty map where
 * others put something that nothing owns is equal here; the server would delete that, then bring
 * the empty map back: better not to want empty maps that others fill. tests/cluster/test_merge.py
 * holds all this against what the server would do.
 *
 * apiVersion, kind and of metadata name, namespace, uid, resourceVersion, generation,
 * creationTimestamp, selfLink and managedFields are nobody's fields and are left out on both sides.
 */

#include "merge/fieldset.h"
#include "merge/schema.h"

struct merge_owned {
    bool found; /* there is an Apply entry of that manager and subresource */
    /* The entry is one that applying `fields` would produce. False after ownership was moved by
     * hand, for another apiVersion, or when the entry cannot be read: then a write is due. */
    bool exact;
    /* The owned fields of live, as a configuration: map items of lists carry their keys and are
     * in the order of live; a field that we own but that is gone is null. */
    struct json fields;
    /* Of the entry. May be NULL in what is passed to the functions below: a cache need not keep it.
     */
    const struct fieldset *set;
};

/* Of the live object the fields that the manager owns by apply; subresource "" is the object
 * itself. Never fails; an entry that cannot be read is found and not exact. */
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
    const char *text; /* the path for people: .spec.containers[name="x"].image */
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

/* Who owns a path of the live object now. */
struct merge_manager {
    const char *name;
    const char *subresource; /* "" for the object itself */
    bool applies;            /* by apply; otherwise by update */
};
struct merge_managers {
    const struct merge_manager *items;
    size_t count;
};
/* Those that own this field, or the atomic value that it is in. */
struct merge_managers merge_field_managers(
    struct arena *a, struct json live, const struct field_path *path);

/* The field set that the server stores when `wanted` is applied. Fails on what the server would
 * refuse: unknown fields, wrong types, the same key twice; the error names the path. */
bool merge_set_of(struct arena *a, const struct schema *s, struct json wanted,
    const struct fieldset **ret, struct error *err) must_check;
/* The self-check after a write: the entry stored in live is this set. *ret_text, unless NULL, gets
 * the first path that differs, with + (only computed) or - (only stored) in front. */
bool merge_set_equal_entry(struct arena *a, const struct fieldset *set, struct json live,
    const char *manager, const char *subresource, const char **ret_text);
