/* Services: defaults, addresses and ports, and what may not be combined. */

#include "apiserver/builtin/addresses.h"
#include "apiserver/builtin/rules.h"
#include "apiserver/builtin/warn.h"
#include "apiserver/core/call.h"
#include "apiserver/rules/check.h"
#include "apiserver/rules/fill.h"
#include "base/hash.h"
#include "base/json_index.h"

/* ---- defaults ---- */

static bool is_type(struct json spec, const char *type)
{
    return text_eq(json_get_text(spec, "type"), type);
}

static bool is_balancer(struct json spec)
{
    return is_type(spec, "LoadBalancer");
}

static bool is_external(struct json spec)
{
    return is_type(spec, "NodePort") || is_balancer(spec);
}

static bool is_reachable(struct json spec)
{
    return is_external(spec) || json_member(spec, "externalIPs").count;
}

static bool is_headless(struct json spec)
{
    return text_eq(json_get_text(spec, "clusterIP"), "None");
}

/* A Service whose endpoints another client sets, of any IP family. */
static bool is_bare(struct json spec)
{
    return is_headless(spec) && !json_member(spec, "selector").count;
}

static bool needs_node_ports(struct json spec)
{
    return is_type(spec, "NodePort") ||
           (is_balancer(spec) && json_get_bool(spec, "allocateLoadBalancerNodePorts", true));
}

static bool needs_health_port(struct json spec)
{
    return is_balancer(spec) && text_eq(json_get_text(spec, "externalTrafficPolicy"), "Local");
}

static bool has_policy(struct json spec, const char *policy)
{
    return text_eq(json_get_text(spec, "ipFamilyPolicy"), policy);
}

static struct json fill_target_port(struct arena *a, struct json port)
{
    struct json target = json_member(port, "targetPort");
    bool none = !json_present(target) || (target.type == JSON_INT && !target.integer) ||
                (target.type == JSON_STR && !target.count);
    return none ? json_with_member(a, port, "targetPort", json_member(port, "port")) : port;
}

static struct json fill_service(struct arena *a, struct json o)
{
    static const struct fill defaults[] = {
        { "spec.sessionAffinity", FILL_STR("None") },
        { "spec.type", FILL_STR("ClusterIP") },
        { "spec.ports.*.protocol", FILL_STR("TCP") },
        { 0 },
    };
    static const struct fill sticky[] = {
        { "spec.sessionAffinityConfig", FILL_MAP },
        { "spec.sessionAffinityConfig.clientIP", FILL_MAP },
        { "spec.sessionAffinityConfig.clientIP.timeoutSeconds", FILL_INT(10800) },
        { 0 },
    };
    static const struct fill inside[] = {
        { "spec.internalTrafficPolicy", FILL_STR("Cluster"), true },
        { 0 },
    };
    o = fill_table(a, o, defaults);
    o = fill_each(a, o, "spec.ports.*", fill_target_port);
    struct json spec = json_member(o, "spec");
    if (text_eq(json_get_text(spec, "sessionAffinity"), "ClientIP"))
        o = fill_table(a, o, sticky);
    else
        o = json_with(a, o, "spec.sessionAffinityConfig", json_none);
    if (!is_type(spec, "ExternalName"))
        o = fill_table(a, o, inside);
    if (is_reachable(spec))
        o = fill_path(a, o, "spec.externalTrafficPolicy", json_str("Cluster"));
    if (is_balancer(spec))
        o = fill_path(a, o, "spec.allocateLoadBalancerNodePorts", json_bool(true));
    return o;
}

/* ---- addresses ---- */

static uint64_t seed_of(const struct api_write *w, struct json object, const char *what)
{
    const char *uid = json_get_text(object, "metadata.uid");
    const char *version = json_get_text(w->old, "metadata.resourceVersion");
    const char *text =
        arena_printf(w->arena, "%s %s %s", uid ? uid : "", version ? version : "", what);
    uint8_t digest[SHA256_BYTES];
    sha256_of(str_of(text), digest);
    uint64_t seed = 0;
    for (size_t i = 0; i < sizeof(seed); i++)
        seed = seed << 8 | digest[i];
    return seed;
}

static bool has_node_port(struct json ports, struct json node_port)
{
    json_each (port, ports)
        if (json_equal(json_member(*port, "nodePort"), node_port))
            return true;
    return false;
}

/* Ports keep their node port by name, unless another port has it now. */
static struct json keep_node_ports(struct arena *a, struct json ports, struct json old)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (port, ports) {
        struct json kept = *port, before = { 0 };
        json_each (o, old)
            if (json_equal(json_member(*o, "name"), json_member(*port, "name")))
                before = json_member(*o, "nodePort");
        if (json_present(before) && !has_node_port(ports, before))
            kept = fill_path(a, kept, "nodePort", before);
        json_push(&b, kept);
    }
    return json_or_absent(json_list_end(&b));
}

/* Fields missing in an update keep their old value, if it still makes sense. */
static struct json keep_given(struct arena *a, struct json spec, struct json old)
{
    if (is_type(spec, "ExternalName") || is_type(old, "ExternalName"))
        return spec;
    static const char *const kept[] = { "clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy" };
    struct json ip = json_member(spec, "clusterIP");
    bool moved = !check_is_empty(ip) && !json_equal(ip, json_member(old, "clusterIP"));
    struct json ips = json_member(spec, "clusterIPs");
    if (moved && (check_is_empty(ips) || json_equal(ips, json_member(old, "clusterIPs"))))
        spec = json_with_member(a, spec, "clusterIPs", json_list(a, ip));
    for (size_t i = 0; i < lengthof(kept); i++)
        spec = fill_path(a, spec, kept[i], json_member(old, kept[i]));
    if (needs_node_ports(spec) && needs_node_ports(old))
        spec = json_with_member(a,
            spec,
            "ports",
            keep_node_ports(a, json_member(spec, "ports"), json_member(old, "ports")));
    if (needs_health_port(spec) && needs_health_port(old))
        spec = fill_path(a, spec, "healthCheckNodePort", json_member(old, "healthCheckNodePort"));
    return spec;
}

/* Fields that the Service's type does not use are removed, unless the client changed them. */
static struct json drop_unused(struct arena *a, struct json spec, struct json old)
{
    static const struct {
        const char *field;
        bool (*has)(struct json spec);
    } rows[] = {
        { "externalTrafficPolicy", is_reachable },
        { "healthCheckNodePort", needs_health_port },
        { "allocateLoadBalancerNodePorts", is_balancer },
        { "loadBalancerClass", is_balancer },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct json v = json_member(spec, rows[i].field);
        if (!rows[i].has(spec) && json_equal(v, json_member(old, rows[i].field)))
            spec = json_with_member(a, spec, rows[i].field, json_none);
    }
    if (is_external(spec))
        return spec;
    struct json_builder ports;
    json_builder_init(&ports, a);
    json_each (port, json_member(spec, "ports")) {
        bool same = false;
        json_each (before, json_member(old, "ports"))
            same = same ||
                   json_equal(json_member(*port, "nodePort"), json_member(*before, "nodePort"));
        json_push(&ports, same ? json_with_member(a, *port, "nodePort", json_none) : *port);
    }
    if (is_type(spec, "ExternalName") && is_type(old, "ExternalName") == false) {
        static const char *const gone[] = {
            "clusterIP", "clusterIPs", "internalTrafficPolicy", "ipFamilies", "ipFamilyPolicy"
        };
        for (size_t i = 0; i < lengthof(gone); i++)
            if (json_equal(json_member(spec, gone[i]), json_member(old, gone[i])))
                spec = json_with_member(a, spec, gone[i], json_none);
    }
    return json_with_member(a, spec, "ports", json_or_absent(json_list_end(&ports)));
}

static struct json give_families(struct arena *a, struct json spec)
{
    const char *ip = json_get_text(spec, "clusterIP");
    struct json v4 = json_str("IPv4"), v6 = json_str("IPv6"),
                families = json_member(spec, "ipFamilies");
    if (!json_present(json_member(spec, "ipFamilyPolicy")))
        spec = json_with_member(a,
            spec,
            "ipFamilyPolicy",
            json_str(is_bare(spec) ? "RequireDualStack" : "SingleStack"));
    if (!families.count && !(ip && strchr(ip, ':')))
        families = json_list(a, v4);
    if (is_bare(spec) && families.count == 1 && !has_policy(spec, "SingleStack"))
        families = json_list(
            a, families.items[0], text_eq(json_text(families.items[0]), "IPv4") ? v6 : v4);
    return json_with_member(a, spec, "ipFamilies", json_or_absent(families));
}

/* An address that is never allocated, for dry runs. */
static const char *first_of_range(const struct addresses *x, struct arena *a)
{
    struct str range = str_of(addresses_range(x, a));
    return str_dup(a, str_cut(&range, '/'));
}

static bool give_address(
    const struct api_write *w, struct json object, struct json *spec, struct error *err)
{
    struct arena *a = w->arena;
    const struct addresses *x = builtin_of(w->kind)->addresses;
    struct json ip = json_member(*spec, "clusterIP");
    if (text_empty(json_text(ip)) && !json_present(json_member(*spec, "clusterIPs"))) {
        const char *chosen = addresses_choose(x, a, seed_of(w, object, "ip"));
        if (chosen && w->dry_run)
            chosen = first_of_range(x, a);
        if (!chosen)
            return fail(err, ERR_INTERNAL, "failed to allocate a serviceIP: range is full");
        ip = json_str(chosen);
        *spec = json_with_member(a, *spec, "clusterIP", ip);
    }
    if (json_present(ip))
        *spec = fill_path(a, *spec, "clusterIPs", json_list(a, ip));
    return true;
}

/* Ports with the same number share a node port, which is allocated once. */
static int64_t node_port_of(struct json ports, size_t count, struct json port)
{
    for (size_t i = 0; i < count; i++)
        if (json_equal(json_member(ports.items[i], "port"), json_member(port, "port")) &&
            json_get_int(ports.items[i], "nodePort", 0))
            return json_get_int(ports.items[i], "nodePort", 0);
    return 0;
}

/* taken: includes the ports that this Service gets in this call. */
static bool give_ports(const struct api_write *w, struct json object, struct addresses *taken,
    struct json *spec, struct error *err)
{
    struct arena *a = w->arena;
    struct json list = json_member(*spec, "ports");
    struct json *ports = arena_array(a, list.count + 1, sizeof(*ports));
    for (size_t i = 0; i < list.count; i++)
        ports[i] = list.items[i];
    list.items = ports;
    for (size_t i = 0; i < list.count; i++) {
        if (json_get_int(ports[i], "nodePort", 0))
            continue;
        const char *what = arena_printf(a, "port %zu", i);
        int64_t chosen = json_present(w->old) ? 0 : node_port_of(list, list.count, ports[i]);
        if (!chosen)
            chosen = addresses_choose_port(taken, seed_of(w, object, what));
        if (!chosen)
            return fail(err, ERR_INTERNAL, "failed to allocate a nodePort: range is full");
        ports[i] = json_with_member(a, ports[i], "nodePort", json_int(chosen));
        struct json note = json_list(a, ports[i]);
        addresses_note(taken, json_none, json_map(a, { "spec", json_map(a, { "ports", note }) }));
    }
    *spec = json_with_member(a, *spec, "ports", list);
    return true;
}

static bool has_port(struct json ports, size_t before, int64_t node_port, struct json protocol)
{
    for (size_t i = 0; i < ports.count && i < before; i++)
        if (json_get_int(ports.items[i], "nodePort", 0) == node_port &&
            (!json_present(protocol) ||
                json_equal(json_member(ports.items[i], "protocol"), protocol)))
            return true;
    return false;
}

/* The API server answers an update with a duplicate node port with an internal error, unless an
 * earlier port is unavailable. */
static bool check_ports_once(const struct api_write *w, struct json ports)
{
    struct json old = json_get(w->old, "spec.ports");
    for (size_t i = 0; i < ports.count; i++) {
        struct json protocol = json_member(ports.items[i], "protocol");
        int64_t port = json_get_int(ports.items[i], "nodePort", 0);
        enum address_state state = addresses_port_state(builtin_of(w->kind)->addresses, port);
        bool mine = has_port(old, old.count, port, json_none);
        if (!port)
            continue;
        if (!mine && (state == ADDRESS_TAKEN || (state == ADDRESS_OUTSIDE && !w->dry_run)))
            return true;
        if (has_port(ports, i, port, protocol))
            return call_fail(w->call,
                (struct api_status){ 500,
                    "",
                    arena_printf(w->arena,
                        "duplicate nodePort: {%s %lld}",
                        json_text(protocol),
                        (long long)port),
                    .details = { 0 } });
    }
    return true;
}

static bool prepare_service(const struct api_write *w, struct json *object, struct error *err)
{
    struct arena *a = w->arena;
    struct json spec = json_member(*object, "spec"), old = json_member(w->old, "spec");
    if (*w->subresource)
        return true;
    addresses_load(builtin_of(w->kind)->addresses, w->server, w->kind);
    if (json_present(old)) {
        spec = keep_given(a, spec, old);
        spec = drop_unused(a, spec, old);
    }
    if (!check_is_empty(json_member(spec, "clusterIP")))
        spec = fill_path(a, spec, "clusterIPs", json_list(a, json_member(spec, "clusterIP")));
    if (!is_type(spec, "ExternalName")) {
        if (!give_address(w, *object, &spec, err))
            return false;
        spec = give_families(a, spec);
    }
    struct addresses *taken = arena_new(a, struct addresses);
    *taken = *builtin_of(w->kind)->addresses;
    if (needs_node_ports(spec) && !give_ports(w, *object, taken, &spec, err))
        return false;
    if (json_present(old) && is_external(spec) && !check_ports_once(w, json_member(spec, "ports")))
        return false;
    if (needs_health_port(spec) && !json_get_int(spec, "healthCheckNodePort", 0))
        spec = json_with_member(a,
            spec,
            "healthCheckNodePort",
            json_int(addresses_choose_port(taken, seed_of(w, *object, "health"))));
    *object = json_with_member(a, *object, "spec", spec);
    return true;
}

static void written(
    struct apiserver *server, const struct api_kind *k, struct json old, struct json object)
{
    addresses_load(builtin_of(k)->addresses, server, k);
    addresses_note(builtin_of(k)->addresses, old, object);
}

/* ---- validation ---- */

static const char *const types[] = {
    "ClusterIP", "ExternalName", "LoadBalancer", "NodePort", NULL
};
static const char *const affinities[] = { "ClientIP", "None", NULL };
static const char *const policies[] = { "Cluster", "Local", NULL };
static const char *const protocols[] = { "SCTP", "TCP", "UDP", NULL };
static const char *const family_policies[] = {
    "PreferDualStack", "RequireDualStack", "SingleStack", NULL
};
static const char *const distributions[] = {
    "PreferClose", "PreferSameZone", "PreferSameNode", NULL
};

static const struct check service_rules[] = {
    { "sessionAffinity", CHECK_ENUM, affinities },
    { "type", CHECK_ENUM, types },
    { "internalTrafficPolicy", CHECK_ENUM, policies },
    { "trafficDistribution", CHECK_ENUM, distributions },
    { "ports.*.port", CHECK_PORT },
    { "ports.*.protocol", CHECK_ENUM, protocols },
    { "ports.*.targetPort", CHECK_PORT_OR_NAME },
    { "ports.*.name", CHECK_LABEL },
    { "ports.*.appProtocol", CHECK_LABEL_KEY },
    { "loadBalancerClass", CHECK_LABEL_KEY },
    { "selector", CHECK_LABELS },
    { 0 },
};

static void check_invalid_duplicate(struct field_errors *e, const char *path, struct json port)
{
    field_error_add(e,
        FIELD_DUPLICATE,
        path,
        json_none,
        arena_printf(e->arena,
            "{\"Name\":\"\",\"Protocol\":\"%s\",\"AppProtocol\":null,\"Port\":%lld,"
            "\"TargetPort\":0,\"NodePort\":0}",
            json_get_text(port, "protocol"),
            (long long)json_get_int(port, "port", 0)));
}

/* For each port in a list, this number and the protocol. */
static struct json ports_of(struct arena *a, struct json ports, const char *number)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (p, ports)
        json_push(&b,
            json_map(a,
                { "number", json_member(*p, number) },
                { "protocol", json_member(*p, "protocol") }));
    return json_list_end(&b);
}

static void check_ports(struct field_errors *e, struct json spec)
{
    struct arena *a = e->arena;
    struct json ports = json_member(spec, "ports");
    struct json_index names = json_index_of(a, ports, "name");
    struct json_index numbers = json_index_of(a, ports_of(a, ports, "port"), NULL);
    struct json_index node_ports = json_index_of(a, ports_of(a, ports, "nodePort"), NULL);
    if (!ports.count && !is_type(spec, "ExternalName") && !is_headless(spec))
        field_required(e, "spec.ports", NULL);
    for (size_t i = 0; i < ports.count; i++) {
        const char *here = check_item_path(a, "spec", "ports", i);
        struct json port = ports.items[i], name = json_member(port, "name");
        const char *name_path = field_child(a, here, "name");
        if (ports.count > 1 && check_is_empty(name))
            field_required(e, name_path, NULL);
        if (json_present(json_member(port, "nodePort")) &&
            (is_type(spec, "ClusterIP") || is_type(spec, "ExternalName")))
            field_forbidden(e,
                field_child(a, here, "nodePort"),
                arena_printf(
                    a, "may not be used when `type` is '%s'", json_get_text(spec, "type")));
        if (!check_is_empty(name) && json_index_again(&names, (uint32_t)i))
            field_duplicate(e, name_path, name);
        if (json_index_again(&numbers, (uint32_t)i))
            check_invalid_duplicate(e, here, port);
        int64_t node_port = json_get_int(port, "nodePort", 0);
        if (node_port && json_index_again(&node_ports, (uint32_t)i))
            field_duplicate(e, field_child(a, here, "nodePort"), json_int(node_port));
    }
}

/* None must be the only one; otherwise there is at most one address per family. */
static void check_address_list(struct field_errors *e, struct json ips)
{
    static const struct check ip_rule = { "", CHECK_IP };
    size_t before = e->count, i = 0, families[2] = { 0 };
    json_each (ip, ips) {
        const char *text = json_text(*ip);
        bool none = i == 0 && text_eq(text, "None");
        if (none && ips.count > 1)
            field_invalid(e, "spec.clusterIPs", ips, "'None' must be the first and only value");
        if (!none)
            check_value(e, *ip, check_item_path(e->arena, "spec", "clusterIPs", i), &ip_rule);
        families[text && strchr(text, ':')]++;
        i++;
    }
    if (ips.count > 2)
        field_invalid(e, "spec.clusterIPs", ips, "may only hold up to 2 values");
    if (e->count == before && (families[0] > 1 || families[1] > 1))
        field_invalid(
            e, "spec.clusterIPs", ips, "may specify no more than one IP for each IP family");
}

static void check_unused(struct field_errors *e, struct json spec)
{
    if (is_type(spec, "ExternalName")) {
        static const char *const unused[] = { "clusterIPs", "ipFamilies", "ipFamilyPolicy" };
        for (size_t i = 0; i < lengthof(unused); i++)
            if (json_present(json_member(spec, unused[i])))
                field_forbidden(e,
                    field_child(e->arena, "spec", unused[i]),
                    "may not be set for ExternalName services");
    } else if (is_headless(spec) && is_external(spec))
        field_invalid(e,
            "spec.clusterIPs[0]",
            json_member(spec, "clusterIP"),
            arena_printf(
                e->arena, "may not be set to 'None' for %s services", json_get_text(spec, "type")));
}

static void check_given_addresses(struct field_errors *e, struct json spec)
{
    struct json ip = json_member(spec, "clusterIP"), ips = json_member(spec, "clusterIPs");
    if (!json_present(ip) && ips.count)
        field_invalid(e, "spec.clusterIPs", ips, "must be empty when `clusterIP` is not specified");
    else if (json_present(ip) && !text_eq(json_text(json_item(ips, 0)), ip.string))
        field_invalid(e, "spec.clusterIPs", ips, "first value must match `clusterIP`");
    check_address_list(e, ips);
    check_enum(e, json_member(spec, "ipFamilyPolicy"), "spec.ipFamilyPolicy", family_policies);
}

/* The address from the client must be free, or already belong to this Service. */
static void check_address(const struct api_write *w, struct json spec, struct field_errors *e)
{
    const struct addresses *x = builtin_of(w->kind)->addresses;
    struct json ips = json_member(spec, "clusterIPs");
    const char *first = json_text(json_item(ips, 0));
    bool mine = json_get_text(w->old, "spec.clusterIP") || /* which is immutable */
                (w->dry_run && text_eq(first, first_of_range(x, e->arena)));
    enum address_state state = addresses_state(x, first);
    if (mine || is_headless(spec) || state == ADDRESS_FREE || state == ADDRESS_BAD)
        return;
    const char *why = state == ADDRESS_TAKEN ? "provided IP is already allocated"
                      : !w->dry_run
                          ? "the provided network does not match the current range"
                          : arena_printf(e->arena,
                                "the provided IP (%s) is not in the valid range. The range of "
                                "valid IPs is %s",
                                first,
                                addresses_range(x, e->arena));
    field_invalid(e,
        "spec.clusterIPs",
        ips,
        arena_printf(e->arena, "failed to allocate IP %s: %s", first, why));
}

/* Ports from the client must be free, or already belong to this Service. */
static void check_node_ports(const struct api_write *w, struct json spec, struct field_errors *e)
{
    const struct addresses *x = builtin_of(w->kind)->addresses;
    struct json ports = json_member(spec, "ports"), old = json_get(w->old, "spec.ports");
    for (size_t i = 0; i < ports.count && is_external(spec); i++) {
        int64_t node_port = json_get_int(ports.items[i], "nodePort", 0);
        const char *here =
            field_child(e->arena, check_item_path(e->arena, "spec", "ports", i), "nodePort");
        bool mine = false;
        json_each (port, old)
            mine = mine || json_get_int(*port, "nodePort", 0) == node_port;
        enum address_state state = addresses_port_state(x, node_port);
        if (!json_present(w->old) && node_port && has_port(ports, i, node_port, json_none) &&
            node_port_of(ports, i, ports.items[i]) != node_port)
            state = ADDRESS_TAKEN;
        else if (!node_port || mine)
            continue;
        /* A dry run allocates no port, so it does not check the range. */
        if (state == ADDRESS_OUTSIDE && !w->dry_run)
            field_invalid(e,
                here,
                json_int(node_port),
                "provided port is not in the valid range. The range of valid ports is 30000-32767");
        else if (state == ADDRESS_TAKEN)
            field_invalid(e, here, json_int(node_port), "provided port is already allocated");
    }
}

static void check_families(const struct api_write *w, struct field_errors *e, struct json spec)
{
    static const char *const known[] = { "IPv4", "IPv6", NULL };
    size_t i = 0;
    struct json families = json_member(spec, "ipFamilies"), first = json_item(families, 0);
    json_each (family, families) {
        const char *here = check_item_path(e->arena, "spec", "ipFamilies", i);
        check_enum(e, *family, here, known);
        for (size_t j = 0; j < i; j++)
            if (json_equal(families.items[j], *family)) {
                field_duplicate(e, here, *family);
                break;
            }
        i++;
    }
    if (!is_headless(spec) && json_present(w->old) && text_eq(json_text(first), "IPv6"))
        field_invalid(e,
            "spec.clusterIPs[0]",
            json_member(spec, "clusterIP"),
            "expected an IPv6 value as indicated by `ipFamilies[0]`");
}

/* What this cluster supports. */
static void check_stack(struct field_errors *e, struct json spec)
{
    struct json policy = json_member(spec, "ipFamilyPolicy"), ips = json_member(spec, "clusterIPs"),
                families = json_member(spec, "ipFamilies");
    size_t i = 0, before = e->count;
    if (has_policy(spec, "SingleStack") && ips.count == 2)
        field_invalid(e,
            "spec.ipFamilyPolicy",
            policy,
            "must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are "
            "specified");
    if (has_policy(spec, "SingleStack") && families.count == 2)
        field_invalid(e,
            "spec.ipFamilyPolicy",
            policy,
            "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are "
            "specified");
    for (i = families.count; i < ips.count && json_text(ips.items[i]); i++)
        if (strchr(json_text(ips.items[i]), ':'))
            field_invalid(e,
                check_item_path(e->arena, "spec", "clusterIPs", i),
                ips,
                "IPv6 is not configured on this cluster");
    if (is_bare(spec) || e->count > before)
        return;
    i = 0;
    json_each (family, families)
        if (!text_eq(json_text(*family), "IPv4"))
            field_invalid(e,
                check_item_path(e->arena, "spec", "ipFamilies", i++),
                *family,
                "not configured on this cluster");
        else
            i++;
    if (has_policy(spec, "RequireDualStack"))
        field_invalid(e,
            "spec.ipFamilyPolicy",
            policy,
            "this cluster is not configured for dual-stack services");
}

static void check_health_port(struct field_errors *e, struct json spec)
{
    static const struct check port_rule = { "", CHECK_PORT };
    struct json port = json_member(spec, "healthCheckNodePort");
    if (port.type != JSON_INT || !port.integer)
        return;
    if (needs_health_port(spec))
        check_value(e, port, "spec.healthCheckNodePort", &port_rule);
    else
        field_invalid(e,
            "spec.healthCheckNodePort",
            port,
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is "
            "'Local'");
}

static void check_balancer(struct field_errors *e, struct json spec, struct json old)
{
    static const char *const only[] = { "allocateLoadBalancerNodePorts", "loadBalancerClass" };
    struct json ranges = json_member(spec, "loadBalancerSourceRanges"),
                policy = json_member(spec, "externalTrafficPolicy");
    for (size_t i = 0; i < lengthof(only) && !is_balancer(spec); i++)
        if (json_present(json_member(spec, only[i])))
            field_forbidden(e,
                field_child(e->arena, "spec", only[i]),
                "may only be used when `type` is 'LoadBalancer'");
    for (size_t i = 0; i < ranges.count; i++)
        if (!json_list_has(
                json_member(old, "loadBalancerSourceRanges"), json_text(ranges.items[i])))
            check_cidr(e,
                ranges.items[i],
                check_item_path(e->arena, "spec", "LoadBalancerSourceRanges", i));
    if (ranges.count && !is_balancer(spec))
        field_forbidden(
            e, "spec.LoadBalancerSourceRanges", "may only be used when `type` is 'LoadBalancer'");
    check_health_port(e, spec);
    if (json_present(policy) && !is_reachable(spec))
        field_invalid(e,
            "spec.externalTrafficPolicy",
            policy,
            "may only be set for externally-accessible services");
    else if (json_present(policy))
        check_enum(e, policy, "spec.externalTrafficPolicy", policies);
}

static void check_outside(const struct api_write *w, struct json spec, struct field_errors *e)
{
    static const struct check rule = { "", CHECK_IP };
    struct json_index before_it =
        json_index_of(e->arena, json_get(w->old, "spec.externalIPs"), NULL);
    size_t i = 0;
    json_each (ip, json_member(spec, "externalIPs")) {
        const char *here = check_item_path(e->arena, "spec", "externalIPs", i++);
        size_t before = e->count;
        if (json_index_find(&before_it, *ip) < 0)
            check_value(e, *ip, here, &rule);
        if (e->count == before)
            builtin_check_reachable(w, e, *ip, here);
    }
}

/* A name may end with a dot. */
static struct json without_last_dot(struct arena *a, struct json name)
{
    bool dot = name.type == JSON_STR && name.count && name.string[name.count - 1] == '.';
    return dot ? json_strn(a, name.string, name.count - 1) : name;
}

/* Validates allocated fields. The real server allocates before other validation, and reports only
 * the first failure. */
static bool check_given(const struct api_write *w, struct json spec, struct field_errors *e)
{
    size_t before = e->count;
    bool inside = !is_type(spec, "ExternalName");
    if (inside) {
        check_given_addresses(e, spec);
        check_families(w, e, spec);
    }
    if (inside && e->count == before)
        check_stack(e, spec);
    if (inside && e->count == before)
        check_address(w, spec, e);
    if (e->count == before)
        check_node_ports(w, spec, e);
    return e->count == before;
}

static void check_service(const struct api_write *w, struct json o, struct field_errors *e)
{
    struct json spec = json_member(o, "spec"), name = json_member(spec, "externalName");
    if (*w->subresource)
        return;
    if (!check_given(w, spec, e))
        return;
    check_ports(e, spec);
    check_table(e, spec, "spec", service_rules);
    check_unused(e, spec);
    check_outside(w, spec, e);
    check_balancer(e, spec, json_get(w->old, "spec"));
    if (is_type(spec, "ExternalName")) {
        if (check_is_empty(name))
            field_required(e, "spec.externalName", NULL);
        else
            check_name(
                e, without_last_dot(w->arena, name), "spec.externalName", NAME_DNS1123_SUBDOMAIN);
    }
    struct json timeout = json_get(spec, "sessionAffinityConfig.clientIP.timeoutSeconds");
    if (timeout.type == JSON_INT && (timeout.integer <= 0 || timeout.integer > 86400))
        field_invalid(e,
            "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
            timeout,
            "must be greater than 0 and less than 86400");
}

static void check_service_change(const struct api_write *w, struct json o, struct field_errors *e)
{
    struct json old = json_member(w->old, "spec"), fresh = json_member(o, "spec");
    const char *before = json_get_text(old, "clusterIP"), *now = json_get_text(fresh, "clusterIP");
    if (*w->subresource || is_type(old, "ExternalName") || is_type(fresh, "ExternalName"))
        return;
    struct json class_name = json_member(fresh, "loadBalancerClass");
    if (is_balancer(old) && is_balancer(fresh) &&
        !json_equal(class_name, json_member(old, "loadBalancerClass")))
        field_invalid(e,
            "spec.loadBalancerClass",
            json_present(class_name) ? class_name : json_null(),
            "may not change once set");
    if (needs_health_port(old) && needs_health_port(fresh) &&
        json_get_int(old, "healthCheckNodePort", 0) !=
            json_get_int(fresh, "healthCheckNodePort", 0))
        field_forbidden(e, "spec.healthCheckNodePort", "field is immutable");
    bool readable = text_eq(now, "None") || (now && check_is_ip(now));
    if (before && readable && !text_eq(before, now)) {
        struct json ips = json_member(fresh, "clusterIPs");
        field_invalid(e,
            "spec.clusterIPs[0]",
            json_present(ips) ? ips : json_null(),
            "may not change once set");
    }
}

static const char *const service_fields[] = { "spec.clusterIP", "spec.type", NULL };

const struct builtin_rules builtin_service = {
    .fill = fill_service,
    .prepare = prepare_service,
    .validate = check_service,
    .warn = warn_service,
    .validate_change = check_service_change,
    .written = written,
    .fields = service_fields,
};
