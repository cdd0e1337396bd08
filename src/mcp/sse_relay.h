#pragma once

/* The event streams of an HTTP+SSE server (2024-11-05). The first event of a stream names the
 * address that its client posts to. It becomes an address of the proxy, and belongs to the identity
 * that opened the stream. What comes after it is not read here. */

#include "base/str.h"

struct env;
struct mcp_exchange;
struct sse_relay;
struct sse_stream;

struct sse_relay_options {
    const struct env *env;
    const char *endpoint_prefix; /* before the path that clients post to; NULL or "": none */
    bool trust_proxy_headers;    /* X-Forwarded-Prefix, -Proto and -Host say where clients are */
};

/* The options' texts outlive it. */
struct sse_relay *sse_relay_new(const struct sse_relay_options *options) must_check;
void sse_relay_free(struct sse_relay *r); /* takes NULL */

/* A GET was answered with events, which go on to its client by answer_data(). */
struct sse_stream *sse_stream_new(struct sse_relay *r, struct mcp_exchange *x) must_check;
void sse_stream_free(struct sse_stream *s); /* takes NULL */
void sse_stream_feed(struct sse_stream *s, struct str bytes);

/* What x posts to is the address of a stream, and not of one of the same identity. */
bool sse_relay_is_strange(const struct sse_relay *r, struct mcp_exchange *x);
