#pragma once

#include "mcp/middleware.h"

/* RFC 8693: exchanges the client's token for one that the backend accepts. The result is cached
 * until shortly before it expires. */
extern const struct mcp_step mcp_step_token_exchange;
