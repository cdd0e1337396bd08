#pragma once

/* Copies of all objects of some kinds, by namespace and name, kept true by reflectors. */

#include "base/json.h"

struct env;
struct kube_transport;
struct objects;
struct resource;

/* changed() is called for each object that came, changed or went (initial load included) with what
 * it is now, or absent; it may ask but not free. loaded() once, when everything is there. */
struct objects_watch {
    void (*changed)(void *ctx, const struct resource *kind, const char *ns, const char *name,
        struct json object);
    void (*loaded)(void *ctx);
    void *ctx;
};

/* kinds: ended by NULL. */
struct objects *objects_new(const struct kube_transport *transport, const struct env *env,
    const struct resource *const *kinds, struct objects_watch watch) must_check;
void objects_free(struct objects *o);
void objects_start(struct objects *o);
bool objects_loaded(const struct objects *o);
/* What is known by other means than watching: the answer to a write of ours. */
void objects_put(struct objects *o, const struct resource *kind, struct json object);
/* Absent if there is none. It lives until the loop's next turn. namespace NULL: of the cluster. */
struct json objects_get(
    const struct objects *o, const struct resource *kind, const char *ns, const char *name);
/* Everything of a kind, in no order. */
void objects_each(const struct objects *o, const struct resource *kind,
    void (*each)(void *ctx, struct json object), void *ctx);
