#pragma once

/* After the disk refused a turn: the store is as it was before, and so must be what others made of
 * its changes: kinds of CRDs, addresses, the garbage collector's knowledge, what was due. The
 * server's own controllers then rest for a moment: a full disk must not be asked again and again.
 */

#include "apiserver/core/server.h"

struct undone;

struct undone *undone_new(struct apiserver *s);
void undone_free(struct undone *u);
/* A flush failed, and what it would have written is undone. */
void undone_recover(struct undone *u);
/* The server's own controllers do nothing for now. */
bool undone_rests(const struct undone *u);
