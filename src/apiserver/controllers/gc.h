#pragma once

/* The garbage collector. It deletes objects whose owners are gone. An owner that is deleted in the
 * foreground waits for its dependents; one that orphans them releases them first.
 *
 * It sees every write, tracks dependents by owner uid, and does its work in a hook after the
 * responses of a turn are sent, always in the order in which it became due. */

#include "apiserver/core/server.h"

struct gc;

struct gc *gc_new(struct apiserver *s); /* loads what is stored */
void gc_free(struct gc *gc);
/* old absent: created; now absent: deleted. */
void gc_written(struct gc *gc, const struct api_kind *k, struct json old, struct json now);
/* Recent writes may have been undone: reloads what is stored. */
void gc_doubt(struct gc *gc);
