#include "node/shim_log.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static void open_file(struct shim_log *log)
{
    struct stat st;
    log->fd = open(log->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    log->bytes = log->fd >= 0 && fstat(log->fd, &st) == 0 ? st.st_size : 0;
}

void shim_log_open(struct shim_log *log)
{
    log->fd = -1;
    log->streams[0].name = "stdout";
    log->streams[1].name = "stderr";
    if (log->path)
        open_file(log);
}

static void rotate(struct shim_log *log)
{
    char from[PATH_MAX], to[PATH_MAX];
    close(log->fd);
    for (unsigned i = log->files - 1; i > 0; i--) {
        snprintf(to, sizeof(to), "%s.%u", log->path, i);
        if (i > 1)
            snprintf(from, sizeof(from), "%s.%u", log->path, i - 1);
        else
            snprintf(from, sizeof(from), "%s", log->path);
        rename(from, to);
    }
    if (log->files == 1)
        unlink(log->path);
    open_file(log);
}

static void flush_line(struct shim_log *log, struct shim_stream *s, char tag)
{
    char head[64];
    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now); /* the shim process has no struct env */
    gmtime_r(&now.tv_sec, &tm);
    size_t head_len = strftime(head, sizeof(head), "%Y-%m-%dT%H:%M:%S", &tm);
    head_len += (size_t)snprintf(
        head + head_len, sizeof(head) - head_len, ".%09ldZ %s %c ", now.tv_nsec, s->name, tag);
    if (log->fd >= 0 && log->bytes >= log->bytes_max)
        rotate(log);
    struct iovec parts[] = { { head, head_len }, { s->line, s->len }, { (char[]){ '\n' }, 1 } };
    ssize_t written = log->fd >= 0 ? writev(log->fd, parts, lengthof(parts)) : 0;
    log->bytes += written > 0 ? written : 0;
    s->len = 0;
}

void shim_log_add(struct shim_log *log, struct shim_stream *s, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] == '\n') {
            flush_line(log, s, 'F');
            continue;
        }
        if (s->len == sizeof(s->line))
            flush_line(log, s, 'P');
        s->line[s->len++] = bytes[i];
    }
}

void shim_log_close(struct shim_log *log)
{
    for (size_t i = 0; i < lengthof(log->streams); i++)
        if (log->streams[i].len)
            flush_line(log, &log->streams[i], 'F');
    if (log->fd >= 0)
        close(log->fd);
}
