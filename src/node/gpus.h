#pragma once

/* The GPUs of this machine, as far as the kernel tells: NVIDIA's by the devices of its driver,
 * others by their render nodes. Nothing is loaded and no program is asked. */

#include "base/arena.h"

enum gpu_kind { GPU_NVIDIA, GPU_AMD, GPU_INTEL_I915, GPU_INTEL_XE, GPU_RENDER, GPU_KINDS };

struct gpus {
    int counts[GPU_KINDS]; /* that programs can use; a render node counts under its vendor, too */
    /* For people: "2 of NVIDIA (NVIDIA H200)", "1 of AMD without a driver …"; "none". */
    const char *text;
    /* How a program should be built for them: "CUDA or Vulkan"; NULL: there is no GPU. */
    const char *builds;
};

/* root: in front of /dev, /proc and /sys; "" for the machine's own. */
struct gpus gpus_find(struct arena *a, const char *root);
