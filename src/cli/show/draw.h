#pragma once

/* Draws rows as text: on a terminal, lines that are updated in place; otherwise a plain line for
 * each change. Only produces bytes: show.h writes them and decides when. */

#include "cli/show/rows.h"

struct buf;

struct show_look {
    bool terminal; /* lines may be updated in place */
    bool colour;
    bool utf8;
    int width, height; /* of the terminal, in characters */
};

/* From the type of the descriptor, the window's size, TERM, NO_COLOR and the locale's variables. */
struct show_look show_look_of(int fd);

/* The current content of the screen. */
struct show_screen;

struct show_screen *show_screen_new(void);
void show_screen_free(struct show_screen *s);
/* The bytes that change the screen to these rows. Without a terminal: a line for each row whose
 * phase or detail changed, whose progress passed another tenth, or that was removed. Rates are
 * computed from earlier calls and now_ms. */
void show_screen_draw(struct show_screen *s, const struct show_look *look,
    const struct show_row *rows, size_t count, int64_t now_ms, struct buf *to);
/* Prints a line above the rows, which are drawn again below it. */
void show_screen_print(
    struct show_screen *s, const struct show_look *look, const char *line, struct buf *to);
/* Keeps the last frame on the screen and resets the terminal: shows the cursor, turns off
 * colours. */
void show_screen_end(struct show_screen *s, struct buf *to);
