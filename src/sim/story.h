#pragma once

/* Stories: what a person does, written down step by step. Each is played as it is, with the faults
 * of some seeds, and without its history; the ends must be alike, and everything served. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_step {
    int64_t at_s;
    const char *kind, *name; /* NULL: the end of the steps; or what goes wrong, see mishap.c */
    /* Members of the spec, as JSON, beside those that it must have; a key may be a path. NULL: the
     * object is deleted. */
    const char *spec;
    const char *told; /* before that a condition of it says this, unless there are faults */
};

struct sim_story {
    const char *name;
    const char *what;
    bool race; /* who came first has something for good: only whether all is served is checked */
    const struct sim_step *steps;
};

const struct sim_story *sim_story_at(size_t i); /* NULL: past the end */
const struct sim_story *sim_story_find(const char *name);
int64_t sim_story_ms(const struct sim_story *story); /* until shortly after its last step */
