/* Endpoints and EndpointSlices: defaults, and which addresses may be in them. */

#include <arpa/inet.h>

#include "apiserver/builtin/rules.h"
#include "apiserver/builtin/warn.h"
#include "apiserver/core/server.h"
#include "apiserver/rules/check.h"
#include "apiserver/rules/fill.h"
#include "base/json_index.h"

#define ADDRESSES_PER_ENDPOINT_MAX 100
#define ENDPOINTS_MAX 1000
#define HINTS_MAX 8

static struct json fill_endpoints(struct arena *a, struct json o)
{
    return fill_path(a, o, "subsets.*.ports.*.protocol", json_str("TCP"));
}

static const struct fill slice_defaults[] = {
    { "ports.*.name", FILL_STR("") },
    { "ports.*.protocol", FILL_STR("TCP"), true },
    { 0 },
};

static struct json fill_endpoint_slice(struct arena *a, struct json o)
{
    return fill_table(a, o, slice_defaults);
}

/* ---- addresses ---- */

struct address {
    bool v6;
    uint8_t bytes[16]; /* 4 for IPv4 */
};

static bool read_address(const char *text, struct address *ret)
{
    *ret = (struct address){ .v6 = strchr(text, ':') != NULL };
    return inet_pton(ret->v6 ? AF_INET6 : AF_INET, text, ret->bytes) == 1;
}

static bool starts(const struct address *x, const uint8_t *bytes, size_t bits)
{
    for (size_t i = 0; i < bits; i++)
        if ((x->bytes[i / 8] ^ bytes[i / 8]) >> (7 - i % 8) & 1)
            return false;
    return true;
}

static const struct range {
    bool v6;
    uint8_t bytes[16];
    size_t bits;
    const char *words;
} forbidden[] = {
    { false, { 127 }, 8, "may not be in the loopback range (127.0.0.0/8, ::1/128)" },
    { true, { [15] = 1 }, 128, "may not be in the loopback range (127.0.0.0/8, ::1/128)" },
    { false, { 169, 254 }, 16, "may not be in the link-local range (169.254.0.0/16, fe80::/10)" },
    { true, { 0xfe, 0x80 }, 10, "may not be in the link-local range (169.254.0.0/16, fe80::/10)" },
    { false,
        { 224 },
        24,
        "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)" },
    { true,
        { 0xff, 0x02 },
        16,
        "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)" },
};

void builtin_check_reachable(
    const struct api_write *w, struct field_errors *e, struct json ip, const char *path)
{
    struct address x;
    static const uint8_t nothing[16] = { 0 };
    const char *text = json_text(ip);
    if (!text || !read_address(text, &x))
        return;
    if (starts(&x, nothing, x.v6 ? 128 : 32))
        field_invalid(e, path, ip, arena_printf(e->arena, "may not be unspecified (%s)", text));
    bool loopback = w->server && apiserver_allows_loopback(w->server, w->user);
    for (size_t i = loopback ? 2 : 0; i < lengthof(forbidden); i++)
        if (forbidden[i].v6 == x.v6 && starts(&x, forbidden[i].bytes, forbidden[i].bits))
            field_invalid(e, path, ip, forbidden[i].words);
}

static bool is_mapped(const struct address *x)
{
    static const uint8_t prefix[16] = { [10] = 0xff, [11] = 0xff };
    return x->v6 && starts(x, prefix, 96);
}

/* Checks that an address has the form of its type; false: it does not, and this was reported. */
static bool check_address(struct field_errors *e, struct json ip, const char *path, bool canonical)
{
    static const struct check rule = { "", CHECK_IP };
    struct address x;
    char text[INET6_ADDRSTRLEN];
    size_t before = e->count;
    check_value(e, ip, path, &rule);
    if (e->count > before || !read_address(json_text(ip) ? json_text(ip) : "", &x))
        return false;
    if (is_mapped(&x)) {
        field_invalid(e, path, ip, "must not be an IPv4-mapped IPv6 address");
        return true;
    }
    inet_ntop(x.v6 ? AF_INET6 : AF_INET, x.bytes, text, sizeof(text));
    if (canonical && !text_eq(text, json_text(ip)))
        field_invalid(
            e, path, ip, arena_printf(e->arena, "must be in canonical form (\"%s\")", text));
    return true;
}

/* ---- Endpoints ---- */

/* A single port needs no name. */
static void check_port_names(struct field_errors *e, struct json ports, const char *path)
{
    for (size_t i = 0; i < ports.count && ports.count > 1; i++)
        if (check_is_empty(json_member(ports.items[i], "name")))
            field_required(e,
                field_child(e->arena, check_item_path(e->arena, path, "ports", i), "name"),
                NULL);
}

static void check_endpoints(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char *const protocols[] = { "SCTP", "TCP", "UDP", NULL };
    static const struct check rules[] = {
        { "subsets.*.ports.*.port", CHECK_PORT },
        { "subsets.*.ports.*.name", CHECK_LABEL },
        { "subsets.*.ports.*.protocol", CHECK_ENUM, protocols },
        { "subsets.*.ports.*.appProtocol", CHECK_LABEL_KEY },
        { "subsets.*.addresses.*.hostname", CHECK_LABEL },
        { "subsets.*.addresses.*.nodeName", CHECK_SUBDOMAIN },
        { "subsets.*.notReadyAddresses.*.hostname", CHECK_LABEL },
        { "subsets.*.notReadyAddresses.*.nodeName", CHECK_SUBDOMAIN },
        { 0 },
    };
    static const char *const lists[] = { "addresses", "notReadyAddresses" };
    size_t i = 0;
    json_each (subset, json_member(o, "subsets")) {
        const char *here = check_item_path(e->arena, "", "subsets", i++);
        if (!json_member(*subset, lists[0]).count && !json_member(*subset, lists[1]).count)
            field_required(e, here, "must specify `addresses` or `notReadyAddresses`");
        check_port_names(e, json_member(*subset, "ports"), here);
        for (size_t l = 0; l < lengthof(lists); l++) {
            size_t j = 0;
            json_each (address, json_member(*subset, lists[l])) {
                struct json ip = json_member(*address, "ip");
                const char *at = check_item_path(e->arena, here, lists[l], j++);
                const char *path = field_child(e->arena, at, "ip");
                bool zeros = json_text(ip) && *json_text(ip) == '0';
                if (check_address(e, ip, path, false))
                    builtin_check_reachable(w, e, ip, path);
                else if (!zeros)
                    field_invalid(e, path, ip, "must be a valid IP address");
            }
        }
    }
    check_table(e, o, "", rules);
}

/* ---- EndpointSlice ---- */

static void check_domain(struct field_errors *e, struct json name, const char *path)
{
    size_t before = e->count;
    check_name(e, name, path, NAME_DNS1123_SUBDOMAIN);
    if (e->count == before && !strchr(json_text(name), '.'))
        field_invalid(
            e, path, name, "should be a domain with at least two segments separated by dots");
}

static void check_slice_addresses(const struct api_write *w, struct field_errors *e,
    struct json type, struct json addresses, const char *here)
{
    struct arena *a = e->arena;
    const char *list = field_child(a, here, "addresses");
    if (!addresses.count)
        field_required(e, list, "must contain at least 1 address");
    check_at_most(e, addresses, list, ADDRESSES_PER_ENDPOINT_MAX);
    for (size_t j = 0; j < addresses.count; j++) {
        const char *path = check_item_path(a, here, "addresses", j);
        struct json ip = addresses.items[j];
        struct address x;
        if (text_eq(json_text(type), "FQDN")) {
            if (check_is_empty(ip))
                field_required(e, path, NULL);
            else
                check_domain(e, ip, path);
            continue;
        }
        bool v6 = text_eq(json_text(type), "IPv6");
        if (!v6 && !text_eq(json_text(type), "IPv4"))
            continue;
        bool fits =
            json_text(ip) && read_address(json_text(ip), &x) && (x.v6 == v6 || is_mapped(&x));
        if (!check_address(e, ip, path, fits && v6))
            continue;
        if (!fits)
            field_invalid(e, list, ip, v6 ? "must be an IPv6 address" : "must be an IPv4 address");
        builtin_check_reachable(w, e, ip, path);
    }
}

/* The zones and nodes from which an endpoint should be used. */
static void check_hints(struct field_errors *e, struct json hints, const char *path)
{
    static const char *const lists[] = { "forZones", "forNodes" };
    struct arena *a = e->arena;
    for (size_t l = 0; l < lengthof(lists); l++) {
        struct json list = json_member(hints, lists[l]);
        size_t before = e->count;
        check_at_most(e, list, field_child(a, path, lists[l]), HINTS_MAX);
        if (e->count > before)
            return;
        for (size_t i = 0; i < list.count; i++) {
            const char *here = field_child(a, check_item_path(a, path, lists[l], i), "name");
            struct json name = json_member(list.items[i], "name");
            name = check_is_set(name) ? name : json_str("");
            bool twice = false;
            for (size_t j = 0; j < i; j++)
                twice = twice || text_eq(json_get_text(list.items[j], "name"), json_text(name));
            if (twice)
                field_duplicate(e, here, name);
            else if (l == 0)
                check_label_value(e, name, here);
            else
                check_name(e, name, here, NAME_DNS1123_SUBDOMAIN);
        }
    }
}

static void check_slice_ports(struct field_errors *e, struct json ports)
{
    static const char *const protocols[] = { "SCTP", "TCP", "UDP", NULL };
    static const struct check rules[] = {
        { "protocol", CHECK_ENUM, .allowed = protocols },
        { 0 },
    };
    struct arena *a = e->arena;
    struct json_index names = json_index_of(a, ports, "name");
    for (size_t i = 0; i < ports.count; i++) {
        const char *here = check_item_path(a, "", "ports", i);
        struct json name = json_member(ports.items[i], "name");
        struct json protocol = json_member(ports.items[i], "appProtocol");
        if (!check_is_empty(name))
            check_name(e, name, field_child(a, here, "name"), NAME_DNS1123_LABEL);
        if (json_index_again(&names, (uint32_t)i))
            field_duplicate(e, field_child(a, here, "name"), name);
        check_table(e, ports.items[i], here, rules);
        if (check_is_set(protocol))
            check_name(e, protocol, field_child(a, here, "appProtocol"), NAME_LABEL_KEY);
    }
}

static void check_endpoint_slice(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char *const types[] = { "FQDN", "IPv4", "IPv6", NULL };
    static const struct check rules[] = {
        { "hostname", CHECK_LABEL },
        { "nodeName", CHECK_SUBDOMAIN },
        { 0 },
    };
    struct json type = json_member(o, "addressType");
    if (check_is_empty(type))
        field_required(e, "addressType", NULL);
    else
        check_enum(e, type, "addressType", types);
    size_t i = 0;
    check_at_most(e, json_member(o, "endpoints"), "endpoints", ENDPOINTS_MAX);
    json_each (endpoint, json_member(o, "endpoints")) {
        const char *here = check_item_path(e->arena, "", "endpoints", i++);
        check_slice_addresses(w, e, type, json_member(*endpoint, "addresses"), here);
        check_table(e, *endpoint, here, rules);
        check_hints(e, json_member(*endpoint, "hints"), field_child(e->arena, here, "hints"));
    }
    check_slice_ports(e, json_member(o, "ports"));
}

static void check_endpoint_slice_change(
    const struct api_write *w, struct json o, struct field_errors *e)
{
    check_immutable(
        e, json_member(w->old, "addressType"), json_member(o, "addressType"), "addressType");
}

const struct builtin_rules builtin_endpoints = {
    .fill = fill_endpoints,
    .validate = check_endpoints,
    .warning = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
};
const struct builtin_rules builtin_endpoint_slice = {
    .fill = fill_endpoint_slice,
    .validate = check_endpoint_slice,
    .warn = warn_endpoint_slice,
    .validate_change = check_endpoint_slice_change,
};
