#pragma once

/* The head of an HTTP message, for both protocols and both roles.
 *
 * Field names are compared without case. HTTP/2 delivers them in lower case, so prefer lower case
 * in code. Fields that belong to a connection and not to a message (Connection, Keep-Alive,
 * Proxy-Connection, Transfer-Encoding, Upgrade, TE, Host, Content-Length) are handled by this
 * implementation: in an outgoing message it replaces them with its own; in an incoming HTTP/1
 * message they are left unchanged, and HTTP/2 does not have them. */

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

/* The first value with that name; .ptr NULL if there is none. */
struct str http_header_find(struct http_headers headers, const char *name);
/* True if one of the comma-separated elements in any field of this name is this token, ignoring
 * case. */
bool http_header_has_token(struct http_headers headers, const char *name, const char *token);

/* The value of Retry-After, in seconds or as an HTTP date (which needs the current time), in ms; 0
 * if missing or invalid; at most one hour. */
int64_t http_retry_after_ms(struct http_headers headers, int64_t wall_ms);

/* The largest head that is accepted. */
struct http_limits {
    size_t header_bytes_max; /* names, values and the request target; 0: 64 KiB */
    size_t header_count_max; /* 0: 128 */
};
