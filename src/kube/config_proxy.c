#include "kube/config_proxy.h"

#include <arpa/inet.h>

#include "base/url.h"
#include "kube/config.h"

struct address {
    unsigned char bytes[16];
    size_t bits; /* 32, 128; 0: not an address */
};

static struct address address_of(const char *text)
{
    struct address a = { 0 };
    if (inet_pton(AF_INET, text, a.bytes) == 1)
        a.bits = 32;
    else if (inet_pton(AF_INET6, text, a.bytes) == 1)
        a.bits = 128;
    return a;
}

static bool in_network(struct address a, struct address network, size_t bits)
{
    if (!a.bits || a.bits != network.bits || bits > a.bits)
        return false;
    for (size_t i = 0; i < bits; i++)
        if ((a.bytes[i / 8] ^ network.bytes[i / 8]) & (0x80 >> i % 8))
            return false;
    return true;
}

/* "10.0.0.0/8" */
static bool is_in_cidr(struct arena *a, struct str rule, struct address host)
{
    int64_t bits;
    struct str rest = rule, network = str_cut(&rest, '/');
    return rest.ptr && str_to_int(rest, &bits) && bits >= 0 &&
           in_network(host, address_of(str_dup(a, network)), (size_t)bits);
}

/* One element of NO_PROXY: "*", an address, a network, "name" (and all subdomains), ".name" (only
 * subdomains); name and address may have a port. */
static bool excepts(struct arena *a, struct str rule, const char *host, int port)
{
    int64_t rule_port;
    struct address address = address_of(host);
    if (str_eq(rule, STR("*")))
        return true;
    if (is_in_cidr(a, rule, address))
        return true;
    struct address plain = address_of(str_dup(a, rule));
    const char *colon = plain.bits ? NULL : memrchr(rule.ptr, ':', rule.len);
    if (colon) {
        struct str tail = { colon + 1, rule.len - (size_t)(colon + 1 - rule.ptr) };
        if (!str_to_int(tail, &rule_port) || rule_port != port)
            return false;
        rule.len = (size_t)(colon - rule.ptr);
        if (rule.len > 2 && rule.ptr[0] == '[' && rule.ptr[rule.len - 1] == ']')
            rule = (struct str){ rule.ptr + 1, rule.len - 2 };
        plain = address_of(str_dup(a, rule));
    }
    if (plain.bits || address.bits)
        return in_network(address, plain, plain.bits) && plain.bits;
    if (str_starts(rule, STR("*.")))
        rule = (struct str){ rule.ptr + 1, rule.len - 1 };
    struct str name = str_of(host);
    if (rule.len && rule.ptr[0] != '.' && str_eq_nocase(name, rule))
        return true;
    const char *suffix =
        arena_printf(a, "%s%.*s", rule.len && *rule.ptr == '.' ? "" : ".", (int)rule.len, rule.ptr);
    size_t length = strlen(suffix);
    return length > 1 && name.len > length &&
           str_eq_nocase((struct str){ host + name.len - length, length }, str_of(suffix));
}

const char *config_proxy_of(
    struct arena *a, const char *server, const struct kube_config_options *options)
{
    struct url url;
    if (!url_parse(a, server, &url, NULL))
        return NULL;
    const char *proxy = text_eq(url.scheme, "https") ? options->https_proxy : options->http_proxy;
    if (text_empty(proxy))
        return NULL;
    if (text_eq(url.host, "localhost") || url_address_kind(url.host) == URL_ADDRESS_LOOPBACK)
        return NULL;
    struct str rest = str_of(options->no_proxy);
    while (rest.ptr) {
        struct str rule = str_trim(str_cut(&rest, ','));
        if (rule.len && excepts(a, rule, url.host, url_port(&url)))
            return NULL;
    }
    return strstr(proxy, "://") ? proxy : arena_printf(a, "http://%s", proxy);
}
