#pragma once

/* Which objects a list, a watch or a deletecollection means. */

#include "apiserver/core/options.h"

struct selection {
    const struct api_kind *kind;
    const char *ns;   /* NULL: all */
    const char *name; /* metadata.name= of the field selector; NULL: any */
    struct selector labels;
    struct selector fields; /* without those that name and namespace answer */
    bool nothing;
    bool parses; /* an object must be parsed to know */
};

/* Fails, with the answer given, on fields that cannot be selected by. */
bool select_init(
    struct api_call *c, const struct list_options *o, struct selection *ret) must_check;
/* a is for the parsing; NULL object: false. */
bool select_matches(const struct selection *s, struct arena *a, const struct store_object *object);
