#pragma once

/* The files of `leeboard up` that rows are made of (show_rows.h). */

#include "cli/show/rows.h"

/* folder: of the data; lives as long as what is returned. */
struct show_machine show_machine(struct arena *a, const char *folder);
