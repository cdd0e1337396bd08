#pragma once

/* The head of an HTTP message, as both protocols and both roles have it.
 *
 * Names of fields are compared without case; those that come in over HTTP/2 are in lower case, and
 * it is best to write them so. Fields that belong to a connection and not to a message (Connection,
 * Keep-Alive, Proxy-Connection, Transfer-Encoding, Upgrade, TE, Host, Content-Length) are the
 * stack's business: on the way out it drops them from what it is given and writes its own; on the
 * way in they are left as they came for HTTP/1, and HTTP/2 does not have them. */

#include "base/error.h"
#include "base/str.h"

struct http_header {
    struct str name;
    struct str value;
};

struct http_headers {
    const struct http_header *list;
    size_t count;
};

/* For literal tables: HTTP_HEADERS({ STR("accept"), STR("text/plain") }, …) */
#define HTTP_HEADERS(...)                                                                          \
    ((struct http_headers){ (const struct http_header[]){ __VA_ARGS__ },                           \
        sizeof((const struct http_header[]){ __VA_ARGS__ }) / sizeof(struct http_header) })

/* The first value of that name; .ptr NULL if there is none. */
struct str http_header_find(struct http_headers headers, const char *name);
/* True if one of the comma-separated elements of any such field is this token, without case. */
bool http_header_has_token(struct http_headers headers, const char *name, const char *token);

/* Seconds or an HTTP date (which needs now) of Retry-After, in ms; 0 for none or nonsense; at most
 * one hour. */
int64_t http_retry_after_ms(struct http_headers headers, int64_t wall_ms);

/* How much of a head is taken before the message is refused. */
struct http_limits {
    size_t header_bytes_max; /* names and values and the request target; 0: 64 KiB */
    size_t header_count_max; /* 0: 128 */
};
