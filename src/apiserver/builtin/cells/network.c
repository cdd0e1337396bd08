/* The cells of Services, Ingresses and endpoints. */

#include "apiserver/builtin/cells/cells.h"
#include "base/buf.h"

#define SHOWN 3

/* "a,b,c + 2 more..." */
static struct json first_few(struct arena *a, struct json list, size_t count, const char *none)
{
    if (!list.count)
        return json_str(none);
    struct json few = list;
    few.count = list.count < SHOWN ? list.count : SHOWN;
    struct json text = cells_joined(a, few, NULL, ",");
    return list.count > SHOWN ? json_strf(a, "%s + %zu more...", text.string, count - SHOWN) : text;
}

/* Addresses or names of a load balancer. */
static struct json balancers(struct arena *a, struct json o)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (in, json_get(o, "status.loadBalancer.ingress"))
        json_push(&b, json_str(cells_text(*in, "ip", cells_text(*in, "hostname", ""))));
    return json_list_end(&b);
}

struct json cell_service_external(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    const char *type = json_get_text(o, "spec.type");
    struct json ips = json_get(o, "spec.externalIPs");
    if (text_eq(type, "ExternalName"))
        return json_str(cells_text(o, "spec.externalName", ""));
    struct json_builder b;
    json_builder_init(&b, a);
    if (text_eq(type, "LoadBalancer"))
        json_push_all(&b, balancers(a, o));
    json_push_all(&b, ips);
    struct json all = json_list_end(&b);
    if (all.count)
        return cells_joined(a, all, NULL, ",");
    return json_str(text_eq(type, "LoadBalancer") ? "<pending>" : "<none>");
}

struct json cell_service_ports(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    cleanup(buf_done) struct buf b = BUF_INIT(1 << 20);
    json_each (port, json_get(o, "spec.ports")) {
        int64_t node_port = json_get_int(*port, "nodePort", 0);
        buf_printf(&b, "%s%lld", b.len ? "," : "", (long long)json_get_int(*port, "port", 0));
        if (node_port)
            buf_printf(&b, ":%lld", (long long)node_port);
        buf_printf(&b, "/%s", cells_text(*port, "protocol", ""));
    }
    return b.len ? json_strf(a, "%s", buf_text(&b)) : json_str("<none>");
}

struct json cell_ingress_hosts(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    struct json rules = json_get(o, "spec.rules");
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (rule, rules)
        if (*cells_text(*rule, "host", ""))
            json_push(&b, json_member(*rule, "host"));
    return first_few(a, json_list_end(&b), rules.count, "*");
}

struct json cell_ingress_address(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    return cells_joined(a, balancers(a, o), NULL, ",");
}

struct json cell_ingress_ports(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)a;
    (void)wall_ms;
    return json_str(json_get(o, "spec.tls").count ? "80, 443" : "80");
}

struct json cell_endpoints(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (subset, json_member(o, "subsets")) {
        struct json ports = json_member(*subset, "ports"),
                    addresses = json_member(*subset, "addresses");
        for (size_t p = 0; p < ports.count || p == 0; p++)
            json_each (address, addresses) {
                const char *ip = cells_text(*address, "ip", "");
                bool six = strchr(ip, ':');
                json_push(&b,
                    !ports.count ? json_str(ip)
                                 : json_strf(a,
                                       "%s%s%s:%lld",
                                       six ? "[" : "",
                                       ip,
                                       six ? "]" : "",
                                       (long long)json_get_int(ports.items[p], "port", 0)));
            }
    }
    struct json list = json_list_end(&b);
    return first_few(a, list, list.count, json_member(o, "subsets").count ? "" : "<none>");
}

struct json cell_slice_ports(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (port, json_member(o, "ports")) {
        struct json number = json_member(*port, "port");
        json_push(&b,
            number.type == JSON_INT ? json_str(json_to_text(a, number))
                                    : json_str(cells_text(*port, "name", "*")));
    }
    struct json list = json_list_end(&b);
    return first_few(a, list, list.count, "<unset>");
}

struct json cell_slice_endpoints(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (endpoint, json_member(o, "endpoints"))
        json_push_all(&b, json_member(*endpoint, "addresses"));
    struct json list = json_list_end(&b);
    return first_few(a, list, list.count, "<unset>");
}
