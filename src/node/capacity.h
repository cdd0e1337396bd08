#pragma once

/* What the machine has and what pods request. Units: thousandths of a CPU, bytes, pieces. */

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

/* Counts the online processors, the memory and the GPUs. */
struct capacity capacity_of_machine(const struct gpus *gpus);
/* The resource name of a GPU kind: "nvidia.com/gpu". */
const char *capacity_gpu_name(enum gpu_kind kind);
/* The kind of GPU that a pod requests; GPU_KINDS if it requests none. */
enum gpu_kind capacity_gpu_kind(const struct capacity *wanted);
/* In the form of status.capacity. Zero amounts are omitted, except for CPU and memory. */
struct json capacity_to_json(struct arena *a, const struct capacity *c);
/* For a whole pod: the larger of what its init containers and its containers need. */
struct capacity capacity_of_pod(struct json pod);
void capacity_add(struct capacity *to, const struct capacity *more);
/* The scheduler's message if the pod requests a resource that this node never has (hugepages-2Mi);
 * NULL otherwise. */
const char *capacity_unknown(struct arena *a, struct json pod);
/* NULL if the pod fits into what is left. Otherwise the scheduler's message with the numbers, and
 * with the GPUs that were found if one is missing. */
const char *capacity_lacks(struct arena *a, const struct capacity *all, const struct capacity *used,
    const struct capacity *wanted, const char *gpus);
