#pragma once

#include "base/json.h"
#include "engine/kind.h"

extern const struct resource LLMKUBE_MODEL_ROUTER;
extern const struct kind llmkube_model_router_kind;

struct error;

/* Validates the spec of a ModelRouter. Returns a list of { "field": path, "message": text }, empty
 * if it is valid. False: the spec cannot be read at all, and err names the path. Used by the
 * admission webhook and by the kind. */
bool model_router_check(
    struct arena *a, struct json spec, struct json *ret_faults, struct error *err) must_check;
