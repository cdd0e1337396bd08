#pragma once

/* GPUQuota: limits for the InferenceServices of some namespaces, and which services fit in. */

#include "base/json.h"
#include "engine/kind.h"

struct view;

extern const struct resource LLMKUBE_GPU_QUOTA;
extern const struct resource LLMKUBE_NAMESPACE;
extern const struct kind llmkube_gpu_quota_kind;

/* Why a service may not use what it requests, naming the quota and the numbers; NULL: it may. The
 * view must be of a kind that watches GPUQuotas, Namespaces, InferenceServices and Models. Services
 * that already have their pods come first, then older ones. */
const char *gpu_quota_refusal(const struct view *in, struct json service);
/* The same check before it is stored: all other services come first. An update (old: the stored
 * object; absent: a create) that requests no more than before is never denied; otherwise it could
 * not be made smaller. */
const char *gpu_quota_denial(const struct view *in, struct json service, struct json old);
