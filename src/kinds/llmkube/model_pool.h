#pragma once

/* ModelPool: InferenceServices that take turns on one GPU slot.
 *
 *   ModelPool kind          decides who owns the slot, and reports it in its status:
 *                           pendingMember, or residentMember if no member is pending
 *   InferenceService kind   of each member follows: the owner gets one replica once no other
 *                           member has pods, the others get none once they are idle
 *                           (pool_member.c)
 *
 * So each object is written only by its own kind. */

#include "engine/kind.h"

extern const struct resource LLMKUBE_MODEL_POOL;
extern const struct kind llmkube_model_pool_kind;

struct json;
struct view;

/* The ModelPool of the namespace that has this InferenceService as a member; absent: none. */
struct json model_pool_of(const struct view *in, const char *service);
