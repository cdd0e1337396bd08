#pragma once

/* Values and types of the Common Expression Language.
 *
 * A value is 24 bytes and immutable; larger data lives in the arena of the evaluation. Lists and
 * maps are either literal (items, entries) or views of JSON under a schema, whose parts are
 * converted when they are accessed: a rule pays only for what it reads.
 *
 * Appending to a list gives a new list that shares the memory of the old one if there is room after
 * it, so building a list of n items by n additions costs n, not n². */

#include "base/json.h"

struct cel_decl;
struct cel_eval;

enum cel_kind {
    CEL_DYN, /* a type only: anything */
    CEL_ERROR,
    CEL_PARAM, /* a type only: a variable of the type checker */
    CEL_NULL,
    CEL_BOOL,
    CEL_INT,
    CEL_UINT,
    CEL_DOUBLE,
    CEL_STRING,
    CEL_BYTES,
    CEL_TIMESTAMP,
    CEL_DURATION,
    CEL_LIST,
    CEL_MAP,
    CEL_OBJECT, /* a type only: at run time a map */
    CEL_TYPE,
    CEL_OPTIONAL,
    CEL_QUANTITY,
    CEL_URL,
    CEL_IP,
    CEL_CIDR,
    CEL_FORMAT,
    CEL_SEMVER,
    CEL_UNKNOWN, /* a value only: JSON without a schema, which can only be compared */
    CEL_KINDS,
};

struct cel_type {
    enum cel_kind kind;
    unsigned param;               /* CEL_PARAM: which */
    const struct cel_decl *decl;  /* CEL_OBJECT */
    const struct cel_type *of[2]; /* of list, optional, type: the first; map: key and value */
    const char *name;             /* for messages; NULL: derived from kind and parts */
};

/* The type of a kind that has no parameters. */
const struct cel_type *cel_type_of(enum cel_kind kind);
const struct cel_type *cel_type_new(struct arena *a, enum cel_kind kind,
    const struct cel_type *first, const struct cel_type *second);
/* "list", "kubernetes.Quantity", …: the name without parameters. */
const char *cel_kind_name(enum cel_kind kind);

struct cel_instant {
    int64_t seconds; /* since 1970 */
    int32_t nanos;   /* 0 to 999,999,999 */
};

struct cel_value {
    enum cel_kind kind;
    union {
        bool boolean;
        int64_t integer; /* also nanoseconds of a duration */
        uint64_t natural;
        double real;
        struct str text; /* string, bytes; the message of an error */
        struct cel_instant instant;
        const struct cel_list *list;
        const struct cel_map *map;
        const struct cel_type *type;
        const struct cel_value *optional; /* NULL: none */
        const struct quantity *quantity;
        const struct cel_url *url;
        const struct cel_ip *ip; /* also of a CIDR */
        const struct cel_format *format;
        const struct cel_semver *semver;
        const struct json *json; /* CEL_UNKNOWN */
    };
};

struct cel_items {
    struct cel_value *at;
    uint32_t used, size;
};

struct cel_list {
    uint32_t count;
    struct cel_items *items; /* NULL: a view */
    struct json json;
    const struct cel_decl *decl; /* of the list itself; NULL: a literal */
};

struct cel_entry {
    struct cel_value key, value;
};

struct cel_entries {
    struct cel_entry *at;
    uint32_t used, size;
    uint32_t *index; /* 2 × size slots: number of an entry + 1, by the hash of its key */
};

struct cel_map {
    uint32_t count;
    struct cel_entries *entries; /* NULL: a view */
    struct json json;
    const struct cel_decl *decl;
};

/* ---- construction ---- */

static inline struct cel_value cel_null(void)
{
    return (struct cel_value){ .kind = CEL_NULL };
}
static inline struct cel_value cel_bool(bool b)
{
    return (struct cel_value){ .kind = CEL_BOOL, .boolean = b };
}
static inline struct cel_value cel_int(int64_t i)
{
    return (struct cel_value){ .kind = CEL_INT, .integer = i };
}
static inline struct cel_value cel_uint(uint64_t u)
{
    return (struct cel_value){ .kind = CEL_UINT, .natural = u };
}
static inline struct cel_value cel_double(double d)
{
    return (struct cel_value){ .kind = CEL_DOUBLE, .real = d };
}
static inline struct cel_value cel_string(struct str s)
{
    return (struct cel_value){ .kind = CEL_STRING, .text = s };
}
static inline struct cel_value cel_bytes(struct str s)
{
    return (struct cel_value){ .kind = CEL_BYTES, .text = s };
}
static inline struct cel_value cel_duration(int64_t ns)
{
    return (struct cel_value){ .kind = CEL_DURATION, .integer = ns };
}
static inline struct cel_value cel_timestamp(struct cel_instant t)
{
    return (struct cel_value){ .kind = CEL_TIMESTAMP, .instant = t };
}
static inline struct cel_value cel_type_value(const struct cel_type *t)
{
    return (struct cel_value){ .kind = CEL_TYPE, .type = t };
}
struct cel_value cel_text(const char *text);                                   /* borrowed */
struct cel_value cel_optional(struct arena *a, const struct cel_value *value); /* NULL: none */

/* ---- lists and maps ---- */

struct cel_value cel_list_new(struct arena *a, const struct cel_value *items, size_t count);
/* Respects a schema's list types: sets are united, maps replace items by key. */
struct cel_value cel_list_add(struct cel_eval *e, struct cel_value a, struct cel_value b);
struct cel_value cel_list_append(struct arena *a, struct cel_value list, struct cel_value item);
/* An error value if the JSON does not fit its schema. */
struct cel_value cel_list_get(struct cel_eval *e, struct cel_value list, size_t index);

struct cel_value cel_map_new(struct arena *a);
/* The key must not be in the map yet. */
struct cel_value cel_map_insert(
    struct arena *a, struct cel_value map, struct cel_value key, struct cel_value value);
/* The slot of a key's value in a literal map that is not shared yet; NULL if there is none. */
struct cel_value *cel_map_slot(struct cel_eval *e, struct cel_value map, struct cel_value key);
/* False if the key is missing. *ret may be an error value: a key of the wrong type, or JSON that
 * does not fit. */
bool cel_map_find(
    struct cel_eval *e, struct cel_value map, struct cel_value key, struct cel_value *ret);
/* Walks the keys: *position starts at 0. Skips members that the schema does not define. */
bool cel_map_next(struct cel_eval *e, struct cel_value map, size_t *position,
    struct cel_value *ret_key, struct cel_value *ret_value);

/* ---- access ---- */

/* The same as size(): characters, bytes, items, entries; 1 for other types. */
uint64_t cel_size(struct cel_value v);
/* A bool, or an error if the values cannot be compared. */
struct cel_value cel_equal(struct cel_eval *e, struct cel_value a, struct cel_value b);
bool cel_is_true(struct cel_value v);
/* Sets *ret to -1, 0 or 1. False if these cannot be ordered. */
bool cel_order(struct cel_value a, struct cel_value b, int *ret);
/* Like Go's %v, for messages. */
const char *cel_show(struct arena *a, struct cel_value v);
/* Like Go's %q. */
const char *cel_show_quoted(struct arena *a, struct str text);
/* Like Go's strconv.FormatFloat: the shortest text that reads back the same. format is 'g' or
 * 'f'. */
const char *cel_show_double(struct arena *a, double d, char format);
/* The name of a value's type in `no such overload: f(int, map)`. */
static inline const char *cel_value_type_name(struct cel_value v)
{
    return cel_kind_name(v.kind);
}
