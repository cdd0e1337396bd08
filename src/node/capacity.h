#pragma once

/* What the machine has, and what pods ask of it. Amounts are thousandths of a CPU, bytes, pieces.
 */

#include "base/json.h"

enum { CAPACITY_CPU, CAPACITY_MEMORY, CAPACITY_GPU, CAPACITY_PODS, CAPACITY_COUNT };

struct capacity {
    int64_t amounts[CAPACITY_COUNT];
};

/* By the processors that are on, /proc/meminfo and /dev/nvidia0, nvidia1, … */
struct capacity capacity_of_machine(void);
/* As status.capacity has it. A resource that there is none of is left out, but for the first two.
 */
struct json capacity_to_json(struct arena *a, const struct capacity *c);
/* Of a whole pod: the most that its init containers or its containers need. */
struct capacity capacity_of_pod(struct json pod);
void capacity_add(struct capacity *to, const struct capacity *more);
/* … if it asks for a resource that no machine of ours has (amd.com/gpu, hugepages-2Mi); or NULL. */
const char *capacity_unknown(struct arena *a, struct json pod);
/* The scheduler's words if it does not fit into what is left, with the numbers; NULL: it fits. */
const char *capacity_lacks(struct arena *a, const struct capacity *all, const struct capacity *used,
    const struct capacity *wanted);
