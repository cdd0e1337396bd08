#pragma once

/* Which objects a list, a watch or a deletecollection selects. */

#include "apiserver/core/options.h"

struct selection {
    const struct api_kind *kind;
    const char *ns;   /* NULL: all */
    const char *name; /* metadata.name= of the field selector; NULL: any */
    struct selector labels;
    struct selector fields; /* without the requirements that name and namespace cover */
    bool nothing;
    bool parses; /* objects must be parsed to decide */
};

/* Fails, with the answer set, for fields that are not selectable. */
bool select_init(
    struct api_call *c, const struct list_options *o, struct selection *ret) must_check;
/* a is used for parsing; returns false for a NULL object. */
bool select_matches(const struct selection *s, struct arena *a, const struct store_object *object);
