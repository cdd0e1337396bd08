#pragma once

/* How expressions see a structural schema: its type, the names of its fields and the maximum size
 * of its values. Also converts JSON under a schema to values.
 *
 *   x-kubernetes-int-or-string → dyn          type: object with properties → an object type
 *   format: byte → bytes                      … with additionalProperties → map(string, …)
 *   format: date, date-time → timestamp       type: array → list
 *   format: duration → duration
 *
 * Anything without a type is not visible: fields without a schema, and lists of these. */

#include "cel/value.h"

enum cel_list_type {
    CEL_LIST_ATOMIC,
    CEL_LIST_SET,
    CEL_LIST_MAP,
};

enum cel_schema_type {
    CEL_SCHEMA_NONE,
    CEL_SCHEMA_OBJECT,
    CEL_SCHEMA_ARRAY,
    CEL_SCHEMA_STRING,
    CEL_SCHEMA_NUMBER,
    CEL_SCHEMA_INTEGER,
    CEL_SCHEMA_BOOLEAN,
};

enum cel_schema_format {
    CEL_FORMAT_NONE,
    CEL_FORMAT_BYTE,
    CEL_FORMAT_DATE,
    CEL_FORMAT_DATE_TIME,
    CEL_FORMAT_DURATION,
};

struct cel_field {
    const char *key;  /* in JSON */
    const char *name; /* in expressions; NULL: the field is not accessible */
    const struct cel_decl *decl;
};

struct cel_decl {
    const struct cel_type *type; /* NULL: not visible */
    struct json schema;
    const char *type_text; /* "object", …, "" */
    enum cel_schema_type schema_type;
    enum cel_schema_format format;
    enum cel_list_type list_type;
    bool int_or_string, preserves_unknown, nullable, is_object; /* is_object: has properties */
    const struct cel_field *fields;                             /* by key */
    size_t field_count;
    const struct cel_decl *items; /* of a list, or the values of a map */
    int64_t elements_max;         /* bytes of a string, items, entries; 0 for other types */
    int64_t bytes_min;            /* of its JSON */
    const struct cel_decl *parent;
    const char *step; /* from the parent: a name, "@idx", "@elem" */
};

/* Deeper schemas are cut off: fields below this depth are not visible. */
#define CEL_SCHEMA_DEPTH_MAX 100
/* The largest request. It bounds values that have no bounds of their own. */
#define CEL_REQUEST_BYTES_MAX ((int64_t)3 * 1024 * 1024)

/* root: the schema of a resource, where apiVersion, kind and metadata are always visible. */
const struct cel_decl *cel_decl_new(struct arena *a, struct json schema, bool root);
const struct cel_field *cel_decl_field(const struct cel_decl *d, const char *key);
const struct cel_field *cel_decl_field_named(const struct cel_decl *d, struct str name);

/* The value of JSON under a schema, or an error value if it does not fit. */
struct cel_value cel_value_of_json(struct arena *a, struct json v, const struct cel_decl *d);

/* The name of a property in expressions: `a-b` is `a__dash__b`, `namespace` is `__namespace__`.
 * NULL if it cannot have one. */
const char *cel_name_escape(struct arena *a, const char *key);
/* The reverse. NULL if the name is not an escaped one. */
const char *cel_name_unescape(struct arena *a, struct str name);
/* Whether it is a reserved word, which no variable can have as its name. */
bool cel_name_is_reserved(struct str name);
