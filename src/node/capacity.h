#pragma once

/* What the machine has, and what pods ask of it. Amounts are thousandths of a CPU, bytes, pieces.
 */

#include "base/json.h"
#include "node/gpus.h"

enum {
    CAPACITY_CPU,
    CAPACITY_MEMORY,
    CAPACITY_GPU, /* the first of GPU_KINDS */
    CAPACITY_PODS = CAPACITY_GPU + GPU_KINDS,
    CAPACITY_COUNT
};

struct capacity {
    int64_t amounts[CAPACITY_COUNT];
};

/* By the processors that are on, its memory and its GPUs. */
struct capacity capacity_of_machine(const struct gpus *gpus);
/* The resource of a kind of GPU: "nvidia.com/gpu". */
const char *capacity_gpu_name(enum gpu_kind kind);
/* Of which kind a pod wants GPUs; GPU_KINDS: it wants none. */
enum gpu_kind capacity_gpu_kind(const struct capacity *wanted);
/* As status.capacity has it. A resource that there is none of is left out, but for the first two.
 */
struct json capacity_to_json(struct arena *a, const struct capacity *c);
/* Of a whole pod: the most that its init containers or its containers need. */
struct capacity capacity_of_pod(struct json pod);
void capacity_add(struct capacity *to, const struct capacity *more);
/* The scheduler's words if it asks for a resource that no machine of ours has (hugepages-2Mi); or
 * NULL. */
const char *capacity_unknown(struct arena *a, struct json pod);
/* The scheduler's words if it does not fit into what is left, with the numbers, and the GPUs that
 * were found if one is missing; NULL: it fits. */
const char *capacity_lacks(struct arena *a, const struct capacity *all, const struct capacity *used,
    const struct capacity *wanted, const char *gpus);
