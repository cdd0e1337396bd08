#pragma once

/* How the fields of a kind behave when several clients write them: which lists are sets, which are
 * maps by key, which values are atomic, and which texts are really numbers (quantities, …).
 *
 * The built-in kinds are a generated table of constants (schema_builtin.c, made by tools/schema-gen
 * from a kube-apiserver's OpenAPI). It uses indexes instead of pointers, so it stays in the page
 * cache and needs no relocation. Custom kinds are compiled from their CRD into the same form. The
 * schema of an unknown kind is deduced from its values, as in the API server: maps are granular,
 * lists are atomic.
 *
 * A type may have several shapes at once (an int-or-string, a free-form value); the value decides
 * which of them applies. */

#include "base/json.h"

/* The values that a scalar allows. */
enum schema_scalar {
    SCALAR_NONE = 0, /* not a scalar */
    SCALAR_ANY,
    SCALAR_STRING,
    SCALAR_NUMBER,
    SCALAR_BOOL,
};

/* The meaning of a scalar. Different texts may mean the same. */
enum schema_format {
    FORMAT_PLAIN = 0,
    FORMAT_QUANTITY,      /* 1000m is 1 */
    FORMAT_INT_OR_STRING, /* compared as is: 80 is not "80" */
    FORMAT_TIME,          /* RFC 3339, seconds */
    FORMAT_MICRO_TIME,    /* RFC 3339 with microseconds */
    FORMAT_BYTES,         /* base64 */
    FORMAT_DURATION,      /* 60s is 1m0s */
};

enum schema_list {
    LIST_NONE = 0, /* not a list */
    LIST_ATOMIC,
    LIST_SET, /* items are scalars */
    LIST_MAP, /* items are maps, identified by key fields */
};

enum schema_map {
    MAP_NONE = 0, /* not a map */
    MAP_GRANULAR,
    MAP_ATOMIC,
};

#define SCHEMA_NO_TYPE ((uint16_t)0xffff)

struct schema_type {
    uint8_t scalar; /* enum schema_scalar */
    uint8_t format; /* enum schema_format */
    uint8_t list;   /* enum schema_list */
    uint8_t map;    /* enum schema_map */
    uint16_t item;  /* type of the list's items */
    /* Type of undeclared members; SCHEMA_NO_TYPE: none are allowed. */
    uint16_t member;
    uint32_t fields; /* the first declared field, sorted by name */
    uint16_t field_count;
    uint16_t key_count;
    uint32_t keys; /* the first key field of a LIST_MAP, sorted by name */
    uint32_t go;   /* offset into names: the Go struct of a built-in kind; 0: none */
};

/* The value of this member in an empty object of the server: it is written in Go, where a struct
 * always exists. This decides who owns a struct when a client sets its first field. */
enum schema_filled {
    FILLED_NOT = 0,
    FILLED_STRUCT, /* {} with its own filled members */
    FILLED_NULL,
    FILLED_TEXT,   /* "" */
    FILLED_NUMBER, /* 0 */
    FILLED_BOOL,   /* false */
};

enum schema_flag {
    SCHEMA_OMIT = 1 << 0,         /* Go omits it when it is zero: "", 0, false, [], {} */
    SCHEMA_PATCH_MERGE = 1 << 1,  /* strategic patches merge this list */
    SCHEMA_PATCH_RETAIN = 1 << 2, /* and may list the keys to keep ($retainKeys) */
};

struct schema_field {
    uint32_t name;  /* offset into names */
    uint16_t type;  /* index into types */
    uint8_t filled; /* enum schema_filled */
    uint8_t flags;  /* enum schema_flag */
    /* Offset into names: the name of its type in Go's decoder ("[]v1.Container", "int32"), prefixed
     * with the embedded struct that contains it ("VolumeSource:v1.HostPathVolumeSource"); 0: not
     * known. */
    uint32_t go;
    uint32_t patch_key; /* offset into names: the key of a merged list of maps; 0: scalars */
};

struct schema_key {
    uint32_t name; /* offset into names */
    /* Offset into names: the default, prefixed with its type (sTCP, n0, btrue); 0: none. */
    uint32_t fallback;
};

/* The types of one or many kinds; offset 0 of names is the empty text. */
struct schema_table {
    const struct schema_type *types;
    const struct schema_field *fields;
    const struct schema_key *keys;
    const char *names;
    uint32_t type_count;
    uint32_t field_count;
    uint32_t key_count;
    uint32_t name_bytes;
};

struct schema {
    struct schema_table table;
    uint16_t root;
    bool deduced; /* the kind is unknown, so the schema is a guess about the server */
};

/* ---- the kinds of a process ---- */

struct schemas;

struct schemas *schemas_new(void);
void schemas_free(struct schemas *s);
/* Never NULL: the schema of a kind that is neither built in nor added is deduced. The pointer is
 * valid until schemas_free() or until the same kind is added again. group is "" for the core
 * kinds. */
const struct schema *schema_of(
    struct schemas *s, const char *group, const char *version, const char *kind);
/* The same from an object's apiVersion and kind. */
const struct schema *schema_of_object(struct schemas *s, struct json object);
/* Adds all served versions of a CustomResourceDefinition object; they replace earlier versions of
 * the kind. Pointers from schema_of() for it become invalid. */
bool schemas_add_crd(struct schemas *s, struct json crd, struct error *err) must_check;
void schemas_remove(struct schemas *s, const char *group, const char *kind);

/* ---- one schema ---- */

/* From spec.versions[].schema.openAPIV3Schema of a CRD. Lives in the arena. Fails on what the API
 * server would refuse too: list type map without keys, keys that are not fields, …. If absent, the
 * schema is deduced. */
bool schema_from_crd(struct arena *a, struct json open_api_v3_schema, const struct schema **ret,
    struct error *err) must_check;
const struct schema *schema_deduced(void);

/* ---- walking ---- */

static inline const struct schema_type *schema_type(const struct schema *s, uint16_t type)
{
    assert(type < s->table.type_count);
    return &s->table.types[type];
}
static inline const char *schema_name(const struct schema *s, uint32_t offset)
{
    return s->table.names + offset;
}
/* strcmp(), inlined because most comparisons end at the first character. */
static inline int schema_compare_names(const char *x, const char *y)
{
    int order = (unsigned char)*x - (unsigned char)*y;
    return order ? order : strcmp(x, y);
}
/* The declared field of this name, or NULL. */
const struct schema_field *schema_field(
    const struct schema *s, const struct schema_type *t, const char *name);
/* The type of a member, declared or not; SCHEMA_NO_TYPE if the schema does not allow it. */
uint16_t schema_member_type(const struct schema *s, const struct schema_type *t, const char *name);
/* The object that a create starts from: empty for custom kinds, see enum schema_filled. */
struct json schema_empty_object(struct arena *a, const struct schema *s);

/* ---- the table of built-in kinds ---- */

struct schema_kind {
    uint32_t name; /* offset into names: "apps/v1/Deployment", "/v1/Pod" */
    uint32_t root; /* index into types */
};
extern const struct schema_table schema_builtin;
extern const struct schema_kind schema_builtin_kinds[]; /* sorted by name */
extern const uint32_t schema_builtin_kind_count;
/* Types that need no declaration, by index. */
#define SCHEMA_TYPE_DEDUCED ((uint16_t)0) /* maps granular, lists atomic */
#define SCHEMA_TYPE_ATOMIC ((uint16_t)1)  /* anything, as one value */
