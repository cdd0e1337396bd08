#pragma once

/* A growing buffer with a mandatory limit. Past the limit nothing is added and buf_overflowed() is
 * true from then on; a caller that uses the contents checks once, at the end. The contents are
 * always followed by a NUL that is not counted. */

#include "base/base.h"
#include "base/str.h"
#include <stdarg.h>

struct buf {
    char *ptr;
    size_t len;
    size_t size;
    size_t limit;
    bool overflowed;
};

#define BUF_INIT(limit_)                                                                           \
    {                                                                                              \
        .limit = (limit_)                                                                          \
    }

void buf_init(struct buf *b, size_t limit);
void buf_done(struct buf *b);
/* Empties the buffer; frees memory beyond `keep` bytes. */
void buf_reset(struct buf *b);
void buf_add(struct buf *b, const void *bytes, size_t count);
void buf_add_text(struct buf *b, const char *text);
/* In decimal. Ten times as fast as printf. */
void buf_add_number(struct buf *b, int64_t number);
/* Makes room for `count` more bytes at once. The limit is still checked when bytes are added. */
void buf_reserve(struct buf *b, size_t count);
void buf_printf(struct buf *b, const char *format, ...) printf_like(2, 3);
void buf_vprintf(struct buf *b, const char *format, va_list args) printf_like(2, 0);
/* Removes count bytes from the front. */
void buf_eat(struct buf *b, size_t count);
/* The contents as NUL-terminated text; "" when empty. */
const char *buf_text(const struct buf *b);

static inline void buf_add_char(struct buf *b, char c)
{
    if (b->len + 1 < b->size && b->len < b->limit && !b->overflowed) {
        b->ptr[b->len++] = c;
        b->ptr[b->len] = '\0';
    } else {
        buf_add(b, &c, 1);
    }
}
static inline struct str buf_str(const struct buf *b)
{
    return (struct str){ b->ptr, b->len };
}
static inline bool buf_overflowed(const struct buf *b)
{
    return b->overflowed;
}
