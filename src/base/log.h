#pragma once

/* Log lines for people or machines, on standard error. Only src/cli, src/engine and main use this.
 * Library folders never log: they return an error, and the caller logs it.
 *
 *   2026-11-15T17:00:00Z info  applied deployment object=default/llama attempt=2
 *   {"time":"2026-11-15T17:00:00Z","level":"info","message":"applied deployment","object":…}
 *
 *   log_info("listening on %s", address);
 *   log_with(LOG_LEVEL_WARN, LOG_FIELDS({ "object", name }), "gave up after %d tries", tries);
 *
 * A line is written with one write(2), so lines of several threads and processes do not mix.
 * Control characters, line ends and bytes that are not UTF-8 are escaped, so that a chosen object
 * name or error text cannot forge a line. Lines longer than LOG_LINE_BYTES_MAX are truncated. Level
 * and format are the only mutable globals of the program, and log.c is the only file below src/cli
 * that reads the wall clock: a line shows when it was written, not the time in a simulation. */

#include "base/base.h"
#include <stdarg.h>

struct buf;

enum log_level {
    LOG_LEVEL_ERROR,
    LOG_LEVEL_WARN,
    LOG_LEVEL_INFO, /* unless log_setup() says otherwise */
    LOG_LEVEL_DEBUG,
};
enum log_format {
    LOG_FORMAT_TEXT, /* unless log_setup() says otherwise */
    LOG_FORMAT_JSON,
};

struct log_field {
    const char *key;   /* a word */
    const char *value; /* NULL: the field is omitted */
};
#define LOG_FIELDS(...) ((const struct log_field[]){ __VA_ARGS__, { 0 } })
#define LOG_LINE_BYTES_MAX ((size_t)8192)

/* Call once, before the second thread starts. */
void log_setup(enum log_format format, enum log_level level);
/* Parses the values of --log-level and --log-format; false for any other word. */
bool log_level_parse(const char *word, enum log_level *ret) must_check;
bool log_format_parse(const char *word, enum log_format *ret) must_check;
/* Whether a line of this level would be written; for lines that are expensive to build. */
bool log_enabled(enum log_level level);

#define log_error(...) log_with(LOG_LEVEL_ERROR, NULL, __VA_ARGS__)
#define log_warn(...) log_with(LOG_LEVEL_WARN, NULL, __VA_ARGS__)
#define log_info(...) log_with(LOG_LEVEL_INFO, NULL, __VA_ARGS__)
#define log_debug(...) log_with(LOG_LEVEL_DEBUG, NULL, __VA_ARGS__)
/* fields may be NULL. */
void log_with(enum log_level level, const struct log_field *fields, const char *format, ...)
    printf_like(3, 4);

/* The line that log_with() writes, including the line end, without writing it. */
void log_render(struct buf *b, enum log_format as, enum log_level level, int64_t wall_ms,
    const struct log_field *fields, const char *message);
