#pragma once

/* One port of a Service, or one host port of a pod, for proxy.c: its listeners and its
 * endpoints. */

#include "base/json.h"
#include "base/table.h"
#include "base/timer.h"
#include "proxy/proxy.h"
#include "proxy/range.h"
#include "proxy/relay.h"

/* Two cluster addresses, plus a node port and a load balancer's port on each exposed address. */
#define PORT_LISTENERS_MAX (2 + 2 * (1 + PROXY_EXPOSED_MAX))
#define PORT_ENDPOINTS_MAX 1000

struct port;
struct proxy;
struct resource;

struct listener {
    struct port *port;
    char address[46]; /* numeric */
    uint16_t number;
    bool wanted;
    bool ranged; /* only for clients in the port's ranges */
    int fd;      /* -1: closed */
    struct loop_watch *watch;
    struct timer again; /* retries a failed bind */
    unsigned failures;
    char told[480]; /* the error of the last event */
};

struct endpoints {
    struct relay_target *items;
    size_t count, size;
};

struct port {
    struct table_node node;
    struct proxy *proxy;
    char *key;                   /* "NAMESPACE/SERVICE/PORT", "NAMESPACE/POD/ADDRESS:PORT" */
    const struct resource *kind; /* kind of the object */
    char *ns, *name;
    struct listener listeners[PORT_LISTENERS_MAX];
    size_t listener_count;
    struct endpoints ready, ending; /* ending: serving and terminating */
    uint32_t turn;
    size_t connections;
    struct range *ranges; /* the allowed clients of a load balancer */
    size_t range_count;
    bool affinity; /* by client address */
    bool seen;
    bool told; /* reported that its protocol is not supported */
};

struct port *port_new(struct proxy *p, const char *key, const struct resource *kind, const char *ns,
    const char *name);
void port_free(struct port *port);
/* Starts an update from the objects: clears the wanted listeners and endpoints. */
void port_begin(struct port *port);
void port_listen(struct port *port, const char *address, int64_t number);
/* The same for a load balancer's address; ranges: list of strings, empty for all clients. */
void port_balance(struct port *port, const char *address, int64_t number, struct json ranges);
void port_endpoint(struct port *port, bool ending, const char *host, int64_t number);
/* … and ends it: opens and closes sockets. */
void port_end(struct port *port);
/* For a relay of this port, as relay_owner.targets(). */
size_t port_targets(
    struct port *port, const struct sockaddr *client, struct relay_target *ret_targets);
/* Whether new connections may use this endpoint. */
bool port_offers(const struct port *port, const struct relay_target *endpoint);
/* Whether an endpoint with this address is ready, as far as is known here. */
bool port_is_ready(const struct port *port, const char *host);
/* Accepts connections, or leaves them in the backlog. */
void port_accept(struct port *port, bool on);

/* ---- proxy.c ---- */

struct loop *proxy_loop(const struct proxy *p);
uint64_t proxy_hash(const struct proxy *p, const void *bytes, size_t count);
/* Whether this port may accept another connection: half of all connections are divided equally
 * among the ports, so that a busy one leaves room for the others. */
bool proxy_has_room(struct proxy *p, const struct port *port);
void proxy_connect(struct proxy *p, struct port *port, int fd);
/* Out of file descriptors: accepts no connections for a while. */
void proxy_out_of_files(struct proxy *p);
void proxy_tell(struct proxy *p, const struct port *port, const char *reason, const char *note);
void proxy_count(struct proxy *p, int listening, int unbound);
