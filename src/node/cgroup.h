#pragma once

/* Limits of containers by control groups (version 2), where this process may create them:
 *
 *   ROOT/NAME/POD-UID/CONTAINER       cpu.max, cpu.weight, memory.max
 *
 * A program enters its group before it starts, so all of its children are in it. */

#include "base/json.h"

struct cgroups;

/* root: where cgroups are mounted, normally /sys/fs/cgroup. NULL: they cannot be used here, and err
 * says why. */
struct cgroups *cgroups_new(const char *root, const char *name, struct error *err) must_check;
void cgroups_free(struct cgroups *g);
/* Creates a new group for the next run of a container, from its resources. *ret: the file to write
 * to in order to enter the group. */
bool cgroups_make(struct cgroups *g, struct arena *a, const char *uid, const char *container,
    struct json resources, const char **ret, struct error *err) must_check;
/* Whether the OOM killer killed a process of this run. */
bool cgroups_ran_out(const struct cgroups *g, const char *uid, const char *container);
/* Removes the empty groups of a pod. uid NULL: of all pods. */
void cgroups_remove(struct cgroups *g, const char *uid);
