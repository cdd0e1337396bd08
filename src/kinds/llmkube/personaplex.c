/* PersonaPlex, NVIDIA's speech server. It only speaks WebSocket, so it is probed by TCP. */

#include "kinds/llmkube/args.h"

#define CONFIG "personaPlexConfig."

static const struct args_rule rules[] = {
    { "--ssl", .otherwise = "/app/ssl" },
    { "--quantize-4bit", CONFIG "quantize4Bit", JSON_BOOL },
    { "--cpu-offload", CONFIG "cpuOffload", JSON_BOOL },
    { 0 },
};

const struct runtime runtime_personaplex = {
    .name = "personaplex",
    .container_name = "personaplex",
    .port = 8998,
    .hpa_metric = "llamacpp:requests_processing",
    .rules = rules,
    .token_env = "HF_TOKEN",
    .token_path = CONFIG "hfTokenSecretRef",
    .switch_env = "NO_TORCH_COMPILE",
    .command = { "/app/moshi/.venv/bin/python", "-m", "moshi.server" },
};
