#pragma once

/* Reads the logs that shims write (shim.h): LOG and, from newer to older, LOG.1, LOG.2, …
 *
 *   log_reader_new ──> read, read, … 0 ──> (more was written) ──> read … ──> free
 *
 * A reader keeps its position across rotations. Lines that are rotated away before it reads them
 * are lost. */

#include "base/arena.h"
#include "base/str.h"

struct log_reader;

struct log_reader_options {
    int64_t tail_lines; /* -1: all; 0: only what is written after log_reader_new() */
    int64_t since_ms;   /* wall clock; 0: from the beginning */
    bool timestamps;    /* print the timestamps of the file: RFC 3339 with nanoseconds */
    const char *stream; /* only "stdout" or "stderr", a literal; NULL: both */
};

/* The file at path may be created later. */
struct log_reader *log_reader_new(
    const char *path, const struct log_reader_options *options) must_check;
void log_reader_free(struct log_reader *r);
/* Returns lines without their prefixes and joins those that the shim split. 0: no more data yet. */
size_t log_reader_read(struct log_reader *r, char *to, size_t max);

/* The last lines without their prefixes, within both limits; "" if there are none. */
const char *logs_tail(struct arena *a, const char *path, size_t bytes_max, size_t lines_max);
