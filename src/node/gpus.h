#pragma once

/* The GPUs of this machine as the kernel reports them: NVIDIA GPUs by the devices of their driver,
 * others by their render nodes. This loads no library and runs no program. */

#include "base/arena.h"

enum gpu_kind { GPU_NVIDIA, GPU_AMD, GPU_INTEL_I915, GPU_INTEL_XE, GPU_RENDER, GPU_KINDS };

struct gpus {
    int counts[GPU_KINDS]; /* usable ones; a render node is also counted under its vendor */
    /* for people: "2 of NVIDIA (NVIDIA H200)", "1 of AMD without a driver …"; "none" */
    const char *text;
    /* the build that programs need: "CUDA or Vulkan"; NULL: no GPU */
    const char *builds;
};

/* root: a prefix for /dev, /proc and /sys; "" for this machine. */
struct gpus gpus_find(struct arena *a, const char *root);
