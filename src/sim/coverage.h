#pragma once

/* Which fields of the kinds' specs people have set, over all runs of a process: those that the API
 * server accepted. */

#include "sim/sim.h"

struct sim_coverage;
struct sim_coverage *sim_coverage_new(struct json crds);
void sim_coverage_free(struct sim_coverage *c);
void sim_coverage_add(struct sim_coverage *c, struct json object);
/* ".a.b[].c" in the spec of this kind, one of those that were not set yet; "": all were. It lives
 * as long as the coverage. */
const char *sim_coverage_missing(struct sim_coverage *c, const char *kind, uint32_t which);
/* How many fields were not set, and nobody explains why. */
size_t sim_coverage_left(const struct sim_coverage *c);
/* "N of M fields", then a line for each that was not reached. */
void sim_coverage_print(const struct sim_coverage *c);
