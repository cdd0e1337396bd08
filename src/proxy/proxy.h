#pragma once

/* Services on one machine: replaces kube-proxy, with sockets instead of kernel rules.
 *
 *   clusterIP:port, NODE-ADDRESS:nodePort ──> an endpoint of the Service's EndpointSlices
 *   EXPOSED:nodePort                      ──> the same
 *   EXPOSED:port of a LoadBalancer        ──> the same, for clients of loadBalancerSourceRanges
 *   (hostIP or NODE-ADDRESS):hostPort     ──> containerPort of the pod that has it
 *
 * A port has listeners only while it has an endpoint, so otherwise connections are refused.
 * Ready endpoints are used in turn (with sessionAffinity, each client has its own); if none is
 * ready, terminating endpoints that still serve. An endpoint that does not answer is skipped.
 * When an endpoint is removed and there are others, HTTP/1.x connections move to one of them
 * after the current answer (proxy/relay.h); other connections continue until they end by
 * themselves.
 *
 * Errors (an address that cannot be bound, a protocol other than TCP) are reported by an event
 * of the Service or pod, and retried. Cluster addresses must be addresses of this machine:
 * configure the API server with a range of 127.0.0.0/8. Headless Services and external names
 * have no address. */

#include "base/base.h"

struct kube_transport;
struct loop;
struct proxy;

#define PROXY_EXPOSED_MAX 4

struct proxy_options {
    struct loop *loop;
    const struct kube_transport *transport;
    const char *node_address; /* for node ports and host ports; NULL: 127.0.0.1 */
    /* Addresses for node ports and Services of type LoadBalancer (except those with a class, which
     * belong to another program): numeric, ended by NULL, and no wildcard, because other addresses
     * use the same ports; NULL: node ports only at the node's address. */
    const char *const *exposed;
    /* Limit of accepted connections; more wait in the backlog. 0: the number for which a quarter of
     * our file descriptors is enough. */
    size_t connections_max;
    int64_t connect_ms; /* for an endpoint to answer; 0: 2 s */
};

struct proxy_stats {
    size_t listening;   /* sockets */
    size_t unbound;     /* … that could not be bound */
    size_t connections; /* now */
    uint64_t accepted, failed;
};

/* Everything in options except node_address must outlive it. */
struct proxy *proxy_new(const struct proxy_options *options) must_check;
/* Aborts all connections. */
void proxy_free(struct proxy *p);
void proxy_start(struct proxy *p);
struct proxy_stats proxy_stats(const struct proxy *p);
/* Whether an endpoint with this address serves a client or may get requests: it is ready as far as
 * is known here, a connection to it waits for an answer, or (if that is unknown) a connection was
 * active in the last seconds. */
bool proxy_busy(struct proxy *p, const char *address);
