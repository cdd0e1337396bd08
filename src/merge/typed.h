#pragma once

/* What the API server does with a value and its schema: check it, say which fields it has, merge
 * another into it, compare two, take items out. Absent means that there is no value at all; null is
 * a value.
 *
 * Where the server has a habit that looks odd (what an emptied list turns into, how duplicates in
 * a stored list merge), that habit is kept: managedFields must come out the same.
 * Habits are marked as such in the code. */

#include "merge/fieldset.h"
#include "merge/schema.h"

enum typed_shape {
    SHAPE_SCALAR,
    SHAPE_LIST,
    SHAPE_MAP,
};
/* Which of a type's shapes counts for this value. */
enum typed_shape typed_shape(const struct schema_type *t, struct json v);
/* One value, merged and owned as a whole. */
static inline bool typed_is_atomic(const struct schema_type *t, enum typed_shape shape)
{
    return shape == SHAPE_SCALAR || (shape == SHAPE_LIST && t->list == LIST_ATOMIC) ||
           (shape == SHAPE_MAP && t->map == MAP_ATOMIC);
}

/* ---- items of sets and of lists that are maps ---- */

/* The items of a list with their path elements. */
struct typed_items {
    const struct json *items;
    const struct path_element *elements; /* of each item */
    const uint32_t *sorted;              /* indexes, by element and then by place */
    uint32_t count;
};
/* Fails on an item without keys, a set of maps, … ; the message has no path. */
bool typed_items(struct arena *a, const struct schema *s, const struct schema_type *t,
    struct json list, struct typed_items *ret, struct error *err) must_check;
/* How many items have this element (0, 1, or more: duplicates); *ret_first is the first of them. */
uint32_t typed_items_find(
    const struct typed_items *items, const struct path_element *e, uint32_t *ret_first);
/* The element of one item; defaults of absent keys are filled in. */
bool typed_item_element(struct arena *a, const struct schema *s, const struct schema_type *t,
    struct json item, struct path_element *ret, struct error *err) must_check;

/* What an absent key field means; absent if it has no default. */
struct json typed_key_default(const struct schema *s, const struct schema_key *key);

/* ---- operations on whole objects ---- */

/* Unknown fields, wrong types, items without keys; duplicate items unless they are allowed (they
 * are in stored objects, not in applied ones). The message has all of it, with paths. */
bool typed_validate(
    const struct schema *s, struct json v, bool allow_duplicates, struct error *err) must_check;
/* Only wrong types, in words for people: for an object that was stored under another version of its
 * schema. Fields that are not known, and duplicates, pass. */
bool typed_fits(const struct schema *s, struct json v, struct error *err) must_check;
/* The fields of a value that was validated. */
const struct fieldset *typed_set(struct arena *a, const struct schema *s, struct json v);
/* Whether this is that set, of a value without duplicates; much cheaper than making it. */
bool typed_set_is_of(
    struct arena *a, const struct schema *s, struct json v, const struct fieldset *set);
/* over wins; items of lists that both have follow over's order, others keep their place. Both were
 * validated; over without duplicates. */
struct json typed_merge(
    struct arena *a, const struct schema *s, struct json under, struct json over);

struct typed_comparison {
    const struct fieldset *removed;
    const struct fieldset *modified;
    const struct fieldset *added;
};
/* Either may be absent, not both. */
struct typed_comparison typed_compare(
    struct arena *a, const struct schema *s, struct json before, struct json after);

/* Without the members of the set. */
struct json typed_remove(
    struct arena *a, const struct schema *s, struct json v, const struct fieldset *set);

enum typed_extract {
    /* Items of lists keep the key fields that tell them apart, even if those are no members. A key
     * field that the schema would fill in again is not among them. */
    EXTRACT_KEYS = 1,
    /* A member that the value does not have is null in the result, instead of not there. */
    EXTRACT_GONE = 2,
};
/* Only the members of the set, in the order of v; flags of enum typed_extract. A container that is
 * a member without members below it becomes an empty one. Never absent. */
struct json typed_extract(struct arena *a, const struct schema *s, struct json v,
    const struct fieldset *set, unsigned flags);

/* ---- sets and schemas ---- */

/* The set with every declared field that has members below it as a member too. */
const struct fieldset *typed_set_with_fields(
    struct arena *a, const struct schema *s, const struct fieldset *set);
/* A set that was stored before a type became atomic: what lay below it is now the field itself. */
const struct fieldset *typed_set_reconciled(
    struct arena *a, const struct schema *s, const struct fieldset *set);
