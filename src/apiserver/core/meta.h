#pragma once

/* metadata: what the server fills in, keeps from the stored object, and refuses. */

#include "apiserver/core/call.h"

/* metadata in the form of the API server's type: without null and empty values. Unknown fields are
 * added to `unknown`. Fails with Go's decoder error. */
bool meta_normalise(struct arena *a, struct json metadata, const struct api_kind *k,
    struct json *ret, struct field_errors *unknown, struct error *err) must_check;

/* Removes what only the server sets; called before ownership is computed. */
struct json meta_without_system(struct arena *a, struct json object);
/* For a new object: name (from generateName), namespace, uid, creationTimestamp, generation. */
struct json meta_for_create(struct api_call *c, const char *ns, struct json object);
/* Takes what a client cannot change from the old object: uid if not given, creationTimestamp, … */
struct json meta_for_update(struct arena *a, struct json old, struct json object);
/* Whether anything but metadata and, if the kind has one, status differs: increments generation. */
bool meta_spec_differs(const struct api_kind *k, struct json old, struct json object);

void meta_validate(struct field_errors *errors, const struct api_kind *k, struct json metadata);
void meta_validate_update(
    struct field_errors *errors, const struct api_kind *k, struct json old, struct json metadata);

/* The metadata of an object inside another object, in the form of its type. An unreadable value
 * becomes one FIELD_TYPE_INVALID with the decoder's error, and is left out. */
struct json meta_read_embedded(struct arena *a, struct json metadata, struct field_errors *unknown);
/* Validates it after that; a name is not required. */
void meta_validate_embedded(struct field_errors *errors, struct json metadata);

/* base and five characters that cannot form words. */
const char *meta_random_name(const struct env *env, struct arena *a, const char *base);
/* The name of a new object in error messages: its name, or its generateName. */
const char *meta_asked_name(struct json object);
/* A random uid of version 4. */
const char *meta_uid(const struct env *env, struct arena *a);
const char *meta_now(const struct env *env, struct arena *a);

static inline struct json meta_of(struct json object)
{
    return json_member(object, "metadata");
}
static inline bool meta_is_deleting(struct json object)
{
    return json_present(json_member(meta_of(object), "deletionTimestamp"));
}
