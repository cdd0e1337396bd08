#pragma once

#include "mcp/middleware.h"

/* One line of JSON for each request, with ToolHive's keys, to standard output or a file. A stream
 * that a client opens is logged when it starts. */
extern const struct mcp_step mcp_step_audit;
