#pragma once

/* What is wrong with an object, field by field: the causes of a 422, worded as the API server words
 * them, because people and tools read them.
 *
 *   field_invalid(e, "spec.replicas", json_int(-1), "must be greater than or equal to 0");
 *
 * prints `spec.replicas: Invalid value: -1: must be greater than or equal to 0`. Paths are written
 * as the server writes them: spec.containers[0].name, metadata.labels[a/b]. */

#include "base/json.h"

enum field_error_type {
    FIELD_INVALID,       /* FieldValueInvalid */
    FIELD_REQUIRED,      /* FieldValueRequired */
    FIELD_DUPLICATE,     /* FieldValueDuplicate */
    FIELD_NOT_FOUND,     /* FieldValueNotFound */
    FIELD_NOT_SUPPORTED, /* FieldValueNotSupported */
    FIELD_FORBIDDEN,     /* FieldValueForbidden */
    FIELD_TOO_LONG,      /* FieldValueTooLong */
    FIELD_TOO_MANY,      /* FieldValueTooMany */
    FIELD_TYPE_INVALID,  /* FieldValueTypeInvalid */
    FIELD_INTERNAL,      /* InternalError */
};

/* As it is in a cause: "FieldValueInvalid". */
const char *field_error_reason(enum field_error_type type);

struct field_error {
    enum field_error_type type;
    const char *path;
    const char *message; /* with the type's words and the value in front, as in the cause */
};

struct field_errors {
    struct arena *arena;
    struct json given; /* what the client sent */
    struct field_error *items;
    size_t count, size;
    size_t more;   /* that were found beyond FIELD_ERRORS_MAX: they are counted and not kept */
    bool has_type; /* one of them is a FIELD_TYPE_INVALID, which is kept whatever its place */
};

/* Nobody reads more, and an answer must not grow with what is wrong in a request. */
#define FIELD_ERRORS_MAX 100

void field_errors_init(struct field_errors *e, struct arena *a);
/* The message is made of type, value (absent: none) and detail. path and detail are copied. */
void field_error_add(struct field_errors *e, enum field_error_type type, const char *path,
    struct json value, const char *detail);
void field_invalid(struct field_errors *e, const char *path, struct json value, const char *detail);
void field_required(struct field_errors *e, const char *path, const char *detail);
void field_forbidden(struct field_errors *e, const char *path, const char *detail);
void field_duplicate(struct field_errors *e, const char *path, struct json value);
/* allowed: NULL-terminated, printed sorted and quoted. */
void field_not_supported(
    struct field_errors *e, const char *path, struct json value, const char *const *allowed);

/* Those of a part, whose paths begin at it, become those of the whole: path is where it stands. */
void field_errors_take(struct field_errors *e, const struct field_errors *part, const char *path);

/* What the client sent at a path; absent: nothing, or not known. */
struct json field_given(const struct field_errors *e, const char *path);

/* Paths: "spec" + ".ports", + "[3]", + "[key]". */
const char *field_child(struct arena *a, const char *path, const char *name);
const char *field_index(struct arena *a, const char *path, size_t index);
const char *field_key(struct arena *a, const char *path, const char *key);

/* ", and 7 more" after a list of that many words; "" if all are listed. */
const char *field_errors_rest(struct arena *a, size_t more);
/* "spec.replicas: Invalid value: …", several as "[a, b]", as in a Status' message. */
const char *field_errors_text(const struct field_errors *e);
