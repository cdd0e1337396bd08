#pragma once

/* The event streams of an HTTP+SSE server (2024-11-05). The first event of a stream contains the
 * address that its client posts to. It is rewritten to an address of the proxy, which belongs to
 * the identity that opened the stream. Later events are not read here. */

#include "base/str.h"

struct env;
struct mcp_exchange;
struct sse_relay;
struct sse_stream;

struct sse_relay_options {
    const struct env *env;
    const char *endpoint_prefix; /* prefix of the path that clients post to; NULL or "": none */
    bool trust_proxy_headers;    /* use X-Forwarded-Prefix, -Proto and -Host */
};

/* The strings in options must outlive it. */
struct sse_relay *sse_relay_new(const struct sse_relay_options *options) must_check;
void sse_relay_free(struct sse_relay *r); /* NULL is allowed */

/* A GET was answered with events, which are passed to its client by answer_data(). */
struct sse_stream *sse_stream_new(struct sse_relay *r, struct mcp_exchange *x) must_check;
void sse_stream_free(struct sse_stream *s); /* NULL is allowed */
void sse_stream_feed(struct sse_stream *s, struct str bytes);

/* Whether x posts to the address of a stream of another identity. */
bool sse_relay_is_strange(const struct sse_relay *r, struct mcp_exchange *x);
