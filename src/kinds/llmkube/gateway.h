#pragma once

/* The resources of Envoy AI Gateway that more than one kind creates. */

#include "base/resource.h"

extern const struct resource GATEWAY_BACKEND;
extern const struct resource GATEWAY_AI_BACKEND;
extern const struct resource GATEWAY_AI_ROUTE;
