#pragma once

/* Services on one machine: what kube-proxy is in a cluster, with sockets in place of kernel rules.
 *
 *   clusterIP:port, NODE-ADDRESS:nodePort ──> an endpoint of the Service's EndpointSlices
 *   EXPOSED:nodePort                      ──> the same
 *   EXPOSED:port of a LoadBalancer        ──> the same, for clients of loadBalancerSourceRanges
 *   (hostIP or NODE-ADDRESS):hostPort     ──> containerPort of the pod that has it
 *
 * A port is listened on while it has an endpoint, so without one connections are refused. Endpoints
 * that are ready take turns (or, with sessionAffinity, each client has its own); where none is
 * ready, those that still serve while they end. One that does not answer is passed over. When an
 * endpoint goes away and there are others, connections that speak HTTP/1.x go to one of them after
 * the answer that is under way (proxy/relay.h); other connections go on until they end by
 * themselves.
 *
 * What cannot be done (an address that cannot be bound, a protocol that is not TCP) is reported by
 * an event of the Service or pod, and tried again. Cluster addresses must be addresses of this
 * machine: give the API server a range of 127.0.0.0/8. Headless Services and external names have no
 * address. */

#include "base/base.h"

struct kube_transport;
struct loop;
struct proxy;

#define PROXY_EXPOSED_MAX 4

struct proxy_options {
    struct loop *loop;
    const struct kube_transport *transport;
    const char *node_address; /* for node ports and host ports; NULL: 127.0.0.1 */
    /* Where node ports and Services of type LoadBalancer (but those with a class, which are another
     * program's) are reached: numeric addresses up to a NULL, none the wildcard, because other
     * addresses have the same ports; NULL: node ports only at the node's address. */
    const char *const *exposed;
    /* At once; more wait in the kernel. 0: what a quarter of our file descriptors is enough for. */
    size_t connections_max;
    int64_t connect_ms; /* for an endpoint to answer; 0: 2 s */
};

struct proxy_stats {
    size_t listening;   /* sockets */
    size_t unbound;     /* … that could not be bound */
    size_t connections; /* now */
    uint64_t accepted, failed;
};

/* Everything in options but node_address outlives it. */
struct proxy *proxy_new(const struct proxy_options *options) must_check;
/* Connections are cut. */
void proxy_free(struct proxy *p);
void proxy_start(struct proxy *p);
struct proxy_stats proxy_stats(const struct proxy *p);
/* Whether an endpoint of this address is at work for somebody, or may be asked: it is ready as far
 * as is known here, a connection to it has an answer outstanding, or (where that cannot be seen)
 * was not quiet for some seconds. */
bool proxy_busy(struct proxy *p, const char *address);
