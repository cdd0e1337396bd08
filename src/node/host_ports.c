#include "node/host_ports.h"

#include <unistd.h>

#include "base/error.h"
#include "http/listen.h"

struct host_port {
    const char *address; /* NULL: unset */
    int64_t number;
    const char *protocol;
    const char *name; /* for people */
};

/* Calls visit() for each port until it returns a text, and returns that. */
static const char *each_port(struct arena *a, struct json pod,
    const char *(*visit)(void *ctx, struct arena *a, const struct host_port *port), void *ctx)
{
    static const char *const lists[] = { "initContainers", "containers" };
    const char *found = NULL;
    for (size_t k = 0; k < lengthof(lists); k++)
        json_each (c, json_member(json_get(pod, "spec"), lists[k])) {
            struct json ports = json_get(*c, "ports");
            json_each (of, ports) {
                const char *protocol = json_get_text(*of, "protocol"),
                           *name = json_get_text(*of, "name"),
                           *address = json_get_text(*of, "hostIP");
                struct host_port port = { .address = text_empty(address) ? NULL : address,
                    .number = json_get_int(*of, "hostPort", 0),
                    .protocol = protocol ? protocol : "TCP" };
                port.name = arena_printf(a,
                    "spec.%s[%s].ports[%s].hostPort",
                    lists[k],
                    json_get_text(*c, "name"),
                    name ? name : arena_printf(a, "%td", of - ports.items));
                if (port.number > 0 && port.number <= UINT16_MAX && !found)
                    found = visit(ctx, a, &port);
            }
        }
    return found;
}

static const char *unfree(struct arena *a, const char *why)
{
    return arena_printf(a,
        "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports "
        "(%s; name another hostPort, or end what has it).",
        why);
}

/* ---- pods ---- */

struct pair {
    const struct host_port *mine;
    struct json other;
};

static bool is_any(const char *address)
{
    return !address || text_eq(address, "0.0.0.0") || text_eq(address, "::");
}

static const char *compare(void *ctx, struct arena *a, const struct host_port *theirs)
{
    const struct pair *pair = ctx;
    const struct host_port *mine = pair->mine;
    bool apart = !is_any(mine->address) && !is_any(theirs->address) &&
                 !text_eq(mine->address, theirs->address);
    if (apart || mine->number != theirs->number || !text_eq(mine->protocol, theirs->protocol))
        return NULL;
    return unfree(a,
        arena_printf(a,
            "pod %s/%s has port %lld",
            json_get_text(pair->other, "metadata.namespace"),
            json_get_text(pair->other, "metadata.name"),
            (long long)mine->number));
}

static const char *compare_all(void *ctx, struct arena *a, const struct host_port *mine)
{
    const struct json *other = ctx;
    return each_port(a, *other, compare, &(struct pair){ mine, *other });
}

const char *host_ports_clash(struct arena *a, struct json pod, struct json other)
{
    return each_port(a, pod, compare_all, &other);
}

/* ---- the machine ---- */

static const char *try_port(void *ctx, struct arena *a, const struct host_port *port)
{
    const char *host_ip = ctx;
    struct error err;
    if (!text_eq(port->protocol, "TCP"))
        return NULL;
    int fd = listen_tcp(port->address ? port->address : host_ip, (uint16_t)port->number, &err);
    if (fd < 0)
        return unfree(a, err.text);
    close(fd);
    return NULL;
}

const char *host_ports_taken(struct arena *a, struct json pod, const char *host_ip)
{
    char ip[64];
    snprintf(ip, sizeof(ip), "%s", host_ip);
    return each_port(a, pod, try_port, ip);
}

/* ---- unsupported ports ---- */

struct idle {
    bool none;
    const char *all;
};

static const char *list_idle(void *ctx, struct arena *a, const struct host_port *port)
{
    struct idle *idle = ctx;
    if (idle->none || !text_eq(port->protocol, "TCP"))
        idle->all = arena_printf(
            a, "%s%s%s", idle->all ? idle->all : "", idle->all ? ", " : "", port->name);
    return NULL;
}

const char *host_ports_idle(struct arena *a, struct json pod, bool none)
{
    struct idle idle = { .none = none };
    if (!json_get_bool(pod, "spec.hostNetwork", false))
        each_port(a, pod, list_idle, &idle);
    return idle.all;
}
