#pragma once

/* Continue tokens: the position and version at which a paged list continues. Opaque to clients, but
 * in the format of kube-apiserver, with its error messages. */

#include "apiserver/core/options.h"

struct list_place {
    const char *ns, *name; /* both NULL: the start */
};

const char *continue_print(
    struct arena *a, uint64_t version, struct list_place after, bool all_namespaces);
/* On failure the answer is set. */
bool continue_read(struct api_call *c, const struct list_options *o, uint64_t current,
    uint64_t *ret_version, bool *ret_exact, struct list_place *ret_after) must_check;
