#pragma once

/* A client of one MCP server, for commands: it sends one request at a time and waits for its
 * answer. Supports streamable HTTP of 2025-11-25, and HTTP+SSE of 2024-11-05 if the path ends in
 * /sse. */

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

/* Connects and makes the handshake. NULL: err. */
struct mcp_client *mcp_client_open(
    const struct mcp_client_options *options, struct error *err) must_check;
/* Sends a request and returns the result; a JSON-RPC error is a failure with its message. params:
 * absent for none. */
bool mcp_client_ask(struct mcp_client *c, const char *method, struct json params, struct json *ret,
    struct error *err) must_check;
/* Ends the session. */
void mcp_client_close(struct mcp_client *c);
