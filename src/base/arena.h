#pragma once

/* An arena: memory that is freed all at once.
 *
 * There is one per reconcile, per request, per command. A function that takes an arena returns what
 * you never free; a function whose name ends in _new returns what you own; there is no third case.
 *
 * An arena has a limit, set at initialization. Past the limit the arena still returns memory, but
 * arena_overflowed() is true from then on. A caller that sends the result out (a request, a
 * response, a file) must check this and refuse. So builders need no error path, and one huge object
 * fails its own request, not the process.
 *
 * An arena with a budget charges it for every allocation, and that may end the request: see
 * base/budget.h.
 *
 * Under AddressSanitizer each allocation is a separate malloc, so that overruns are detected. */

#include "base/base.h"
#include "base/budget.h"
#include <stdarg.h>

struct arena_chunk;

struct arena {
    struct arena_chunk *chunks;
    size_t used;           /* bytes allocated */
    size_t limit;          /* for used */
    struct budget *budget; /* of the request; NULL: none */
};

#define ARENA_LIMIT_DEFAULT ((size_t)64 << 20)

void arena_init(struct arena *a, size_t limit);
/* Frees everything; the arena may be used again. A zeroed arena is allowed. */
void arena_done(struct arena *a);
/* Like arena_done() and arena_init() with the same limit, but keeps one chunk for reuse. */
void arena_reset(struct arena *a);
bool arena_overflowed(const struct arena *a);

/* Zeroed memory, aligned for any type. */
void *arena_alloc(struct arena *a, size_t size);
void *arena_array(struct arena *a, size_t count, size_t size);
/* Makes room for one more item in a growing array in an arena, given its items, count and size. */
#define arena_room(a, items, count, size)                                                          \
    ((count) < (size) ? (void)0                                                                    \
                      : (void)((items) = arena_grow((a),                                           \
                                   (items),                                                        \
                                   (count),                                                        \
                                   (size) = array_next_size(size),                                 \
                                   sizeof(*(items)))))
void *arena_grow(struct arena *a, const void *old, size_t count, size_t size, size_t item);
#define arena_new(a, type) ((type *)arena_alloc((a), sizeof(type)))

char *arena_strdup(struct arena *a, const char *text); /* NULL stays NULL */
char *arena_strndup(struct arena *a, const char *text, size_t length);
char *arena_printf(struct arena *a, const char *format, ...) printf_like(2, 3);
char *arena_vprintf(struct arena *a, const char *format, va_list args) printf_like(2, 0);

/* A local arena that frees itself: `cleanup(arena_done) struct arena a = ARENA_INIT;` */
#define ARENA_INIT                                                                                 \
    {                                                                                              \
        .limit = ARENA_LIMIT_DEFAULT                                                               \
    }
