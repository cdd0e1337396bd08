#pragma once

/* The objects of a resource whose field at a path has a certain text, oldest first. It is a queue:
 * positions are found by binary search, and a change is reported only to the objects behind it.
 * Built on the first request, then maintained by the cache. */

#include "base/base.h"

struct cache_entry;
struct cache_resource;
struct order;

/* Finds or builds it. The texts must outlive the cache. */
struct order *order_get(struct cache_resource *r, const char *path, const char *value);
/* The position of the object, from 1, or the position that it would have. */
int64_t order_position(const struct order *o, const struct cache_entry *entry);

/* For the cache: an object was added (before NULL), changed or deleted (after NULL). Both are
 * valid. Calls the cache's moved() for each object whose position changed. */
void orders_change(
    struct cache_resource *r, const struct cache_entry *before, const struct cache_entry *after);
void orders_free(struct cache_resource *r);
