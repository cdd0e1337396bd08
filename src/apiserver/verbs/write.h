#pragma once

/* From a client's object to a stored object: what create, update, patch and apply have in common.
 *
 *   decoded, filled ─> owners (managedFields) ─> metadata ─> prepare ─> validate ─> store */

#include "apiserver/core/call.h"
#include "merge/apply.h"

struct write {
    struct api_call *call; /* NULL: a write by the server itself */
    struct apiserver *server;
    struct arena *arena;
    const struct api_kind *kind;
    const char *ns, *name;
    const struct store_object *before; /* NULL: it is created; held during the write */
    struct json old;                   /* the same, parsed; or absent */
    bool patches;                      /* the object is derived from old, including its uid */
    bool same; /* an apply that changes only owners: no defaults are applied */
};

/* A write of the object that the request names. */
struct write write_of_call(struct api_call *c);
/* The other versions of the kind, for merge/apply.h; valid as long as w. */
struct apply_versions write_versions(struct write *w);
/* The fields that an endpoint of the kind ignores; may be NULL. */
const struct fieldset *write_reset_fields(struct write *w, const char *subresource);
/* managedFields after this manager has changed old to object. */
void write_track(
    struct write *w, const char *manager, const char *subresource, struct json *object);
/* On failure the answer is set. */
bool write_fill_owners(struct write *w, struct json *object, bool applied) must_check;
/* Metadata, prepare and validate for a create or an update; defaults must be applied before. */
bool write_check_create(struct write *w, struct json *object) must_check;
bool write_check_update(struct write *w, struct json *object) must_check;
/* Stores the object, unless it is a dry run or nothing changed; gone: deletes it. *ret is NULL for
 * a dry run. */
bool write_store(struct write *w, struct json object, bool gone, const struct store_object **ret);
/* Answers with the stored object, or with the result of a dry run. */
void write_answer(
    struct write *w, int status, struct json object, const struct store_object *stored);
/* Whether an update releases a deleted object: its finalizers are empty. */
bool write_is_last(struct json object);
/* Whether the namespace for a create exists and is not terminating. */
bool write_check_namespace(struct write *w) must_check;
/* Reads the existing object; false: there is none. */
bool write_read_old(struct write *w) must_check;

/* Whether the uid that a client sent is the object's; "" or NULL: not sent. */
bool write_check_uid(struct write *w, const char *uid) must_check;
#define WRITE_MODIFIED                                                                             \
    "the object has been modified; please apply your changes to the latest version and try again"

/* Complete writes, which set the answer. object is decoded; applied: its managedFields are already
 * up to date. */
bool create_object(struct write *w, struct json object, bool applied);
/* Sets the object's namespace to that of the path; a different one in the object is an error. */
bool create_check_namespace(struct api_call *c, struct json object) must_check;
bool update_object(struct write *w, struct json object, bool applied);
/* The object must have the name and namespace of the path; false: answered. */
bool update_check_own_name(struct api_call *c, struct json object) must_check;
bool update_check_name(struct api_call *c, struct json object) must_check;
