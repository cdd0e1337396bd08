#pragma once

/* Reads the files of `leeboard up` that rows need (show_rows.h). */

#include "cli/show/rows.h"

/* folder: of the data; must live as long as the result. */
struct show_machine show_machine(struct arena *a, const char *folder);
