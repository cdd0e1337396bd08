#pragma once

/* A backend that speaks HTTP (streamable HTTP or HTTP+SSE): one of our workloads or a remote
 * server. Requests and answers are streamed. If the server has lost a known session (404), the
 * session is started again with the client's own `initialize` and the request is repeated. The
 * client keeps its session id.
 *
 * When a client of the legacy era disconnects, its request continues and the answer is
 * discarded, because a disconnect does not cancel a request there. In the modern era the request
 * is aborted. */

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
    /* Sends all paths of clients to the path of the URL: a remote server has one address. */
    bool one_path;
    struct sessions *sessions;
    /* Translates between clients and servers of different protocol eras. NULL: no translation. */
    const struct env *env;
    /* For a server that speaks HTTP+SSE. NULL: streamable HTTP. */
    const struct sse_relay_options *sse;
};

/* NULL with err: the URL cannot be used. url is copied; everything else in options must outlive the
 * backend. */
struct mcp_backend *backend_http_new(
    const struct backend_http_options *options, struct error *err) must_check;
