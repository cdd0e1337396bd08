#pragma once

/* From an object as a client wants it to an object in the store: what create, update, patch and
 * apply have in common.
 *
 *   decoded, filled ─> owners (managedFields) ─> metadata ─> prepare ─> validate ─> store */

#include "apiserver/core/call.h"
#include "merge/apply.h"

struct write {
    struct api_call *call; /* NULL: the server itself writes */
    struct apiserver *server;
    struct arena *arena;
    const struct api_kind *kind;
    const char *ns, *name;
    const struct store_object *before; /* NULL: it is created; held while the write is at work */
    struct json old;                   /* the same, parsed; absent */
    bool patches;                      /* the object is made from old, its uid with it */
    bool same; /* an apply that changes owners alone: nothing is filled in, either */
};

/* A write of what the request names. */
struct write write_of_call(struct api_call *c);
/* The other versions of the kind that is written, for merge/apply.h; valid as long as w. */
struct apply_versions write_versions(struct write *w);
/* The fields that an endpoint of the kind ignores; NULL: none. */
const struct fieldset *write_reset_fields(struct write *w, const char *subresource);
/* managedFields after this manager changed old into object. */
void write_track(
    struct write *w, const char *manager, const char *subresource, struct json *object);
/* Fails with the answer given. */
bool write_fill_owners(struct write *w, struct json *object, bool applied) must_check;
/* Metadata, prepare and validate of a create or an update; object has its defaults. */
bool write_check_create(struct write *w, struct json *object) must_check;
bool write_check_update(struct write *w, struct json *object) must_check;
/* Stores it, unless it is a dry run or nothing changed; gone: it is deleted. *ret is NULL for a dry
 * run. */
bool write_store(struct write *w, struct json object, bool gone, const struct store_object **ret);
/* Answers with what was stored, or with the object that a dry run would have. */
void write_answer(
    struct write *w, int status, struct json object, const struct store_object *stored);
/* An update after which nothing holds the object any more: deleted, finalizers empty. */
bool write_is_last(struct json object);
/* Whether the namespace of a create is there and not ending. */
bool write_check_namespace(struct write *w) must_check;
/* The object that is there; false: none. */
bool write_read_old(struct write *w) must_check;

/* The uid that a client saw is still the object's; "" or NULL: it does not say. */
bool write_check_uid(struct write *w, const char *uid) must_check;
#define WRITE_MODIFIED                                                                             \
    "the object has been modified; please apply your changes to the latest version and try again"

/* Whole writes, which answer. object is decoded; applied: its managedFields are made already. */
bool create_object(struct write *w, struct json object, bool applied);
/* The namespace of the path goes into the object; another one in there is an error. */
bool create_check_namespace(struct api_call *c, struct json object) must_check;
bool update_object(struct write *w, struct json object, bool applied);
/* The object has the name of the path, and its namespace too; false: answered. */
bool update_check_own_name(struct api_call *c, struct json object) must_check;
bool update_check_name(struct api_call *c, struct json object) must_check;
