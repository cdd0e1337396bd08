#pragma once

/* The serving runtimes: which image, port, command, arguments, environment and probes (facts 3.5),
 * and what GPU a service gets (3.5, 3.7). Pure tables and builders over the two specs. */

#include "base/json.h"

struct llmkube_settings;
struct model;

struct gpu {
    int64_t count;             /* devices asked for as an extended resource */
    bool present;              /* count > 0, or claims */
    struct json claims;        /* Model's resourceClaims (DRA), or absent */
    const char *resource_name; /* "nvidia.com/gpu" */
    const char *toleration_key;
    const char *vendor;        /* "nvidia", "amd", "intel" */
    const char *runtime;       /* AMD: "vulkan", "rocm", or NULL */
    struct json node_selector; /* of the sharing pool, or absent */
};

/* False with a message such as upstream's "Invalid gpuSharing: …" / "Invalid parallelism: …". */
bool gpu_read(struct arena *a, const struct llmkube_settings *s, const struct model *m,
    struct json service_spec, struct gpu *ret, struct error *err) must_check;

struct runtime_input {
    const struct llmkube_settings *settings;
    const struct model *model;
    struct json spec; /* of the InferenceService */
    const struct gpu *gpu;
    const char *model_path;  /* "" when nothing is staged */
    const char *staged_dir;  /* NULL unless several files */
    const char *mmproj_path; /* NULL: none */
    const char *draft_path;  /* NULL: none */
};

struct runtime {
    const char *name;           /* "llamacpp" */
    const char *container_name; /* "llama-server" */
    int64_t port;
    bool stages_model;      /* wants init containers and a model volume */
    const char *hpa_metric; /* default Pods metric */
    /* How to see that nothing is being served; NULL: cannot tell. */
    const char *idle_kind;   /* "slots", "gauge", "endpoint" */
    const char *idle_target; /* path, or gauge name */
    struct json (*args)(struct arena *a, const struct runtime_input *in);
    struct json (*env)(struct arena *a, const struct runtime_input *in);     /* may be NULL */
    struct json (*command)(struct arena *a, const struct runtime_input *in); /* may be NULL */
};

const struct runtime *runtime_find(const char *name); /* NULL or unknown: llamacpp */
/* spec.image, --runtime-images, vendor rule, default; NULL if there is none (generic). */
const char *runtime_image(struct arena *a, const struct runtime *r, const struct runtime_input *in);
int64_t runtime_container_port(const struct runtime *r, struct json spec);
/* { "startupProbe": …, "livenessProbe": …, "readinessProbe": … } after overrides. */
struct json runtime_probes(struct arena *a, const struct runtime *r, struct json spec);
/* What status.mode says: explicit, else inferred. */
const char *runtime_mode(struct json spec);
/* The VLLMSpecValid / SGLangSpecValid findings: reason NULL if there is none. */
struct runtime_finding {
    const char *condition; /* "VLLMSpecValid" */
    const char *reason;
    const char *message;
};
struct runtime_finding runtime_check(struct arena *a, const struct runtime *r, struct json spec);
