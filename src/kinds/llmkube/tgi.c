/* Text Generation Inference. It fetches the model itself. */

#include "kinds/llmkube/args.h"
#include "kinds/llmkube/model.h"

#define CONFIG "tgiConfig."

static const struct args_rule rules[] = {
    { "--model-id", .make = args_model },
    { "--port", .make = args_port },
    { "--hostname", "bindAddress", JSON_STR, .otherwise = "::", .unless = "--hostname" },
    { "--quantize", CONFIG "quantize", JSON_STR },
    { "--max-input-length", CONFIG "maxInputLength", JSON_INT },
    { "--max-total-tokens", CONFIG "maxTotalTokens", JSON_INT },
    { "--dtype", CONFIG "dtype", JSON_STR },
    { "--num-shard", .make = args_devices, .min = 2 },
    { NULL, "extraArgs", JSON_LIST },
    { 0 },
};

/* A path may be mounted by extraVolumes; everything else must be a repository. */
static struct runtime_finding check(const struct runtime *r, const struct runtime_input *in)
{
    switch (in->model->source.origin) {
    case SOURCE_HTTP:
    case SOURCE_S3:
    case SOURCE_PVC:
        return (struct runtime_finding){ r->condition,
            "SourceNotServable",
            "runtime tgi loads a Hugging Face repository, not a file or a claim, so the server "
            "will not start with this Model. Give the Model a source such as hf://org/repo, or "
            "choose another runtime" };
    case SOURCE_INVALID:
    case SOURCE_LOCAL:
    case SOURCE_HF_REPO:
        break;
    }
    return (struct runtime_finding){ 0 };
}

const struct runtime runtime_tgi = {
    .name = "tgi",
    .container_name = "tgi",
    .image = "ghcr.io/huggingface/text-generation-inference:3.3.7",
    .image_settable = true,
    .image_needs_nvidia = true,
    .port = 80,
    .health_path = "/health",
    .live_path = "/health",
    .hpa_metric = "tgi:queue_size",
    .condition = "TGISpecValid",
    .idle_kind = "gauge",
    .idle_target = "tgi_batch_current_size",
    .rules = rules,
    .token_env = "HUGGING_FACE_HUB_TOKEN",
    .token_path = CONFIG "hfTokenSecretRef",
    .check = check,
};
