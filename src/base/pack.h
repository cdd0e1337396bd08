#pragma once

/* JSON values that stay: the engine's cache holds every object it watches, and most of an object is
 * text that other objects have too. A pack is one blob of bytes in which texts are numbers of a
 * pool of texts; the pool counts how many packs use each. A text that only few packs had lately
 * stays in the blob itself: most such texts (uids, versions, times) never come again, or belong to
 * one object and its children (names). So the pool grows with what there is to say, not with the
 * number of objects, and stays in the processor's cache.
 *
 *   struct pack *p = pack_new(&pool, object);       copies what it needs
 *   struct json v = pack_read(&arena, p);           containers in the arena, texts not copied
 *   pack_free(&pool, p);
 *
 * What pack_read() returns is valid while both the arena and the pack live. Pool and packs belong
 * to one thread. */

#include "base/json.h"
#include "base/table.h"

struct pack;

/* The pool: texts that are used more than once, and the keys of maps. */
struct strings {
    struct table table;
    struct strings_entry **entries; /* by number */
    uint32_t count, size;           /* of entries, unused ones included */
    uint32_t *unused;               /* numbers that may be given again */
    uint32_t unused_count, unused_size;
    size_t bytes;              /* allocated for texts */
    struct strings_seen *seen; /* texts that came lately and are not in it */
    uint16_t packs;            /* that were made, modulo 65536 */
};

void strings_init(struct strings *pool, uint64_t seed0, uint64_t seed1);
/* Every pack must have been freed. */
void strings_done(struct strings *pool);
/* Texts in use. */
size_t strings_count(const struct strings *pool);

struct pack *pack_new(struct strings *pool, struct json v) must_check;
void pack_free(struct strings *pool, struct pack *p); /* takes NULL */
struct json pack_read(struct arena *a, const struct pack *p);
/* Of the blob, without its share of the pool. */
size_t pack_bytes(const struct pack *p);
/* Of one pool: the same value. */
bool pack_equal(const struct pack *a, const struct pack *b);
