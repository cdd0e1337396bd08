/* URLs, parsed and printed like Go's net/url: more lenient than base/url.h, with Go's messages. */

#include "base/buf.h"
#include "base/url.h"
#include "cel/lib.h"

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The first invalid escape; NULL if all are valid. */
static const char *bad_escape(struct arena *a, const char *text)
{
    for (const char *at = strchr(text, '%'); at; at = strchr(at + 1, '%'))
        if (!is_hex(at[1]) || !is_hex(at[2]))
            return arena_printf(a, "invalid URL escape \"%.3s\"", at);
    return NULL;
}

/* ---- the host ---- */

static bool is_port(const char *text)
{
    return !*text || (*text == ':' && text[1 + strspn(text + 1, "0123456789")] == '\0');
}

static const char *check_host(struct arena *a, const char *host)
{
    const char *port = strrchr(host, ':');
    if (*host == '[') {
        const char *end = strrchr(host, ']');
        if (!end)
            return "missing ']' in host";
        if (!is_port(end + 1))
            return arena_printf(a, "invalid port \"%s\" after host", end + 1);
    } else if (port && !is_port(port)) {
        return arena_printf(a, "invalid port \"%s\" after host", port);
    }
    const char *bad = *host == '[' ? NULL : bad_escape(a, host);
    if (bad)
        return bad;
    for (const char *at = host; *at; at++)
        if (!is_alnum(*at) && !strchr("-_.~!$&'()*+,;=:[]<>\"%", *at) && !(*at & 0x80))
            return arena_printf(a, "invalid character \"%c\" in host name", *at);
    return NULL;
}

static const char *check_authority(struct arena *a, const char *authority, struct cel_url *ret)
{
    const char *at = strrchr(authority, '@');
    for (const char *c = authority; at && c < at; c++)
        if (!is_alnum(*c) && !strchr("-._:~!$&'()*+,;=%@", *c))
            return "net/url: invalid userinfo";
    ret->host = at ? at + 1 : authority;
    return check_host(a, ret->host);
}

/* ---- the parts ---- */

static size_t scheme_length(const char *text, const char **ret_trouble)
{
    size_t n = 0;
    *ret_trouble = NULL;
    for (; text[n]; n++) {
        char c = text[n];
        if (c == ':') {
            if (n == 0)
                *ret_trouble = "missing protocol scheme";
            return n;
        }
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && (n == 0 || !(is_alnum(c) || strchr("+-.", c))))
            return 0;
    }
    return 0;
}

static const char *parse_parts(struct arena *a, char *text, struct cel_url *ret)
{
    const char *trouble;
    size_t length = scheme_length(text, &trouble);
    if (trouble)
        return trouble;
    char *scheme = arena_strndup(a, text, length);
    for (char *c = scheme; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c |= 0x20;
    ret->scheme = scheme;
    char *rest = length ? text + length + 1 : text, *query = strchr(rest, '?');
    if (query)
        *query++ = '\0';
    ret->query = query ? query : "";
    if (*rest != '/')
        return *scheme ? NULL : "invalid URI for request"; /* mailto:me is opaque */
    if (*scheme && text_starts(rest, "//")) {
        char *path = strchr(rest + 2, '/');
        const char *authority =
            arena_strndup(a, rest + 2, path ? (size_t)(path - rest - 2) : strlen(rest + 2));
        trouble = check_authority(a, authority, ret);
        if (trouble)
            return trouble;
        rest = path ? path : rest + strlen(rest);
    }
    ret->path = arena_strdup(a, rest);
    return bad_escape(a, ret->path);
}

const char *cel_url_parse(struct arena *a, struct str s, struct cel_url *ret)
{
    char *text = str_dup(a, s);
    *ret = (struct cel_url){ .text = "", .scheme = "", .host = "", .path = "", .query = "" };
    const char *trouble = NULL;
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < ' ' || s.ptr[i] == 0x7f)
            trouble = "net/url: invalid control character in URL";
    if (!trouble && s.len == 0)
        trouble = "empty url";
    if (!trouble)
        trouble = parse_parts(a, arena_strdup(a, text), ret);
    if (trouble)
        return arena_printf(a, "parse %s: %s", cel_show_quoted(a, s), trouble);
    /* Without the fragment, which is not part of a request URI. */
    ret->text = arena_strdup(a, text);
    char *fragment = strchr(text, '#');
    if (fragment) {
        *fragment = '\0';
        trouble = parse_parts(a, text, ret);
    }
    return trouble;
}

CEL_IMPLEMENT(to_url)
{
    struct cel_url *url = arena_new(e->arena, struct cel_url);
    const char *trouble = cel_url_parse(e->arena, args[0].text, url);
    if (trouble)
        return cel_error(e, "URL parse error during conversion from string: %s", trouble);
    return (struct cel_value){ .kind = CEL_URL, .url = url };
}

CEL_IMPLEMENT(is_url)
{
    struct cel_url url;
    return cel_bool(!cel_url_parse(e->arena, args[0].text, &url));
}

CEL_IMPLEMENT(get_scheme)
{
    (void)e;
    return cel_text(args[0].url->scheme);
}

CEL_IMPLEMENT(get_host)
{
    (void)e;
    return cel_text(args[0].url->host);
}

static const char *port_of(const char *host)
{
    const char *port = strrchr(host, ':'), *bracket = strrchr(host, ']');
    return port && (!bracket || port > bracket) ? port : NULL;
}

CEL_IMPLEMENT(get_hostname)
{
    const char *host = args[0].url->host, *port = port_of(host);
    size_t length = port ? (size_t)(port - host) : strlen(host);
    (void)e;
    if (*host == '[' && length >= 2 && host[length - 1] == ']')
        return cel_string((struct str){ host + 1, length - 2 });
    return cel_string((struct str){ host, length });
}

CEL_IMPLEMENT(get_port)
{
    const char *port = port_of(args[0].url->host);
    (void)e;
    return cel_text(port ? port + 1 : "");
}

/* As written if it needs no escapes; otherwise decoded and escaped again. */
CEL_IMPLEMENT(get_escaped_path)
{
    const char *path = args[0].url->path, *plain = path;
    bool fine = true;
    for (const char *c = path; *c; c++)
        fine = fine && (is_alnum(*c) || strchr("-_.~!$&'()*+,;=:@[]%/", *c));
    if (fine || !url_decode(e->arena, str_of(path), &plain))
        return cel_text(path);
    cleanup(buf_done) struct buf b = BUF_INIT(CEL_TEXT_BYTES_MAX);
    for (; *plain; plain++)
        if (is_alnum(*plain) || strchr("-_.~$&+,/:;=@", *plain))
            buf_add_char(&b, *plain);
        else
            buf_printf(&b, "%%%02X", (unsigned char)*plain);
    return cel_string_of_buf(e, &b);
}

static bool query_text(struct arena *a, struct str s, struct cel_value *ret)
{
    char *text = str_dup(a, s);
    const char *plain;
    for (char *c = text; *c; c++)
        if (*c == '+')
            *c = ' ';
    if (!url_decode(a, str_of(text), &plain))
        return false;
    *ret = cel_text(plain);
    return true;
}

CEL_IMPLEMENT(get_query)
{
    struct cel_value map = cel_map_new(e->arena), key, value;
    for (struct str rest = str_of(args[0].url->query); rest.ptr;) {
        struct str pair = str_cut(&rest, '&');
        if (!pair.len || memchr(pair.ptr, ';', pair.len))
            continue;
        struct str name = str_cut(&pair, '=');
        pair = pair.ptr ? pair : (struct str){ "", 0 };
        if (!query_text(e->arena, name, &key) || !query_text(e->arena, pair, &value))
            continue;
        struct cel_value *have = cel_map_slot(e, map, key);
        if (have)
            *have = cel_list_append(e->arena, *have, value);
        else
            map = cel_map_insert(e->arena, map, key, cel_list_new(e->arena, &value, 1));
    }
    return map;
}

const struct cel_function cel_lib_url[] = {
    { "url", "(string) url", to_url, CEL_COST_TRANSFORM },
    { "isURL", "(string) bool", is_url, CEL_COST_ONE },
    { "getScheme", "url.() string", get_scheme, CEL_COST_ONE },
    { "getHost", "url.() string", get_host, CEL_COST_ONE },
    { "getHostname", "url.() string", get_hostname, CEL_COST_ONE },
    { "getPort", "url.() string", get_port, CEL_COST_ONE },
    { "getEscapedPath", "url.() string", get_escaped_path, CEL_COST_ONE },
    { "getQuery", "url.() map(string, list(string))", get_query, CEL_COST_ONE },
    { 0 },
};
