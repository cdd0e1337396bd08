#pragma once

/* ModelPool: InferenceServices that take turns on one GPU slot.
 *
 *   ModelPool kind          decides who owns the slot, and says so in its status:
 *                           pendingMember, or residentMember if nothing is pending
 *   InferenceService kind   of each member follows: the owner gets one replica once nobody else has
 *                           pods, the others get none once they are idle (pool_member.c)
 *
 * So each object is written by its own kind only. */

#include "engine/kind.h"

extern const struct resource LLMKUBE_MODEL_POOL;
extern const struct kind llmkube_model_pool_kind;

struct json;
struct view;

/* The pool of the namespace that an InferenceService is a member of; absent: none. */
struct json model_pool_of(const struct view *in, const char *service);
