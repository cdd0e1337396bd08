#pragma once

/* The MCP proxy: a listener for MCP clients in front of one MCP server.
 *
 *   /health                      answered at once, even if the server is down
 *   everything else              head() of the steps, message() of the steps, session, backend
 *
 * Every request passes the steps before it reaches the backend, for any path and method. */

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
    struct arena *arena;            /* lives as long as the process */
    const struct runconfig *config; /* this and the following must outlive the proxy */
    struct http_client *http;
    const char *(*variable)(void *ctx, const char *name);
    const char *const *variables; /* see mcp/middleware.h */
    void (*print_line)(void *ctx, struct str line);
    void (*warn)(void *ctx, const char *text);
    void *ctx;
    size_t bodies_max; /* total bytes of requests being received; 0: 256 MiB */
};

/* NULL with err: the RunConfig is not supported. Does not listen yet. */
struct mcp_proxy *mcp_proxy_new(
    const struct mcp_proxy_options *options, struct error *err) must_check;
struct sessions *mcp_proxy_sessions(struct mcp_proxy *p);
/* Takes ownership of the backend. */
void mcp_proxy_set_backend(struct mcp_proxy *p, struct mcp_backend *backend);
bool mcp_proxy_listen(struct mcp_proxy *p, struct error *err) must_check;
uint16_t mcp_proxy_port(const struct mcp_proxy *p);
/* Request bytes that count against bodies_max. */
size_t mcp_proxy_bodies(const struct mcp_proxy *p);
/* Refuses new requests; drained() is called after the last one has ended or after grace_ms. */
void mcp_proxy_drain(struct mcp_proxy *p, int64_t grace_ms, void (*drained)(void *ctx), void *ctx);
void mcp_proxy_free(struct mcp_proxy *p);
