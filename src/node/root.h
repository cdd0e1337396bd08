#pragma once

/* A file system of its own for a process, for root: everything the machine has, with some paths
 * replaced by directories and files of the pod. Nothing is written to the machine's own tree: where
 * a mount point is missing, the directory above it is mirrored (an empty tmpfs with each of its
 * entries bound into it) and the mount point is made in the mirror. */

#include "base/error.h"

struct root_mount {
    const char *from; /* a directory, file or device of the machine */
    const char *to;   /* absolute, without "." and ".." */
    bool read_only;
    const char *below; /* the part of `from` to mount, by tree_open_below(); NULL: all of it */
};

/* Whether this process may make mount namespaces. */
bool root_possible(void);
/* Only in a process with one thread that is about to become another program: moves it into a mount
 * namespace of its own, with `root` (an empty directory) as its "/". Allocates nothing. */
bool root_enter(
    const char *root, const struct root_mount *mounts, size_t count, struct error *err) must_check;
/* Moves it into the mount namespace of another process. */
bool root_join(int pid, struct error *err) must_check;
