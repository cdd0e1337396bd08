#include "proxy/port.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/str.h"
#include "http/listen.h"
#include "http/loop.h"

#define ACCEPTS_PER_TURN 16
#define AGAIN_FIRST_MS 500
#define AGAIN_MAX_MS 30000

static const struct env *env_of(const struct port *port)
{
    return loop_env(proxy_loop(port->proxy));
}

/* ---- choosing an endpoint ---- */

/* Each client has its own order of endpoints, which does not change when others are added or
 * removed: rendezvous hashing by a number for each pair. */
static size_t favourite(
    const struct port *port, const struct endpoints *all, const struct sockaddr *client)
{
    const struct sockaddr_in6 *six = (const void *)client;
    const struct sockaddr_in *four = (const void *)client;
    char key[sizeof(six->sin6_addr) + sizeof(struct relay_target)] = { 0 };
    bool is_six = client->sa_family == AF_INET6;
    memcpy(key,
        is_six ? (const void *)&six->sin6_addr : &four->sin_addr,
        is_six ? sizeof(six->sin6_addr) : sizeof(four->sin_addr));
    size_t best = 0;
    uint64_t best_value = 0;
    for (size_t i = 0; i < all->count; i++) {
        memcpy(key + sizeof(six->sin6_addr), &all->items[i], sizeof(all->items[i]));
        uint64_t value = proxy_hash(port->proxy, key, sizeof(key));
        if (i == 0 || value > best_value) {
            best = i;
            best_value = value;
        }
    }
    return best;
}

static const struct endpoints *offered(const struct port *port)
{
    return port->ready.count ? &port->ready : &port->ending;
}

size_t port_targets(
    struct port *port, const struct sockaddr *client, struct relay_target *ret_targets)
{
    const struct endpoints *all = offered(port);
    size_t count = all->count < RELAY_TARGETS_MAX ? all->count : RELAY_TARGETS_MAX;
    if (!count || !ret_targets)
        return count;
    size_t first = port->affinity ? favourite(port, all, client) : port->turn++ % all->count;
    for (size_t i = 0; i < count; i++)
        ret_targets[i] = all->items[(first + i) % all->count];
    return count;
}

bool port_offers(const struct port *port, const struct relay_target *endpoint)
{
    const struct endpoints *all = offered(port);
    for (size_t i = 0; i < all->count; i++)
        if (memcmp(&all->items[i], endpoint, sizeof(*endpoint)) == 0)
            return true;
    return false;
}

bool port_is_ready(const struct port *port, const char *host)
{
    for (size_t i = 0; i < port->ready.count; i++)
        if (text_eq(port->ready.items[i].host, host))
            return true;
    return false;
}

static bool is_admitted(const struct port *port, const struct sockaddr *client)
{
    for (size_t i = 0; i < port->range_count; i++)
        if (range_has(&port->ranges[i], client))
            return true;
    return false;
}

static void acceptable(void *ctx, int events)
{
    (void)events;
    struct listener *l = ctx;
    for (int i = 0; i < ACCEPTS_PER_TURN && proxy_has_room(l->port->proxy, l->port); i++) {
        struct sockaddr_storage client;
        socklen_t size = sizeof(client);
        int fd = accept4(l->fd, (struct sockaddr *)&client, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0 && l->ranged && !is_admitted(l->port, (struct sockaddr *)&client))
            close(fd);
        else if (fd >= 0)
            proxy_connect(l->port->proxy, l->port, fd);
        else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            proxy_out_of_files(l->port->proxy);
        if (fd < 0 && errno != ECONNABORTED && errno != EINTR)
            return;
    }
}

/* ---- sockets ---- */

static void listener_close(struct listener *l)
{
    timer_stop(env_of(l->port), &l->again);
    if (l->told[0])
        proxy_count(l->port->proxy, 0, -1);
    l->told[0] = 0;
    l->failures = 0;
    if (l->fd < 0)
        return;
    loop_watch_free(take(l->watch));
    close(l->fd);
    l->fd = -1;
    proxy_count(l->port->proxy, -1, 0);
}

static void tell_failure(struct listener *l, const struct error *err)
{
    char note[sizeof(err->text) + 128];
    snprintf(note,
        sizeof(note),
        "%s%s",
        err->text,
        err->code == ERR_FORBIDDEN
            ? "; below net.ipv4.ip_unprivileged_port_start only root may listen"
            : "; connections fail until the address is free and belongs to this machine");
    if (text_eq(l->told, err->text))
        return;
    if (!l->told[0])
        proxy_count(l->port->proxy, 0, 1);
    memcpy(l->told, err->text, sizeof(l->told));
    proxy_tell(l->port->proxy, l->port, "CannotListen", note);
}

static void listener_open(void *ctx)
{
    struct listener *l = ctx;
    struct port *port = l->port;
    struct error err = { 0 };
    int fd = listen_tcp(l->address, l->number, &err);
    if (fd < 0) {
        tell_failure(l, &err);
        timer_set(env_of(port),
            &l->again,
            env_backoff_ms(env_of(port), AGAIN_FIRST_MS, AGAIN_MAX_MS, l->failures++));
        return;
    }
    listener_close(l);
    l->fd = fd;
    l->watch = loop_watch_new(proxy_loop(port->proxy), l->fd, acceptable, l);
    proxy_count(port->proxy, 1, 0);
    loop_watch_set(l->watch, proxy_has_room(port->proxy, port) ? LOOP_READ : 0);
}

void port_accept(struct port *port, bool on)
{
    for (size_t i = 0; i < port->listener_count; i++)
        if (port->listeners[i].watch)
            loop_watch_set(port->listeners[i].watch, on ? LOOP_READ : 0);
}

/* ---- from the objects ---- */

void port_begin(struct port *port)
{
    port->seen = false;
    port->ready.count = port->ending.count = port->range_count = 0;
    for (size_t i = 0; i < port->listener_count; i++)
        port->listeners[i].wanted = false;
}

static struct listener *listener_for(struct port *port, const char *address, int64_t number)
{
    struct listener *l = NULL;
    if (number <= 0 || number > 65535 || strlen(address) >= sizeof(l->address))
        return NULL;
    for (size_t i = 0; i < port->listener_count; i++) {
        struct listener *one = &port->listeners[i];
        if (text_eq(one->address, address) && one->number == number)
            l = one;
    }
    for (size_t i = 0; i < port->listener_count && !l; i++)
        if (!port->listeners[i].wanted) {
            l = &port->listeners[i];
            listener_close(l);
        }
    if (!l && port->listener_count < PORT_LISTENERS_MAX) {
        l = &port->listeners[port->listener_count++];
        *l = (struct listener){ .port = port, .fd = -1 };
        timer_init(&l->again, listener_open, l);
    }
    if (!l)
        return NULL;
    snprintf(l->address, sizeof(l->address), "%s", address);
    l->number = (uint16_t)number;
    l->wanted = true;
    l->ranged = false;
    return l;
}

void port_listen(struct port *port, const char *address, int64_t number)
{
    (void)listener_for(port, address, number);
}

void port_balance(struct port *port, const char *address, int64_t number, struct json ranges)
{
    struct listener *l = listener_for(port, address, number);
    if (l)
        l->ranged = ranges.count;
    if (port->range_count || !ranges.count)
        return; /* another address uses the same ports */
    port->ranges = mem_resize(port->ranges, ranges.count, sizeof(*port->ranges));
    json_each (range, ranges)
        if (json_text(*range) && range_parse(json_text(*range), &port->ranges[port->range_count]))
            port->range_count++;
}

void port_endpoint(struct port *port, bool ending, const char *host, int64_t number)
{
    struct endpoints *to = ending ? &port->ending : &port->ready;
    struct relay_target target = { .port = (uint16_t)number };
    if (number <= 0 || number > 65535 || strlen(host) >= sizeof(target.host) ||
        to->count == PORT_ENDPOINTS_MAX)
        return;
    memcpy(target.host, host, strlen(host));
    for (size_t i = 0; i < to->count; i++) /* slices may overlap during an update */
        if (memcmp(&to->items[i], &target, sizeof(target)) == 0)
            return;
    mem_room(to->items, to->count, to->size);
    to->items[to->count++] = target;
}

void port_end(struct port *port)
{
    bool served = port->ready.count || port->ending.count;
    for (size_t i = 0; i < port->listener_count; i++) {
        struct listener *l = &port->listeners[i];
        if (!served || !l->wanted)
            listener_close(l);
        else if (l->fd < 0 && !timer_is_set(&l->again))
            listener_open(l);
    }
}

struct port *port_new(
    struct proxy *p, const char *key, const struct resource *kind, const char *ns, const char *name)
{
    struct port *port = mem_new_of(struct port);
    port->proxy = p;
    port->key = mem_strdup(key);
    port->kind = kind;
    port->ns = mem_strdup(ns);
    port->name = mem_strdup(name);
    return port;
}

void port_free(struct port *port)
{
    for (size_t i = 0; i < port->listener_count; i++)
        listener_close(&port->listeners[i]);
    free(port->ranges);
    free(port->ready.items);
    free(port->ending.items);
    free(port->key);
    free(port->ns);
    free(port->name);
    free(port);
}
