#pragma once

/* The MCP proxy: a listener for MCP clients in front of one MCP server.
 *
 *   /health                      answered at once, whatever the server does
 *   everything else              head() of the steps, message() of the steps, session, backend
 *
 * Nothing reaches the backend that the steps have not seen, whatever its path and method. */

#include "base/error.h"
#include "base/json.h"

struct http_client;
struct loop;
struct mcp_backend;
struct mcp_proxy;
struct runconfig;
struct sessions;

struct mcp_proxy_options {
    struct loop *loop;
    struct arena *arena;            /* of the whole process */
    const struct runconfig *config; /* this and what follows outlives the proxy */
    struct http_client *http;
    const char *(*variable)(void *ctx, const char *name);
    const char *const *variables; /* see mcp/middleware.h */
    void (*print_line)(void *ctx, struct str line);
    void (*warn)(void *ctx, const char *text);
    void *ctx;
    size_t bodies_max; /* bytes of requests that are coming in, together; 0: 256 MiB */
};

/* NULL with err: the RunConfig asks for what cannot be. Does not listen yet. */
struct mcp_proxy *mcp_proxy_new(
    const struct mcp_proxy_options *options, struct error *err) must_check;
struct sessions *mcp_proxy_sessions(struct mcp_proxy *p);
/* Takes the backend. */
void mcp_proxy_set_backend(struct mcp_proxy *p, struct mcp_backend *backend);
bool mcp_proxy_listen(struct mcp_proxy *p, struct error *err) must_check;
uint16_t mcp_proxy_port(const struct mcp_proxy *p);
/* Bytes of requests that count against bodies_max. */
size_t mcp_proxy_bodies(const struct mcp_proxy *p);
/* New requests are refused; drained() comes when the last is through or grace_ms passed. */
void mcp_proxy_drain(struct mcp_proxy *p, int64_t grace_ms, void (*drained)(void *ctx), void *ctx);
void mcp_proxy_free(struct mcp_proxy *p);
