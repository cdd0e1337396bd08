#pragma once

/* Packs a body as it goes out: the other side of gunzip.h. Fast rather than small. */

#include "base/buf.h"
#include "base/str.h"

struct gzip;

struct gzip *gzip_new(void) must_check;
void gzip_free(struct gzip *g);
/* Adds the packed form of some bytes, as far as it is ready; last: there are no more. */
void gzip_add(struct gzip *g, struct str bytes, bool last, struct buf *to);
