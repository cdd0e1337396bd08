#pragma once

/* Values from a CRD's schema: mostly valid, some at the edge, some wrong. What is wrong is refused
 * by the API server, as it would be for a person. */

#include "sim/sim.h"

/* An object of the kind with the fields that it must have, set to what works. */
struct json sim_plainest(
    struct sim *s, struct arena *a, struct json crd, const char *ns, const char *name);
/* The same with a few fields set to anything. */
struct json sim_generate(
    struct sim *s, struct arena *a, struct json crd, const char *ns, const char *name);
/* The same with one field of the spec set to something else, or gone. */
struct json sim_mutate(struct sim *s, struct arena *a, struct json crd, struct json object);
