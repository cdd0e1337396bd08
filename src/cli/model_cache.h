#pragma once

/* The model files of `leeboard up`, below its folder. Every claim is a directory, and in those that
 * hold models every source has one of its own, named by its cache key:
 *
 *   DATA/volumes/NAMESPACE/CLAIM/KEY/FILE     KEY: 16 hexadecimal digits
 *   DATA/models/KEY/FILE                      copies of local files, by an earlier version
 *
 * Files that are on their way end in ".tmp". */

#include "base/arena.h"
#include "base/error.h"

struct model_file {
    const char *ns, *claim; /* "" for the operator's copies */
    const char *key;
    const char *name; /* below the key's directory */
    const char *path;
    int64_t bytes;
    bool partial; /* on its way, or what is left of a download that ended early */
};

/* All of them, by path. No directory means no files. */
bool model_cache_list(struct arena *a, const char *folder, struct model_file **ret,
    size_t *ret_count, struct error *err) must_check;
/* Removes a key's directory with everything in it. */
bool model_cache_remove(
    const char *folder, const struct model_file *file, struct error *err) must_check;
