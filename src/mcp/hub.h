#pragma once

/* The hub: many MCP clients in front of one connection to an MCP server, message by message. It is
 * what a server on standard streams needs, and what clients and servers of different eras need.
 *
 *   client ── POST, GET, DELETE ──> hub ── one line of JSON a message ──> server
 *
 * A line is a connection on which the handshake has been made once, for everybody. The ids of
 * requests and the progress tokens are rewritten on their way, and back; requests that the server
 * sends go to the client whose call is under way. Beside what has to change, a message keeps its
 * bytes.
 *
 *   hub.c         what clients send; sessions
 *   hub_line.c    the handshake, the loss and the return of a connection
 *   hub_server.c  what the server sends, and whom it concerns
 *   hub_outlet.c  streams of clients, and what they missed
 *   hub_modern.c  clients of 2026-07-28 in front of an older server
 *   hub_legacy.c  the other way round
 *
 * A request of the server belongs to the newest call that is under way and whose client can answer
 * it. If clients of different identities have such calls, nobody is asked and the server gets an
 * error: a question must not reach another user. */

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
    struct mcp_wire *wire; /* taken */
    bool serves_sse;       /* clients speak HTTP+SSE of 2024-11-05 */
    bool any_path;         /* not only /mcp */
    unsigned can;          /* what the server is told that clients can do; see hub_internal.h */
    const char *endpoint_prefix; /* of the path that HTTP+SSE clients are given; NULL: none */
    /* For the log; NULL: none. */
    void (*said)(void *ctx, const char *what);
    void *ctx;
};

struct mcp_backend *hub_new(const struct hub_options *options) must_check;
/* No call is under way, and no stream is open. */
bool hub_is_idle(const struct mcp_backend *hub);
