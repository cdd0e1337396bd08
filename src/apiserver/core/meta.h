#pragma once

/* metadata: what the server fills in, what it keeps from the stored object, what it refuses. */

#include "apiserver/core/call.h"

/* metadata as the API server's own type holds it: without null and empty values; each field that it
 * does not have goes into unknown. Fails with the words of its decoder. */
bool meta_normalise(struct arena *a, struct json metadata, const struct api_kind *k,
    struct json *ret, struct field_errors *unknown, struct error *err) must_check;

/* Without what only the server sets: before anybody owns it. */
struct json meta_without_system(struct arena *a, struct json object);
/* A new object: name (made from generateName), namespace, uid, creationTimestamp, generation. */
struct json meta_for_create(struct api_call *c, const char *ns, struct json object);
/* What a client cannot change comes from the old object: uid if not given, creationTimestamp, … */
struct json meta_for_update(struct arena *a, struct json old, struct json object);
/* Everything but metadata and, if the kind has one, status: what generation counts. */
bool meta_spec_differs(const struct api_kind *k, struct json old, struct json object);

void meta_validate(struct field_errors *errors, const struct api_kind *k, struct json metadata);
void meta_validate_update(
    struct field_errors *errors, const struct api_kind *k, struct json old, struct json metadata);

/* The metadata of an object inside of another one, as its own type holds it. A value that cannot be
 * read becomes one FIELD_TYPE_INVALID in the words of the decoder and is left out. */
struct json meta_read_embedded(struct arena *a, struct json metadata, struct field_errors *unknown);
/* What is wrong with it after that; a name is not asked for. */
void meta_validate_embedded(struct field_errors *errors, struct json metadata);

/* base and five characters out of which no words can be made. */
const char *meta_random_name(const struct env *env, struct arena *a, const char *base);
/* What refusals call a new object: its name, or what its name was to be made from. */
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
