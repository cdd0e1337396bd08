#include "fetch/source_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fetch/gguf.h"

struct source_file source_file_of(struct arena *a, const char *path, struct json roots)
{
    struct source_file f = { .arena = a, .path = arena_strdup(a, path) };
    f.roots = arena_array(a, roots.count + 1, sizeof(*f.roots));
    for (uint32_t i = 0; i < roots.count; i++)
        f.roots[i] = arena_strdup(a, roots.items[i].string);
    return f;
}

bool source_file_check_roots(const struct source_file *f, struct error *err)
{
    char real[PATH_MAX], root[PATH_MAX];
    if (!realpath(f->path, real))
        return fail_errno(err, errno, "%s", f->path);
    for (size_t i = 0; f->roots[i]; i++) {
        if (!realpath(f->roots[i], root))
            continue;
        size_t length = strlen(root);
        if (strncmp(real, root, length) == 0 &&
            (real[length] == '/' || real[length] == '\0' || text_eq(root, "/")))
            return true;
    }
    return fail(err, ERR_FORBIDDEN, "%s leads out of the allowed directories", f->path);
}

int source_file_open(struct source_file *f, struct error *err)
{
    struct stat st;
    if (!source_file_check_roots(f, err))
        return -1;
    int fd = open(f->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        fail_errno(err, errno, "%s", f->path);
        return -1;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        fail(err, ERR_INVALID, "%s is not a regular file", f->path);
        close(fd);
        return -1;
    }
    f->size = st.st_size;
    return fd;
}

bool source_file_read_head(struct source_file *f, int fd, struct error *err)
{
    struct gguf_reader r;
    gguf_init(&r, f->arena);
    bool read = gguf_read_file(&r, fd, err), whole = read;
    const char *else_is = gguf_what_else(&r, f->path);
    if (!read)
        fail_in(err, "%s", f->path);
    else if (else_is)
        whole = fail(err, ERR_INVALID, "%s %s", f->path, else_is);
    else if (!gguf_check_size(&r, f->size, err))
        whole = fail(err,
            err->code,
            "%s %s; put the whole file there",
            f->path,
            arena_strdup(f->arena, err->text));
    f->gguf = gguf_json(f->arena, &r);
    gguf_done(&r);
    return whole;
}
