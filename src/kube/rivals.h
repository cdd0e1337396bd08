#pragma once

/* Other operators that work on the same objects: upstream's managers hold Leases of their own, in
 * namespaces of their own.
 *
 *   looking ── no such Lease is renewed ──> clear ── one is renewed after all ──> appeared
 *      └── every RIVALS_LOOK_MS ──┘            └── every RIVALS_REST_MS ──┘
 *
 * A Lease is renewed while it changes: its times are by another machine's clock, so only a change
 * that we see counts, for the Lease's own duration. A renewal more than ten minutes old needs no
 * waiting. */

#include "base/error.h"

struct env;
struct kube_client;
struct rivals;

#define RIVALS_LOOK_MS 2000
#define RIVALS_REST_MS 30000
#define RIVALS_NAMES_MAX 4

struct rivals_options {
    const char *names[RIVALS_NAMES_MAX]; /* of their Leases; NULL: no more */
    const char *ns;                      /* look only there; NULL: everywhere */
    /* Our own Lease may have the same name; it is no rival. */
    const char *own_namespace, *own_name;
};

/* None of these may free it. */
struct rivals_handlers {
    void (*clear)(void *ctx); /* once */
    /* NAMESPACE/NAME of a renewed Lease and its holder; when that changes. */
    void (*waiting)(void *ctx, const char *who);
    void (*appeared)(void *ctx, const char *who); /* after clear; the last call */
    /* Could not look. If that is for lack of rights, clear() follows. */
    void (*trouble)(void *ctx, const struct error *err);
};

struct rivals *rivals_new(struct kube_client *client, const struct env *env,
    const struct rivals_options *options, const struct rivals_handlers *handlers, void *ctx);
void rivals_free(struct rivals *r); /* NULL is fine */
void rivals_start(struct rivals *r);
