#pragma once

#include "mcp/middleware.h"

extern const struct mcp_step mcp_step_body_limit, mcp_step_origin, mcp_step_header_forward,
    mcp_step_strip_auth, mcp_step_upstream_swap, mcp_step_on_behalf, mcp_step_parser,
    mcp_step_recovery, mcp_step_usage;
