#pragma once

/* A backend that speaks HTTP: streamable HTTP or HTTP+SSE, a workload of ours or a remote server.
 * Requests and answers stream through. A session that the server forgot (404 on one we know) is
 * begun again with the client's own `initialize`, and the request is said once more; the client
 * keeps its session id.
 *
 * When a client of the legacy era leaves, its request goes on and the answer is thrown away: a
 * disconnect is no cancellation there. In the modern era the request is aborted. */

#include "base/error.h"

struct env;
struct http_client;
struct mcp_backend;
struct mcp_proxy;
struct sessions;
struct sse_relay_options;
struct tls_context;

struct backend_http_options {
    struct http_client *http;
    const char *url;         /* http://host:port or with a path */
    struct tls_context *tls; /* for https; NULL: the system's roots */
    /* Every path of a client goes to the path of the URL: a remote server has one address. */
    bool one_path;
    struct sessions *sessions;
    /* Clients and servers of different protocol eras are brought together. NULL: they are not. */
    const struct env *env;
    /* The server speaks HTTP+SSE. NULL: streamable HTTP. */
    const struct sse_relay_options *sse;
};

/* NULL with err: the URL cannot be used. Everything in options outlives it; url is copied. */
struct mcp_backend *backend_http_new(
    const struct backend_http_options *options, struct error *err) must_check;
