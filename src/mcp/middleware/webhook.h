#pragma once

#include "mcp/middleware.h"

/* Webhooks see every message: mutating ones may patch it, validating ones may refuse it. Both sign
 * what they send with a secret that both sides have. */
extern const struct mcp_step mcp_step_mutating_webhook, mcp_step_validating_webhook;
