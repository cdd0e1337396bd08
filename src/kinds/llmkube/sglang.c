/* SGLang. */

#include "kinds/llmkube/args.h"

#define CONFIG "sglangConfig."

/* Unlike llama.cpp's, this flag also follows from an inferred mode. */
static bool embeds(const struct runtime_input *in)
{
    return text_eq(runtime_mode(in->spec), "embedding");
}

/* ---- speculative decoding ---- */

static bool wants_speculation(const struct runtime_input *in)
{
    return json_get_bool(in->spec, CONFIG "speculative.enabled", false);
}

static bool speculates(const struct runtime_input *in)
{
    return wants_speculation(in) &&
           !text_empty(json_get_text(in->spec, CONFIG "speculative.algorithm")) &&
           !text_empty(json_get_text(in->spec, CONFIG "speculative.draftModelPath"));
}

/* ---- LoRA adapters ---- */

static void push_adapter(struct json_builder *adapters, const char *name, const char *path)
{
    if (!text_empty(name))
        json_push(adapters, json_strf(adapters->arena, "%s=%s", name, path ? path : ""));
}

/* The older format of an adapter: "name=path", or a JSON object with name and path. */
static const char *older_adapter(struct arena *a, const char *text, const char **ret_path)
{
    struct json object;
    struct str path = str_of(text);
    struct str name = str_cut(&path, '=');
    if (path.ptr && name.len && name.len == strcspn(text, "{[ \"=")) {
        *ret_path = path.ptr;
        return str_dup(a, name);
    }
    if (!json_parse(a, str_of(text), &object, NULL))
        return NULL;
    *ret_path = json_get_text(object, "path");
    return json_get_text(object, "name");
}

/* The typed list first, then the names that only the older one has. Invalid entries are left out,
 * because they would prevent the server from starting. */
static struct json lora_paths(struct arena *a, const struct runtime_input *in)
{
    struct json typed = json_get(in->spec, CONFIG "loraAdapters");
    struct json older = json_get(in->spec, CONFIG "loraModules");
    struct json_builder adapters;
    json_builder_init(&adapters, a);
    json_each (item, typed)
        push_adapter(&adapters, json_get_text(*item, "name"), json_get_text(*item, "path"));
    json_each (item, older) {
        const char *path = NULL, *text = json_text(*item);
        const char *name = text ? older_adapter(a, text, &path) : NULL;
        if (name && !json_present(json_find(typed, "name", name)))
            push_adapter(&adapters, name, path);
    }
    return json_list_end(&adapters);
}

/* ---- command line ---- */

static const struct args_rule rules[] = {
    { "--model-path", .make = args_model },
    { "--port", .make = args_port },
    { "--enable-metrics" },
    { "--host", "bindAddress", JSON_STR, .otherwise = "::", .unless = "--host" },
    { "--served-model-name", "modelRef", JSON_STR, .unless = "--served-model-name" },

    { "--tp", CONFIG "tensorParallelSize", JSON_INT },
    { "--ep", CONFIG "expertParallelSize", JSON_INT },
    { "--dp", CONFIG "dataParallelSize", JSON_INT },
    { "--context-length", CONFIG "contextLength", JSON_INT },
    { "--mem-fraction-static", CONFIG "memFractionStatic", JSON_REAL, .when = args_has_devices },
    { "--chunked-prefill-size", CONFIG "chunkedPrefillSize", JSON_INT },
    { "--max-running-requests", CONFIG "maxRunningRequests", JSON_INT },
    { "--quantization", CONFIG "quantization", JSON_STR },
    { "--kv-cache-dtype",
        CONFIG "kvCacheDtype",
        JSON_STR,
        .custom = CONFIG "kvCacheCustomDtype",
        .none = "auto" },
    { "--attention-backend", CONFIG "attentionBackend", JSON_STR },
    { "--enable-prefix-caching", CONFIG "enablePrefixCaching", JSON_BOOL },
    { "--tool-call-parser", CONFIG "toolCallParser", JSON_STR },
    { "--reasoning-parser", CONFIG "reasoningParser", JSON_STR },
    { "--chat-template", CONFIG "chatTemplate", JSON_STR },

#define SPECULATIVE(flag, field, type)                                                             \
    {                                                                                              \
        "--speculative-" flag, CONFIG "speculative." field, type, .when = speculates               \
    }
    SPECULATIVE("algorithm", "algorithm", JSON_STR),
    SPECULATIVE("draft-model-path", "draftModelPath", JSON_STR),
    SPECULATIVE("num-steps", "numSteps", JSON_INT),
    SPECULATIVE("eagle-topk", "eagleTopK", JSON_INT),
    SPECULATIVE("num-draft-tokens", "numDraftTokens", JSON_INT),
    SPECULATIVE("accept-threshold-single", "acceptThresholdSingle", JSON_REAL),
    SPECULATIVE("accept-threshold-acc", "acceptThresholdAcc", JSON_REAL),

    { "--lora-paths", .make = lora_paths, .once = true },
    { "--max-lora-rank", CONFIG "maxLoraRank", JSON_INT },
    { "--lora-target-modules", CONFIG "loraTargetModules", JSON_LIST, .once = true },
    { "--log-level", CONFIG "logLevel", JSON_STR },
    { "--trust-remote-code", CONFIG "trustRemoteCode", JSON_BOOL },
    { "--skip-tokenizer-init", CONFIG "skipTokenizerInit", JSON_BOOL },

    { "--tp", .make = args_devices, .min = 2, .unless_set = CONFIG "tensorParallelSize" },
    { "--is-embedding", .when = embeds, .unless = "--is-embedding" },
    { NULL, "extraArgs", JSON_LIST },
    { 0 },
};

/* ---- checks ---- */

static bool fits(struct json spec, const struct gpu *gpu, struct error *err)
{
    int64_t tensor = json_get_int(spec, CONFIG "tensorParallelSize", 1);
    int64_t data = json_get_int(spec, CONFIG "dataParallelSize", 1);
    int64_t needed;
    if (__builtin_mul_overflow(tensor, data, &needed))
        needed = INT64_MAX;
    if (gpu->count == 0 || needed <= gpu->count)
        return true;
    return fail(err,
        ERR_INVALID,
        "Invalid parallelism: sglangConfig tensorParallelSize x dataParallelSize (%lld x %lld) "
        "needs %lld GPUs but this pod requests %lld; multi-node inference is not supported, so the "
        "pod can never start. Lower the sizes, remove them to auto-match the GPU count, or request "
        "more GPUs",
        (long long)tensor,
        (long long)data,
        (long long)needed,
        (long long)gpu->count);
}

static struct runtime_finding check(const struct runtime *r, const struct runtime_input *in)
{
    struct json speculative = json_get(in->spec, CONFIG "speculative");
    if (wants_speculation(in) && !speculates(in))
        return (struct runtime_finding){ r->condition,
            "SpeculativeMissingConfig",
            "spec.sglangConfig.speculative.enabled is true but algorithm/draftModelPath is empty; "
            "speculative decoding flags will be skipped" };
    if (!wants_speculation(in) && (json_present(json_get(speculative, "acceptThresholdSingle")) ||
                                      json_present(json_get(speculative, "acceptThresholdAcc"))))
        return (struct runtime_finding){ r->condition,
            "SpeculativeAcceptThresholdUnused",
            "spec.sglangConfig.speculative has an accept threshold but is not enabled; without "
            "speculative decoding the threshold has no effect" };
    return (struct runtime_finding){ 0 };
}

const struct runtime runtime_sglang = {
    .name = "sglang",
    .container_name = "sglang",
    .image = "lmsysorg/sglang:v0.5.15.post1-cu129",
    .image_settable = true,
    .image_needs_nvidia = true,
    .port = 30000,
    .health_path = "/health_generate",
    .live_path = "/health",
    .stages_model = true,
    .hpa_metric = "sglang:num_running_reqs",
    .condition = "SGLangSpecValid",
    .idle_kind = "gauge",
    .idle_target = "sglang:num_running_reqs",
    .rules = rules,
    .token_env = "HF_TOKEN",
    .token_path = CONFIG "hfTokenSecretRef",
    .command = { "python3", "-m", "sglang.launch_server" },
    .fits = fits,
    .check = check,
};
