#include "cli/serve/listen.h"

#include <string.h>

bool listen_read(const char *flag, const char *text, struct listen_address *ret, struct error *err)
{
    const char *colon = strrchr(text, ':');
    int64_t port;
    if (!colon || !str_to_int(str_of(colon + 1), &port) || port < 0 || port > 65535)
        return fail(err, ERR_INVALID, "%s %s is not ADDRESS:PORT or :PORT", flag, text);
    struct str name = { text, (size_t)(colon - text) };
    if (name.len > 1 && name.ptr[0] == '[' && name.ptr[name.len - 1] == ']')
        name = (struct str){ name.ptr + 1, name.len - 2 };
    if (name.len >= sizeof(ret->host))
        return fail(err, ERR_INVALID, "%s %s: the address is too long", flag, text);
    memcpy(ret->host, name.ptr, name.len);
    ret->host[name.len] = '\0';
    ret->port = (uint16_t)port;
    return true;
}

bool listen_is_local(const struct listen_address *l)
{
    return str_starts(str_of(l->host), STR("127.")) || text_eq(l->host, "::1") ||
           text_eq(l->host, "localhost");
}

bool listen_is_local_host(struct str authority)
{
    if (!authority.len || authority.ptr[0] == '[')
        return true;
    struct str host = str_cut(&authority, ':');
    bool is_address = true;
    for (size_t i = 0; i < host.len; i++)
        is_address = is_address && strchr("0123456789.", host.ptr[i]);
    return is_address || str_eq_nocase(host, STR("localhost"));
}

const char *listen_name(const struct listen_address *l)
{
    bool all = !*l->host || text_eq(l->host, "0.0.0.0") || text_eq(l->host, "::");
    return all || text_eq(l->host, "localhost") ? "127.0.0.1" : l->host;
}
