#include "http/gunzip.h"

#include <stdlib.h>
#include <zlib.h>

#define GUNZIP_GZIP_ONLY (MAX_WBITS + 16)

struct gunzip {
    z_stream z;
    bool complete;
};

struct gunzip *gunzip_new(void)
{
    struct gunzip *g = mem_new_of(struct gunzip);
    int rc = inflateInit2(&g->z, GUNZIP_GZIP_ONLY);
    assert(rc == Z_OK);
    return g;
}

void gunzip_free(struct gunzip *g)
{
    if (!g)
        return;
    inflateEnd(&g->z);
    free(g);
}

bool gunzip_some(
    struct gunzip *g, struct str *in, char *into, size_t size, size_t *ret, struct error *err)
{
    *ret = 0;
    if (g->complete && in->len) { /* there may be several members: RFC 1952, 2.2 */
        inflateReset(&g->z);
        g->complete = false;
    }
    if (g->complete)
        return true;
    g->z.next_in = (Bytef *)(uintptr_t)in->ptr;
    g->z.avail_in = (uInt)in->len;
    g->z.next_out = (Bytef *)into;
    g->z.avail_out = (uInt)size;
    int rc = inflate(&g->z, Z_NO_FLUSH);
    *ret = size - g->z.avail_out;
    *in = (struct str){ (const char *)g->z.next_in, g->z.avail_in };
    g->complete = rc == Z_STREAM_END;
    if (rc == Z_OK || rc == Z_STREAM_END || rc == Z_BUF_ERROR)
        return true;
    return fail(err, ERR_INVALID, "the gzip body is damaged: %s", g->z.msg ?: "no reason given");
}

bool gunzip_is_complete(const struct gunzip *g)
{
    return g->complete;
}
