#pragma once

#include "base/json.h"
#include "engine/kind.h"

extern const struct resource LLMKUBE_MODEL_ROUTER;
extern const struct kind llmkube_model_router_kind;

struct error;

/* What is wrong with the spec of a ModelRouter: a list of { "field": path, "message": text }, empty
 * if nothing is. False: the spec cannot be read at all, err names the path. The admission webhook
 * and the kind ask the same. */
bool model_router_check(
    struct arena *a, struct json spec, struct json *ret_faults, struct error *err) must_check;
