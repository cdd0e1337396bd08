#pragma once

/* Which spec fields of the kinds were set by accepted requests, over all runs of a process. */

#include "sim/sim.h"

struct sim_coverage;
struct sim_coverage *sim_coverage_new(struct json crds);
void sim_coverage_free(struct sim_coverage *c);
void sim_coverage_add(struct sim_coverage *c, struct json object);
/* ".a.b[].c" in the spec of this kind, one of the fields not yet set; "": all are set. It lives as
 * long as the coverage. */
const char *sim_coverage_missing(struct sim_coverage *c, const char *kind, uint32_t which);
/* The number of fields that are not set and have no explanation. */
size_t sim_coverage_left(const struct sim_coverage *c);
/* "N of M fields", then a line for each field that was not set. */
void sim_coverage_print(const struct sim_coverage *c);
