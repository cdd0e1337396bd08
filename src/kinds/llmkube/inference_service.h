#pragma once

#include "engine/kind.h"

extern const struct resource LLMKUBE_INFERENCE_SERVICE;
extern const struct kind llmkube_inference_service_kind;
