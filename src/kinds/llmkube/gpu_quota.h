#pragma once

/* GPUQuota: limits for the InferenceServices of some namespaces, and who fits into them. */

#include "base/json.h"
#include "engine/kind.h"

struct view;

extern const struct resource LLMKUBE_GPU_QUOTA;
extern const struct resource LLMKUBE_NAMESPACE;
extern const struct kind llmkube_gpu_quota_kind;

/* Why a service may not have what it asks for, naming the quota and the numbers; NULL: it may. The
 * view is one of a kind that watches GPUQuotas, Namespaces, InferenceServices and Models. Services
 * that have their pods come first, then the older ones. */
const char *gpu_quota_refusal(const struct view *in, struct json service);
/* The same before it is stored: everybody else comes first. An edit (old: what is stored; absent: a
 * new service) that asks for no more than before is not denied, or nobody could make it smaller. */
const char *gpu_quota_denial(const struct view *in, struct json service, struct json old);
