#pragma once

/* Types that fit each other, with parameters that are bound on the way: how the checker finds out
 * what `[]` is a list of. The rules are cel-go's. */

#include "cel/value.h"

struct cel_binding {
    const struct cel_type *type; /* NULL: free */
};

struct cel_types {
    struct arena *arena;
    const struct cel_decl *self; /* names of objects begin here */
    struct cel_binding *bindings;
    unsigned count, size;
    /* What was bound when, to take it back. */
    struct cel_undo {
        unsigned param;
        const struct cel_type *was;
    } * undo;
    unsigned undo_count, undo_size;
};

/* Makes parameters up to this number known, and returns the first of them. */
unsigned cel_types_more(struct cel_types *ts, unsigned count);
const struct cel_type *cel_types_new_param(struct cel_types *ts);
/* Binds what has to be bound if they fit; changes nothing if not. */
bool cel_type_fits(struct cel_types *ts, const struct cel_type *a, const struct cel_type *b);
bool cel_type_fits_all(struct cel_types *ts, const struct cel_type *const *a,
    const struct cel_type *const *b, size_t count);
bool cel_type_same(const struct cel_type *a, const struct cel_type *b);
/* The more general one of two that fit. */
const struct cel_type *cel_type_join(const struct cel_type *a, const struct cel_type *b);
/* With what parameters are bound to; free ones stay, or become dyn. */
const struct cel_type *cel_type_resolve(
    struct cel_types *ts, const struct cel_type *t, bool free_to_dyn);
/* "list(int)", as messages have it. */
const char *cel_type_text(const struct cel_types *ts, const struct cel_type *t);
