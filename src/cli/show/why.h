#pragma once

/* Explains in one line why an object is not ready, from its workloads, their pods and the files of
 * those on this machine. Pure except for the files. Used by the display, its plain lines, `ps` and
 * `up --detach`. */

#include "cli/show/rows.h"

struct show_why {
    struct arena *arena;
    struct json object;
    struct json others;                 /* all objects, among them its workloads and pods */
    const struct show_machine *machine; /* NULL: no files available */
};

/* Reports a problem that needs attention: a pod that is refused, cannot start or keeps failing.
 * Sets state, phase and detail of the row, or leaves them unchanged. */
bool show_why_stuck(const struct show_why *w, struct show_row *row);
/* The same, or else the progress: for an object that is known not to be ready. */
bool show_why(const struct show_why *w, struct show_row *row);
/* Whether a pod belongs to an object: its Deployment or other workload has the object's name. */
bool show_why_belongs(struct json pod, struct json object);
/* The name of the workload that a pod belongs to; empty: it has none. */
struct str show_why_workload(struct json pod);
/* "no space left in …", with advice. */
const char *show_why_no_space(const struct show_why *w);
/* How its pods ended: "main: exit code 3: out of ideas", for the last one that ended. NULL:
 * none. */
const char *show_why_ended(const struct show_why *w);
