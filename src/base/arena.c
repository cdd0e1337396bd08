#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_EACH_ALONE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_EACH_ALONE 1
#endif
#endif
#ifndef ARENA_EACH_ALONE
#define ARENA_EACH_ALONE 0
#endif

/* Chunks start small, because many arenas hold a few texts for as long as a watch is open, and grow
 * with the arena. A large allocation gets its own chunk. An arena that has become large continues
 * with large chunks, which come from the system and go back to it whole, so that a large request
 * does not fragment the heap. */
#define ARENA_CHUNK_MIN_BYTES ((size_t)1024)
#define ARENA_CHUNK_BYTES ((size_t)8192)
#define ARENA_LARGE_BYTES ((size_t)128 << 10)
#define ARENA_ALIGN ((size_t)16)

struct arena_chunk {
    struct arena_chunk *next;
    size_t size;
    size_t used;
    _Alignas(16) char bytes[];
};

void arena_init(struct arena *a, size_t limit)
{
    assert(limit > 0);
    *a = (struct arena){ .limit = limit };
}

static void free_chunks(struct arena_chunk *c)
{
    while (c) {
        struct arena_chunk *next = c->next;
        free(c);
        c = next;
    }
}

void arena_done(struct arena *a)
{
    free_chunks(a->chunks);
    *a = (struct arena){ .limit = a->limit, .budget = a->budget };
}

void arena_reset(struct arena *a)
{
    struct arena_chunk *kept = a->chunks;
    if (ARENA_EACH_ALONE || !kept || kept->size > ARENA_CHUNK_BYTES) {
        arena_done(a);
        return;
    }
    free_chunks(kept->next);
    kept->next = NULL;
    kept->used = 0;
    a->chunks = kept;
    a->used = 0;
}

bool arena_overflowed(const struct arena *a)
{
    return a->used > a->limit;
}

/* Memory is zeroed when it is allocated from the chunk: most arenas use little of their only
 * chunk. */
static struct arena_chunk *new_chunk(size_t size, size_t used, struct arena_chunk *next)
{
    struct arena_chunk *c = mem_resize(NULL, 1, sizeof(struct arena_chunk) + size);
    *c = (struct arena_chunk){ .next = next, .size = size, .used = used };
    return c;
}

static size_t next_bytes(size_t used)
{
    size_t bytes = ARENA_CHUNK_MIN_BYTES;
    while (bytes < used && bytes < ARENA_CHUNK_BYTES)
        bytes *= 2;
    return used > ARENA_LARGE_BYTES ? ARENA_LARGE_BYTES : bytes;
}

void *arena_alloc(struct arena *a, size_t size)
{
    assert(a->limit > 0);
    budget_charge(a->budget, size, 1);
    a->used += size;
    if (ARENA_EACH_ALONE) {
        a->chunks = new_chunk(size, size, a->chunks);
        return memset(a->chunks->bytes, 0, size);
    }
    size = (size + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1);
    struct arena_chunk *c = a->chunks;
    if (!c || c->size - c->used < size) {
        if (size > ARENA_CHUNK_BYTES / 4) {
            /* Inserted after the current chunk, whose remaining space stays in use. */
            struct arena_chunk **at = c ? &c->next : &a->chunks;
            *at = new_chunk(size, size, *at);
            return memset((*at)->bytes, 0, size);
        }
        c = a->chunks = new_chunk(next_bytes(a->used), 0, c);
    }
    void *memory = c->bytes + c->used;
    c->used += size;
    return memset(memory, 0, size);
}

void *arena_grow(struct arena *a, const void *old, size_t count, size_t size, size_t item)
{
    void *items = arena_array(a, size, item);
    if (count)
        memcpy(items, old, count * item);
    return items;
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
    size_t bytes;
    assert(!__builtin_mul_overflow(count, size, &bytes));
    return arena_alloc(a, bytes);
}

char *arena_strndup(struct arena *a, const char *text, size_t length)
{
    char *copy = arena_alloc(a, length + 1);
    if (length)
        memcpy(copy, text, length);
    return copy;
}

char *arena_strdup(struct arena *a, const char *text)
{
    return text ? arena_strndup(a, text, strlen(text)) : NULL;
}

char *arena_vprintf(struct arena *a, const char *format, va_list args)
{
    char small[256];
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(small, sizeof(small), format, again);
    va_end(again);
    assert(length >= 0);
    if ((size_t)length < sizeof(small))
        return arena_strndup(a, small, (size_t)length);
    char *text = arena_alloc(a, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, args);
    return text;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = arena_vprintf(a, format, args);
    va_end(args);
    return text;
}
