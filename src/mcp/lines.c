#include "mcp/lines.h"

static void hand_out(struct str line, void (*to)(void *ctx, struct str line), void *ctx)
{
    if (line.len && line.ptr[line.len - 1] == '\r')
        line.len--;
    if (str_trim(line).len)
        to(ctx, line);
}

bool lines_feed(
    struct lines *l, struct str bytes, void (*line)(void *ctx, struct str line), void *ctx)
{
    while (bytes.len) {
        const char *end = memchr(bytes.ptr, '\n', bytes.len);
        size_t length = end ? (size_t)(end - bytes.ptr) : bytes.len;
        struct str piece = { bytes.ptr, length };
        bytes.ptr += length + (end ? 1 : 0);
        bytes.len -= length + (end ? 1 : 0);
        if (!end || l->rest.len) {
            buf_add(&l->rest, piece.ptr, piece.len);
            if (buf_overflowed(&l->rest))
                return false;
            if (!end)
                break;
            hand_out(buf_str(&l->rest), line, ctx);
            buf_reset(&l->rest);
            continue;
        }
        hand_out(piece, line, ctx);
    }
    return true;
}
