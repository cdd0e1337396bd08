#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUF_KEEP_BYTES ((size_t)16384)

void buf_init(struct buf *b, size_t limit)
{
    assert(limit > 0);
    *b = (struct buf){ .limit = limit };
}

void buf_done(struct buf *b)
{
    free(b->ptr);
    *b = (struct buf){ .limit = b->limit };
}

void buf_reset(struct buf *b)
{
    if (b->size > BUF_KEEP_BYTES) {
        buf_done(b);
        return;
    }
    b->len = 0;
    b->overflowed = false;
    if (b->ptr)
        b->ptr[0] = '\0';
}

/* Makes room for count more bytes and a NUL, or marks the buffer as overflowed. */
static bool reserve(struct buf *b, size_t count)
{
    assert(b->limit > 0);
    if (b->overflowed || count > b->limit - b->len) {
        b->overflowed = true;
        return false;
    }
    size_t need = b->len + count + 1;
    if (need > b->size) {
        size_t size = b->size ? b->size : 64;
        while (size < need)
            size *= 2;
        b->ptr = mem_resize(b->ptr, size, 1);
        b->size = size;
    }
    return true;
}

void buf_add(struct buf *b, const void *bytes, size_t count)
{
    if (!reserve(b, count))
        return;
    if (count)
        memcpy(b->ptr + b->len, bytes, count);
    b->len += count;
    b->ptr[b->len] = '\0';
}

void buf_add_text(struct buf *b, const char *text)
{
    buf_add(b, text, strlen(text));
}

void buf_add_number(struct buf *b, int64_t number)
{
    char digits[24], *at = digits + sizeof(digits);
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0)
        *--at = '-';
    buf_add(b, at, (size_t)(digits + sizeof(digits) - at));
}

void buf_reserve(struct buf *b, size_t count)
{
    if (!b->overflowed && count <= b->limit - b->len)
        (void)reserve(b, count);
}

/* Printing is expensive, and usually there is room: the length is measured only if there is not. */
void buf_vprintf(struct buf *b, const char *format, va_list args)
{
    size_t room = b->size - b->len;
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(room ? b->ptr + b->len : NULL, room, format, again);
    va_end(again);
    assert(length >= 0);
    if (!reserve(b, (size_t)length)) {
        if (room)
            b->ptr[b->len] = '\0';
        return;
    }
    if ((size_t)length >= room)
        vsnprintf(b->ptr + b->len, (size_t)length + 1, format, args);
    b->len += (size_t)length;
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_vprintf(b, format, args);
    va_end(args);
}

void buf_eat(struct buf *b, size_t count)
{
    assert(count <= b->len);
    if (count == 0)
        return;
    b->len -= count;
    memmove(b->ptr, b->ptr + count, b->len);
    b->ptr[b->len] = '\0';
}

const char *buf_text(const struct buf *b)
{
    return b->ptr ? b->ptr : "";
}
