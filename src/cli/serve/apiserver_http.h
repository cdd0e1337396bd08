#pragma once

/* The built-in API server on the network: HTTP exchanges in, calls of src/apiserver out.
 *
 * What came in during one turn of the loop is flushed together at its end, so that one commit of
 * the disk serves them all. */

#include "base/error.h"

struct apiserver;
struct loop;
struct tls_context;
struct apiserver_http;
struct pod_session_source;

struct apiserver_http_options {
    struct loop *loop;
    struct apiserver *server;
    const char *address; /* numeric; NULL: all */
    uint16_t port;       /* 0: any free one */
    struct tls_context *tls;
    /* Who runs pods, for exec, attach and portforward; NULL if the server was told that nobody
     * does. */
    const struct pod_session_source *sessions;
};

struct apiserver_http *apiserver_http_new(
    const struct apiserver_http_options *options, struct error *err) must_check;
void apiserver_http_free(struct apiserver_http *h);
uint16_t apiserver_http_port(const struct apiserver_http *h);
/* No new requests; watches end now, the rest within grace_ms; then drained(). */
void apiserver_http_drain(
    struct apiserver_http *h, int64_t grace_ms, void (*drained)(void *ctx), void *ctx);
