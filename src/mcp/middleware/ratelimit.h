#pragma once

#include "mcp/middleware.h"

/* Token buckets for tools/call, kept in Redis so that all replicas count together. Keys and fields
 * are ToolHive's. If Redis does not answer, calls are allowed. */
extern const struct mcp_step mcp_step_rate_limit;
