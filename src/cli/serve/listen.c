#include "cli/serve/listen.h"

#include "base/str.h"

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

const char *listen_name(const struct listen_address *l)
{
    bool all = !*l->host || text_eq(l->host, "0.0.0.0") || text_eq(l->host, "::");
    return all || text_eq(l->host, "localhost") ? "127.0.0.1" : l->host;
}
