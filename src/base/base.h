#pragma once

/* What every file may use: attributes, allocation that cannot fail, and assertions that stay on in
 * release builds. The other headers of this folder include this one. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/banned.h"

#define must_check __attribute__((warn_unused_result))
#define printf_like(text, first) __attribute__((format(printf, text, first)))
#define cleanup(function) __attribute__((cleanup(function)))
#define lengthof(array) (sizeof(array) / sizeof((array)[0]))
/* The struct that an embedded member belongs to. */
#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

/* Returns a pointer and sets the variable to NULL. */
#define take(pointer)                                                                              \
    ({                                                                                             \
        typeof(pointer) taken_ = (pointer);                                                        \
        (pointer) = NULL;                                                                          \
        taken_;                                                                                    \
    })

/* Reports a bug in our code and aborts. Never used for input from outside. */
_Noreturn void assert_failed(const char *expression, const char *file, int line);
#undef assert
#define assert(expression) ((expression) ? (void)0 : assert_failed(#expression, __FILE__, __LINE__))

/* malloc and friends that abort when out of memory. Sizes from outside must be checked against a
 * limit before. */
void *mem_new(size_t size) must_check; /* zeroed */
void *mem_resize(
    void *old, size_t count, size_t size) must_check; /* not zeroed; checks count × size */
char *mem_strdup(const char *text) must_check;

/* Makes room for one more item in a growing array on the heap, given its items, count and size. */
#define mem_room(items, count, size)                                                               \
    ((count) < (size) ? (void)0                                                                    \
                      : (void)((items) = mem_resize(                                               \
                                   (items), (size) = array_next_size(size), sizeof(*(items)))))
static inline uint32_t array_next_size(size_t size)
{
    assert(size <= UINT32_MAX / 2);
    return size ? (uint32_t)size * 2 : 8;
}

/* Allocates one zeroed struct. */
#define mem_new_of(type) ((type *)mem_new(sizeof(type)))
