#pragma once

/* Editing of one line on a terminal, with history. Input is keys and output is bytes for the
 * screen; chat.c handles the terminal and the loop.
 *
 *   line_begin ─> line_feed … LINE_ENTERED ─> line_text, line_remember ─> line_begin
 *
 * A line may be longer than the window, and may have several rows (by Alt-Enter, or pasted). */

#include "base/buf.h"

struct line;

struct line_look {
    int width, height; /* of the window, in characters */
    bool colour;
};

enum line_event {
    LINE_MORE,      /* all bytes were read; the line is not complete */
    LINE_ENTERED,   /* the line is complete */
    LINE_CANCELLED, /* Ctrl-C; line_text() is the cancelled line */
    LINE_ENDED,     /* Ctrl-D on an empty line */
    LINE_SUSPENDED, /* Ctrl-Z */
};

struct line *line_new(const char *prompt) must_check;
void line_free(struct line *l);
/* Starts an empty line with the prompt at the cursor. */
void line_begin(struct line *l, const struct line_look *look, struct buf *to);
/* Reads keys from *bytes up to the first event. After any event but LINE_MORE the cursor is below
 * the line. */
enum line_event line_feed(struct line *l, struct str *bytes, struct buf *to);
/* Draws the line again after the window was resized or other output was printed. */
void line_redraw(struct line *l, const struct line_look *look, struct buf *to);
const char *line_text(const struct line *l);
/* For the arrow keys. Does not add an empty line, or one equal to the previous one. */
void line_remember(struct line *l, const char *text);
