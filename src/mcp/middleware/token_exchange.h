#pragma once

#include "mcp/middleware.h"

/* RFC 8693: the client's token is exchanged for one that the server behind takes. What came back
 * is used again until shortly before it ends. */
extern const struct mcp_step mcp_step_token_exchange;
