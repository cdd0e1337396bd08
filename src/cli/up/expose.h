#pragma once

/* --expose: the addresses of this machine for node ports and Services of type LoadBalancer. */

#include "base/json.h"
#include "proxy/proxy.h"

struct expose {
    const char *addresses[PROXY_EXPOSED_MAX + 1]; /* ended by NULL */
    struct json list;                             /* the same as strings */
    const char *warning; /* to be printed if other machines can reach them; else NULL */
};

/* text: "ADDRESS,…" */
bool expose_read(
    struct arena *a, const char *text, struct expose *ret, struct error *err) must_check;
