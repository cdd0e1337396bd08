#pragma once

/* Reading the logs that shims write (shim.h). */

#include "base/arena.h"

/* The last lines without their heads, at most that many bytes and lines; "" if there are none. */
const char *logs_tail(struct arena *a, const char *path, size_t bytes_max, size_t lines_max);
