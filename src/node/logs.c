#include "node/logs.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/time.h"
#include "node/shim_log.h"

#define FILES_MAX 100
#define CHUNK_BYTES ((size_t)2 * SHIM_LINE_MAX) /* more than the longest line with its prefix */
#define SINCE_LENGTH 23                         /* 2026-11-15T17:00:00.123 */

struct log_reader {
    char *path;
    struct log_reader_options options;
    char since[SINCE_LENGTH + 1]; /* "": none */
    int fd;                       /* of the file being read; -1: none yet */
    off_t at;                     /* offset in it of the next line */
    bool inside;                  /* in a line whose beginning was already returned */
    struct buf out;
    size_t out_at;
};

/* ---- files ---- */

static int open_number(const struct log_reader *r, unsigned number)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), number ? "%s.%u" : "%s", r->path, number);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static bool same_file(int a, int b)
{
    struct stat of_a, of_b;
    return fstat(a, &of_a) == 0 && fstat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

/* The current number of our file; FILES_MAX: it was rotated away. */
static unsigned number_of(const struct log_reader *r)
{
    for (unsigned i = 0; i < FILES_MAX; i++) {
        int fd = open_number(r, i);
        if (fd < 0 && i > 0)
            return FILES_MAX;
        bool same = fd >= 0 && same_file(fd, r->fd);
        if (fd >= 0)
            close(fd);
        if (same)
            return i;
    }
    return FILES_MAX;
}

static int open_oldest(const struct log_reader *r)
{
    int oldest = open_number(r, 0);
    for (unsigned i = 1; i < FILES_MAX; i++) {
        int fd = open_number(r, i);
        if (fd < 0)
            break;
        if (oldest >= 0)
            close(oldest);
        oldest = fd;
    }
    return oldest;
}

/* Opens the file after ours if ours is no longer the newest; else -1. */
static int open_next(const struct log_reader *r)
{
    for (int tries = 0; tries < 10; tries++) {
        unsigned number = number_of(r);
        if (number == 0)
            return -1;
        int fd = number == FILES_MAX ? open_oldest(r) : open_number(r, number - 1);
        if (number_of(r) == number)
            return fd;
        if (fd >= 0)
            close(fd); /* rotated in the meantime */
    }
    return -1;
}

/* ---- the start position ---- */

/* Counts line ends backwards. Returns the offset after the one that brings *left to 0, or -1. */
static off_t place_from_end(int fd, int64_t *left)
{
    char bytes[8192];
    struct stat st;
    off_t end = fstat(fd, &st) == 0 ? st.st_size : 0;
    while (end > 0) {
        off_t from = end > (off_t)sizeof(bytes) ? end - (off_t)sizeof(bytes) : 0;
        ssize_t count = pread(fd, bytes, (size_t)(end - from), from);
        for (ssize_t i = count; i > 0; i--)
            if (bytes[i - 1] == '\n' && --*left == 0)
                return from + i;
        end = from;
    }
    return -1;
}

static void begin(struct log_reader *r)
{
    int64_t left = r->options.tail_lines + 1;
    if (r->options.tail_lines < 0) {
        r->fd = open_oldest(r);
        return;
    }
    for (unsigned i = 0; i < FILES_MAX; i++) {
        int fd = open_number(r, i);
        if (fd < 0)
            return;
        if (r->fd >= 0)
            close(r->fd);
        r->fd = fd;
        off_t place = place_from_end(fd, &left);
        r->at = place < 0 ? 0 : place;
        if (place >= 0 || left == 1)
            return;
    }
}

/* ---- lines ---- */

/* TIME STREAM TAG TEXT */
static void take_line(struct log_reader *r, struct str line)
{
    struct str rest = line;
    struct str time = str_cut(&rest, ' ');
    struct str stream = str_cut(&rest, ' ');
    struct str tag = str_cut(&rest, ' ');
    if (!rest.ptr)
        return; /* not a line of the shim: the disk was full */
    if (r->options.stream && !str_eq(stream, str_of(r->options.stream)))
        return;
    if (r->since[0] && time.len >= SINCE_LENGTH && memcmp(time.ptr, r->since, SINCE_LENGTH) < 0)
        return;
    if (r->options.timestamps && !r->inside) {
        buf_add(&r->out, time.ptr, time.len);
        buf_add_char(&r->out, ' ');
    }
    buf_add(&r->out, rest.ptr, rest.len);
    r->inside = str_eq(tag, STR("P"));
    if (!r->inside)
        buf_add_char(&r->out, '\n');
}

/* Reads whole lines of the next chunk of our file. False: there is none. */
static bool take_chunk(struct log_reader *r)
{
    char bytes[CHUNK_BYTES];
    ssize_t count = pread(r->fd, bytes, sizeof(bytes), r->at);
    struct str rest = { bytes, count > 0 ? (size_t)count : 0 };
    off_t before = r->at;
    while (rest.len) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        if (!end && rest.len < sizeof(bytes))
            break;
        size_t length = end ? (size_t)(end - rest.ptr) : rest.len;
        take_line(r, (struct str){ rest.ptr, length });
        length += end != NULL;
        r->at += (off_t)length;
        rest = (struct str){ rest.ptr + length, rest.len - length };
    }
    return r->at > before;
}

static void fill(struct log_reader *r)
{
    buf_reset(&r->out);
    r->out_at = 0;
    if (r->fd < 0)
        begin(r);
    while (r->fd >= 0 && !r->out.len) {
        if (take_chunk(r))
            continue;
        int next = open_next(r);
        if (next < 0)
            return;
        if (take_chunk(r)) { /* written between the check and the rotation */
            close(next);
            continue;
        }
        close(r->fd);
        r->fd = next;
        r->at = 0;
    }
}

size_t log_reader_read(struct log_reader *r, char *to, size_t max)
{
    if (r->out_at == r->out.len)
        fill(r);
    size_t count = r->out.len - r->out_at;
    count = count < max ? count : max;
    if (count)
        memcpy(to, r->out.ptr + r->out_at, count);
    r->out_at += count;
    return count;
}

struct log_reader *log_reader_new(const char *path, const struct log_reader_options *options)
{
    struct log_reader *r = mem_new_of(struct log_reader);
    cleanup(arena_done) struct arena a = ARENA_INIT;
    r->path = mem_strdup(path);
    r->options = *options;
    r->fd = -1;
    buf_init(&r->out, 8 * CHUNK_BYTES);
    if (options->since_ms > 0)
        snprintf(r->since, sizeof(r->since), "%s", time_format_micro(&a, options->since_ms * 1000));
    if (options->tail_lines == 0)
        begin(r);
    if (options->tail_lines == 0 && r->fd < 0)
        r->options.tail_lines = -1; /* no log yet: return everything from now on */
    return r;
}

void log_reader_free(struct log_reader *r)
{
    if (!r)
        return;
    if (r->fd >= 0)
        close(r->fd);
    buf_done(&r->out);
    free(r->path);
    free(r);
}

const char *logs_tail(struct arena *a, const char *path, size_t bytes_max, size_t lines_max)
{
    char bytes[8192];
    struct buf last = BUF_INIT(bytes_max + sizeof(bytes));
    struct log_reader *r =
        log_reader_new(path, &(struct log_reader_options){ .tail_lines = (int64_t)lines_max });
    for (size_t count; (count = log_reader_read(r, bytes, sizeof(bytes)));) {
        buf_add(&last, bytes, count);
        if (last.len > bytes_max)
            buf_eat(&last, last.len - bytes_max);
    }
    const char *result = arena_strndup(a, buf_text(&last), last.len);
    buf_done(&last);
    log_reader_free(r);
    return result;
}
