#pragma once

/* --expose: the addresses of this machine at which node ports and Services of type LoadBalancer are
 * reached. */

#include "base/json.h"
#include "proxy/proxy.h"

struct expose {
    const char *addresses[PROXY_EXPOSED_MAX + 1]; /* up to a NULL */
    struct json list;                             /* the same as texts */
    const char *warning; /* other machines can reach them: to be said; NULL: they cannot */
};

/* text: "ADDRESS,…" */
bool expose_read(
    struct arena *a, const char *text, struct expose *ret, struct error *err) must_check;
