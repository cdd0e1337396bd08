#pragma once

/* The API server's operations on a value and its schema: validate it, compute its fields, merge
 * another into it, compare two, remove items. Absent means that there is no value at all; null is a
 * value.
 *
 * Quirks of the server (what an emptied list turns into, how duplicates in a stored list merge) are
 * kept, because managedFields must come out the same. They are marked as such in the code. */

#include "merge/fieldset.h"
#include "merge/schema.h"

enum typed_shape {
    SHAPE_SCALAR,
    SHAPE_LIST,
    SHAPE_MAP,
};
/* Which of a type's shapes applies to this value. */
enum typed_shape typed_shape(const struct schema_type *t, struct json v);
/* Merged and owned as a whole. */
static inline bool typed_is_atomic(const struct schema_type *t, enum typed_shape shape)
{
    return shape == SHAPE_SCALAR || (shape == SHAPE_LIST && t->list == LIST_ATOMIC) ||
           (shape == SHAPE_MAP && t->map == MAP_ATOMIC);
}

/* ---- items of sets and of keyed lists ---- */

/* The items of a list with their path elements. */
struct typed_items {
    const struct json *items;
    const struct path_element *elements; /* of each item */
    const uint32_t *sorted;              /* indexes, by element and then by place */
    uint32_t count;
};
/* Fails on an item without keys, a set of maps, …; the message has no path. */
bool typed_items(struct arena *a, const struct schema *s, const struct schema_type *t,
    struct json list, struct typed_items *ret, struct error *err) must_check;
/* The number of items with this element (0, 1, or more if there are duplicates); *ret_first is the
 * first of them. */
uint32_t typed_items_find(
    const struct typed_items *items, const struct path_element *e, uint32_t *ret_first);
/* The element of one item; defaults of absent keys are filled in. */
bool typed_item_element(struct arena *a, const struct schema *s, const struct schema_type *t,
    struct json item, struct path_element *ret, struct error *err) must_check;

/* The default of an absent key field; absent if it has none. */
struct json typed_key_default(const struct schema *s, const struct schema_key *key);

/* ---- operations on whole objects ---- */

/* Finds unknown fields, wrong types, items without keys, and duplicate items unless they are
 * allowed (in stored objects, not in applied ones). The message lists all of them, with paths. */
bool typed_validate(
    const struct schema *s, struct json v, bool allow_duplicates, struct error *err) must_check;
/* Finds only wrong types, with readable messages: for an object that was stored under another
 * version of its schema. Accepts unknown fields and duplicates. */
bool typed_fits(const struct schema *s, struct json v, struct error *err) must_check;
/* The fields of a validated value. */
const struct fieldset *typed_set(struct arena *a, const struct schema *s, struct json v);
/* Whether typed_set() of a value without duplicates is this set; much cheaper than computing it. */
bool typed_set_is_of(
    struct arena *a, const struct schema *s, struct json v, const struct fieldset *set);
/* over wins. Items of lists that both have are in over's order, and others keep their position.
 * Both must be validated, and over must have no duplicates. */
struct json typed_merge(
    struct arena *a, const struct schema *s, struct json under, struct json over);

struct typed_comparison {
    const struct fieldset *removed;
    const struct fieldset *modified;
    const struct fieldset *added;
};
/* One of the two may be absent, not both. */
struct typed_comparison typed_compare(
    struct arena *a, const struct schema *s, struct json before, struct json after);

/* The value without the members of the set. */
struct json typed_remove(
    struct arena *a, const struct schema *s, struct json v, const struct fieldset *set);

enum typed_extract {
    /* List items keep the key fields that identify them, even if those are not members. A key field
     * that the schema would default is left out. */
    EXTRACT_KEYS = 1,
    /* A member that is missing in the value becomes null in the result. */
    EXTRACT_GONE = 2,
};
/* Only the members of the set, in the order of v; flags of enum typed_extract. A container that is
 * a member without members below it becomes empty. Never absent. */
struct json typed_extract(struct arena *a, const struct schema *s, struct json v,
    const struct fieldset *set, unsigned flags);

/* ---- sets and schemas ---- */

/* The set plus every declared field that has members below it. */
const struct fieldset *typed_set_with_fields(
    struct arena *a, const struct schema *s, const struct fieldset *set);
/* For a set that was stored before a type became atomic: members below it are replaced by the field
 * itself. */
const struct fieldset *typed_set_reconciled(
    struct arena *a, const struct schema *s, const struct fieldset *set);
