#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void assert_failed(const char *expression, const char *file, int line)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
    abort();
}

void *mem_new(size_t size)
{
    void *memory = calloc(1, size ? size : 1);
    assert(memory);
    return memory;
}

void *mem_resize(void *old, size_t count, size_t size)
{
    void *memory = reallocarray(old, count ? count : 1, size);
    assert(memory);
    return memory;
}

char *mem_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(mem_new(size), text, size);
}
