#pragma once

/* The internals of a compiled schema, for structural*.c only. There are many schemas and they stay
 * in memory, and most parts of them have only a type. So a node is small, and its restrictions are
 * in a separate list. */

#include "apiserver/custom/structural.h"
#include "apiserver/rules/formats.h"
#include "apiserver/rules/patterns.h"

enum structural_type {
    TYPE_ANY = 0,
    TYPE_OBJECT,
    TYPE_ARRAY,
    TYPE_STRING,
    TYPE_INTEGER,
    TYPE_NUMBER,
    TYPE_BOOLEAN,
    TYPE_INT_OR_STRING,
};
extern const char *const structural_type_names[];

enum structural_list {
    STRUCTURAL_LIST_DEFAULT = 0,
    STRUCTURAL_LIST_ATOMIC,
    STRUCTURAL_LIST_SET,
    STRUCTURAL_LIST_MAP,
};

/* In the order in which they are checked. */
enum structural_rule_type {
    RULE_ANY_OF,
    RULE_ONE_OF,
    RULE_ALL_OF,
    RULE_NOT,
    RULE_MAX_LENGTH,
    RULE_MIN_LENGTH,
    RULE_PATTERN,
    RULE_FORMAT,
    RULE_MULTIPLE_OF,
    RULE_MINIMUM,
    RULE_MAXIMUM,
    RULE_MIN_ITEMS,
    RULE_MAX_ITEMS,
    RULE_UNIQUE_ITEMS,
    RULE_ENUM,
    RULE_MIN_PROPERTIES,
    RULE_MAX_PROPERTIES,
    RULE_REQUIRED,
};

struct structural_rule {
    uint8_t type;   /* enum structural_rule_type */
    bool exclusive; /* for minimum and maximum */
    uint8_t format; /* enum format, for RULE_FORMAT; the text is the format as written */
    uint32_t count; /* number of nodes and names */
    union {
        int64_t limit;
        double number;
        const char *text;
        struct pattern *pattern;
        const char *const *names;
        const struct structural *const *nodes;
        const struct json *values; /* a list */
    };
};

struct structural_field {
    const char *name;
    const struct structural *node;
};

struct structural {
    uint8_t type;
    uint8_t list;
    bool nullable : 1;
    bool preserve : 1;
    bool embedded : 1;
    bool additional_any : 1; /* additionalProperties: true */
    bool defaults : 1;       /* this or a part of it has a default */
    bool special : 1;        /* the same for embedded resources and lists with a type */
    bool embeds : 1;         /* the same for embedded resources only */
    uint8_t rule_count;
    uint8_t key_count;
    uint16_t field_count;
    const struct structural_field *fields; /* by name */
    const struct structural *items;
    const struct structural *additional; /* additionalProperties: a schema */
    const struct json *fallback;         /* the default; NULL: none */
    const struct structural_rule *rules; /* by type */
    const char *const *keys;             /* for STRUCTURAL_LIST_MAP */
};

const struct structural *structural_field(const struct structural *s, const char *name);

/* The position of a value; converted to a path only for a message. */
struct structural_place {
    const struct structural_place *up;
    const char *key; /* NULL: an index */
    size_t index;
    bool quoted; /* a map key: some messages write it in brackets, others after a dot */
};
/* "spec.list[0].name"; brackets: map keys as [key], not .key. Empty for the root. */
const char *structural_path(struct arena *a, const struct structural_place *p, bool brackets);

/* ---- the parts of structural_check() ---- */

/* The part of kube-openapi, in structural_check.c. */
void structural_check_schema(const struct structural *s, struct arena *a, struct json value,
    struct json old, const char *path, struct field_errors *errors);
/* Lists of type set and map have no duplicates, in structural_lists.c. */
void structural_check_lists(const struct structural *s, struct arena *a, struct json value,
    const char *path, struct field_errors *errors);
