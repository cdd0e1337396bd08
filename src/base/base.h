#pragma once

/* The few words that every file of ours may use without asking: attributes, memory that cannot
 * fail, assertions that stay on in release. Included by the other headers of this folder. */

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

/* Hands a pointer over and leaves NULL behind. */
#define take(pointer)                                                                              \
    ({                                                                                             \
        typeof(pointer) taken_ = (pointer);                                                        \
        (pointer) = NULL;                                                                          \
        taken_;                                                                                    \
    })

/* A programming error of ours: say where and abort. Never for what comes from outside. */
_Noreturn void assert_failed(const char *expression, const char *file, int line);
#undef assert
#define assert(expression) ((expression) ? (void)0 : assert_failed(#expression, __FILE__, __LINE__))

/* malloc and friends that abort when memory is out. Every size that comes from outside has been
 * checked against a limit before it gets here. */
void *mem_new(size_t size) must_check; /* zeroed */
void *mem_resize(
    void *old, size_t count, size_t size) must_check; /* not zeroed; checks count × size */
char *mem_strdup(const char *text) must_check;

/* Room for one more item in a growing array on the heap: items, their count and their size. */
#define mem_room(items, count, size)                                                               \
    ((count) < (size) ? (void)0                                                                    \
                      : (void)((items) = mem_resize(                                               \
                                   (items), (size) = array_next_size(size), sizeof(*(items)))))
static inline uint32_t array_next_size(size_t size)
{
    assert(size <= UINT32_MAX / 2);
    return size ? (uint32_t)size * 2 : 8;
}

/* One of a struct, zeroed. */
#define mem_new_of(type) ((type *)mem_new(sizeof(type)))
