#pragma once

#include "mcp/middleware.h"

/* A list of names restricts tools/list and tools/call; overrides change the names and descriptions
 * of tools. The list uses the new names. */
extern const struct mcp_step mcp_step_tool_filter, mcp_step_tool_call_filter;
