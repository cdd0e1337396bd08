#pragma once

/* metadata.managedFields: which manager owns which fields.
 *
 * An entry is identified by manager, operation and subresource, and for updates by apiVersion too.
 * The list is edited in an arena and written back in the API server's order. */

#include "merge/fieldset.h"
#include "merge/schema.h"

/* Fields without owners, of the object and of its metadata; NULL-terminated. */
extern const char *const managers_stripped_root[];
extern const char *const managers_stripped_metadata[];
/* The set without them. */
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

/* Fails on entries without apiVersion, with an unknown operation or type, or unreadable ones. */
bool managers_decode(struct arena *a, struct json managed_fields, struct managers *ret,
    struct error *err) must_check;
/* Whether it has the types of a list of owners. In an applied configuration, anything else
 * passes. */
bool managers_readable(struct json managed_fields);
/* The list for metadata.managedFields; absent if there is no entry. */
struct json managers_encode(const struct managers *m);
/* Whether a request asks to remove all owners: an empty list, or one empty entry. (In the metadata
 * of a custom object the server drops empty lists before this check.) */
bool managers_is_reset(struct json managed_fields);

/* The entry with the same identity as like, or NULL. */
struct managers_entry *managers_find(const struct managers *m, const struct managers_entry *like);
struct managers_entry *managers_add(struct managers *m, struct managers_entry e);
void managers_delete(struct managers *m, struct managers_entry *e);
/* Drops entries that own nothing. */
void managers_delete_empty(struct managers *m);
/* Order by identity, as the server sorts it. */
int managers_compare_identity(const struct managers_entry *x, const struct managers_entry *y);
/* The owner in a conflict's message: "x" with subresource "status" using apps/v1. */
const char *managers_entry_text(struct arena *a, const struct managers_entry *e);

/* If there are more than MANAGERS_UPDATES_MAX entries of updates, the oldest are merged into the
 * manager `ancient-changes`, one for each apiVersion. */
#define MANAGERS_UPDATES_MAX 10
/* Larger lists are refused, because each request searches its own entry in the list. */
#define MANAGERS_MAX 1000
void managers_cap(struct managers *m);

/* Restores the times of `live` if neither the owners nor anything else changed: a write without
 * changes leaves no trace. This is the last step before storing. */
struct json managers_keep_times(struct arena *a, struct json live, struct json object);

/* ---- the scale subresource has its own list, derived from the parent's ---- */

/* Path of the replicas in one version of the parent; path.count 0: this version has no scale. */
struct managers_scale_path {
    const char *api_version;
    struct field_path path;
};
struct managers_scale_paths {
    const struct managers_scale_path *items;
    size_t count;
};
/* The owners of the replicas, as managedFields of the Scale. */
bool managers_to_scale(struct arena *a, struct json parent,
    const struct managers_scale_paths *paths, struct json *ret, struct error *err) must_check;
/* The parent's managedFields after those of the Scale were changed; api_version is the parent's. */
bool managers_from_scale(struct arena *a, struct json parent, struct json scale,
    const struct managers_scale_paths *paths, const char *api_version, struct json *ret,
    struct error *err) must_check;
