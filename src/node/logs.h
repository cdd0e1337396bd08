#pragma once

/* Reading the logs that shims write (shim.h): LOG and, before it in time, LOG.1, LOG.2, …
 *
 *   log_reader_new ──> read, read, … 0 ──> (more was written) ──> read … ──> free
 *
 * A reader follows its place through rotations. What was rotated away before it came is lost. */

#include "base/arena.h"
#include "base/str.h"

struct log_reader;

struct log_reader_options {
    int64_t tail_lines; /* -1: all; 0: what is written after log_reader_new() */
    int64_t since_ms;   /* wall clock; 0: from the beginning */
    bool timestamps;    /* before each line, as they are in the file: RFC 3339 with nanoseconds */
    const char *stream; /* "stdout" or "stderr" alone, a literal; NULL: both */
};

/* path need not be there yet. */
struct log_reader *log_reader_new(
    const char *path, const struct log_reader_options *options) must_check;
void log_reader_free(struct log_reader *r);
/* Lines without their heads; what the shim cut comes out whole. 0: nothing more now. */
size_t log_reader_read(struct log_reader *r, char *to, size_t max);

/* The last lines without their heads, at most that many bytes and lines; "" if there are none. */
const char *logs_tail(struct arena *a, const char *path, size_t bytes_max, size_t lines_max);
