#include "base/url.h"

#include <stdio.h>
#include <string.h>

#include "base/base64.h"

/* The characters that are allowed in each part, RFC 3986 appendix A. */
enum {
    UNRESERVED = 1, /* ALPHA DIGIT - . _ ~ */
    SUB_DELIM = 2,  /* ! $ & ' ( ) * + , ; = */
    COLON = 4,
    AT = 8,
    SLASH = 16,
    QUESTION = 32,
};
#define PCHAR (UNRESERVED | SUB_DELIM | COLON | AT)
#define IN_PATH (PCHAR | SLASH)
#define IN_QUERY (PCHAR | SLASH | QUESTION)
#define IN_USERINFO (UNRESERVED | SUB_DELIM | COLON)

static int class_of(char c)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
        (c && strchr("-._~", c)))
        return UNRESERVED;
    if (c && strchr("!$&'()*+,;=", c))
        return SUB_DELIM;
    return c == ':' ? COLON : c == '@' ? AT : c == '/' ? SLASH : c == '?' ? QUESTION : 0;
}

static int hex_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool check_part(struct str s, int allowed, const char *part, struct error *err)
{
    for (size_t i = 0; i < s.len; i++) {
        if (class_of(s.ptr[i]) & allowed)
            continue;
        if (s.ptr[i] != '%')
            return fail(err,
                ERR_INVALID,
                "the %s of the URL holds a character (0x%02x) that must be written as %%%02X",
                part,
                (uint8_t)s.ptr[i],
                (uint8_t)s.ptr[i]);
        if (i + 2 >= s.len || hex_value(s.ptr[i + 1]) < 0 || hex_value(s.ptr[i + 2]) < 0)
            return fail(err, ERR_INVALID, "the %s of the URL holds a bad %% escape", part);
    }
    return true;
}

/* ---- encoding ---- */

static const char *encode(struct arena *a, struct str s, int kept)
{
    static const char hex[] = "0123456789ABCDEF";
    char *text = arena_alloc(a, s.len * 3 + 1), *out = text;
    for (size_t i = 0; i < s.len; i++) {
        uint8_t c = (uint8_t)s.ptr[i];
        if (class_of((char)c) & kept) {
            *out++ = (char)c;
        } else {
            *out++ = '%';
            *out++ = hex[c >> 4];
            *out++ = hex[c & 15];
        }
    }
    return text;
}

const char *url_encode(struct arena *a, struct str s)
{
    return encode(a, s, UNRESERVED);
}

const char *url_encode_path(struct arena *a, struct str s)
{
    return encode(a, s, UNRESERVED | SLASH);
}

bool url_decode(struct arena *a, struct str s, const char **ret)
{
    char *text = arena_alloc(a, s.len + 1), *out = text;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] != '%') {
            *out++ = s.ptr[i];
        } else {
            if (i + 2 >= s.len || hex_value(s.ptr[i + 1]) < 0 || hex_value(s.ptr[i + 2]) < 0)
                return false;
            *out++ = (char)(hex_value(s.ptr[i + 1]) << 4 | hex_value(s.ptr[i + 2]));
            i += 2;
        }
        if (!out[-1])
            return false;
    }
    *ret = text;
    return true;
}

void url_add_query(struct buf *b, const char *key, const char *value)
{
    if (!value)
        return;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *query = b->len ? memchr(b->ptr, '?', b->len) : NULL;
    bool fresh = query && query == b->ptr + b->len - 1;
    buf_printf(b,
        "%s%s=%s",
        !query  ? "?"
        : fresh ? ""
                : "&",
        url_encode(&a, str_of(key)),
        url_encode(&a, str_of(value)));
}

static const char *decode_form(struct arena *a, struct str s)
{
    char *text = str_dup(a, s);
    for (char *c = text; *c; c++)
        if (*c == '+')
            *c = ' ';
    const char *decoded;
    return url_decode(a, (struct str){ text, s.len }, &decoded) ? decoded : NULL;
}

const char *url_query_value(struct arena *a, const char *query, const char *key)
{
    for (struct str rest = str_of(query); rest.ptr;) {
        struct str value = str_cut(&rest, '&');
        const char *name = decode_form(a, str_cut(&value, '='));
        if (text_eq(name, key))
            return decode_form(a, value.ptr ? value : STR(""));
    }
    return NULL;
}

/* ---- parsing ---- */

static const char *lowered(struct arena *a, struct str s)
{
    char *text = str_dup(a, s);
    for (size_t i = 0; i < s.len; i++)
        text[i] = lower(text[i]);
    return text;
}

static bool parse_ipv6(struct arena *a, struct str *rest, struct url *u, struct error *err)
{
    struct str inside = { rest->ptr + 1, rest->len - 1 };
    const char *end = memchr(inside.ptr, ']', inside.len);
    if (!end)
        return fail(err, ERR_INVALID, "the host of the URL has no closing ]");
    struct str address = { inside.ptr, (size_t)(end - inside.ptr) };
    *rest = (struct str){ end + 1, rest->len - address.len - 2 };
    u->host = lowered(a, address);
    u->host_is_ipv6 = true;
    if (strchr(u->host, '%') || !strchr(u->host, ':') ||
        url_address_kind(u->host) == URL_ADDRESS_NONE)
        return fail(err, ERR_INVALID, "the host of the URL is not an IPv6 address");
    return true;
}

/* A name or an IPv4 address: RFC 3986 allows more, but no resolver does. */
static bool parse_reg_name(struct arena *a, struct str *rest, struct url *u, struct error *err)
{
    const char *colon = rest->len ? memchr(rest->ptr, ':', rest->len) : NULL;
    struct str name = { rest->ptr, colon ? (size_t)(colon - rest->ptr) : rest->len };
    *rest = (struct str){ name.ptr + name.len, rest->len - name.len };
    const char *decoded;
    if (!check_part(name, UNRESERVED | SUB_DELIM, "host", err))
        return false;
    if (!url_decode(a, name, &decoded))
        return fail(err, ERR_INVALID, "the host of the URL holds a NUL character");
    u->host = lowered(a, str_of(decoded));
    for (const char *c = u->host; *c; c++)
        if (class_of(*c) != UNRESERVED || *c == '~')
            return fail(err,
                ERR_INVALID,
                "the host of the URL holds a character (0x%02x) that no host has",
                (uint8_t)*c);
    return true;
}

static bool parse_authority(struct arena *a, struct str authority, struct url *u, struct error *err)
{
    const char *at = authority.len ? memrchr(authority.ptr, '@', authority.len) : NULL;
    struct str rest = authority;
    if (at) {
        struct str userinfo = { authority.ptr, (size_t)(at - authority.ptr) };
        if (!check_part(userinfo, IN_USERINFO, "user", err))
            return false;
        u->userinfo = str_dup(a, userinfo);
        rest = (struct str){ at + 1, authority.len - userinfo.len - 1 };
    }
    if (rest.len && rest.ptr[0] == '[' ? !parse_ipv6(a, &rest, u, err)
                                       : !parse_reg_name(a, &rest, u, err))
        return false;
    if (rest.len == 0 || str_eq(rest, STR(":")))
        return true;
    int64_t port;
    rest = (struct str){ rest.ptr + 1, rest.len - 1 };
    if (rest.ptr[-1] != ':' || rest.ptr[0] == '-' || !str_to_int(rest, &port) || port < 1 ||
        port > 65535)
        return fail(err, ERR_INVALID, "the port of the URL is not a number from 1 to 65535");
    u->port = (int)port;
    return true;
}

/* The five parts of RFC 3986 appendix B; ptr NULL: missing. */
struct split {
    struct str scheme, authority, path, query, fragment;
};

static struct str cut_from(struct str *s, char at)
{
    struct str tail = *s;
    struct str head = str_cut(&tail, at);
    *s = head;
    return tail;
}

static bool is_scheme(struct str s)
{
    char first = s.len ? lower(s.ptr[0]) : '\0';
    if (first < 'a' || first > 'z')
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (class_of(s.ptr[i]) != UNRESERVED ? s.ptr[i] != '+' : strchr("_~", s.ptr[i]) != NULL)
            return false;
    return true;
}

static struct split split(struct str s)
{
    struct split p = { 0 };
    p.fragment = cut_from(&s, '#');
    p.query = cut_from(&s, '?');
    struct str rest = s, scheme = str_cut(&rest, ':');
    if (rest.ptr && is_scheme(scheme)) {
        p.scheme = scheme;
        s = rest;
    }
    if (str_starts(s, STR("//"))) {
        s = (struct str){ s.ptr + 2, s.len - 2 };
        const char *slash = s.len ? memchr(s.ptr, '/', s.len) : NULL;
        p.authority = (struct str){ s.ptr, slash ? (size_t)(slash - s.ptr) : s.len };
        s = (struct str){ s.ptr + p.authority.len, s.len - p.authority.len };
    }
    p.path = s;
    return p;
}

static bool check_parts(const struct split *p, struct error *err)
{
    return check_part(p->path, IN_PATH, "path", err) &&
           check_part(p->query, IN_QUERY, "query", err) &&
           check_part(p->fragment, IN_QUERY, "fragment", err);
}

static const char *dup_or_null(struct arena *a, struct str s)
{
    return s.ptr ? str_dup(a, s) : NULL;
}

static bool check_size(struct str text, struct error *err)
{
    return text.len <= URL_BYTES_MAX ||
           fail(err, ERR_TOO_LARGE, "the URL has more than %d bytes", URL_BYTES_MAX);
}

bool url_parse(struct arena *a, const char *text, struct url *ret, struct error *err)
{
    *ret = (struct url){ .host = "" };
    if (!check_size(str_of(text), err))
        return false;
    struct split p = split(str_of(text ? text : ""));
    if (!p.scheme.ptr || !p.authority.ptr)
        return fail(err, ERR_INVALID, "a URL begins like https://host");
    if (!parse_authority(a, p.authority, ret, err) || !check_parts(&p, err))
        return false;
    ret->scheme = lowered(a, p.scheme);
    ret->path = str_dup(a, p.path);
    ret->query = dup_or_null(a, p.query);
    ret->fragment = dup_or_null(a, p.fragment);
    return true;
}

/* ---- resolving: RFC 3986, 5.2 ---- */

static const char *without_dot_segments(struct arena *a, const char *path)
{
    char *out = arena_alloc(a, strlen(path) + 1);
    size_t length = 0;
    for (struct str rest = str_of(path + (*path == '/')); rest.ptr;) {
        struct str segment = str_cut(&rest, '/');
        bool up = str_eq(segment, STR("..")), dot = up || str_eq(segment, STR("."));
        if (up)
            while (length > 0 && out[--length] != '/')
                ;
        if (!dot) {
            out[length++] = '/';
            memcpy(out + length, segment.ptr, segment.len);
            length += segment.len;
        } else if (!rest.ptr) {
            out[length++] = '/';
        }
    }
    out[length] = '\0';
    return out;
}

static const char *merged_path(struct arena *a, const struct url *base, struct str path)
{
    const char *slash = strrchr(base->path, '/');
    int kept = slash ? (int)(slash - base->path) : 0;
    return arena_printf(a, "%.*s/%.*s", kept, base->path, (int)path.len, path.ptr);
}

bool url_resolve(struct arena *a, const struct url *base, const char *reference, struct url *ret,
    struct error *err)
{
    struct str text = str_of(reference ? reference : "");
    if (!check_size(text, err))
        return false;
    struct split p = split(text);
    if (p.scheme.ptr) {
        if (!url_parse(a, reference, ret, err))
            return false;
        ret->path = *ret->path ? without_dot_segments(a, ret->path) : "";
        return true;
    }
    struct url u = *base;
    u.fragment = NULL;
    if (!check_parts(&p, err))
        return false;
    if (p.authority.ptr) {
        u = (struct url){ .scheme = base->scheme, .host = "" };
        if (!parse_authority(a, p.authority, &u, err))
            return false;
        u.path = p.path.len ? without_dot_segments(a, str_dup(a, p.path)) : "";
        u.query = dup_or_null(a, p.query);
    } else if (p.path.len) {
        const char *path = p.path.ptr[0] == '/' ? str_dup(a, p.path) : merged_path(a, base, p.path);
        u.path = without_dot_segments(a, path);
        u.query = dup_or_null(a, p.query);
    } else if (p.query.ptr) {
        u.query = dup_or_null(a, p.query);
    }
    u.fragment = dup_or_null(a, p.fragment);
    *ret = u;
    return true;
}

/* ---- parts of a URL ---- */

static int default_port(const char *scheme)
{
    return text_eq(scheme, "https") || text_eq(scheme, "wss") ? 443
           : text_eq(scheme, "http") || text_eq(scheme, "ws") ? 80
                                                              : 0;
}

int url_port(const struct url *u)
{
    return u->port ? u->port : default_port(u->scheme);
}

bool url_same_origin(const struct url *a, const struct url *b)
{
    return text_eq(a->scheme, b->scheme) && text_eq(a->host, b->host) && url_port(a) == url_port(b);
}

static void add_host(struct buf *b, const struct url *u, bool port)
{
    buf_printf(b, u->host_is_ipv6 ? "[%s]" : "%s", u->host);
    if (port)
        buf_printf(b, ":%d", u->port);
}

const char *url_authority(struct arena *a, const struct url *u)
{
    cleanup(buf_done) struct buf b = BUF_INIT(URL_BYTES_MAX * 2);
    add_host(&b, u, u->port && u->port != default_port(u->scheme));
    return str_dup(a, buf_str(&b));
}

const char *url_target(struct arena *a, const struct url *u)
{
    const char *path = *u->path ? u->path : "/";
    return u->query ? arena_printf(a, "%s?%s", path, u->query) : path;
}

const char *url_to_text(struct arena *a, const struct url *u)
{
    cleanup(buf_done) struct buf b = BUF_INIT(URL_BYTES_MAX * 8);
    buf_printf(&b, "%s://", u->scheme);
    if (u->userinfo)
        buf_printf(&b, "%s@", u->userinfo);
    add_host(&b, u, u->port != 0);
    buf_add_text(&b, u->path);
    if (u->query)
        buf_printf(&b, "?%s", u->query);
    if (u->fragment)
        buf_printf(&b, "#%s", u->fragment);
    return str_dup(a, buf_str(&b));
}

const char *url_to_safe_text(struct arena *a, const struct url *u)
{
    struct url safe = *u;
    safe.userinfo = safe.query = safe.fragment = NULL;
    return url_to_text(a, &safe);
}

bool url_basic_auth(struct arena *a, const struct url *u, const char **ret, struct error *err)
{
    const char *userinfo;
    *ret = NULL;
    if (!u->userinfo)
        return true;
    if (!url_decode(a, str_of(u->userinfo), &userinfo))
        return fail(err, ERR_INVALID, "user and password are not properly encoded");
    *ret = arena_printf(a, "Basic %s", base64_encode(a, str_of(userinfo)));
    return true;
}
