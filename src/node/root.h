#pragma once

/* A private file system view for a process (root only): the machine's files, with some paths
 * replaced by directories and files of the pod. The machine's own files are never changed: if a
 * mount point is missing, its parent directory is mirrored (an empty tmpfs into which each entry is
 * bound) and the mount point is created in the mirror. */

#include "base/error.h"

struct root_mount {
    const char *from; /* a directory, file or device of the machine */
    const char *to;   /* absolute, without "." and ".." */
    bool read_only;
    const char *below; /* part of `from` (tree_open_below()); NULL: all of it */
};

/* Whether this process may create mount namespaces. */
bool root_possible(void);
/* Only for a single-threaded process that is about to exec: moves it into its own mount namespace
 * with `root` (an empty directory) as its "/". Allocates nothing. */
bool root_enter(
    const char *root, const struct root_mount *mounts, size_t count, struct error *err) must_check;
/* Moves the calling process into the mount namespace of another process. */
bool root_join(int pid, struct error *err) must_check;
