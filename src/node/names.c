#include "node/names.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/resource.h"
#include "kube/file.h"
#include "kube/objects.h"

#define HOSTS_BYTES_MAX ((size_t)4 << 20)
#define DOMAIN "svc.cluster.local"
#define SERVICE_NAME "kubernetes.io/service-name"
#define API_SERVER "kubernetes" /* name of its Service and of the EndpointSlice */

/* ---- variables ---- */

struct variables {
    struct json_builder all;
    const struct objects *objects;
    const char *ns;
    bool links;
};

/* Converts "my-service" to MY_SERVICE. */
static const char *upper(struct arena *a, const char *name)
{
    char *text = arena_strdup(a, name);
    for (char *c = text; *c; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
    return text;
}

static void put(struct json_builder *b, const char *name, const char *suffix, const char *value)
{
    json_put(b, arena_printf(b->arena, "%s%s", name, suffix), json_str(value));
}

static void add_port(
    struct json_builder *b, const char *service, const char *ip, struct json port, bool first)
{
    struct arena *a = b->arena;
    const char *name = json_get_text(port, "name"), *protocol = json_get_text(port, "protocol");
    const char *number = arena_printf(a, "%lld", (long long)json_get_int(port, "port", 0));
    char *lower = arena_strdup(a, protocol ? protocol : "TCP");
    for (char *c = lower; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    const char *url =
        arena_printf(a, strchr(ip, ':') ? "%s://[%s]:%s" : "%s://%s:%s", lower, ip, number);
    const char *prefix = arena_printf(a, "%s_PORT_%s_%s", service, number, upper(a, lower));
    if (first) {
        put(b, service, "_SERVICE_PORT", number);
        put(b, service, "_PORT", url);
    }
    if (!text_empty(name))
        put(b, service, arena_printf(a, "_SERVICE_PORT_%s", upper(a, name)), number);
    put(b, prefix, "", url);
    put(b, prefix, "_PROTO", lower);
    put(b, prefix, "_PORT", number);
    put(b, prefix, "_ADDR", ip);
}

static bool has_address(struct json service)
{
    const char *ip = json_get_text(service, "spec.clusterIP");
    return !text_empty(ip) && !text_eq(ip, "None") &&
           !text_eq(json_get_text(service, "spec.type"), "ExternalName");
}

/* The API server's real address: port 443 of its Service would need root, and may be in use. */
static bool add_api_server(struct variables *v)
{
    struct json slice = objects_get(v->objects, &RESOURCE_ENDPOINT_SLICE, "default", API_SERVER);
    struct json port = json_item(json_get(slice, "ports"), 0);
    const char *ip = json_get_text(slice, "endpoints.0.addresses.0");
    if (text_empty(ip) || !json_present(port))
        return false;
    put(&v->all, "KUBERNETES", "_SERVICE_HOST", ip);
    add_port(&v->all, "KUBERNETES", ip, port, true);
    return true;
}

static void add_variables(void *ctx, struct json service)
{
    struct variables *v = ctx;
    const char *ns = json_get_text(service, "metadata.namespace");
    const char *name = json_get_text(service, "metadata.name");
    bool api = text_eq(ns, "default") && text_eq(name, API_SERVER);
    if (!has_address(service) || !(api || (v->links && text_eq(ns, v->ns))))
        return;
    if (api && add_api_server(v))
        return;
    const char *prefix = upper(v->all.arena, name), *ip = json_get_text(service, "spec.clusterIP");
    struct json ports = json_get(service, "spec.ports");
    put(&v->all, prefix, "_SERVICE_HOST", ip);
    json_each (port, ports)
        add_port(&v->all, prefix, ip, *port, port == ports.items);
}

struct json names_env(struct arena *a, const struct objects *objects, const char *ns, bool links)
{
    struct variables v = { .objects = objects, .ns = ns, .links = links };
    json_builder_init(&v.all, a);
    objects_each(objects, &RESOURCE_SERVICE, add_variables, &v);
    return json_map_end(&v.all);
}

/* ---- hosts ---- */

struct lines {
    struct buf *out;
    const struct objects *objects;
    const char *ns;
};

/* prefix: "HOSTNAME." of an endpoint, or "". */
static void add_line(struct lines *l, const char *ip, const char *prefix, struct json service)
{
    const char *name = json_get_text(service, "metadata.name");
    const char *ns = json_get_text(service, "metadata.namespace");
    static const char *const domains[] = { ".svc.cluster.local", ".svc", "" };
    buf_add_text(l->out, ip);
    for (size_t i = 0; i < lengthof(domains); i++)
        buf_printf(l->out, "%s%s%s.%s%s", i ? " " : "\t", prefix, name, ns, domains[i]);
    if (text_eq(ns, l->ns))
        buf_printf(l->out, " %s%s", prefix, name);
    buf_add_char(l->out, '\n');
}

static void add_service(void *ctx, struct json service)
{
    struct lines *l = ctx;
    if (!has_address(service))
        return;
    json_each (ip, json_get(service, "spec.clusterIPs"))
        if (json_text(*ip))
            add_line(l, json_text(*ip), "", service);
}

static void add_slice(void *ctx, struct json slice)
{
    struct lines *l = ctx;
    const char *name = json_text(json_member(json_get(slice, "metadata.labels"), SERVICE_NAME));
    const char *ns = json_get_text(slice, "metadata.namespace");
    struct json service = objects_get(l->objects, &RESOURCE_SERVICE, ns, name);
    if (!text_eq(json_get_text(service, "spec.clusterIP"), "None"))
        return;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    json_each (endpoint, json_get(slice, "endpoints")) {
        const char *ip = json_text(json_item(json_get(*endpoint, "addresses"), 0));
        const char *hostname = json_get_text(*endpoint, "hostname");
        if (!ip || !json_get_bool(*endpoint, "conditions.ready", true))
            continue;
        add_line(l, ip, "", service);
        if (!text_empty(hostname))
            add_line(l, ip, arena_printf(&a, "%s.", hostname), service);
    }
}

void names_hosts(struct buf *b, const struct objects *objects, const char *ns)
{
    struct lines l = { .out = b, .objects = objects, .ns = ns };
    objects_each(objects, &RESOURCE_SERVICE, add_service, &l);
    objects_each(objects, &RESOURCE_ENDPOINT_SLICE, add_slice, &l);
}

const char *names_hosts_file(struct arena *a, const struct pod_view *v)
{
    struct buf b = BUF_INIT(HOSTS_BYTES_MAX);
    const char *hostname = json_get_text(v->pod, "spec.hostname");
    const char *subdomain = json_get_text(v->pod, "spec.subdomain");
    const char *ns = json_get_text(v->pod, "metadata.namespace");
    if (text_empty(hostname))
        hostname = json_get_text(v->pod, "metadata.name");
    buf_add_text(&b, "# Kept by leeboard: Services and this pod.\n127.0.0.1\tlocalhost\n");
    if (!text_empty(subdomain))
        buf_printf(&b, "%s\t%s.%s.%s." DOMAIN " ", v->pod_ip, hostname, subdomain, ns);
    else
        buf_printf(&b, "%s\t", v->pod_ip);
    buf_printf(&b, "%s\n", hostname);
    json_each (alias, json_get(v->pod, "spec.hostAliases")) {
        buf_add_text(&b, json_get_text(*alias, "ip"));
        json_each (name, json_get(*alias, "hostnames"))
            buf_printf(&b, " %s", json_text(*name) ? json_text(*name) : "");
        buf_add_char(&b, '\n');
    }
    names_hosts(&b, v->objects, ns);
    struct str machine;
    if (file_read(a, "/etc/hosts", HOSTS_BYTES_MAX / 2, &machine, NULL))
        buf_add(&b, machine.ptr, machine.len);
    const char *text = arena_strdup(a, buf_text(&b));
    buf_done(&b);
    return text;
}

bool names_hosts_write(const char *path, const char *text, struct error *err)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct str old, fresh = str_of(text);
    if (file_read(&a, path, HOSTS_BYTES_MAX, &old, NULL) && str_eq(old, fresh))
        return true;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return fail_errno(err, errno, "%s", path);
    /* Keeps the file readable throughout: writes the new text first, then truncates the rest. */
    bool ok = write(fd, fresh.ptr, fresh.len) == (ssize_t)fresh.len &&
              ftruncate(fd, (off_t)fresh.len) == 0;
    int number = errno;
    close(fd);
    return ok || fail_errno(err, number, "write %s", path);
}
