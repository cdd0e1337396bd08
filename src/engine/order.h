#pragma once

/* The objects of a resource whose field at a path has a certain text, oldest first: a queue in
 * which a place is found by bisection, and of whose changes only those behind them are told. Made
 * when first asked for, kept by the cache from then on. */

#include "base/base.h"

struct cache_entry;
struct cache_resource;
struct order;

/* Finds or makes it. The texts outlive the cache. */
struct order *order_get(struct cache_resource *r, const char *path, const char *value);
/* From 1: the place of the object, or the one that it would have. */
int64_t order_position(const struct order *o, const struct cache_entry *entry);

/* For the cache: an object came (before NULL), changed or went (after NULL). Both are valid. Calls
 * the cache's moved() for each object whose place is another one now. */
void orders_change(
    struct cache_resource *r, const struct cache_entry *before, const struct cache_entry *after);
void orders_free(struct cache_resource *r);
