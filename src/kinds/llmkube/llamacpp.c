/* llama.cpp's server, with one model or as a router over a directory of them. */

#include "kinds/llmkube/args.h"
#include "kinds/llmkube/model.h"

#define ALL_LAYERS 99 /* more than any model has */

/* ---- what to serve ---- */

/* Empty when nothing is staged. Then there is no --model: the server uses -hf from extraArgs, or
 * serves the models in its cache. */
static struct json model_path(struct arena *a, const struct runtime_input *in)
{
    (void)a;
    return json_str(in->model_path);
}

static struct json mmproj_path(struct arena *a, const struct runtime_input *in)
{
    (void)a;
    return json_str(in->mmproj_path);
}

/* ---- GPUs ---- */

static bool has_gpu(const struct runtime_input *in)
{
    return in->gpu->present;
}

static bool has_several_gpus(const struct runtime_input *in)
{
    return in->gpu->count > 1;
}

static struct json gpu_layers(struct arena *a, const struct runtime_input *in)
{
    (void)a;
    int64_t layers = json_get_int(in->model->gpu, "layers", 0);
    return json_int(layers > 0 ? layers : ALL_LAYERS);
}

/* llama.cpp has no pipeline parallelism; distributing layers over GPUs is the closest
 * equivalent. */
static const char *split_mode_name(const struct runtime_input *in)
{
    const char *strategy = json_get_text(in->model->gpu, "sharding.strategy");
    if (text_eq(strategy, "tensor") || text_eq(strategy, "row"))
        return "row";
    return text_eq(strategy, "none") ? "none" : "layer";
}

static bool splits_tensors(const struct runtime_input *in)
{
    return has_several_gpus(in) && !text_eq(split_mode_name(in), "none");
}

static struct json split_mode(struct arena *a, const struct runtime_input *in)
{
    (void)a;
    return json_str(split_mode_name(in));
}

/* The number of layers in "10-19"; 0 if it is not such a range. */
static int64_t range_size(const char *range)
{
    struct str end = str_of(range);
    struct str start = str_cut(&end, '-');
    int64_t first, last;
    if (!end.ptr || !str_to_int(start, &first) || !str_to_int(end, &last) || first < 0 ||
        last < first || last >= INT32_MAX)
        return 0;
    return last - first + 1;
}

static int64_t common_divisor(int64_t x, int64_t y)
{
    return y ? common_divisor(y, x % y) : x;
}

/* One share per GPU: in proportion to the ranges of layerSplit if every GPU has a valid one,
 * otherwise equal. */
static struct json tensor_split(struct arena *a, const struct runtime_input *in)
{
    struct json ranges = json_get(in->model->gpu, "sharding.layerSplit");
    int64_t gpus = in->gpu->count, divisor = 0;
    bool split = json_is(ranges, JSON_LIST) && ranges.count == gpus;
    for (uint32_t i = 0; split && i < ranges.count; i++) {
        int64_t size = range_size(json_text(ranges.items[i]));
        divisor = common_divisor(size, divisor);
        split = size > 0;
    }
    const char *text = "";
    for (int64_t i = 0; i < gpus; i++) {
        int64_t share = split ? range_size(json_text(ranges.items[i])) / divisor : 1;
        text = arena_printf(a, "%s%s%lld", text, i ? "," : "", (long long)share);
    }
    return json_str(text);
}

/* ---- speculative decoding ---- */

static const char *speculative_type(const struct runtime_input *in)
{
    static const char *const names[][2] = {
        { "none", "" },
        { "disabled", "" },
        { "mtp", "draft-mtp" },
        { "draft", "draft-simple" },
    };
    const char *type = json_get_text(in->spec, "speculativeDecoding.type");
    for (size_t i = 0; i < lengthof(names); i++)
        if (text_eq(type, names[i][0]))
            return names[i][1];
    return type;
}

static bool speculates(const struct runtime_input *in)
{
    return !text_empty(speculative_type(in));
}

static struct json spec_type(struct arena *a, const struct runtime_input *in)
{
    (void)a;
    return json_str(speculative_type(in));
}

static struct json draft_path(struct arena *a, const struct runtime_input *in)
{
    (void)a;
    return json_str(in->draft_path);
}

static bool has_reasoning_budget(const struct runtime_input *in)
{
    return json_is(json_get(in->spec, "reasoningBudget"), JSON_INT);
}

/* ---- mode: only if set in the spec; an inferred mode adds no flags ---- */

static bool ranks(const struct runtime_input *in)
{
    return text_eq(json_get_text(in->spec, "mode"), "rerank");
}

static bool embeds(const struct runtime_input *in)
{
    return ranks(in) || text_eq(json_get_text(in->spec, "mode"), "embedding");
}

static struct json pooling(struct arena *a, const struct runtime_input *in)
{
    (void)a;
    return json_str(ranks(in) ? "rank" : "last");
}

/* ---- command lines ---- */

static const struct args_rule one_model_rules[] = {
    { "--model", .make = model_path },
    { "--port", .make = args_port },
    { "--host", "bindAddress", JSON_STR, .otherwise = "::", .unless = "--host" },

    { "--n-gpu-layers", .make = gpu_layers, .when = has_gpu },
    { "--split-mode", .make = split_mode, .when = has_several_gpus },
    { "--tensor-split", .make = tensor_split, .when = splits_tensors },

    { "--ctx-size", "contextSize", JSON_INT },
    { "--rope-scaling", "ropeScaling.type", JSON_STR, .unless = "--rope-scaling" },
    { "--rope-scale", "ropeScaling.factor", JSON_STR, .unless = "--rope-scaling" },
    { "--yarn-orig-ctx", "ropeScaling.originalContext", JSON_INT, .unless = "--rope-scaling" },
    { "--parallel", "parallelSlots", JSON_INT, .unless = "--parallel" },
    { "--flash-attn", "flashAttention", JSON_BOOL, .on = "on", .when = has_gpu },
    { "--jinja", "jinja", JSON_BOOL },
    { "--cache-type-k", "cacheTypeK", JSON_STR, .custom = "cacheTypeCustomK" },
    { "--cache-type-v", "cacheTypeV", JSON_STR, .custom = "cacheTypeCustomV" },
    { "--cpu-moe", "moeCPUOffload", JSON_BOOL },
    { "--n-cpu-moe", "moeCPULayers", JSON_INT, .min = 1 },
    { "--no-kv-offload", "noKvOffload", JSON_BOOL },
    { "--override-tensor", "tensorOverrides", JSON_LIST },
    { "--batch-size", "batchSize", JSON_INT },
    { "--ubatch-size", "uBatchSize", JSON_INT },
    { "--no-warmup", "noWarmup", JSON_BOOL },

    { "--spec-type", "speculativeDecoding.type", JSON_STR, .make = spec_type },
    { "-md", .make = draft_path, .when = speculates },
    { "--spec-draft-n-max", "speculativeDecoding.nDraftMax", JSON_INT, .when = speculates },
    { "--spec-draft-p-min", "speculativeDecoding.pMin", JSON_REAL, .when = speculates },

    { "--reasoning-budget", "reasoningBudget", JSON_INT },
    { "--reasoning-budget-message",
        "reasoningBudgetMessage",
        JSON_STR,
        .when = has_reasoning_budget },
    { "--mmproj", .make = mmproj_path, .unless = "--mmproj" },
    { "--override-kv", "metadataOverrides", JSON_LIST },

    { "--reranking", .when = ranks, .unless = "--reranking" },
    { "--embedding", .when = embeds, .unless = "--embedding" },
    { "--pooling", .make = pooling, .when = embeds, .unless = "--pooling" },
    /* A prompt cache is useless for embeddings and takes gigabytes. */
    { "--cache-ram", .otherwise = "0", .when = embeds, .unless = "--cache-ram" },

    { NULL, "extraArgs", JSON_LIST },
    { "--metrics", .unless = "--metrics" },
    { 0 },
};

/* The number of layers on a GPU differs per model, so it is in the presets. */
static const struct args_rule router_rules[] = {
    { "--models-dir", .otherwise = "/models" },
    { "--port", .make = args_port },
    { "--host", "bindAddress", JSON_STR, .otherwise = "::", .unless = "--host" },
    { "--metrics", .unless = "--metrics" },
    { NULL, "extraArgs", JSON_LIST },
    { 0 },
};

const struct runtime runtime_llamacpp = {
    .name = "llamacpp",
    .container_name = "llama-server",
    .image = "ghcr.io/ggml-org/llama.cpp:server",
    .image_settable = true,
    .port = 8080,
    .health_path = "/health",
    .live_path = "/health",
    .stages_model = true,
    .hpa_metric = "llamacpp:requests_processing",
    .idle_kind = "slots",
    .idle_target = "/slots",
    .rules = one_model_rules,
};

const struct runtime runtime_llamacpp_router = {
    .name = "llamacpp-router",
    .container_name = "llama-server",
    .image = "ghcr.io/ggml-org/llama.cpp:server",
    .port = 8080,
    .health_path = "/health",
    .live_path = "/health",
    .hpa_metric = "llamacpp:requests_processing",
    .idle_kind = "slots",
    .idle_target = "/slots",
    .rules = router_rules,
};
