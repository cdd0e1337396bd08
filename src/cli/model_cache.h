#pragma once

/* The model files of `leeboard up`, below its folder. Every claim is a directory. In claims with
 * models every source has its own directory, named by its cache key:
 *
 *   DATA/volumes/NAMESPACE/CLAIM/KEY/FILE     KEY: 16 hexadecimal digits
 *   DATA/models/KEY/FILE                      copies of local files, by an earlier version
 *
 * Incomplete downloads end in ".tmp". */

#include "base/arena.h"
#include "base/error.h"

struct model_file {
    const char *ns, *claim; /* "" for the operator's copies */
    const char *key;
    const char *name; /* below the key's directory */
    const char *path;
    int64_t bytes;
    bool partial; /* being downloaded, or left over from an interrupted download */
};

/* Lists all files, sorted by path. Without a directory there are none. */
bool model_cache_list(struct arena *a, const char *folder, struct model_file **ret,
    size_t *ret_count, struct error *err) must_check;
/* Removes a key's directory and its contents. */
bool model_cache_remove(
    const char *folder, const struct model_file *file, struct error *err) must_check;
