#pragma once

/* Corrects the stored status of pods after a crash of the machine, or after processes ended while
 * no leeboard ran, before the controllers and the user read it as ready. */

#include "cli/ask.h"

/* Marks pods as not ready that are stored as ready but have no processes. */
bool up_stale_settle(struct ask *q, const char *folder, struct error *err) must_check;
