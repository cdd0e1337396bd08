#pragma once

/* kube/transport.h over HTTP: what client and reflectors use in production.
 *
 *   open ──> queued ──> (credentials ready, a free slot) ──> sent ──> head ──> data* ──> end
 *              ^                                              │
 *              └──── 401, and there are newer credentials ────┘ once
 *
 * A 401 means that the server did nothing, so any request may be retried after it. There are no
 * other retries. Streams (no timeout_ms) take no slot: watches never wait for requests, and
 * requests never wait for watches. All calls share the connections of one HTTP client: a single
 * connection if the server supports HTTP/2. */

#include "kube/transport.h"

struct http_transport;
struct kube_config;
struct loop;

struct http_transport_options {
    const struct kube_config *config; /* must outlive the transport */
    const char *user_agent;           /* NULL: "leeboard/VERSION (linux/amd64)" */
    size_t requests_max;              /* on the wire at once; 0: 32 */
    /* Called for each request just before it is sent, which may be long after open(). Returns the
     * number of ms within which it must be sent; 0: it must not be sent any more, and ends with
     * ERR_CANCELLED. Used to check the lease once more. NULL: all may be sent. */
    int64_t (*send_within_ms)(void *ctx, const struct kube_request *request);
    void *ctx;
};

/* Number of responses to a method with a status; 0: no response. */
struct http_transport_count {
    const char *method;
    int status;
    uint64_t count;
};
#define HTTP_TRANSPORT_COUNTS_MAX 64

struct http_transport_stats {
    uint64_t requests;   /* sent, including retries */
    uint64_t repeated;   /* retries after a 401 */
    size_t open, queued; /* current */
    uint64_t dialled;    /* connections, in total */
    size_t connections;  /* current */
};

/* Fails only for a permanent error: an invalid server URL. */
struct http_transport *http_transport_new(
    struct loop *loop, const struct http_transport_options *options, struct error *err) must_check;
/* Open calls get no end(). */
void http_transport_free(struct http_transport *t);
const struct kube_transport *http_transport_kube(struct http_transport *t);
struct http_transport_stats http_transport_stats(const struct http_transport *t);
/* The values of client-go's rest_client_requests_total, in order of first appearance; terminated by
 * an entry without a method. */
const struct http_transport_count *http_transport_counts(const struct http_transport *t);
