#pragma once

/* A set of files that is replaced atomically. */

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

struct volume_file {
    const char *path; /* relative, without ".." */
    struct str data;
    uint32_t mode;
    uint32_t user, group; /* VOLUME_FILE_OURS: this process's own */
};
#define VOLUME_FILE_OURS UINT32_MAX

/* Makes a directory contain exactly these files (for equal paths the last one wins); does nothing
 * if it already does. */
bool volumes_files_write(const char *directory, const struct volume_file *files, size_t count,
    struct error *err) must_check;
