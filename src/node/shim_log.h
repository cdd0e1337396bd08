#pragma once

/* Where a shim puts a program's output: lines of the container runtime interface, with rotation.
 * Allocates nothing; what cannot be written (a full disk) is lost, the program goes on. */

#include "base/base.h"

#define SHIM_LINE_MAX 16384

struct shim_stream {
    const char *name; /* "stdout" */
    size_t len;
    char line[SHIM_LINE_MAX];
};

struct shim_log {
    const char *path; /* NULL: output goes nowhere */
    int64_t bytes_max, bytes;
    unsigned files;
    int fd;
    struct shim_stream streams[2];
};

void shim_log_open(struct shim_log *log);
void shim_log_add(struct shim_log *log, struct shim_stream *stream, const char *bytes, size_t len);
/* Writes what is left of a last line without an end. */
void shim_log_close(struct shim_log *log);
