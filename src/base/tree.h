#pragma once

/* Directory trees that other users may change while we work on them. Every step goes from an open
 * directory to one of its entries, so that nobody can lead us elsewhere by putting a symbolic link
 * in the place of a directory. */

#include "base/arena.h"
#include "base/error.h"

/* Removes a file or directory with everything in it. Follows no link, enters no other file system.
 * What is not there counts as removed. The directory above `path` must be one that only we can
 * change. */
bool tree_remove(const char *path, struct error *err);
/* The same for `below`, a path relative to the directory `root`: no part of it may be a link. */
bool tree_remove_below(const char *root, const char *below, struct error *err);

/* Opens `below`, relative to the open directory `root`, as O_PATH. Links are followed if they are
 * relative and without "..", as those in the files of a ConfigMap; others are refused, and so is
 * "..". With make, missing directories are made, with mode and owner of `root`. -1: failed.
 * Allocates nothing. */
int tree_open_below(int root, const char *below, bool make, struct error *err) must_check;

/* Gives everything in `path` to a group, as a kubelet does for spec.securityContext.fsGroup: the
 * group may read and write files, and what is made later belongs to it, too. Does nothing if
 * `path` itself is so already. */
bool tree_give_group(const char *path, uint32_t group, struct error *err) must_check;

/* The path without ".", ".." and double slashes; it begins with a slash, and ends with none unless
 * it is "/". */
const char *tree_path_clean(struct arena *a, const char *path);
