/* PersonaPlex, NVIDIA's speech server. It speaks WebSocket only, so it is probed by TCP. */

#include "kinds/llmkube/args.h"

#define CONFIG "personaPlexConfig."

static const struct args_rule rules[] = {
    { "--ssl", .otherwise = "/app/ssl" },
    { "--quantize-4bit", CONFIG "quantize4Bit", JSON_BOOL },
    { "--cpu-offload", CONFIG "cpuOffload", JSON_BOOL },
    { 0 },
};

static struct json args(struct arena *a, const struct runtime_input *in)
{
    return args_build(a, in, rules);
}

static struct json env(struct arena *a, const struct runtime_input *in)
{
    return json_list(a,
        args_token_env(a, in, "HF_TOKEN", CONFIG "hfTokenSecretRef"),
        json_fields(a, { "name", json_str("NO_TORCH_COMPILE") }, { "value", json_str("1") }));
}

static struct json command(struct arena *a, const struct runtime_input *in)
{
    (void)in;
    return json_list(
        a, json_str("/app/moshi/.venv/bin/python"), json_str("-m"), json_str("moshi.server"));
}

const struct runtime runtime_personaplex = {
    .name = "personaplex",
    .container_name = "personaplex",
    .port = 8998,
    .hpa_metric = "llamacpp:requests_processing",
    .rules = rules,
    .args = args,
    .env = env,
    .command = command,
};
