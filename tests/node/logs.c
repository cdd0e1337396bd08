#include "node/logs.h"

#include <unistd.h>

#include "node/shim_log.h"
#include "base/tree.h"
#include "tests/test.h"

static const char *folder(void)
{
    char name[] = "/tmp/leeboard-log-XXXXXX";
    check(mkdtemp(name));
    return arena_strdup(test_arena(), name);
}

static const char *write_lines(const char *path, int from, int to)
{
    FILE *f = fopen(path, "a");
    check(f);
    for (int i = from; i < to; i++)
        fprintf(f, "2026-11-15T22:00:%02d.000000000Z stdout F line %d\n", i % 60, i);
    fclose(f);
    return path;
}

static const char *read_all(struct log_reader *r, size_t at_once)
{
    char bytes[4096], *all = arena_strdup(test_arena(), "");
    for (size_t count; (count = log_reader_read(r, bytes, at_once));)
        all = arena_printf(test_arena(), "%s%.*s", all, (int)count, bytes);
    return all;
}

static const char *read_with(const char *path, struct log_reader_options options)
{
    struct log_reader *r = log_reader_new(path, &options);
    const char *all = read_all(r, 7);
    log_reader_free(r);
    return all;
}

TEST(logs_tail_gives_the_last_lines_without_heads)
{
    const char *dir = folder(),
               *path = write_lines(arena_printf(test_arena(), "%s/log", dir), 0, 500);
    check_text(logs_tail(test_arena(), path, 2048, 2), "line 498\nline 499\n");
    check_text(logs_tail(test_arena(), path, 12, 80), "98\nline 499\n");
    check_text(logs_tail(test_arena(), "/no/such/log", 100, 10), "");
    check(tree_remove(dir, NULL));
}

TEST(logs_are_read_from_the_oldest_file_or_from_the_last_lines_on)
{
    const char *dir = folder(), *path = arena_printf(test_arena(), "%s/log", dir);
    write_lines(arena_printf(test_arena(), "%s.2", path), 0, 2);
    write_lines(arena_printf(test_arena(), "%s.1", path), 2, 4);
    write_lines(path, 4, 5);
    check_text(read_with(path, (struct log_reader_options){ -1, 0, false }),
        "line 0\nline 1\nline 2\nline 3\nline 4\n");
    check_text(read_with(path, (struct log_reader_options){ 0, 0, false }), "");
    check_text(read_with(path, (struct log_reader_options){ 1, 0, false }), "line 4\n");
    check_text(read_with(path, (struct log_reader_options){ 2, 0, false }), "line 3\nline 4\n");
    check_text(
        read_with(path, (struct log_reader_options){ 3, 0, false }), "line 2\nline 3\nline 4\n");
    check_text(read_with(path, (struct log_reader_options){ 100, 0, false }),
        "line 0\nline 1\nline 2\nline 3\nline 4\n");
    int64_t since = 1794780003000; /* 2026-11-15T22:00:03Z */
    check_text(read_with(path, (struct log_reader_options){ -1, since, true }),
        "2026-11-15T22:00:03.000000000Z line 3\n2026-11-15T22:00:04.000000000Z line 4\n");
    check(tree_remove(dir, NULL));
}

TEST(logs_reader_follows_its_place_through_rotations)
{
    static struct shim_log log;
    const char *dir = folder();
    log = (struct shim_log){
        .path = arena_printf(test_arena(), "%s/log", dir), .bytes_max = 200, .files = 4
    };
    struct log_reader *r =
        log_reader_new(log.path, &(struct log_reader_options){ .tail_lines = -1 });
    check_text(read_all(r, 4096), ""); /* not there yet */
    shim_log_open(&log);
    const char *got = "", *want = "";
    for (int i = 0; i < 40; i++) {
        const char *line = arena_printf(test_arena(), "line %d\n", i);
        shim_log_add(&log, &log.streams[0], line, strlen(line));
        want = arena_printf(test_arena(), "%s%s", want, line);
        if (i % 7 == 0) /* up to two rotations behind */
            got = arena_printf(test_arena(), "%s%s", got, read_all(r, 4096));
    }
    /* One that the shim had to cut comes out whole, an unfinished one not before its end. */
    static char wide[SHIM_LINE_MAX + 5];
    memset(wide, 'x', sizeof(wide));
    shim_log_add(&log, &log.streams[1], wide, sizeof(wide));
    got = arena_printf(test_arena(), "%s%s", got, read_all(r, 4096));
    shim_log_close(&log);
    got = arena_printf(test_arena(), "%s%s", got, read_all(r, 4096));
    check_text(got, arena_printf(test_arena(), "%s%.*s\n", want, (int)sizeof(wide), wide));
    log_reader_free(r);
    check(tree_remove(dir, NULL));
}

TEST(logs_reader_goes_on_with_the_oldest_file_when_its_own_was_rotated_away)
{
    const char *dir = folder(), *path = arena_printf(test_arena(), "%s/log", dir),
               *older = arena_printf(test_arena(), "%s.1", path);
    write_lines(path, 0, 2);
    struct log_reader *r = log_reader_new(path, &(struct log_reader_options){ .tail_lines = -1 });
    check_text(read_all(r, 4096), "line 0\nline 1\n");
    check(unlink(path) == 0);
    write_lines(older, 5, 6);
    write_lines(path, 6, 7);
    check_text(read_all(r, 4096), "line 5\nline 6\n");
    log_reader_free(r);
    check(tree_remove(dir, NULL));
}

TEST(logs_without_a_tail_are_all_that_is_written_from_now_on)
{
    const char *dir = folder(), *path = arena_printf(test_arena(), "%s/log", dir);
    for (int i = 0; i < 2; i++) { /* without a log, and with one */
        struct log_reader *r = log_reader_new(path, &(struct log_reader_options){ 0 });
        write_lines(path, 7 + i, 8 + i);
        check_text(read_all(r, 100), i ? "line 8\n" : "line 7\n");
        log_reader_free(r);
    }
    check(tree_remove(dir, NULL));
}
