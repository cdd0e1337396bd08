#pragma once

/* The values of a list in order, so that an equal one is found without a look at all of them: lists
 * come from clients, and comparing every pair takes minutes for a list of a megabyte. */

#include "base/json.h"

struct json_index {
    struct json *keys; /* of each item */
    uint32_t *sorted;  /* places, by key and then by place */
    uint32_t count;
};

/* member: what is compared of each item; NULL or "": all of it. The arena must live as long. */
struct json_index json_index_of(struct arena *a, struct json list, const char *member);
/* The first place of the key, -1 if it has none. An absent key is one like others. */
int64_t json_index_find(const struct json_index *x, struct json key);
/* Whether an item before this one has the same key. */
bool json_index_again(const struct json_index *x, uint32_t place);

/* The same for keys that come one after the other: n log n in all. Begins as
 * { .arena = a }. */
struct json_seen {
    struct arena *arena;
    struct json *levels[32]; /* level i: 2^i keys in order, or NULL */
};
bool json_seen_has(const struct json_seen *s, struct json key);
/* Whether the key was there before; it is from now on. */
bool json_seen_add(struct json_seen *s, struct json key);
