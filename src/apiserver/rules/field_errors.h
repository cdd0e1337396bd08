#pragma once

/* Validation errors of an object by field: the causes of a 422, worded as by the API server,
 * because people and tools read them.
 *
 *   field_invalid(e, "spec.replicas", json_int(-1), "must be greater than or equal to 0");
 *
 * prints `spec.replicas: Invalid value: -1: must be greater than or equal to 0`. Paths are in the
 * server's format: spec.containers[0].name, metadata.labels[a/b]. */

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

/* The reason in a cause: "FieldValueInvalid". */
const char *field_error_reason(enum field_error_type type);

struct field_error {
    enum field_error_type type;
    const char *path;
    const char *message; /* including the text for the type and the value, as in the cause */
};

struct field_errors {
    struct arena *arena;
    struct json given; /* what the client sent */
    struct field_error *items;
    size_t count, size;
    size_t more;   /* number of errors beyond FIELD_ERRORS_MAX, which are not stored */
    bool has_type; /* one of them is a FIELD_TYPE_INVALID, which is always stored */
};

/* More errors do not help, and the size of a response must be limited. */
#define FIELD_ERRORS_MAX 100

void field_errors_init(struct field_errors *e, struct arena *a);
/* The message is built from type, value (absent: none) and detail. path and detail are copied. */
void field_error_add(struct field_errors *e, enum field_error_type type, const char *path,
    struct json value, const char *detail);
void field_invalid(struct field_errors *e, const char *path, struct json value, const char *detail);
void field_required(struct field_errors *e, const char *path, const char *detail);
void field_forbidden(struct field_errors *e, const char *path, const char *detail);
void field_duplicate(struct field_errors *e, const char *path, struct json value);
/* allowed: NULL-terminated, printed sorted and quoted. */
void field_not_supported(
    struct field_errors *e, const char *path, struct json value, const char *const *allowed);

/* Adds the errors of a part, whose paths are relative to it: `path` is the path of the part. */
void field_errors_take(struct field_errors *e, const struct field_errors *part, const char *path);

/* The value that the client sent at a path; absent: none, or unknown. */
struct json field_given(const struct field_errors *e, const char *path);

/* Paths: "spec" + ".ports", + "[3]", + "[key]". */
const char *field_child(struct arena *a, const char *path, const char *name);
const char *field_index(struct arena *a, const char *path, size_t index);
const char *field_key(struct arena *a, const char *path, const char *key);

/* ", and 7 more" after a truncated list; "" if it is complete. */
const char *field_errors_rest(struct arena *a, size_t more);
/* "spec.replicas: Invalid value: …", several as "[a, b]", as in the message of a Status. */
const char *field_errors_text(const struct field_errors *e);
