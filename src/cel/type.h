#pragma once

/* Unification of types with parameters, which are bound on the way: this is how the checker infers
 * the element type of `[]`. The rules are cel-go's. */

#include "cel/value.h"

struct cel_binding {
    const struct cel_type *type; /* NULL: free */
};

struct cel_types {
    struct arena *arena;
    const struct cel_decl *self; /* the root for names of object types */
    struct cel_binding *bindings;
    unsigned count, size;
    /* A log of bindings, to undo them. */
    struct cel_undo {
        unsigned param;
        const struct cel_type *was;
    } * undo;
    unsigned undo_count, undo_size;
};

/* Adds this many parameters, and returns the first of them. */
unsigned cel_types_more(struct cel_types *ts, unsigned count);
const struct cel_type *cel_types_new_param(struct cel_types *ts);
/* Binds parameters as needed if the types fit; otherwise changes nothing. */
bool cel_type_fits(struct cel_types *ts, const struct cel_type *a, const struct cel_type *b);
bool cel_type_fits_all(struct cel_types *ts, const struct cel_type *const *a,
    const struct cel_type *const *b, size_t count);
bool cel_type_same(const struct cel_type *a, const struct cel_type *b);
/* The more general of two types that fit. */
const struct cel_type *cel_type_join(const struct cel_type *a, const struct cel_type *b);
/* Replaces bound parameters by their types; free ones stay, or become dyn. */
const struct cel_type *cel_type_resolve(
    struct cel_types *ts, const struct cel_type *t, bool free_to_dyn);
/* "list(int)", as in messages. */
const char *cel_type_text(const struct cel_types *ts, const struct cel_type *t);
