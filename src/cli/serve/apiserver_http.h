#pragma once

/* The built-in API server on the network: translates HTTP exchanges to calls of src/apiserver.
 *
 * Requests of one turn of the loop are flushed together at its end, with a single commit to
 * disk. */

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
    /* Runs pods, for exec, attach and portforward; NULL if there is no runner. */
    const struct pod_session_source *sessions;
};

struct apiserver_http *apiserver_http_new(
    const struct apiserver_http_options *options, struct error *err) must_check;
void apiserver_http_free(struct apiserver_http *h);
uint16_t apiserver_http_port(const struct apiserver_http *h);
/* Refuses new requests, ends watches now and other requests within grace_ms; then calls
 * drained(). */
void apiserver_http_drain(
    struct apiserver_http *h, int64_t grace_ms, void (*drained)(void *ctx), void *ctx);
