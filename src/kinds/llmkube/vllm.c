/* vLLM. It always serves metrics, and refuses to start with a flag for them (LLMKube #1030). */

#include "kinds/llmkube/args.h"

#define CONFIG "vllmConfig."

static bool speculates(const struct runtime_input *in)
{
    return json_get_bool(in->spec, CONFIG "speculative.enabled", false) &&
           !text_empty(json_get_text(in->spec, CONFIG "speculative.model"));
}

static const struct args_rule rules[] = {
    { NULL, .make = args_model },
    { "--port", .make = args_port },
    { "--host", "bindAddress", JSON_STR, .otherwise = "::", .unless = "--host" },

    { "--tensor-parallel-size", CONFIG "tensorParallelSize", JSON_INT, .min = 2 },
    { "--max-model-len", CONFIG "maxModelLen", JSON_INT },
    { "--quantization", CONFIG "quantization", JSON_STR },
    { "--dtype", CONFIG "dtype", JSON_STR },
    { "--kv-cache-dtype",
        CONFIG "kvCacheDtype",
        JSON_STR,
        .custom = CONFIG "kvCacheCustomDtype",
        .none = "auto" },
    { "--enable-prefix-caching", CONFIG "enablePrefixCaching", JSON_BOOL },
    { "--enable-chunked-prefill", CONFIG "enableChunkedPrefill", JSON_BOOL },
    { "--max-num-batched-tokens", CONFIG "maxNumBatchedTokens", JSON_INT },
    { "--attention-backend", CONFIG "attentionBackend", JSON_STR },
    { "--speculative-model", CONFIG "speculative.model", JSON_STR, .when = speculates },
    { "--num-speculative-tokens",
        CONFIG "speculative.numSpeculativeTokens",
        JSON_INT,
        .when = speculates },
    { "--enable-expert-parallel", CONFIG "enableExpertParallel", JSON_BOOL },
    { "--cpu-offload-gb", CONFIG "cpuOffloadGB", JSON_INT, .when = args_has_devices },
    { "--gpu-memory-utilization",
        CONFIG "gpuMemoryUtilization",
        JSON_REAL,
        .when = args_has_devices },

    { "--tensor-parallel-size",
        .make = args_devices,
        .min = 2,
        .unless_set = CONFIG "tensorParallelSize" },
    { "--max-num-seqs", "parallelSlots", JSON_INT, .unless = "--max-num-seqs" },
    { NULL, "extraArgs", JSON_LIST },
    { 0 },
};

static bool fits(struct json spec, const struct gpu *gpu, struct error *err)
{
    int64_t size = json_get_int(spec, CONFIG "tensorParallelSize", 1);
    if (gpu->count == 0 || size <= gpu->count)
        return true;
    return fail(err,
        ERR_INVALID,
        "Invalid parallelism: vllmConfig.tensorParallelSize %lld exceeds the %lld GPU(s) this pod "
        "requests (model hardware.gpu.count / resources.gpu); multi-node inference is not "
        "supported, so the pod can never start. Lower tensorParallelSize, remove it to auto-match "
        "the GPU count, or request more GPUs",
        (long long)size,
        (long long)gpu->count);
}

static struct runtime_finding check(const struct runtime *r, const struct runtime_input *in)
{
    if (json_get_bool(in->spec, CONFIG "speculative.enabled", false) && !speculates(in))
        return (struct runtime_finding){ r->condition,
            "SpeculativeMissingModel",
            "spec.vllmConfig.speculative is enabled without a model: name one in "
            "speculative.model, or nothing is decoded speculatively" };
    if (json_get_int(in->spec, CONFIG "cpuOffloadGB", 0) > 0)
        return (struct runtime_finding){ r->condition,
            "CPUOffloadUnverified",
            "spec.vllmConfig.cpuOffloadGB is set. vLLM's --cpu-offload-gb is reported silently "
            "ineffective in some configurations on current releases (vllm-project/vllm#48468, "
            "open): the flag is accepted but no weights offload, so VRAM-tight models OOM instead "
            "of spilling to host RAM. It is verified working in others (see the cpu-offload "
            "sample). Confirm it took effect in the server logs, via 'Offloader set to' / "
            "'offloaded parameters' lines or a Model-loading size below the full footprint, before "
            "relying on it" };
    return (struct runtime_finding){ 0 };
}

const struct runtime runtime_vllm = {
    .name = "vllm",
    .container_name = "vllm",
    .image = "vllm/vllm-openai:v0.25.1",
    .image_settable = true,
    .image_needs_nvidia = true,
    .port = 8000,
    .health_path = "/health",
    .live_path = "/health",
    .stages_model = true,
    .hpa_metric = "vllm:num_requests_running",
    .condition = "VLLMSpecValid",
    .idle_kind = "gauge",
    .idle_target = "vllm:num_requests_running",
    .rules = rules,
    .token_env = "HF_TOKEN",
    .token_path = CONFIG "hfTokenSecretRef",
    .command = { "vllm", "serve" },
    .fits = fits,
    .check = check,
};
