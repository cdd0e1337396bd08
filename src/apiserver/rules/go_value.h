#pragma once

/* Values as the real server's own Go types are printed in its messages: with the names of their
 * fields in the order of the struct, all of them, what is absent as null or zero.
 *
 *   go_value_text(a, "*SuccessPolicy", policy, …)     {"Rules":[{"SucceededIndexes":null,…}]}
 *
 * The types are rows of go_types.c. */

#include "base/json.h"

/* type: with its mark, as below: "*SuccessPolicy", ".PodSpec".
 * given: the same value as the client sent it, in which lists and maps that are empty are still
 * there; absent: not known. */
const char *go_value_text(struct arena *a, const char *type, struct json v, struct json given);
/* What differs between two, as a unified diff of their lines; "": nothing does. */
const char *go_value_diff(
    struct arena *a, const char *type, struct json old, struct json new, struct json given);
/* A value that has no type of its own, as encoding/json prints it: <, > and & are escaped. */
const char *go_json_text(struct arena *a, struct json v);
/* A text as %q prints it. */
const char *go_quoted(struct arena *a, const char *text);

/* One type. Fields are separated by spaces; each is its Go name, "=" and its name in JSON where
 * that does not follow from the other ("^" in front: it stands beside the struct, not in it), and
 * what it is:
 *
 *   $ a text, # a number, ? a boolean, % a quantity: zero if absent
 *   .T a struct, *T a pointer to one, [T a list of them
 *   nothing: whatever stands there, or null
 *
 * +T: the fields of T stand here, too. A type that begins with "~" is printed by its names in JSON,
 * and without what is empty if nothing is said of it. */
struct go_type {
    const char *name;
    const char *fields;
};

const struct go_type *go_type_find(const char *name);
