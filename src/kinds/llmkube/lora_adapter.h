#pragma once

#include "engine/kind.h"

extern const struct resource LLMKUBE_LORA_ADAPTER;
extern const struct kind llmkube_lora_adapter_kind;
