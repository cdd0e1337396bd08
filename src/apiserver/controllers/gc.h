#pragma once

/* The garbage collector: objects whose owners are gone are deleted; an owner that is deleted in the
 * foreground waits for its dependents, one that orphans them lets them go first.
 *
 * It learns of every write, keeps who depends on whom by uid, and works through what follows in
 * a hook, after the answers of a turn are out: always in the order in which it became due. */

#include "apiserver/core/server.h"

struct gc;

struct gc *gc_new(struct apiserver *s); /* knows what is stored already */
void gc_free(struct gc *gc);
/* old absent: created; now absent: deleted. */
void gc_written(struct gc *gc, const struct api_kind *k, struct json old, struct json now);
/* What was done of late may have been undone: begins again with what is stored. */
void gc_doubt(struct gc *gc);
