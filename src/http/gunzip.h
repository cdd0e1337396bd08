#pragma once

/* Unpacks a gzip body as it comes. */

#include "base/error.h"
#include "base/str.h"

struct gunzip;

struct gunzip *gunzip_new(void) must_check;
void gunzip_free(struct gunzip *g);
/* Unpacks some of *in, which is cut at its front, into at most size bytes; *ret of them. When *in
 * is empty and *ret less than size there is no more for now. */
bool gunzip_some(struct gunzip *g, struct str *in, char *into, size_t size, size_t *ret,
    struct error *err) must_check;
/* The body came to its end, not just to a cut. */
bool gunzip_is_complete(const struct gunzip *g);
