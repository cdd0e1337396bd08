#include "cli/run/line.h"

#include <stdlib.h>

#include "base/str.h"
#include "base/utf8.h"
#include "tests/test.h"

#define ROWS 12
#define COLUMNS 20

/* A terminal that understands what a line sends, and nothing else. */
struct screen {
    char cells[ROWS][COLUMNS + 1];
    int row, column;
};

static void clear_below(struct screen *s)
{
    memset(s->cells[s->row] + s->column, ' ', (size_t)(COLUMNS - s->column));
    for (int i = s->row + 1; i < ROWS; i++)
        memset(s->cells[i], ' ', COLUMNS);
}

static const char *take_control(struct screen *s, const char *at)
{
    char *end;
    int number = (int)strtol(at, &end, 10);
    if (*end == 'A')
        s->row -= number;
    else if (*end == 'C')
        s->column += number;
    else if (*end == 'J' && !number)
        clear_below(s);
    else
        check_text(end, "a known sequence");
    check(s->row >= 0 && s->column < COLUMNS);
    return end + 1;
}

static void show(struct screen *s, struct buf *bytes)
{
    for (const char *at = buf_text(bytes); *at;) {
        if (at[0] == '\x1b' && at[1] == '[') {
            at = take_control(s, at + 2);
        } else if (*at == '\r') {
            s->column = 0;
            at++;
        } else if (*at == '\n') {
            check(++s->row < ROWS);
            at++;
        } else {
            check(s->column < COLUMNS); /* nothing rests on how a terminal wraps */
            s->cells[s->row][s->column++] = *at++;
        }
    }
    buf_reset(bytes);
}

struct desk {
    struct line *line;
    struct screen screen;
    struct buf out;
    enum line_event event;
};

static struct desk desk_new(int height)
{
    struct desk d = { .line = line_new("> "), .out = BUF_INIT(1 << 20) };
    struct line_look look = { COLUMNS, height, false };
    for (int i = 0; i < ROWS; i++)
        memset(d.screen.cells[i], ' ', COLUMNS);
    line_begin(d.line, &look, &d.out);
    show(&d.screen, &d.out);
    return d;
}

static void type(struct desk *d, const char *keys)
{
    struct str bytes = str_of(keys);
    d->event = line_feed(d->line, &bytes, &d->out);
    check_int((int64_t)bytes.len, 0);
    show(&d->screen, &d->out);
}

static const char *row(struct desk *d, int number)
{
    struct str text = { d->screen.cells[number], COLUMNS };
    while (text.len && text.ptr[text.len - 1] == ' ')
        text.len--;
    return str_dup(test_arena(), text);
}

static void done(struct desk *d)
{
    line_free(d->line);
    buf_done(&d->out);
}

TEST(a_line_is_edited_in_the_middle_and_entered)
{
    struct desk d = desk_new(10);
    type(&d, "hell world\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[Do");
    check_text(line_text(d.line), "hello world");
    check_text(row(&d, 0), "> hello world");
    check_int(d.screen.column, 7);
    type(&d, "\x01");
    type(&d, "\x1b[3~H\x1b[F!\x7f?");
    check_text(row(&d, 0), "> Hello world?");
    type(&d, "\x17"); /* a word back */
    check_text(row(&d, 0), "> Hello");
    type(&d, "\x1b[1;5D\x0b"); /* a word to the left, and what follows is cut */
    check_text(line_text(d.line), "");
    type(&d, "ok\r");
    check_int(d.event, LINE_ENTERED);
    check_text(line_text(d.line), "ok");
    check_int(d.screen.row, 1);
    check_int(d.screen.column, 0);
    done(&d);
}

TEST(a_line_that_is_longer_than_the_window_is_drawn_in_rows)
{
    struct desk d = desk_new(10);
    type(&d, "0123456789abcdefgh"); /* with the prompt as wide as the window */
    check_text(row(&d, 0), "> 0123456789abcdefgh");
    check_int(d.screen.row, 1);
    check_int(d.screen.column, 0);
    type(&d, "XY");
    check_text(row(&d, 1), "XY");
    type(&d, "\x01-");
    check_text(row(&d, 0), "> -0123456789abcdefg");
    check_text(row(&d, 1), "hXY");
    check_int(d.screen.row, 0);
    type(&d, "\x15"); /* what is left of the cursor */
    type(&d, "\x05\x15");
    check_text(row(&d, 0), ">");
    check_text(row(&d, 1), "");
    done(&d);
}

TEST(a_line_with_more_rows_than_the_window_shows_those_around_its_cursor)
{
    struct desk d = desk_new(4);
    type(&d, "first\x1b\rsecond\x1b\rthird\x1b\rfourth\x1b\rfifth");
    check_text(row(&d, 0), "  third");
    check_text(row(&d, 2), "  fifth");
    check_text(row(&d, 3), "");
    type(&d, "\x01");
    check_text(row(&d, 0), "> first");
    check_text(row(&d, 2), "  third");
    check_text(line_text(d.line), "first\nsecond\nthird\nfourth\nfifth");
    done(&d);
}

TEST(a_paste_is_one_line_with_rows)
{
    struct desk d = desk_new(10);
    type(&d, "\x1b[200~one\r\ntwo\x03\tx\x1b[201~");
    check_int(d.event, LINE_MORE);
    check_text(line_text(d.line), "one\n\ntwo  x");
    type(&d, "\r");
    check_int(d.event, LINE_ENTERED);
    done(&d);
}

TEST(the_arrow_keys_bring_back_what_was_entered_and_then_the_draft)
{
    struct desk d = desk_new(10);
    line_remember(d.line, "one");
    line_remember(d.line, "one");
    line_remember(d.line, "two");
    struct line_look look = { COLUMNS, 10, false };
    line_begin(d.line, &look, &d.out);
    show(&d.screen, &d.out);
    type(&d, "dra\x1b[A");
    check_text(line_text(d.line), "two");
    type(&d, "\x1b[A\x1b[A\x1bOA");
    check_text(line_text(d.line), "one");
    type(&d, "\x1b[B\x1b[B\x1b[B");
    check_text(line_text(d.line), "dra");
    done(&d);
}

TEST(a_character_is_whole_whatever_pieces_it_comes_in)
{
    struct desk d = desk_new(10);
    type(&d, "a\xe2");
    check_text(line_text(d.line), "a");
    type(&d, "\x82");
    type(&d,
        "\xac"
        "b\xff"
        "c\x1b");
    check_text(line_text(d.line),
        "a\xe2\x82\xac"
        "bc");
    type(&d, "[");
    type(&d, "D\x7f\x7f");
    check_text(line_text(d.line), "ac");
    done(&d);
}

TEST(control_keys_end_a_line_each_in_its_way)
{
    struct desk d = desk_new(10);
    struct str keys = STR("ab\x03"
                          "cd\r");
    check_int(line_feed(d.line, &keys, &d.out), LINE_CANCELLED);
    check_text(line_text(d.line), "ab");
    check_int((int64_t)keys.len, 3); /* they are of the next line */
    done(&d);
    d = desk_new(10);
    type(&d, "\x04");
    check_int(d.event, LINE_ENDED);
    done(&d);
    d = desk_new(10);
    type(&d, "ab\x02\x04"); /* on a line with text it deletes */
    check_int(d.event, LINE_MORE);
    check_text(line_text(d.line), "a");
    type(&d, "\x1a");
    check_int(d.event, LINE_SUSPENDED);
    done(&d);
}
