#pragma once

#include "mcp/middleware.h"

/* Webhooks receive every message: mutating ones may patch it, validating ones may refuse it. Both
 * sign their requests with a shared secret. */
extern const struct mcp_step mcp_step_mutating_webhook, mcp_step_validating_webhook;
