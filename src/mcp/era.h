#pragma once

/* The two eras of MCP: legacy (2025-11-25 and older, with handshake and sessions) and modern
 * (2026-07-28: every request is self-contained, and `_meta` describes the client). */

#include "base/base.h"

struct mcp_exchange;

/* Checks that the headers and `_meta` of a request agree, for any server. False: answered with the
 * error that the specification defines. */
bool era_check(struct mcp_exchange *x) must_check;
