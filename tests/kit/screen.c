#include "tests/kit/screen.h"

#include "base/buf.h"
#include "base/utf8.h"
#include "tests/test.h"

void screen_init(struct screen *s, int width)
{
    *s = (struct screen){ .width = width };
    for (int row = 0; row < SCREEN_LINES; row++)
        for (int i = 0; i < SCREEN_COLUMNS; i++)
            s->cells[row][i] = ' ';
}

static void clear(struct screen *s, int row, int from)
{
    for (int i = from; i < SCREEN_COLUMNS; i++) {
        s->cells[row][i] = ' ';
        s->colours[row][i] = 0;
    }
}

static void control(struct screen *s, bool extended, int number, char final)
{
    /* Behind the last cell a terminal's cursor is still on it. */
    int at = s->column < s->width ? s->column : s->width - 1;
    if (final == 'A') {
        s->row -= number;
    } else if (final == 'K' && !number) {
        clear(s, s->row, at);
    } else if (final == 'J' && !number) {
        clear(s, s->row, at);
        for (int row = s->row + 1; row < SCREEN_LINES; row++)
            clear(s, row, 0);
    } else if (extended && number == 25) {
        s->hidden = final == 'l';
    } else if (extended && number == 7) {
        s->no_wrap = final == 'l';
    } else {
        check(final == 'm' && !extended);
        s->colour = number;
    }
    check(s->row >= 0);
}

static void put(struct screen *s, uint32_t c)
{
    check(c >= ' ');
    if (s->column == s->width && !s->no_wrap) {
        s->column = 0;
        s->row++;
    }
    int at = s->column < s->width ? s->column : s->width - 1;
    check(s->row < SCREEN_LINES);
    s->cells[s->row][at] = c;
    s->colours[s->row][at] = s->colour;
    s->column = at + 1;
}

void screen_feed(struct screen *s, struct str bytes)
{
    while (bytes.len) {
        uint32_t c;
        size_t length = utf8_first(bytes, &c);
        check(length > 0);
        if (str_starts(bytes, STR("\x1b["))) {
            int number = 0;
            length = 2;
            bool extended = bytes.ptr[length] == '?';
            for (length += extended; bytes.ptr[length] >= '0' && bytes.ptr[length] <= '9'; length++)
                number = 10 * number + bytes.ptr[length] - '0';
            control(s, extended, number, bytes.ptr[length++]);
        } else if (c == '\n') {
            s->column = 0; /* the terminal's driver adds the \r */
            check(++s->row < SCREEN_LINES);
        } else if (c == '\r') {
            s->column = 0;
        } else {
            put(s, c);
        }
        bytes = (struct str){ bytes.ptr + length, bytes.len - length };
    }
}

const char *screen_line(const struct screen *s, int row)
{
    int end = SCREEN_COLUMNS;
    char *line = arena_alloc(test_arena(), SCREEN_COLUMNS * 4 + 1);
    size_t length = 0;
    while (end > 0 && s->cells[row][end - 1] == ' ')
        end--;
    for (int i = 0; i < end; i++)
        length += utf8_put(s->cells[row][i], line + length);
    return line;
}
