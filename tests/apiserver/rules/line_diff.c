#include "apiserver/rules/line_diff.h"

#include "base/buf.h"
#include "tests/test.h"

TEST(a_diff_shows_three_lines_around_a_change)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    check_text(line_diff(&a, "a\nb\nc\nd\ne\nf\ng\nh", "a\nb\nc\nd\nX\nf\ng\nh"),
        "@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+X\n f\n g\n h\n");
    check_text(line_diff(&a, "a\nb", "a\nb"), "");
    check_text(line_diff(&a, "a", "b"), "@@ -1 +1 @@\n-a\n+b\n");
    check_text(line_diff(&a, "a\nb", "a\nx\nb"), "@@ -1,2 +1,3 @@\n a\n+x\n b\n");
}

TEST(changes_that_are_far_apart_are_hunks_of_their_own)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    check_text(line_diff(&a, "X\n1\n2\n3\n4\n5\n6\n7\nY", "1\n2\n3\n4\n5\n6\n7\nZ"),
        "@@ -1,4 +1,3 @@\n-X\n 1\n 2\n 3\n@@ -6,4 +5,4 @@\n 5\n 6\n 7\n-Y\n+Z\n");
    check_text(line_diff(&a, "X\n1\n2\n3\n4\n5\n6\nY", "1\n2\n3\n4\n5\n6\nZ"),
        "@@ -1,8 +1,7 @@\n-X\n 1\n 2\n 3\n 4\n 5\n 6\n-Y\n+Z\n");
}

/* In long texts a line that is everywhere begins no run, but is taken into one. */
TEST(common_lines_do_not_begin_a_run)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    cleanup(buf_done) struct buf old = BUF_INIT(1 << 16), new = BUF_INIT(1 << 16);
    for (int i = 0; i < 150; i++)
        buf_printf(&old, "line %d\nnull\n", i);
    for (int i = 0; i < 150; i++)
        buf_printf(&new, i == 75 ? "other\nnull\n" : "line %d\nnull\n", i);
    check_text(line_diff(&a, buf_text(&old), buf_text(&new)),
        "@@ -148,7 +148,7 @@\n null\n line 74\n null\n-line 75\n+other\n null\n line 76\n null\n");
}
