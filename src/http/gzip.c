#include "http/gzip.h"

#include <stdlib.h>
#include <zlib.h>

#define GZIP_FORMAT (MAX_WBITS + 16)
#define GZIP_MEMORY 8
#define GZIP_PIECE_BYTES 16384

struct gzip {
    z_stream z;
};

struct gzip *gzip_new(void)
{
    struct gzip *g = mem_new_of(struct gzip);
    int rc =
        deflateInit2(&g->z, Z_BEST_SPEED, Z_DEFLATED, GZIP_FORMAT, GZIP_MEMORY, Z_DEFAULT_STRATEGY);
    assert(rc == Z_OK);
    return g;
}

void gzip_free(struct gzip *g)
{
    if (!g)
        return;
    deflateEnd(&g->z);
    free(g);
}

void gzip_add(struct gzip *g, struct str bytes, bool last, struct buf *to)
{
    char piece[GZIP_PIECE_BYTES];
    g->z.next_in = (Bytef *)(uintptr_t)bytes.ptr;
    g->z.avail_in = (uInt)bytes.len;
    do {
        g->z.next_out = (Bytef *)piece;
        g->z.avail_out = sizeof(piece);
        int rc = deflate(&g->z, last ? Z_FINISH : Z_NO_FLUSH);
        assert(rc == Z_OK || rc == Z_STREAM_END || rc == Z_BUF_ERROR);
        buf_add(to, piece, sizeof(piece) - g->z.avail_out);
    } while (g->z.avail_out == 0);
}
