#pragma once

/* Stories: what a person does, step by step. Each story is played without faults, with the faults
 * of some seeds, and without its history; the end states must be alike, and everything must be
 * served. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_step {
    int64_t at_s;
    const char *kind, *name; /* NULL: the end of the steps; or a mishap, see mishap.c */
    /* Members of the spec, as JSON, in addition to the required ones; a key may be a path. NULL:
     * the object is deleted. */
    const char *spec;
    const char *told; /* a condition must say this before the step, unless there are faults */
};

struct sim_story {
    const char *name;
    const char *what;
    bool race; /* the first object keeps something that others want: end states are not compared */
    const struct sim_step *steps;
};

const struct sim_story *sim_story_at(size_t i); /* NULL: past the end */
const struct sim_story *sim_story_find(const char *name);
int64_t sim_story_ms(const struct sim_story *story); /* until shortly after its last step */
