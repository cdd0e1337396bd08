#pragma once

/* Random values from a CRD's schema: mostly valid, some at a boundary, some invalid. The API server
 * refuses invalid ones, as it would for a user. */

#include "sim/sim.h"

/* An object of the kind with just its required fields, set to valid values. */
struct json sim_plainest(
    struct sim *s, struct arena *a, struct json crd, const char *ns, const char *name);
/* The same with a few fields set to anything. */
struct json sim_generate(
    struct sim *s, struct arena *a, struct json crd, const char *ns, const char *name);
/* The same with one field of the spec changed or removed. */
struct json sim_mutate(struct sim *s, struct arena *a, struct json crd, struct json object);
