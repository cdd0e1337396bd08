#pragma once

#include "base/arena.h"
#include "engine/kind.h"

extern const struct resource LLMKUBE_INFERENCE_SERVICE;
/* The value of the label inference.llmkube.dev/service on its pods. */
const char *inference_service_label(struct arena *a, const char *name);
/* The name of the Service in front of an InferenceService of this name. */
const char *inference_service_host(struct arena *a, const char *name);

extern const struct kind llmkube_inference_service_kind;
