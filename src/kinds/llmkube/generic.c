/* Any container: image, command and arguments are the user's. */

#include "kinds/llmkube/args.h"

static const struct args_rule rules[] = {
    { NULL, "args", JSON_LIST },
    { 0 },
};

const struct runtime runtime_generic = {
    .name = "generic",
    .container_name = "inference-server",
    .port = 8080,
    .hpa_metric = "llamacpp:requests_processing",
    .idle_kind = "endpoint",
    .rules = rules,
};
