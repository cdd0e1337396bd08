#include "kube/file.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/test.h"

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    check(f != NULL);
    fputs(text, f);
    fclose(f);
}

TEST(a_file_is_read_whole_within_its_limit)
{
    char path[] = "/tmp/leeboard-file-XXXXXX";
    int fd = mkstemp(path);
    check(fd >= 0);
    close(fd);
    write_text(path, "hello\n");
    struct str text;
    struct error err;
    check(file_read(test_arena(), path, 6, &text, &err));
    check_text(text.ptr, "hello\n");
    check_int(text.len, 6);
    check_fails(file_read(test_arena(), path, 5, &text, &err), err, "larger than 5 bytes");
    unlink(path);
    check_fails(file_read(test_arena(), path, 5, &text, &err), err, "No such file");
    check_int(err.code, ERR_NOT_FOUND);
    check(mkfifo(path, 0600) == 0); /* must not wait for a writer */
    check_fails(file_read(test_arena(), path, 5, &text, &err), err, "not a plain file");
    unlink(path);
}

TEST(a_stamp_tells_a_file_that_was_replaced)
{
    char path[] = "/tmp/leeboard-file-XXXXXX";
    int fd = mkstemp(path);
    check(fd >= 0);
    close(fd);
    struct file_stamp empty = file_stamp(path);
    check(file_stamp_eq(empty, file_stamp(path)));
    write_text(path, "x");
    struct file_stamp one = file_stamp(path);
    check(!file_stamp_eq(empty, one));
    const char *other = arena_printf(test_arena(), "%s-new", path);
    write_text(other, "y");
    check(rename(other, path) == 0);
    check(!file_stamp_eq(one, file_stamp(path)));
    unlink(path);
    check(file_stamp_eq(file_stamp(path), (struct file_stamp){ 0 }));
}
