#pragma once

/* What differs between two texts of many lines, as a unified diff with three lines around each
 * change and without names of files. Which lines are taken for the same is what the real server's
 * library finds (the longest run first; lines that are everywhere do not begin one), because its
 * messages have such diffs in them. */

#include "base/arena.h"

/* "": nothing does, or the texts are too long to be compared. */
const char *line_diff(struct arena *a, const char *old, const char *new);
