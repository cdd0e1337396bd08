#pragma once

/* continue tokens: where a list that is read in pieces goes on, and at which version. Opaque to
 * clients, but made as kube-apiserver makes them, and refused in its words. */

#include "apiserver/core/options.h"

struct list_place {
    const char *ns, *name; /* both NULL: the beginning */
};

const char *continue_print(
    struct arena *a, uint64_t version, struct list_place after, bool all_namespaces);
/* Fails with the answer given. */
bool continue_read(struct api_call *c, const struct list_options *o, uint64_t current,
    uint64_t *ret_version, bool *ret_exact, struct list_place *ret_after) must_check;
