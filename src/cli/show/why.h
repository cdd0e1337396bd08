#pragma once

/* Why something is not ready, in a line for people: from the workloads that were made for it, their
 * pods and what those left on this machine. Pure, but for the latter. The display, its plain lines,
 * `ps` and `up --detach` all have it from here. */

#include "cli/show/rows.h"

struct show_why {
    struct arena *arena;
    struct json object;
    struct json others; /* everything else; workloads and pods are looked for among it */
    const struct show_machine *machine; /* NULL: nobody can look */
};

/* Something of it needs somebody: a pod that is refused, cannot start or ends again and again.
 * Sets state, phase and detail of the row, or leaves them. */
bool show_why_stuck(const struct show_why *w, struct show_row *row);
/* The same, or how far it is: for what is known not to be ready. */
bool show_why(const struct show_why *w, struct show_row *row);
/* Whether a pod was made for an object: by its Deployment or whatever else has the object's name.
 */
bool show_why_belongs(struct json pod, struct json object);
/* The name of the Deployment or whatever else a pod was made for; empty: it was made for itself. */
struct str show_why_workload(struct json pod);
/* "no space left in …", with what to do. */
const char *show_why_no_space(const struct show_why *w);
/* How its pods ended: "main: exit code 3: out of ideas", of the last one that did. NULL: none. */
const char *show_why_ended(const struct show_why *w);
