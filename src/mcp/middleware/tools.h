#pragma once

#include "mcp/middleware.h"

/* A list of names limits tools/list and tools/call; overrides rename tools and describe them anew.
 * The list has the new names. */
extern const struct mcp_step mcp_step_tool_filter, mcp_step_tool_call_filter;
