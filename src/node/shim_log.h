#pragma once

/* Writes a program's output as lines of the container runtime interface, with rotation. Allocates
 * nothing. Output that cannot be written (a full disk) is lost, and the program keeps running. */

#include "base/base.h"

#define SHIM_LINE_MAX 16384

struct shim_stream {
    const char *name; /* "stdout" */
    size_t len;
    char line[SHIM_LINE_MAX];
};

struct shim_log {
    const char *path; /* NULL: output is discarded */
    int64_t bytes_max, bytes;
    unsigned files;
    int fd;
    struct shim_stream streams[2];
};

void shim_log_open(struct shim_log *log);
void shim_log_add(struct shim_log *log, struct shim_stream *stream, const char *bytes, size_t len);
/* Writes an unfinished last line. */
void shim_log_close(struct shim_log *log);
