#pragma once

/* Compact long-lived JSON values. The engine's cache holds every object that it watches, and most
 * of an object is text that other objects have, too. A pack is one blob of bytes that refers to
 * texts by their number in a shared pool; the pool counts how many packs use each text. A text that
 * only few recent packs had is stored in the blob itself: most such texts (uids, versions, times)
 * never occur again, or belong to one object and its children (names). So the pool grows with the
 * variety of texts, not with the number of objects, and stays in the processor's cache.
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

/* The pool: texts that are used more than once, and keys of maps. */
struct strings {
    struct table table;
    struct strings_entry **entries; /* by number */
    uint32_t count, size;           /* of entries, unused ones included */
    uint32_t *unused;               /* numbers that may be reused */
    uint32_t unused_count, unused_size;
    size_t bytes;              /* allocated for texts */
    struct strings_seen *seen; /* recent texts that are not in the pool */
    uint16_t packs;            /* number of packs created, modulo 65536 */
};

void strings_init(struct strings *pool, uint64_t seed0, uint64_t seed1);
/* Every pack must have been freed. */
void strings_done(struct strings *pool);
/* Texts in use. */
size_t strings_count(const struct strings *pool);

struct pack *pack_new(struct strings *pool, struct json v) must_check;
void pack_free(struct strings *pool, struct pack *p); /* takes NULL */
struct json pack_read(struct arena *a, const struct pack *p);
/* Size of the blob, without its share of the pool. */
size_t pack_bytes(const struct pack *p);
/* Both from one pool: whether they have the same value. */
bool pack_equal(const struct pack *a, const struct pack *b);
