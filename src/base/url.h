#pragma once

/* Absolute URLs (RFC 3986), as far as http, https, s3, hf and their like need them.
 *
 *   https://user:pass@[2001:db8::1]:8443/a%20b?x=1&y=2#part
 *
 * Parts stay percent-encoded as written, except the host, which is decoded, in lower case and
 * without the brackets of an IPv6 address. These are refused: spaces, control characters and other
 * bytes that must be encoded (including non-ASCII), a bad % escape, a port that is not 1 to 65535,
 * a host with invalid characters, and more than URL_BYTES_MAX bytes. */

#include "base/arena.h"
#include "base/base.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

#define URL_BYTES_MAX 8192

struct url {
    const char *scheme;   /* lower case */
    const char *userinfo; /* NULL: no @ */
    const char *host;     /* "" if there is none: file:///x */
    int port;             /* 0: not written; see url_port() */
    bool host_is_ipv6;    /* was written in brackets */
    const char *path;     /* "" or "/…" */
    const char *query;    /* NULL: no ? */
    const char *fragment; /* NULL: no # */
};

bool url_parse(struct arena *a, const char *text, struct url *ret, struct error *err) must_check;
/* Resolves a reference (a Location header) against the URL in which it was found: RFC 3986, 5.2.
 * The fragment is that of the reference. */
bool url_resolve(struct arena *a, const struct url *base, const char *reference, struct url *ret,
    struct error *err) must_check;
const char *url_to_text(struct arena *a, const struct url *u);
/* For messages and logs: without user and password, and without the query, which may contain
 * signatures. */
const char *url_to_safe_text(struct arena *a, const struct url *u);
/* User and password as the value of an Authorization header; *ret is NULL if there are none. */
bool url_basic_auth(
    struct arena *a, const struct url *u, const char **ret, struct error *err) must_check;
/* The port as written, or the scheme's default (http 80, https 443); 0 if neither. */
int url_port(const struct url *u);
/* Whether scheme, host and port are the same: credentials for a may be sent to b. */
bool url_same_origin(const struct url *a, const struct url *b);
/* "host:port" for a Host header: the port only if written and not the scheme's default. */
const char *url_authority(struct arena *a, const struct url *u);
/* For a request line: path ("/" if empty) and query. */
const char *url_target(struct arena *a, const struct url *u);

/* Encodes everything but A-Z a-z 0-9 - . _ ~ as %XX; url_encode_path() also keeps '/'. */
const char *url_encode(struct arena *a, struct str s);
const char *url_encode_path(struct arena *a, struct str s);
/* False for a bad escape or an encoded NUL. '+' stays '+'. */
bool url_decode(struct arena *a, struct str s, const char **ret) must_check;

/* Adds `?key=value` or `&key=value`, encoded; a NULL value adds nothing. For a buffer that holds a
 * path, with or without a query. */
void url_add_query(struct buf *b, const char *key, const char *value);
/* The first value of a key in a query string, decoded with '+' as a space; NULL if there is none or
 * if it cannot be decoded. */
const char *url_query_value(struct arena *a, const char *query, const char *key);

/* ---- addresses ---- */

enum url_address {
    URL_ADDRESS_NONE, /* not an address: a name */
    URL_ADDRESS_PUBLIC,
    URL_ADDRESS_LOOPBACK,    /* 127/8, ::1 */
    URL_ADDRESS_LINK_LOCAL,  /* 169.254/16, fe80::/10: cloud metadata services are here */
    URL_ADDRESS_PRIVATE,     /* RFC 1918, fc00::/7, fec0::/10, CGNAT 100.64/10 */
    URL_ADDRESS_MULTICAST,   /* 224/4, ff00::/8, and broadcast */
    URL_ADDRESS_UNSPECIFIED, /* 0/8, :: */
    URL_ADDRESS_RESERVED, /* protocol assignments, documentation, benchmarks, 6to4 relays, 240/4 */
};

/* The type of an address. An IPv6 address that contains an IPv4 address (mapped, compatible, NAT64,
 * 6to4) has the type of the IPv4 address. Only four decimal parts are IPv4; other notations that
 * some resolvers accept (0x7f.1, 2130706433, 127.1) are reported by url_host_is_odd_ipv4(), and
 * should be refused. A zone (%eth0) is allowed. */
enum url_address url_address_kind(const char *host);
bool url_host_is_odd_ipv4(const char *host);
/* Whether the address is not public, or is an odd notation of an IPv4 address. False for names: a
 * caller that resolves a name checks each address again. */
bool url_host_is_private_ip(const char *host);
