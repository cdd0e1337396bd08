#include "mcp/middleware.h"
#include "mcp/middleware/audit.h"
#include "mcp/middleware/auth.h"
#include "mcp/middleware/aws_sts.h"
#include "mcp/middleware/authorization.h"
#include "mcp/middleware/basic.h"
#include "mcp/middleware/ratelimit.h"
#include "mcp/middleware/telemetry.h"
#include "mcp/middleware/token_exchange.h"
#include "mcp/middleware/tools.h"
#include "mcp/middleware/webhook.h"

const struct mcp_step *const mcp_steps[] = {
    &mcp_step_body_limit,
    &mcp_step_audit,
    &mcp_step_origin,
    &mcp_step_header_forward,
    &mcp_step_auth,
    &mcp_step_upstream_swap,
    &mcp_step_on_behalf,
    &mcp_step_strip_auth,
    &mcp_step_token_exchange,
    &mcp_step_tool_filter,
    &mcp_step_tool_call_filter,
    &mcp_step_parser,
    &mcp_step_recovery,
    &mcp_step_telemetry,
    &mcp_step_rate_limit,
    &mcp_step_mutating_webhook,
    &mcp_step_validating_webhook,
    &mcp_step_usage,
    &mcp_step_authorization,
    &mcp_step_aws_sts,
    NULL,
};
