#pragma once

/* What Go's parsers say of a text that they cannot read: clients see these words. */

#include "base/arena.h"

/* time.Parse() of RFC 3339; micro: with six digits after the point. */
const char *go_time_trouble(struct arena *a, const char *text, bool micro);
/* base64.StdEncoding; the text is no base64. */
const char *go_base64_trouble(struct arena *a, const char *text);
