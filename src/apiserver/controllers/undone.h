#pragma once

/* Recovery after a failed commit of a turn: the store is rolled back, and so must be the state
 * derived from its changes: kinds of CRDs, addresses, the garbage collector's data, pending work.
 * The server's own controllers then pause for a moment, because a full disk must not be tried again
 * and again. */

#include "apiserver/core/server.h"

struct undone;

struct undone *undone_new(struct apiserver *s);
void undone_free(struct undone *u);
/* A flush failed, and its writes were rolled back. */
void undone_recover(struct undone *u);
/* Whether the server's own controllers are paused. */
bool undone_rests(const struct undone *u);
