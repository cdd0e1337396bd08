#pragma once

/* Rows as text. On a terminal they are lines that are drawn over and over in the same place; else a
 * plain line whenever something changed. Bytes out, nothing else: who writes them and when is
 * show.h. */

#include "cli/show/rows.h"

struct buf;

struct show_look {
    bool terminal; /* lines may be drawn again */
    bool colour;
    bool utf8;
    int width, height; /* of the terminal, in characters */
};

/* By what the descriptor is, the window's size, TERM, NO_COLOR and the locale's variables. */
struct show_look show_look_of(int fd);

/* What is on the screen. */
struct show_screen;

struct show_screen *show_screen_new(void);
void show_screen_free(struct show_screen *s);
/* The bytes that bring the screen from what it shows to these rows. Without a terminal: a line for
 * each row whose phase or detail changed, whose progress passed another tenth, or that is gone.
 * Rates are worked out from what was drawn before and now_ms. */
void show_screen_draw(struct show_screen *s, const struct show_look *look,
    const struct show_row *rows, size_t count, int64_t now_ms, struct buf *to);
/* A line of its own above the rows, which are drawn again below it. */
void show_screen_print(
    struct show_screen *s, const struct show_look *look, const char *line, struct buf *to);
/* Leaves what is drawn where it is and gives the terminal back: cursor shown, colours off. */
void show_screen_end(struct show_screen *s, struct buf *to);
