#include "cli/up/expose.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include "base/str.h"
#include "base/url.h"

/* NULL: neither IPv4 nor IPv6. */
static const char *text_of(struct arena *a, const struct sockaddr *address)
{
    char text[INET6_ADDRSTRLEN];
    const void *bytes = NULL;
    if (address && address->sa_family == AF_INET)
        bytes = &((const struct sockaddr_in *)(const void *)address)->sin_addr;
    else if (address && address->sa_family == AF_INET6)
        bytes = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    return bytes && inet_ntop(address->sa_family, bytes, text, sizeof(text)) ? arena_strdup(a, text)
                                                                             : NULL;
}

/* Whether the machine has the address; *ret_all: the addresses that it has, for messages. */
static bool machine_has(struct arena *a, const char *wanted, const char **ret_all)
{
    struct ifaddrs *list = NULL;
    bool found = false;
    *ret_all = "";
    (void)!getifaddrs(&list);
    for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
        const char *text = text_of(a, i->ifa_addr);
        if (!text || url_address_kind(text) == URL_ADDRESS_LINK_LOCAL)
            continue;
        found = found || text_eq(text, wanted);
        *ret_all = arena_printf(a, "%s%s%s", *ret_all, **ret_all ? ", " : "", text);
    }
    freeifaddrs(list);
    return found;
}

/* In the kernel's form. */
static const char *canonical(struct arena *a, const char *text)
{
    struct sockaddr_in four = { .sin_family = AF_INET };
    struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
    if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
        return text_of(a, (struct sockaddr *)&four);
    return inet_pton(AF_INET6, text, &six.sin6_addr) == 1 ? text_of(a, (struct sockaddr *)&six)
                                                          : NULL;
}

static bool read_one(struct arena *a, const char *text, const char **ret, struct error *err)
{
    const char *all;
    *ret = canonical(a, text);
    bool loopback = *ret && url_address_kind(*ret) == URL_ADDRESS_LOOPBACK;
    if (machine_has(a, *ret, &all) || loopback)
        return true;
    if (*ret && url_address_kind(*ret) == URL_ADDRESS_UNSPECIFIED)
        return fail(err,
            ERR_INVALID,
            "--expose: %s is all addresses, and the same ports are in use on loopback ones; name "
            "some of %s",
            text,
            all);
    return fail(
        err, ERR_INVALID, "--expose: %s is no address of this machine; it has %s", text, all);
}

bool expose_read(struct arena *a, const char *text, struct expose *ret, struct error *err)
{
    struct json_builder list;
    json_builder_init(&list, a);
    *ret = (struct expose){ 0 };
    size_t count = 0;
    const char *reached = "";
    for (struct str rest = str_of(text); rest.ptr;) {
        const char *word = str_dup(a, str_cut(&rest, ',')), *address;
        if (count == PROXY_EXPOSED_MAX)
            return fail(err, ERR_INVALID, "--expose: at most %d addresses", PROXY_EXPOSED_MAX);
        if (!read_one(a, word, &address, err))
            return false;
        ret->addresses[count++] = address;
        json_push(&list, json_str(address));
        if (url_address_kind(address) != URL_ADDRESS_LOOPBACK)
            reached = arena_printf(a, "%s%s%s", reached, *reached ? ", " : "", address);
    }
    ret->list = json_list_end(&list);
    if (*reached)
        ret->warning = arena_printf(a,
            "warning: other machines can reach node ports and Services of type LoadBalancer at %s, "
            "without a key",
            reached);
    return true;
}
