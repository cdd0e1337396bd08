#include "kube/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"

static void close_fd(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

bool file_read(
    struct arena *a, const char *path, size_t bytes_max, struct str *ret, struct error *err)
{
    struct stat st;
    /* Without O_NONBLOCK, a FIFO in place of a token would block the process. */
    cleanup(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0)
        return fail_errno(err, errno, "read %s", path);
    if (!S_ISREG(st.st_mode))
        return fail(err, ERR_INVALID, "read %s: not a plain file", path);
    if (st.st_size < 0 || (uint64_t)st.st_size > bytes_max)
        return fail(err, ERR_TOO_LARGE, "read %s: larger than %zu bytes", path, bytes_max);
    /* Reads one byte more than the size: if it succeeds, the file has grown meanwhile. */
    size_t size = (size_t)st.st_size, got = 0;
    char *bytes = arena_alloc(a, size + 1);
    while (got <= size) {
        ssize_t n = read(fd, bytes + got, size + 1 - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(err, errno, "read %s", path);
        if (n == 0)
            break;
        got += (size_t)n;
    }
    if (got > size)
        return fail(err, ERR_UNAVAILABLE, "read %s: it changed meanwhile", path);
    bytes[got] = '\0';
    *ret = (struct str){ bytes, got };
    return true;
}

static int64_t ns_of(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct file_stamp file_stamp(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return (struct file_stamp){ 0 };
    return (struct file_stamp){
        .device = st.st_dev,
        .inode = st.st_ino,
        .size = (uint64_t)st.st_size,
        .modified_ns = ns_of(st.st_mtim),
        .changed_ns = ns_of(st.st_ctim),
    };
}

bool file_stamp_eq(struct file_stamp a, struct file_stamp b)
{
    return a.device == b.device && a.inode == b.inode && a.size == b.size &&
           a.modified_ns == b.modified_ns && a.changed_ns == b.changed_ns;
}
