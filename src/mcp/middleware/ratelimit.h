#pragma once

#include "mcp/middleware.h"

/* Token buckets for tools/call, kept in Redis so that all replicas count together; keys and fields
 * are ToolHive's. A Redis that does not answer lets calls through. */
extern const struct mcp_step mcp_step_rate_limit;
