#pragma once

/* Packs a body as a stream, the reverse of gunzip.h. Optimized for speed, not size. */

#include "base/buf.h"
#include "base/str.h"

struct gzip;

struct gzip *gzip_new(void) must_check;
void gzip_free(struct gzip *g);
/* Adds the packed form of some bytes, as far as it is ready. last: these are the last bytes. */
void gzip_add(struct gzip *g, struct str bytes, bool last, struct buf *to);
