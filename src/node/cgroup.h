#pragma once

/* Limits of containers by control groups (version 2), where we may make them:
 *
 *   ROOT/NAME/POD-UID/CONTAINER       cpu.max, cpu.weight, memory.max
 *
 * A program enters its group before it begins, so everything that it starts is in it. */

#include "base/json.h"

struct cgroups;

/* root: where the machine has them, /sys/fs/cgroup. NULL: they cannot be used here, err says why.
 */
struct cgroups *cgroups_new(const char *root, const char *name, struct error *err) must_check;
void cgroups_free(struct cgroups *g);
/* A fresh group for the next run of a container, by its resources. *ret: the file to enter by. */
bool cgroups_make(struct cgroups *g, struct arena *a, const char *uid, const char *container,
    struct json resources, const char **ret, struct error *err) must_check;
/* Whether a process of this run was killed because the memory was not enough. */
bool cgroups_ran_out(const struct cgroups *g, const char *uid, const char *container);
/* The groups of a pod in which nothing runs any more. uid NULL: of all pods. */
void cgroups_remove(struct cgroups *g, const char *uid);
