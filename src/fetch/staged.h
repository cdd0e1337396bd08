#pragma once

/* Model files in the claims of this machine, where claims are directories:
 *
 *   DIRECTORY/CLAIM/KEY/FILE          DIRECTORY is that of a namespace, KEY a model's cache key
 *
 * The name of an incomplete file ends in ".tmp". */

#include "base/arena.h"
#include "base/error.h"

struct staged {
    bool whole;      /* there is a complete file */
    int64_t partial; /* bytes of the largest incomplete one; -1: none */
};

struct staged staged_look(const char *directory, const char *key);
/* The final length of the incomplete file, by its own header; 0: unknown, maybe temporarily. Reads
 * the existing part of the header. */
int64_t staged_total(const char *directory, const char *key);
/* False if a completed file is shorter than its own header says: the error names it. Reads the
 * heads of all files, so it must run on a thread. */
bool staged_check(const char *directory, const char *key, struct error *err);
