#pragma once

/* Who asked for what: the reverse of every question that a view answered, so that a change of an
 * object re-runs just those keys whose plan it may change.
 *
 * A target is the hash of "this object" or "this list of objects", whether or not it exists. Two
 * targets that collide cost a needless run, never a missed one. */

#include "base/json.h"
#include "base/table.h"

struct resource;
struct depend_link;

struct depends {
    struct table targets;
};

/* What one key depends on; all zero at first. */
struct depend_set {
    struct depend_link *links;
    size_t count;
};

void depends_init(struct depends *d, uint64_t seed0, uint64_t seed1);
void depends_done(struct depends *d);

uint64_t depend_on_name(
    const struct depends *d, const struct resource *r, const char *ns, const char *name);
/* namespace NULL: all. Selectors other than NULL and `key=value` count as NULL. */
uint64_t depend_on_list(
    const struct depends *d, const struct resource *r, const char *ns, const char *selector);

/* Makes these the targets of the owner; they may repeat and are sorted in place. */
void depend_replace(
    struct depends *d, struct depend_set *set, void *owner, uint64_t *targets, size_t count);
/* Takes all away. */
void depend_clear(struct depends *d, struct depend_set *set);

typedef void depend_call(void *ctx, void *owner);
/* Calls for each key that depends on the target; the calls must not change dependencies. */
void depend_each(struct depends *d, uint64_t target, depend_call *call, void *ctx);
/* … that depends on this object: by name, or in a list that it is or was in. */
void depend_each_of_object(struct depends *d, const struct resource *r, const char *ns,
    const char *name, struct json labels, depend_call *call, void *ctx);
