#pragma once

/* Directory trees that other users may change at the same time. Every step goes from an open
 * directory to one of its entries, so that other users cannot redirect us by replacing a directory
 * with a symbolic link. */

#include "base/arena.h"
#include "base/error.h"

/* Removes a file or directory with everything in it. Follows no links and enters no other file
 * system. A missing file counts as removed. The parent directory of `path` must be one that only we
 * can change. */
bool tree_remove(const char *path, struct error *err);
/* The same for `below`, a path relative to the directory `root`: no part of it may be a link. */
bool tree_remove_below(const char *root, const char *below, struct error *err);

/* Opens `below`, relative to the open directory `root`, as O_PATH. Links are followed if they are
 * relative and without "..", like those in the files of a ConfigMap; other links are refused, and
 * so is "..". With make, missing directories are created with the mode and owner of `root`. Returns
 * -1 on failure. Allocates nothing. */
int tree_open_below(int root, const char *below, bool make, struct error *err) must_check;

/* Gives everything in `path` to a group, as a kubelet does for spec.securityContext.fsGroup: the
 * group may read and write files, and new files belong to it, too. Does nothing if `path` itself
 * belongs to the group already. */
bool tree_give_group(const char *path, uint32_t group, struct error *err) must_check;

/* The path without ".", ".." and double slashes. It begins with a slash, and does not end with one
 * unless it is "/". */
const char *tree_path_clean(struct arena *a, const char *path);
