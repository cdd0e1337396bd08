#pragma once

/* Files that another program updates: tokens, certificates. */

#include "base/error.h"
#include "base/str.h"

struct arena;

/* The whole file, followed by a NUL that is not counted. Fails, with the path, if it is not a
 * regular file or is larger than bytes_max. */
bool file_read(struct arena *a, const char *path, size_t bytes_max, struct str *ret,
    struct error *err) must_check;

/* Identifies a state of a file: differs after the file was written, replaced or deleted. */
struct file_stamp {
    uint64_t device, inode, size;
    int64_t modified_ns, changed_ns; /* all 0: no such file */
};
struct file_stamp file_stamp(const char *path);
bool file_stamp_eq(struct file_stamp a, struct file_stamp b);
