#pragma once

/* A compiled schema from the inside; for structural*.c alone. Schemas are many and stay in memory,
 * most of their parts have no more than a type: so a node is small, and what restricts its values
 * is a list behind it. */

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
    bool exclusive; /* of minimum and maximum */
    uint8_t format; /* enum format of RULE_FORMAT; the text is how it was written */
    uint32_t count; /* of nodes and names */
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
    bool defaults : 1;       /* it or something below it has a default */
    bool special : 1;        /* so for embedded resources and lists with a type */
    bool embeds : 1;         /* and for embedded resources alone */
    uint8_t rule_count;
    uint8_t key_count;
    uint16_t field_count;
    const struct structural_field *fields; /* by name */
    const struct structural *items;
    const struct structural *additional; /* additionalProperties: a schema */
    const struct json *fallback;         /* the default; NULL: none */
    const struct structural_rule *rules; /* by type */
    const char *const *keys;             /* of STRUCTURAL_LIST_MAP */
};

const struct structural *structural_field(const struct structural *s, const char *name);

/* Where a value stands; put together only when there is something to say about it. */
struct structural_place {
    const struct structural_place *up;
    const char *key; /* NULL: an index */
    size_t index;
    bool quoted; /* a key of a map: some messages write it in brackets, others begin with a dot */
};
/* "spec.list[0].name"; brackets: keys of maps as [key], not .key. Empty at the root. */
const char *structural_path(struct arena *a, const struct structural_place *p, bool brackets);

/* ---- the parts of structural_check() ---- */

/* kube-openapi's part, in structural_check.c. */
void structural_check_schema(const struct structural *s, struct arena *a, struct json value,
    struct json old, const char *path, struct field_errors *errors);
/* Lists that are sets or maps hold nothing twice, in structural_lists.c. */
void structural_check_lists(const struct structural *s, struct arena *a, struct json value,
    const char *path, struct field_errors *errors);
