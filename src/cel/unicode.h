#pragma once

/* The general categories of Unicode, for \p{…} in regular expressions. */

#include "base/base.h"

struct cel_unicode_range {
    uint32_t first, last;
    char category[3];
};
/* By character; ends with an empty one. */
extern const struct cel_unicode_range cel_unicode_ranges[];
