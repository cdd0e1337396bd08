#pragma once

/* What is stored of pods after an end that nobody saw: of the machine, or of processes while no
 * leeboard ran. Before the controllers and the person read that they are ready, it is set right. */

#include "cli/ask.h"

/* Pods that are stored as ready, and of which nothing runs, are not ready. */
bool up_stale_settle(struct ask *q, const char *folder, struct error *err) must_check;
