#pragma once

/* Unpacks a gzip body as a stream. */

#include "base/error.h"
#include "base/str.h"

struct gunzip;

struct gunzip *gunzip_new(void) must_check;
void gunzip_free(struct gunzip *g);
/* Unpacks some of *in, and removes it from the front of *in, into at most size bytes; *ret is their
 * number. If *in is empty and *ret is less than size, more input is needed. */
bool gunzip_some(struct gunzip *g, struct str *in, char *into, size_t size, size_t *ret,
    struct error *err) must_check;
/* The body is complete, not truncated. */
bool gunzip_is_complete(const struct gunzip *g);
