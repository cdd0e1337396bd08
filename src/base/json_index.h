#pragma once

/* The values of a list, sorted, so that an equal value is found without comparing all of them.
 * Lists come from clients, and comparing every pair takes minutes for a list of one megabyte. */

#include "base/json.h"

struct json_index {
    struct json *keys; /* one per item */
    uint32_t *sorted;  /* item numbers, by key and then by position */
    uint32_t count;
};

/* member: the member of each item that is compared; NULL or "": the whole item. The arena must live
 * as long as the index. */
struct json_index json_index_of(struct arena *a, struct json list, const char *member);
/* The first position of the key, -1 if it is missing. An absent key is a key like any other. */
int64_t json_index_find(const struct json_index *x, struct json key);
/* Whether an item before this one has the same key. */
bool json_index_again(const struct json_index *x, uint32_t place);

/* The same for keys that are added one by one: n log n in total. Initialize it as { .arena = a
 * }. */
struct json_seen {
    struct arena *arena;
    struct json *levels[32]; /* level i: 2^i sorted keys, or NULL */
};
bool json_seen_has(const struct json_seen *s, struct json key);
/* Adds the key; returns whether it was in the set before. */
bool json_seen_add(struct json_seen *s, struct json key);
