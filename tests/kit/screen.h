#pragma once

/* A terminal of a few lines, as far as our display needs one: feed it bytes, look at what a person
 * would see. What it does not know fails the test. */

#include "base/str.h"

#define SCREEN_LINES 40
#define SCREEN_COLUMNS 200

struct screen {
    int width;
    int row, column;
    bool hidden;  /* the cursor */
    bool no_wrap; /* at the right edge */
    /* Characters, each with the colour it was written in. */
    uint32_t cells[SCREEN_LINES][SCREEN_COLUMNS];
    int colours[SCREEN_LINES][SCREEN_COLUMNS];
    int colour;
};

void screen_init(struct screen *s, int width);
void screen_feed(struct screen *s, struct str bytes);
/* A line without the blanks at its end, from the test's arena. */
const char *screen_line(const struct screen *s, int row);
