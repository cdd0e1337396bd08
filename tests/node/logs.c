#include "node/logs.h"

#include <unistd.h>

#include "tests/test.h"

TEST(logs_tail_gives_the_last_lines_without_heads)
{
    char path[] = "/tmp/leeboard-log-XXXXXX";
    int fd = mkstemp(path);
    check(fd >= 0);
    FILE *f = fdopen(fd, "w");
    for (int i = 0; i < 500; i++)
        fprintf(f, "2026-11-15T22:00:00.000000000Z stdout F line %d\n", i);
    fclose(f);
    check_text(logs_tail(test_arena(), path, 2048, 2), "line 498\nline 499\n");
    check_text(logs_tail(test_arena(), path, 12, 80), "98\nline 499\n");
    check_text(logs_tail(test_arena(), "/no/such/log", 100, 10), "");
    unlink(path);
}
