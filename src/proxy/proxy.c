#include "proxy/proxy.h"

#include <sys/resource.h>

#include "base/resource.h"
#include "http/listen.h"
#include "http/loop.h"
#include "kube/client.h"
#include "kube/events.h"
#include "kube/objects.h"
#include "proxy/port.h"

#define CONNECT_DEFAULT_MS 2000
#define CONNECTIONS_FLOOR 16
#define CONNECTIONS_CEILING 8192
#define OUT_OF_FILES_MS 200
#define QUIET_MS 3000 /* longer than a model needs between two tokens */
#define SERVICE_NAME "kubernetes.io/service-name"

struct connection {
    struct connection *next, **link;
    struct proxy *proxy;
    struct port *port; /* NULL: the port was removed */
    struct relay *relay;
};

struct proxy {
    struct proxy_options options;
    char *node_address;
    struct kube_client *client;
    struct event_recorder *events;
    struct objects *objects;
    struct table ports; /* by key */
    struct connection *connections;
    struct proxy_stats stats;
    struct timer look;         /* an object changed */
    struct timer out_of_files; /* while it is set, no connection is accepted */
    bool loaded;
};

/* ---- connections ---- */

struct loop *proxy_loop(const struct proxy *p)
{
    return p->options.loop;
}

uint64_t proxy_hash(const struct proxy *p, const void *bytes, size_t count)
{
    return table_hash(&p->ports, bytes, count);
}

/* The reserved connections of each port, and the used part of the rest. */
struct shares {
    size_t own, rest, rest_used;
};

static struct shares shares_of(struct proxy *p)
{
    size_t max = p->options.connections_max, ports = p->ports.count ? p->ports.count : 1;
    struct shares s = { .own = max / 2 / ports };
    s.rest = max - ports * s.own;
    for (struct table_cursor i = table_first(&p->ports); i.node; table_next(&i)) {
        size_t has = container_of(i.node, struct port, node)->connections;
        s.rest_used += has > s.own ? has - s.own : 0;
    }
    return s;
}

static bool has_room(const struct proxy *p, const struct shares *s, const struct port *port)
{
    return p->stats.connections < p->options.connections_max && !timer_is_set(&p->out_of_files) &&
           (port->connections < s->own || s->rest_used < s->rest);
}

bool proxy_has_room(struct proxy *p, const struct port *port)
{
    struct shares s = shares_of(p);
    return has_room(p, &s, port);
}

static void accept_or_wait(void *ctx)
{
    struct proxy *p = ctx;
    struct shares s = shares_of(p);
    for (struct table_cursor i = table_first(&p->ports); i.node; table_next(&i)) {
        struct port *port = container_of(i.node, struct port, node);
        port_accept(port, has_room(p, &s, port));
    }
}

void proxy_out_of_files(struct proxy *p)
{
    timer_set(loop_env(p->options.loop), &p->out_of_files, OUT_OF_FILES_MS);
    accept_or_wait(p);
}

static void connection_free(struct connection *c)
{
    relay_free(c->relay);
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    c->proxy->stats.connections--;
    if (c->port)
        c->port->connections--;
    free(c);
}

static void relay_ended(void *ctx, struct relay *r, const struct error *err)
{
    (void)r;
    struct connection *c = ctx;
    struct proxy *p = c->proxy;
    p->stats.failed += err != NULL;
    connection_free(c);
    accept_or_wait(p);
}

static size_t relay_targets(
    void *ctx, const struct sockaddr *client, struct relay_target *ret_targets)
{
    const struct connection *c = ctx;
    return c->port ? port_targets(c->port, client, ret_targets) : 0;
}

void proxy_connect(struct proxy *p, struct port *port, int fd)
{
    static const struct relay_owner owner = { relay_targets, relay_ended };
    struct connection *c = mem_new_of(struct connection);
    *c = (struct connection){
        .proxy = p, .port = port, .next = p->connections, .link = &p->connections
    };
    if (c->next)
        c->next->link = &c->next;
    p->connections = c;
    p->stats.connections++;
    port->connections++;
    p->stats.accepted++;
    c->relay = relay_new(p->options.loop, fd, p->options.connect_ms, &owner, c);
    accept_or_wait(p);
}

/* Moves connections to another endpoint, if there is one, when theirs should not be used any
 * more. */
static void move_connections(struct proxy *p)
{
    for (struct connection *c = p->connections, *next; c; c = next) {
        next = c->next; /* relay_leave() may end it */
        const struct relay_target *at = relay_server(c->relay);
        relay_leave(c->relay,
            at && c->port && port_targets(c->port, NULL, NULL) && !port_offers(c->port, at));
    }
}

static void remove_port(struct proxy *p, struct port *port)
{
    for (struct connection *c = p->connections; c; c = c->next)
        if (c->port == port)
            c->port = NULL;
    table_remove(&p->ports, &port->node);
    port_free(port);
}

/* ---- events ---- */

void proxy_count(struct proxy *p, int listening, int unbound)
{
    p->stats.listening += (size_t)listening;
    p->stats.unbound += (size_t)unbound;
}

void proxy_tell(struct proxy *p, const struct port *port, const char *reason, const char *note)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json object = objects_get(p->objects, port->kind, port->ns, port->name);
    if (json_present(object))
        event_record(p->events,
            &(struct event){ .regarding = json_map(&a, /* items of a list have no kind */
                                 { "apiVersion", json_str("v1") },
                                 { "kind", json_str(port->kind->kind) },
                                 { "metadata", json_get(object, "metadata") }),
                .warning = true,
                .reason = reason,
                .action = "Listen",
                .note = note });
}

/* ---- from objects to ports ---- */

static bool port_is(const struct table_node *n, const void *key)
{
    return text_eq(container_of(n, struct port, node)->key, key);
}

/* make: creates it for an object of this kind; NULL: only finds an existing one. */
static struct port *port_find(struct proxy *p, const char *ns, const char *name, const char *port,
    const struct resource *make)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *key = arena_printf(&a, "%s/%s/%s", ns, name, port ? port : "");
    uint64_t hash = table_hash(&p->ports, key, strlen(key));
    struct table_node *n = table_find(&p->ports, hash, port_is, key);
    if (n || !make)
        return n ? container_of(n, struct port, node) : NULL;
    struct port *fresh = port_new(p, key, make, ns, name);
    table_add(&p->ports, &fresh->node, hash);
    return fresh;
}

static void refuse_protocol(struct proxy *p, struct port *port, const char *protocol)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    if (!port->told)
        proxy_tell(p,
            port,
            "NotForwarded",
            arena_printf(&a,
                "protocol %s: only TCP is forwarded on this machine; connect to the pods "
                "themselves",
                protocol));
    port->told = true;
}

/* Adds the listeners of a port for clients outside the cluster. */
static void add_outside(struct proxy *p, struct port *port, struct json service, struct json of)
{
    const char *type = json_get_text(service, "spec.type");
    bool balancer = text_eq(type, "LoadBalancer");
    bool ours = balancer && text_empty(json_get_text(service, "spec.loadBalancerClass"));
    int64_t node_port = balancer || text_eq(type, "NodePort") ? json_get_int(of, "nodePort", 0) : 0;
    if (node_port)
        port_listen(port, p->node_address, node_port);
    for (const char *const *address = p->options.exposed; address && *address; address++) {
        if (node_port)
            port_listen(port, *address, node_port);
        if (ours)
            port_balance(port,
                *address,
                json_get_int(of, "port", 0),
                json_get(service, "spec.loadBalancerSourceRanges"));
    }
}

static void add_service(void *ctx, struct json service)
{
    struct proxy *p = ctx;
    const char *type = json_get_text(service, "spec.type");
    const char *address = json_get_text(service, "spec.clusterIP");
    if (text_empty(address) || text_eq(address, "None") || text_eq(type, "ExternalName"))
        return;
    json_each (of, json_get(service, "spec.ports")) {
        struct port *port = port_find(p,
            json_get_text(service, "metadata.namespace"),
            json_get_text(service, "metadata.name"),
            json_get_text(*of, "name"),
            &RESOURCE_SERVICE);
        const char *protocol = json_get_text(*of, "protocol");
        port->seen = true;
        port->affinity = text_eq(json_get_text(service, "spec.sessionAffinity"), "ClientIP");
        if (protocol && !text_eq(protocol, "TCP")) {
            refuse_protocol(p, port, protocol);
            continue;
        }
        json_each (ip, json_get(service, "spec.clusterIPs"))
            if (json_text(*ip))
                port_listen(port, json_text(*ip), json_get_int(*of, "port", 0));
        add_outside(p, port, service, *of);
    }
}

static void add_endpoint(struct port *port, struct json endpoint, int64_t number)
{
    bool ready = json_get_bool(endpoint, "conditions.ready", true);
    bool ending = json_get_bool(endpoint, "conditions.terminating", false) &&
                  json_get_bool(endpoint, "conditions.serving", true);
    const char *host = json_text(json_item(json_get(endpoint, "addresses"), 0));
    if (host && (ready || ending))
        port_endpoint(port, !ready, host, number);
}

static void add_slice(void *ctx, struct json slice)
{
    struct proxy *p = ctx;
    const char *service = json_text(json_member(json_get(slice, "metadata.labels"), SERVICE_NAME));
    if (!service || text_eq(json_get_text(slice, "addressType"), "FQDN"))
        return;
    json_each (of, json_get(slice, "ports")) {
        struct port *port = port_find(p,
            json_get_text(slice, "metadata.namespace"),
            service,
            json_get_text(*of, "name"),
            NULL);
        json_each (endpoint, json_get(slice, "endpoints"))
            if (port)
                add_endpoint(port, *endpoint, json_get_int(*of, "port", 0));
    }
}

static struct json containers_of(struct arena *a, struct json pod)
{
    struct json_builder all;
    json_builder_init(&all, a);
    json_push_all(&all, json_get(pod, "spec.initContainers"));
    json_push_all(&all, json_get(pod, "spec.containers"));
    return json_list_end(&all);
}

/* Adds a running pod; as in a cluster, it need not be ready. Pods with hostNetwork listen
 * themselves. */
static void add_pod(void *ctx, struct json pod)
{
    struct proxy *p = ctx;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *ip = json_get_text(pod, "status.podIP");
    bool leaving = json_present(json_get(pod, "metadata.deletionTimestamp"));
    if (!ip || json_get_bool(pod, "spec.hostNetwork", false) ||
        !text_eq(json_get_text(pod, "status.phase"), "Running"))
        return;
    json_each (container, containers_of(&a, pod))
        json_each (of, json_get(*container, "ports")) {
            int64_t number = json_get_int(*of, "hostPort", 0);
            const char *protocol = json_get_text(*of, "protocol");
            const char *address = json_get_text(*of, "hostIP");
            if (!number || (protocol && !text_eq(protocol, "TCP")))
                continue;
            address = text_empty(address) ? p->node_address : address;
            struct port *port = port_find(p,
                json_get_text(pod, "metadata.namespace"),
                json_get_text(pod, "metadata.name"),
                arena_printf(&a, "%s:%lld", address, (long long)number),
                &RESOURCE_POD);
            port->seen = true;
            port_listen(port, address, number);
            port_endpoint(port, leaving, ip, json_get_int(*of, "containerPort", 0));
        }
}

/* Updates everything each time: there are only some hundred small objects, and nothing can be
 * missed. */
static void look(void *ctx)
{
    struct proxy *p = ctx;
    for (struct table_cursor i = table_first(&p->ports); i.node; table_next(&i))
        port_begin(container_of(i.node, struct port, node));
    objects_each(p->objects, &RESOURCE_SERVICE, add_service, p);
    objects_each(p->objects, &RESOURCE_ENDPOINT_SLICE, add_slice, p);
    objects_each(p->objects, &RESOURCE_POD, add_pod, p);
    for (struct table_cursor i = table_first(&p->ports); i.node; table_next(&i)) {
        struct port *port = container_of(i.node, struct port, node);
        if (!port->seen)
            remove_port(p, port); /* remove first: the others may need its address */
    }
    for (struct table_cursor i = table_first(&p->ports); i.node; table_next(&i))
        port_end(container_of(i.node, struct port, node));
    move_connections(p);
    accept_or_wait(p);
}

static void changed(
    void *ctx, const struct resource *kind, const char *ns, const char *name, struct json object)
{
    (void)kind, (void)ns, (void)name, (void)object;
    struct proxy *p = ctx;
    if (p->loaded)
        timer_set(loop_env(p->options.loop), &p->look, 0);
}

static void loaded(void *ctx)
{
    struct proxy *p = ctx;
    p->loaded = true;
    timer_set(loop_env(p->options.loop), &p->look, 0);
}

/* ---- life ---- */

static size_t connections_default(void)
{
    struct rlimit files = { 0 };
    listen_raise_files();
    size_t quarter = getrlimit(RLIMIT_NOFILE, &files) ? 0 : (size_t)files.rlim_cur / 4 / 2;
    return quarter < CONNECTIONS_FLOOR     ? CONNECTIONS_FLOOR
           : quarter > CONNECTIONS_CEILING ? CONNECTIONS_CEILING
                                           : quarter;
}

struct proxy *proxy_new(const struct proxy_options *options)
{
    static const struct resource *const kinds[] = {
        &RESOURCE_SERVICE, &RESOURCE_ENDPOINT_SLICE, &RESOURCE_POD, NULL
    };
    struct proxy *p = mem_new_of(struct proxy);
    const struct env *env = loop_env(options->loop);
    p->options = *options;
    p->node_address = mem_strdup(options->node_address ? options->node_address : "127.0.0.1");
    if (!p->options.connections_max)
        p->options.connections_max = connections_default();
    if (!p->options.connect_ms)
        p->options.connect_ms = CONNECT_DEFAULT_MS;
    table_init(&p->ports, env->random(env->ctx), env->random(env->ctx));
    timer_init(&p->look, look, p);
    timer_init(&p->out_of_files, accept_or_wait, p);
    p->client = kube_client_new(options->transport, env);
    p->events = event_recorder_new(p->client,
        env,
        &(struct event_recorder_options){ .controller = "leeboard-proxy", .instance = "leeboard" });
    p->objects =
        objects_new(options->transport, env, kinds, (struct objects_watch){ changed, loaded, p });
    return p;
}

void proxy_free(struct proxy *p)
{
    if (!p)
        return;
    const struct env *env = loop_env(p->options.loop);
    timer_stop(env, &p->look);
    timer_stop(env, &p->out_of_files);
    while (p->connections)
        connection_free(p->connections);
    for (struct table_cursor i = table_first(&p->ports); i.node; table_next(&i))
        remove_port(p, container_of(i.node, struct port, node));
    table_done(&p->ports);
    objects_free(p->objects);
    event_recorder_free(p->events);
    kube_client_free(p->client);
    free(p->node_address);
    free(p);
}

void proxy_start(struct proxy *p)
{
    objects_start(p->objects);
}

struct proxy_stats proxy_stats(const struct proxy *p)
{
    return p->stats;
}

bool proxy_busy(struct proxy *p, const char *address)
{
    for (struct table_cursor i = table_first(&p->ports); i.node; table_next(&i))
        if (port_is_ready(container_of(i.node, struct port, node), address))
            return true;
    for (const struct connection *c = p->connections; c; c = c->next)
        if (relay_busy(c->relay, address, QUIET_MS))
            return true;
    return false;
}
