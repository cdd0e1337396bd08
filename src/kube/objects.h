#pragma once

/* Copies of all objects of some kinds, by namespace and name, kept up to date by reflectors. */

#include "base/json.h"

struct env;
struct kube_transport;
struct objects;
struct resource;

/* changed() is called for each object that was added, changed or deleted (including the initial
 * load), with its current state, or absent. It may query the objects but not free them. loaded() is
 * called once, when everything is loaded. */
struct objects_watch {
    void (*changed)(void *ctx, const struct resource *kind, const char *ns, const char *name,
        struct json object);
    void (*loaded)(void *ctx);
    void *ctx;
};

/* kinds: NULL-terminated. */
struct objects *objects_new(const struct kube_transport *transport, const struct env *env,
    const struct resource *const *kinds, struct objects_watch watch) must_check;
void objects_free(struct objects *o);
void objects_start(struct objects *o);
bool objects_loaded(const struct objects *o);
/* Adds an object from another source than the watch: the response to our own write. */
void objects_put(struct objects *o, const struct resource *kind, struct json object);
/* Absent if there is none. Valid until the next turn of the loop. namespace NULL:
 * cluster-scoped. */
struct json objects_get(
    const struct objects *o, const struct resource *kind, const char *ns, const char *name);
/* All objects of a kind, in no particular order. */
void objects_each(const struct objects *o, const struct resource *kind,
    void (*each)(void *ctx, struct json object), void *ctx);
