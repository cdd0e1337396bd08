#pragma once

/* The two eras of MCP: legacy (2025-11-25 and older: handshake, sessions) and modern (2026-07-28:
 * every request stands alone, `_meta` says who asks). */

#include "base/base.h"

struct mcp_exchange;

/* What the headers and `_meta` of a request must agree on, whatever the server behind. False:
 * answered with the error that the specification defines. */
bool era_check(struct mcp_exchange *x) must_check;
