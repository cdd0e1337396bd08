#pragma once

/* Model files in the claims of this machine, where claims are directories:
 *
 *   DIRECTORY/CLAIM/KEY/FILE          DIRECTORY is that of a namespace, KEY a model's cache key
 *
 * A file that is on its way has a name that ends in ".tmp". */

#include "base/arena.h"
#include "base/error.h"

struct staged {
    bool whole;      /* there is a whole file */
    int64_t partial; /* bytes of the largest one that is on its way; -1: none is */
};

struct staged staged_look(const char *directory, const char *key);
/* How long the file on its way will be, by its own header; 0: not known, or not yet. Reads the part
 * of the header that is there. */
int64_t staged_total(const char *directory, const char *key);
/* False if a file that should be whole lacks bytes, by its own header: the error names it. Reads
 * the heads of all that are there, so it is for a thread. */
bool staged_check(const char *directory, const char *key, struct error *err);
