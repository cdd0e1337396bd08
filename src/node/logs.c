#include "node/logs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"

/* TIME STREAM TAG TEXT */
static struct str text_of(struct str line)
{
    for (int i = 0; i < 3 && line.ptr; i++)
        str_cut(&line, ' ');
    return line;
}

const char *logs_tail(struct arena *a, const char *path, size_t bytes_max, size_t lines_max)
{
    /* A line may be all head: read more than is asked for. */
    size_t size = bytes_max + 64 * lines_max;
    char *bytes = arena_alloc(a, size + 1);
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t from =
        fd >= 0 && fstat(fd, &st) == 0 && (size_t)st.st_size > size ? st.st_size - (off_t)size : 0;
    ssize_t length = fd >= 0 ? pread(fd, bytes, size, from) : 0;
    if (fd >= 0)
        close(fd);
    struct str rest = { bytes, length > 0 ? (size_t)length : 0 };
    if (from)
        str_cut(&rest, '\n'); /* the first one is cut */
    size_t lines = 0;
    for (size_t i = 0; rest.ptr && i < rest.len; i++)
        lines += rest.ptr[i] == '\n';
    struct buf b = BUF_INIT(size);
    for (; rest.ptr && rest.len; lines--) {
        struct str text = text_of(str_cut(&rest, '\n'));
        if (lines <= lines_max && text.ptr) {
            buf_add(&b, text.ptr, text.len);
            buf_add_char(&b, '\n');
        }
    }
    if (b.len > bytes_max)
        buf_eat(&b, b.len - bytes_max);
    const char *result = arena_strndup(a, buf_text(&b), b.len);
    buf_done(&b);
    return result;
}
