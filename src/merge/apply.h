#pragma once

/* What an API server does with managedFields on apply and on every other write.
 *
 *   apply:   merged = live with the configuration in it; what the manager applied before and does
 *            not now is removed, unless another client owns it; fields of others that change are
 *            conflicts, or taken from them by force; equal values are owned together.
 *   update:  fields that changed become the writer's, fields that went leave all owners.
 *
 * Defaulting, conversion, admission and validation are the caller's, before and after; the last
 * step before storing is managers_keep_times(). */

#include "merge/managers.h"

struct apply_versions {
    /* The schema of another apiVersion of the kind; NULL: that version is no more. */
    const struct schema *(*schema_of)(void *ctx, const char *api_version);
    /* An object in another version; NULL: nothing but apiVersion differs. */
    struct json (*convert)(void *ctx, struct arena *a, struct json object, const char *api_version);
    void *ctx;
    /* NULL: whose version is no more owns nothing. Otherwise that fails, in these words and the
     * version's. */
    const char *missing;
    /* What an endpoint ignores is kept from owners in its own version alone, as the server has it
     * for custom kinds. */
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

/* The server's message about the conflicts, whole. */
const char *apply_conflict_message(struct arena *a, const struct apply_result *result);

/* Applies a configuration. live is absent when the object does not exist. A conflict fails with
 * ERR_CONFLICT, the beginning of the server's message, and the conflicts in *ret. */
bool apply_config(struct arena *a, const struct apply_request *r, struct json live,
    struct json config, struct apply_result *ret, struct error *err) must_check;

/* The owners after a create, update or patch that turned live (absent: a create) into object. The
 * server stores an object whose owners cannot be told without managedFields; so may the caller
 * when this fails. */
bool apply_update(struct arena *a, const struct apply_request *r, struct json live,
    struct json object, struct json *ret, struct error *err) must_check;

/* The fields that an endpoint ignores; custom kinds pass custom. NULL: none. */
const struct fieldset *apply_reset_fields(
    struct arena *a, const char *group, const char *kind, const char *subresource, bool custom);
