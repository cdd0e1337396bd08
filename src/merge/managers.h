#pragma once

/* metadata.managedFields: who owns which fields.
 *
 * An entry is told apart by manager, operation and subresource, and for updates by apiVersion too.
 * The list is worked on in an arena and written back sorted as the API server does it. */

#include "merge/fieldset.h"
#include "merge/schema.h"

/* Fields that nothing owns, of the object and of its metadata; NULL-terminated. */
extern const char *const managers_stripped_root[];
extern const char *const managers_stripped_metadata[];
/* A set without them. */
const struct fieldset *managers_strip(struct arena *a, const struct fieldset *set);

struct managers_entry {
    const char *manager;
    const char *api_version;
    const char *subresource; /* "" for the object itself */
    const char *time;        /* RFC 3339; NULL: none */
    bool applies;            /* by apply; otherwise by update */
    const struct fieldset *set;
};

struct managers {
    struct arena *arena;
    struct managers_entry *entries;
    size_t count;
    size_t size;
};

/* Fails on entries without apiVersion, of another operation or type, or that cannot be read. */
bool managers_decode(struct arena *a, struct json managed_fields, struct managers *ret,
    struct error *err) must_check;
/* Whether it is a list of owners by its types: what is none, a configuration may hold. */
bool managers_readable(struct json managed_fields);
/* The list for metadata.managedFields; absent if there is no entry. */
struct json managers_encode(const struct managers *m);
/* Whether a request asks to forget all owners: an empty list, or one empty entry. (In the metadata
 * of a custom object the server drops empty lists before it comes to this.) */
bool managers_is_reset(struct json managed_fields);

/* The entry of the same identity as like, or NULL. */
struct managers_entry *managers_find(const struct managers *m, const struct managers_entry *like);
struct managers_entry *managers_add(struct managers *m, struct managers_entry e);
void managers_delete(struct managers *m, struct managers_entry *e);
/* Drops entries that own nothing. */
void managers_delete_empty(struct managers *m);
/* Order by identity, as the server sorts it. */
int managers_compare_identity(const struct managers_entry *x, const struct managers_entry *y);
/* The owner in a conflict's message: "x" with subresource "status" using apps/v1. */
const char *managers_entry_text(struct arena *a, const struct managers_entry *e);

/* More than MANAGERS_UPDATES_MAX entries of updates are folded, oldest first, into the manager
 * `ancient-changes`, one for each apiVersion. */
#define MANAGERS_UPDATES_MAX 10
/* More entries are not read: each request looks for its own among them. */
#define MANAGERS_MAX 1000
void managers_cap(struct managers *m);

/* The object with the times of `live`, if otherwise neither its owners nor anything else changed:
 * a write that says nothing new leaves no trace. The last step before storing. */
struct json managers_keep_times(struct arena *a, struct json live, struct json object);

/* ---- the scale subresource has a list of its own, made from the parent's ---- */

/* Where the replicas are in one version of the parent; path.count 0: this version has no scale. */
struct managers_scale_path {
    const char *api_version;
    struct field_path path;
};
struct managers_scale_paths {
    const struct managers_scale_path *items;
    size_t count;
};
/* Who owns the replicas, as managedFields of the Scale. */
bool managers_to_scale(struct arena *a, struct json parent,
    const struct managers_scale_paths *paths, struct json *ret, struct error *err) must_check;
/* The parent's managedFields after the Scale's were changed; api_version is the parent's. */
bool managers_from_scale(struct arena *a, struct json parent, struct json scale,
    const struct managers_scale_paths *paths, const char *api_version, struct json *ret,
    struct error *err) must_check;
