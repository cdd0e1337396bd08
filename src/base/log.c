#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/time.h"
#include "base/utf8.h"

/* Of the escaped text; longer text ends in an ellipsis. */
#define MESSAGE_BYTES_MAX ((size_t)4096)
#define VALUE_BYTES_MAX ((size_t)1024)
#define KEY_BYTES_MAX ((size_t)64)

static struct {
    enum log_format format;
    enum log_level level;
} setup = { LOG_FORMAT_TEXT, LOG_LEVEL_INFO };

static const char *const level_names[] = { "error", "warn", "info", "debug" };
static const char *const format_names[] = { "text", "json" };

void log_setup(enum log_format format, enum log_level level)
{
    setup.format = format;
    setup.level = level;
}

static bool find_word(const char *word, const char *const *words, size_t count, size_t *ret)
{
    for (*ret = 0; *ret < count; ++*ret)
        if (text_eq(word, words[*ret]))
            return true;
    return false;
}

bool log_level_parse(const char *word, enum log_level *ret)
{
    size_t at;
    if (!find_word(word, level_names, lengthof(level_names), &at))
        return false;
    *ret = (enum log_level)at;
    return true;
}

bool log_format_parse(const char *word, enum log_format *ret)
{
    size_t at;
    if (!find_word(word, format_names, lengthof(format_names), &at))
        return false;
    *ret = (enum log_format)at;
    return true;
}

bool log_enabled(enum log_level level)
{
    return level <= setup.level;
}

/* Escapes one character: as in JSON, or for people. */
static void add_escape(struct buf *b, uint32_t c, enum log_format as)
{
    static const char shorts[] = "\n\r\t\"\\", letters[] = "nrt\"\\";
    const char *found = c && c < 0x80 ? strchr(shorts, (int)c) : NULL;
    if (found)
        buf_add(b, (char[]){ '\\', letters[found - shorts] }, 2);
    else if (as == LOG_FORMAT_JSON || c >= 0x80)
        buf_printf(b, "\\u%04x", (unsigned)c);
    else
        buf_printf(b, "\\x%02x", (unsigned)c);
}

/* How many of the first bytes need no escape: nearly always all of them. */
static size_t plain_bytes(struct str text, bool quoted)
{
    size_t i = 0;
    while (i < text.len && text.ptr[i] >= ' ' && text.ptr[i] <= '~' &&
           !(quoted && (text.ptr[i] == '"' || text.ptr[i] == '\\')))
        i++;
    return i;
}

/* Adds text so that it stays on one line and inside its quotes. Without quotes, a quotation mark
 * and a backslash are plain characters. */
static void add_escaped(
    struct buf *b, const char *text, enum log_format as, bool quoted, size_t bytes_max)
{
    size_t end = b->len + bytes_max;
    for (struct str rest = str_of(text); rest.len;) {
        uint32_t c;
        size_t length = plain_bytes(rest, quoted);
        if (b->len > end) {
            buf_add_text(b, "…");
            return;
        }
        if (length) {
            length = length <= end - b->len ? length : end + 1 - b->len;
            buf_add(b, rest.ptr, length);
        } else if ((length = utf8_first(rest, &c)) == 0) {
            length = 1;
            if (as == LOG_FORMAT_JSON)
                buf_add_text(b, "\ufffd");
            else
                buf_printf(b, "\\x%02x", (uint8_t)rest.ptr[0]);
        } else if (!utf8_printable(c) || (quoted && (c == '"' || c == '\\'))) {
            add_escape(b, c, as);
        } else {
            buf_add(b, rest.ptr, length);
        }
        rest = (struct str){ rest.ptr + length, rest.len - length };
    }
}

static void add_quoted(struct buf *b, const char *text, enum log_format as, size_t bytes_max)
{
    buf_add_char(b, '"');
    add_escaped(b, text, as, true, bytes_max);
    buf_add_char(b, '"');
}

static void add_field(struct buf *b, const struct log_field *f, enum log_format as)
{
    assert(strlen(f->key) <= KEY_BYTES_MAX);
    if (as == LOG_FORMAT_JSON) {
        buf_add_char(b, ',');
        add_quoted(b, f->key, as, KEY_BYTES_MAX);
        buf_add_char(b, ':');
        add_quoted(b, f->value, as, VALUE_BYTES_MAX);
        return;
    }
    buf_add_char(b, ' ');
    buf_add_text(b, f->key);
    buf_add_char(b, '=');
    if (!*f->value || strpbrk(f->value, " \t\r\n\"=\\"))
        add_quoted(b, f->value, as, VALUE_BYTES_MAX);
    else
        add_escaped(b, f->value, as, false, VALUE_BYTES_MAX);
}

void log_render(struct buf *b, enum log_format as, enum log_level level, int64_t wall_ms,
    const struct log_field *fields, const char *message)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *when = time_format(&a, wall_ms), *name = level_names[level];
    size_t start = b->len;
    if (as == LOG_FORMAT_JSON) {
        buf_printf(b, "{\"time\":\"%s\",\"level\":\"%s\",\"message\":", when, name);
        add_quoted(b, message, as, MESSAGE_BYTES_MAX);
    } else {
        buf_printf(b, "%s %-5s ", when, name);
        add_escaped(b, message, as, false, MESSAGE_BYTES_MAX);
    }
    /* Twice the limit, because one character can exceed it by a whole escape. */
    size_t room_for_field = VALUE_BYTES_MAX + KEY_BYTES_MAX * 2;
    for (const struct log_field *f = fields; f && f->key; f++)
        if (f->value && b->len - start + room_for_field < LOG_LINE_BYTES_MAX)
            add_field(b, f, as);
    buf_add_text(b, as == LOG_FORMAT_JSON ? "}\n" : "\n");
    assert(b->len - start <= LOG_LINE_BYTES_MAX);
}

void log_with(enum log_level level, const struct log_field *fields, const char *format, ...)
{
    if (!log_enabled(level))
        return;
    int saved_errno = errno;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    cleanup(buf_done) struct buf b = BUF_INIT(LOG_LINE_BYTES_MAX);
    va_list args;
    va_start(args, format);
    const char *message = arena_vprintf(&a, format, args);
    va_end(args);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    log_render(&b,
        setup.format,
        level,
        (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000,
        fields,
        message);
    /* An error here cannot be reported anywhere. */
    ssize_t written;
    do
        written = write(STDERR_FILENO, b.ptr, b.len);
    while (written < 0 && errno == EINTR);
    errno = saved_errno;
}
