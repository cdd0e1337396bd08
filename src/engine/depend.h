#pragma once

/* Which key depends on which objects: the reverse index of every query that a view answered. When
 * an object changes, only the keys whose plan may change run again.
 *
 * A target is the hash of "this object" or "this list of objects", whether or not it exists. If two
 * targets collide, a key runs needlessly, but never too rarely. */

#include "base/json.h"
#include "base/table.h"

struct resource;
struct depend_link;

struct depends {
    struct table targets;
};

/* What one key depends on; initialized to zero. */
struct depend_set {
    struct depend_link *links;
    size_t count;
};

void depends_init(struct depends *d, uint64_t seed0, uint64_t seed1);
void depends_done(struct depends *d);

uint64_t depend_on_name(
    const struct depends *d, const struct resource *r, const char *ns, const char *name);
/* namespace NULL: all. Selectors other than NULL and `key=value` are treated as NULL. */
uint64_t depend_on_list(
    const struct depends *d, const struct resource *r, const char *ns, const char *selector);

/* Sets the targets of the owner. They may repeat, and are sorted in place. */
void depend_replace(
    struct depends *d, struct depend_set *set, void *owner, uint64_t *targets, size_t count);
/* Removes all targets. */
void depend_clear(struct depends *d, struct depend_set *set);

typedef void depend_call(void *ctx, void *owner);
/* Calls back for each key that depends on the target. The callback must not change dependencies. */
void depend_each(struct depends *d, uint64_t target, depend_call *call, void *ctx);
/* The same for each key that depends on this object: by name, or through a list that it is or was
 * in. */
void depend_each_of_object(struct depends *d, const struct resource *r, const char *ns,
    const char *name, struct json labels, depend_call *call, void *ctx);
