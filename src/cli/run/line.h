#pragma once

/* A line that a person edits on a terminal, with history. Keys in, bytes for the screen out,
 * nothing else: the terminal and the loop are chat.c's.
 *
 *   line_begin ─> line_feed … LINE_ENTERED ─> line_text, line_remember ─> line_begin
 *
 * A line may be longer than the window, and have several rows (by Alt-Enter, or pasted). */

#include "base/buf.h"

struct line;

struct line_look {
    int width, height; /* of the window, in characters */
    bool colour;
};

enum line_event {
    LINE_MORE,      /* all bytes are taken; the line goes on */
    LINE_ENTERED,   /* it is whole */
    LINE_CANCELLED, /* Ctrl-C; what was there is line_text() */
    LINE_ENDED,     /* Ctrl-D on an empty line */
    LINE_SUSPENDED, /* Ctrl-Z */
};

struct line *line_new(const char *prompt) must_check;
void line_free(struct line *l);
/* An empty line: the prompt, where the cursor is. */
void line_begin(struct line *l, const struct line_look *look, struct buf *to);
/* Takes keys off *bytes up to the first event. After all but LINE_MORE the cursor is below. */
enum line_event line_feed(struct line *l, struct str *bytes, struct buf *to);
/* The window has another size, or something else was on the screen: the line as it stands. */
void line_redraw(struct line *l, const struct line_look *look, struct buf *to);
const char *line_text(const struct line *l);
/* For the arrow keys. What is empty, or the same as the one before, is not kept twice. */
void line_remember(struct line *l, const char *text);
