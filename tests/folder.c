#include "tests/folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/test.h"

const char *folder_new(void)
{
    char *folder = arena_strdup(test_arena(), "/tmp/leeboard-test-XXXXXX");
    check(mkdtemp(folder));
    return folder;
}

void folder_remove(const char *folder)
{
    check(system(arena_printf(test_arena(), "rm -rf %s", folder)) == 0);
}

void folder_put(const char *folder, const char *name, size_t bytes)
{
    char *path = arena_printf(test_arena(), "%s/%s", folder, name);
    for (char *c = path + strlen(folder) + 1; *c; c++)
        if (*c == '/') {
            *c = '\0';
            check(mkdir(path, 0755) == 0 || access(path, F_OK) == 0);
            *c = '/';
        }
    int fd = open(path, O_WRONLY | O_CREAT, 0644);
    check(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    close(fd);
}
