#pragma once

/* Whether the priority level that a FlowSchema names is there: its condition Dangling, which the
 * real server's own controller keeps. Nothing here acts on either kind. */

#include "apiserver/core/server.h"

struct dangling;

struct dangling *dangling_new(struct apiserver *s);
void dangling_free(struct dangling *d);
/* What it wrote last may have been undone. */
void dangling_doubt(struct dangling *d);
bool dangling_is_pending(const struct dangling *d);
/* Before a flush: opens the calls that are due, whose answers nobody reads. */
void dangling_run(struct dangling *d);
