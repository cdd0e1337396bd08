#pragma once

/* What an API server does with managedFields on apply and on every other write.
 *
 *   apply:   merged = live plus the configuration; fields that the manager applied before but not
 *            now are removed, unless another client owns them; changed fields of others are
 *            conflicts, or taken over by force; equal values are owned together.
 *   update:  changed fields become the writer's, removed fields leave all owners.
 *
 * The caller does defaulting, conversion, admission and validation, before and after. The last step
 * before storing is managers_keep_times(). */

#include "merge/managers.h"

struct apply_versions {
    /* The schema of another apiVersion of the kind; NULL: that version no longer exists. */
    const struct schema *(*schema_of)(void *ctx, const char *api_version);
    /* Converts an object to another version; NULL: only apiVersion differs. */
    struct json (*convert)(void *ctx, struct arena *a, struct json object, const char *api_version);
    void *ctx;
    /* NULL: owners whose version no longer exists own nothing. Otherwise such an owner is an error,
     * with this message followed by the version. */
    const char *missing;
    /* Fields that an endpoint ignores are removed only from owners that use the same version, as
     * the server does for custom kinds. */
    bool resets_own;
};

struct apply_request {
    const struct schema *schema; /* of api_version */
    const char *api_version;
    const char *manager;     /* empty is "unknown" */
    const char *subresource; /* "" for the object itself */
    const char *now;         /* RFC 3339 */
    bool force;
    const struct fieldset *reset;          /* fields that this endpoint ignores; NULL: none */
    const struct apply_versions *versions; /* NULL: there is only one */
};

struct apply_conflict {
    const char *owner; /* as in the message, see managers_entry_text() */
    struct field_path path;
    const char *text; /* of the path */
};

struct apply_result {
    struct json object;                     /* with its managedFields */
    const struct apply_conflict *conflicts; /* by owner */
    size_t conflict_count;
    bool same; /* only owners changed */
};

/* The server's full message about the conflicts. */
const char *apply_conflict_message(struct arena *a, const struct apply_result *result);

/* Applies a configuration. live is absent when the object does not exist. A conflict fails with
 * ERR_CONFLICT, the beginning of the server's message, and the conflicts in *ret. */
bool apply_config(struct arena *a, const struct apply_request *r, struct json live,
    struct json config, struct apply_result *ret, struct error *err) must_check;

/* The owners after a create, update or patch that turned live (absent: a create) into object. If
 * the owners cannot be computed, this fails; the server then stores the object without
 * managedFields, and so may the caller. */
bool apply_update(struct arena *a, const struct apply_request *r, struct json live,
    struct json object, struct json *ret, struct error *err) must_check;

/* The fields that an endpoint ignores; custom kinds pass custom. NULL: none. */
const struct fieldset *apply_reset_fields(
    struct arena *a, const char *group, const char *kind, const char *subresource, bool custom);
