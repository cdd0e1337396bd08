/* Checks of specs that several kinds share. */

#include "base/url.h"
#include "cedar/cedar.h"
#include "kinds/toolhive/toolhive.h"

/* ---- URLs of remote servers ---- */

/* The non-public range that contains an address, in upstream's words; NULL: it is allowed. */
static const char *range_of(const char *host)
{
    const char *ipv4 = strrchr(host, ':');
    ipv4 = strchr(host, '.') ? (ipv4 ? ipv4 + 1 : host) : NULL;
    switch (url_address_kind(host)) {
    case URL_ADDRESS_LOOPBACK:
        return ipv4 ? "127.0.0.0/8" : "::1/128";
    case URL_ADDRESS_LINK_LOCAL:
        return ipv4 ? "169.254.0.0/16" : "fe80::/10";
    case URL_ADDRESS_UNSPECIFIED:
        return ipv4 ? "0.0.0.0/8" : "::/128";
    case URL_ADDRESS_PRIVATE:
        if (ipv4 && text_starts(ipv4, "100."))
            return NULL; /* carrier-grade NAT: overlay networks use it */
        if (!ipv4)
            return *host == 'f' && (host[1] == 'c' || host[1] == 'd') ? "fc00::/7" : NULL;
        return text_starts(ipv4, "10.")    ? "10.0.0.0/8"
               : text_starts(ipv4, "172.") ? "172.16.0.0/12"
                                           : "192.168.0.0/16";
    case URL_ADDRESS_NONE:
    case URL_ADDRESS_PUBLIC:
    case URL_ADDRESS_MULTICAST:
    case URL_ADDRESS_RESERVED:
        break;
    }
    return NULL;
}

static const char *internal_name_of(const char *host)
{
    static const char *const names[] = {
        "localhost",
        "kubernetes.default.svc.cluster.local",
        "kubernetes.default.svc",
        "kubernetes.default",
        "cluster.local",
        "metadata.google.internal",
    };
    size_t length = strlen(host);
    for (size_t i = 0; i < lengthof(names); i++) {
        size_t n = strlen(names[i]);
        if (length >= n && text_eq(host + length - n, names[i]) &&
            (length == n || host[length - n - 1] == '.'))
            return names[i];
    }
    return NULL;
}

const char *toolhive_remote_url_fault(struct arena *a, const char *text)
{
    struct url url;
    struct error err;
    if (text_empty(text))
        return "remote URL must not be empty";
    if (!url_parse(a, text, &url, &err))
        return arena_printf(a, "remote URL is invalid: %s", err.text);
    if (!text_eq(url.scheme, "http") && !text_eq(url.scheme, "https"))
        return arena_printf(a, "remote URL must use http or https scheme, got \"%s\"", url.scheme);
    if (text_empty(url.host))
        return "remote URL must have a valid host";
    const char *range = range_of(url.host), *name = internal_name_of(url.host);
    if (range)
        return arena_printf(a,
            "remote URL host is not allowed: IP address %s falls within blocked range %s",
            url.host,
            range);
    if (url_host_is_odd_ipv4(url.host))
        return arena_printf(a,
            "remote URL host is not allowed: \"%s\" is an unusual spelling of an IP address; write "
            "four decimal numbers",
            url.host);
    if (name)
        return arena_printf(a,
            "remote URL host is not allowed: hostname \"%s\" matches blocked internal hostname "
            "\"%s\"",
            url.host,
            name);
    return NULL;
}

/* ---- policies ---- */

const char *toolhive_policy_fault(struct arena *a, struct json policies, const char *path)
{
    uint32_t i = 0;
    json_each (p, policies) {
        struct error err;
        const char *text = json_text(*p);
        if (!text)
            return arena_printf(a, "%s[%u]: expected string, got %s", path, i, json_type_name(*p));
        if (!cedar_parse(a, str_of(text), &err))
            return arena_printf(
                a, "%s[%u]: the proxy cannot parse this Cedar policy: %s", path, i, err.text);
        i++;
    }
    return NULL;
}
