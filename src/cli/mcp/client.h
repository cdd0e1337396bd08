#pragma once

/* A client of one MCP server, for commands: one question after another, each waited for. Speaks
 * streamable HTTP of 2025-11-25, and HTTP+SSE of 2024-11-05 where the path ends in /sse. */

#include "base/error.h"
#include "base/json.h"

struct loop;
struct mcp_client;

struct mcp_client_options {
    struct arena *arena; /* of answers */
    struct loop *loop;
    const char *url;   /* http://… */
    const char *token; /* for Authorization: Bearer; NULL: none */
};

/* Makes the handshake. NULL: err. */
struct mcp_client *mcp_client_open(
    const struct mcp_client_options *options, struct error *err) must_check;
/* The result; a JSON-RPC error is a failure with its words. params: absent for none. */
bool mcp_client_ask(struct mcp_client *c, const char *method, struct json params, struct json *ret,
    struct error *err) must_check;
/* Ends the session. */
void mcp_client_close(struct mcp_client *c);
