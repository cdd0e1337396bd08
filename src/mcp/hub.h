#pragma once

/* The hub: many MCP clients in front of one connection to an MCP server, message by message. It is
 * what a server on standard streams needs, and what connects clients and servers of different eras.
 *
 *   client ── POST, GET, DELETE ──> hub ── one line of JSON a message ──> server
 *
 * A line is a connection with one handshake, shared by all clients. Request ids and progress tokens
 * are rewritten in both directions. Requests from the server go to the client whose call is in
 * progress. All other bytes of a message are kept.
 *
 *   hub.c         what clients send; sessions
 *   hub_line.c    the handshake, loss and recovery of a connection
 *   hub_server.c  what the server sends, and to which clients
 *   hub_outlet.c  streams of clients, and what they missed
 *   hub_modern.c  clients of 2026-07-28 in front of an older server
 *   hub_legacy.c  clients of an older version in front of a 2026-07-28 server
 *
 * A request from the server goes to the client of the newest call in progress that can answer it.
 * If clients of different identities have such calls, the server gets an error instead: a request
 * must not reach another user. */

#include "base/base.h"

struct env;
struct mcp_backend;
struct mcp_wire;
struct sessions;

#define HUB_CALLS_MAX 10000
#define HUB_SESSION_CALLS_MAX 256

struct hub_options {
    const struct env *env;
    struct sessions *sessions;
    struct mcp_wire *wire;       /* takes ownership */
    bool serves_sse;             /* clients speak HTTP+SSE of 2024-11-05 */
    bool any_path;               /* not only /mcp */
    unsigned can;                /* client capabilities that the server gets; see hub_internal.h */
    const char *endpoint_prefix; /* prefix of the path that HTTP+SSE clients get; NULL: none */
    /* For the log; NULL: none. */
    void (*said)(void *ctx, const char *what);
    void *ctx;
};

struct mcp_backend *hub_new(const struct hub_options *options) must_check;
/* No call is in progress and no stream is open. */
bool hub_is_idle(const struct mcp_backend *hub);
