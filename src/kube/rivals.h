#pragma once

/* Detects other operators that work on the same objects: upstream's managers hold their own Leases,
 * in their own namespaces.
 *
 *   looking ── no such Lease is renewed ──> clear ── one is renewed later ──────> appeared
 *      └── every RIVALS_LOOK_MS ──┘            └── every RIVALS_REST_MS ──┘
 *
 * A Lease counts as renewed if it changes within its duration. Its times come from another
 * machine's clock, so only changes that we observe count. If the last renewal is more than ten
 * minutes old, there is no need to wait. */

#include "base/error.h"

struct env;
struct kube_client;
struct rivals;

#define RIVALS_LOOK_MS 2000
#define RIVALS_REST_MS 30000
#define RIVALS_NAMES_MAX 4

struct rivals_options {
    const char *names[RIVALS_NAMES_MAX]; /* of their Leases, NULL-terminated */
    const char *ns;                      /* the only namespace to search; NULL: all */
    /* Our own Lease may have the same name; it is not a rival. */
    const char *own_namespace, *own_name;
};

/* None of these callbacks may free the struct rivals. */
struct rivals_handlers {
    void (*clear)(void *ctx); /* called once */
    /* Called with NAMESPACE/NAME and holder of a renewed Lease, each time they change. */
    void (*waiting)(void *ctx, const char *who);
    void (*appeared)(void *ctx, const char *who); /* after clear(); the last call */
    /* The Leases could not be read. If the right is missing, clear() follows. */
    void (*trouble)(void *ctx, const struct error *err);
};

struct rivals *rivals_new(struct kube_client *client, const struct env *env,
    const struct rivals_options *options, const struct rivals_handlers *handlers, void *ctx);
void rivals_free(struct rivals *r); /* NULL is allowed */
void rivals_start(struct rivals *r);
