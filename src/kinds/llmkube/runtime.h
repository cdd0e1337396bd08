#pragma once

/* The serving runtimes: the image, port, command, arguments, environment, probes and GPU of a
 * server container. Pure tables and builders over the two specs; one file per runtime (llamacpp.c,
 * vllm.c, …), each with its arguments in command-line order. */

#include "base/json.h"

struct args_rule;
struct llmkube_settings;
struct model;

/* The GPUs of a service. */
struct gpu {
    int64_t count;             /* devices requested by number; the server spreads over them */
    bool present;              /* count > 0, or claims */
    struct json claims;        /* Model's resourceClaims (DRA), or absent */
    const char *resource_name; /* "nvidia.com/gpu" */
    const char *toleration_key;
    const char *vendor;        /* "nvidia", "amd", "intel" */
    const char *runtime;       /* AMD: "vulkan", "rocm", or NULL */
    struct json node_selector; /* of the sharing pool, or absent */
};

/* False if the service cannot run as specified. err is then the message for its status: a value of
 * the wrong type with its path, "Invalid gpuSharing: …", "Invalid parallelism: …". Also checks the
 * types of the arguments that the service's runtime takes from its spec. */
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

/* A problem that does not prevent the deployment of a service, but its intended function. reason
 * NULL: none. */
struct runtime_finding {
    const char *condition; /* "VLLMSpecValid", "SGLangSpecValid", "TGISpecValid" */
    const char *reason;
    const char *message;
};

struct runtime {
    const char *name;           /* "llamacpp" */
    const char *container_name; /* "llama-server" */
    const char *image;          /* NULL: the service must name one */
    bool image_settable;        /* --runtime-images may set another default */
    bool image_needs_nvidia;    /* `image` needs NVIDIA; a GPU of another vendor is a finding */
    int64_t port;
    const char *health_path; /* of startup and readiness probe; NULL: probed by TCP */
    const char *live_path;   /* of the liveness probe */
    bool stages_model;       /* needs init containers and a model volume */
    const char *hpa_metric;  /* default Pods metric */
    const char *condition;   /* type of its findings; NULL: it has none */
    /* How to see that no request is being served; NULL: unknown. For "endpoint" the target is in
     * the service's annotation RUNTIME_IDLE_ANNOTATION; without it the state is unknown, too. */
    const char *idle_kind;         /* "slots", "gauge", "endpoint" */
    const char *idle_target;       /* path, or gauge name */
    const struct args_rule *rules; /* the arguments, see args_build() */
    const char *command[4];        /* NULL-terminated; none: the image's own */
    const char *token_env;         /* a variable … */
    const char *token_path;        /* … from the secret key that spec names here; NULL: none */
    const char *switch_env;        /* a variable that is always 1; NULL: none */
    /* Whether there are enough GPUs for the spec; NULL: always. */
    bool (*fits)(struct json spec, const struct gpu *gpu, struct error *err);
    struct runtime_finding (*check)(const struct runtime *r, const struct runtime_input *in);
};

#define RUNTIME_IDLE_ANNOTATION "inference.llmkube.dev/idle-endpoint"

extern const struct runtime runtime_llamacpp, runtime_llamacpp_router, runtime_vllm, runtime_sglang,
    runtime_tgi, runtime_personaplex, runtime_generic;

const struct runtime *runtime_find(const char *name); /* NULL or unknown: llamacpp */
/* spec.image, --runtime-images, vendor rule, default; NULL if there is none (generic). */
const char *runtime_image(struct arena *a, const struct runtime *r, const struct runtime_input *in);
struct json runtime_command(struct arena *a, const struct runtime *r); /* absent: the image's own */
struct json runtime_env(struct arena *a, const struct runtime *r, struct json spec);
int64_t runtime_container_port(const struct runtime *r, struct json spec);
/* { "startupProbe": …, "livenessProbe": …, "readinessProbe": … } after overrides. Only fields that
 * we own: scheme, successThreshold and the like are left to the API server. */
struct json runtime_probes(struct arena *a, const struct runtime *r, struct json spec);
/* The value of status.mode: the explicit one, or else inferred. */
const char *runtime_mode(struct json spec);
/* Reads settings, model, spec and gpu of the input; model may be all zero. */
struct runtime_finding runtime_check(
    struct arena *a, const struct runtime *r, const struct runtime_input *in);
