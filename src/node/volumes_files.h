#pragma once

/* A set of files that is swapped as a whole. */

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

struct volume_file {
    const char *path; /* relative, without ".." */
    struct str data;
    uint32_t mode;
    uint32_t user, group; /* VOLUME_FILE_OURS: our own */
};
#define VOLUME_FILE_OURS UINT32_MAX

/* Brings a directory to exactly these files (a later one of the same path wins); does nothing if it
 * has them already. */
bool volumes_files_write(const char *directory, const struct volume_file *files, size_t count,
    struct error *err) must_check;
