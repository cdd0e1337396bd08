#pragma once

/* Field paths, and sets of them: which manager owns which field.
 *
 * A path is a list of elements: a member's name, the key of a list item, the value of a set's item,
 * an index. As text, in the format of the API server's conflicts:
 *   .spec.template.spec.containers[name="x"].ports[containerPort=80,protocol="TCP"].hostPort
 *   .metadata.finalizers[="a/b"]
 *
 * A set is a tree of elements in the API server's order. An entry may be a member of the set, have
 * members below it, or both; an entry that is neither does not exist. Sets live in arenas and are
 * immutable, so they share their parts. The empty set is a set; NULL is not.
 *
 * As JSON it is the API server's FieldsV1:
 *   {"f:spec":{"f:ports":{"k:{\"port\":80}":{".":{},"f:port":{}}}}} */

#include "base/json.h"

struct buf;

enum path_kind { /* in the order of the server */
    PATH_FIELD = 0,
    PATH_KEY,
    PATH_VALUE,
    PATH_INDEX,
};

struct path_element {
    uint8_t kind;      /* enum path_kind */
    struct json value; /* name, map of key fields, value, index */
};

struct field_path {
    const struct path_element *elements;
    size_t count;
};

/* Deeper than any JSON value in this program. */
#define FIELD_PATH_DEPTH_MAX (JSON_DEPTH_MAX + 2)

int path_element_compare(const struct path_element *a, const struct path_element *b);
static inline struct path_element path_field(const char *name)
{
    return (struct path_element){ .kind = PATH_FIELD, .value = json_str(name) };
}

/* The readable text. It can be parsed, for paths that a user types; the leading dot is optional. */
void path_element_print(struct buf *b, const struct path_element *e);
char *field_path_text(struct arena *a, const struct field_path *path);
bool field_path_parse(
    struct arena *a, const char *text, struct field_path *ret, struct error *err) must_check;

/* ---- sets ---- */

struct fieldset_entry {
    struct path_element element;
    bool member;
    const struct fieldset *below; /* NULL: nothing below */
};

struct fieldset {
    uint32_t count;
    const struct fieldset_entry *entries; /* sorted, each element once */
};

const struct fieldset *fieldset_empty(void);
static inline bool fieldset_is_empty(const struct fieldset *s)
{
    return s->count == 0;
}
size_t fieldset_size(const struct fieldset *s); /* members at all levels */
bool fieldset_equal(const struct fieldset *a, const struct fieldset *b);

const struct fieldset *fieldset_union(
    struct arena *a, const struct fieldset *x, const struct fieldset *y);
const struct fieldset *fieldset_intersection(
    struct arena *a, const struct fieldset *x, const struct fieldset *y);
/* Members of x that are not members of y. Members below a member of y stay. */
const struct fieldset *fieldset_difference(
    struct arena *a, const struct fieldset *x, const struct fieldset *y);
/* The same, but members below a member of y are removed too. */
const struct fieldset *fieldset_difference_below(
    struct arena *a, const struct fieldset *x, const struct fieldset *y);
/* Only the members that have no member below them. */
const struct fieldset *fieldset_leaves(struct arena *a, const struct fieldset *s);

const struct fieldset_entry *fieldset_entry(
    const struct fieldset *s, const struct path_element *e); /* NULL: none */
bool fieldset_has(const struct fieldset *s, const struct field_path *path);
/* A set of one path, or of several, from their texts (asserts that they parse). */
const struct fieldset *fieldset_of_path(struct arena *a, const struct field_path *path);
const struct fieldset *fieldset_of_texts(struct arena *a, const char *const *texts, size_t count);

/* Copies of all members' paths; those of one level precede those below it. */
const struct field_path *fieldset_paths(
    struct arena *a, const struct fieldset *s, size_t *ret_count);

/* ---- building: elements may come in any order, and more than once ---- */

struct fieldset_builder {
    struct arena *arena;
    struct fieldset_entry *entries;
    uint32_t count;
    uint32_t size;
};
void fieldset_builder_init(struct fieldset_builder *b, struct arena *a);
/* below may be NULL or empty. An element that is no member and has none below it is dropped. */
void fieldset_add(
    struct fieldset_builder *b, struct path_element e, bool member, const struct fieldset *below);
const struct fieldset *fieldset_end(struct fieldset_builder *b);

/* ---- FieldsV1 ---- */

/* Elements of an unknown kind are dropped, as the server does. */
bool fieldset_from_json(struct arena *a, struct json fields_v1, const struct fieldset **ret,
    struct error *err) must_check;
struct json fieldset_to_json(struct arena *a, const struct fieldset *s);
/* Prints FieldsV1 with the server's own order of elements. */
void fieldset_print(struct buf *b, const struct fieldset *s);
