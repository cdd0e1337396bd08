#pragma once

/* kube/transport.h over HTTP: what production plugs into client and reflectors.
 *
 *   open ──> queued ──> (credentials ready, a place free) ──> on the wire ──> head ──> data* ──>
 * end ^                                                   │ └──────────── 401, and there are newer
 * credentials ─┘   once
 *
 * A 401 means that the server did nothing, so any request may be repeated after it. Nothing else
 * is. Streams (no timeout_ms) take no place: watches never wait for requests, nor the other way
 * round. All calls share the connections of one HTTP client: a single one where the server speaks
 * HTTP/2. */

#include "kube/transport.h"

struct http_transport;
struct kube_config;
struct loop;

struct http_transport_options {
    const struct kube_config *config; /* outlives it */
    const char *user_agent;           /* NULL: "leeboard/VERSION (linux/amd64)" */
    size_t requests_max;              /* on the wire at once; 0: 32 */
    /* Asked for each request in the moment it would leave, which may be long after open(): within
     * how many ms it must be on the wire; 0: it may not be sent any more, and ends with
     * ERR_CANCELLED. The place to ask a lease once more. NULL: all may. */
    int64_t (*send_within_ms)(void *ctx, const struct kube_request *request);
    void *ctx;
};

/* How often a method was answered with a status; 0: not at all. */
struct http_transport_count {
    const char *method;
    int status;
    uint64_t count;
};
#define HTTP_TRANSPORT_COUNTS_MAX 64

struct http_transport_stats {
    uint64_t requests;   /* sent, repetitions included */
    uint64_t repeated;   /* after a 401 */
    size_t open, queued; /* now */
    uint64_t dialled;    /* connections ever begun */
    size_t connections;  /* now */
};

/* Fails only on what no waiting would fix: a server that is no URL. */
struct http_transport *http_transport_new(
    struct loop *loop, const struct http_transport_options *options, struct error *err) must_check;
/* Calls that are open get no end(). */
void http_transport_free(struct http_transport *t);
const struct kube_transport *http_transport_kube(struct http_transport *t);
struct http_transport_stats http_transport_stats(const struct http_transport *t);
/* What client-go counts as rest_client_requests_total, in the order of first appearance; ends with
 * one without a method. */
const struct http_transport_count *http_transport_counts(const struct http_transport *t);
