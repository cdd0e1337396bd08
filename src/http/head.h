#pragma once

/* The head of a message, received in parts, within limits; or sent. One builder serves a whole
 * connection, because heads do not interleave in either protocol. */

#include "base/buf.h"
#include "http/message.h"

struct wire_head {
    int status; /* of a response */
    struct str method, target, authority, scheme;
    struct http_headers headers;
    int64_t body_bytes; /* 0: no body; -1: unknown */
};

struct head_field {
    size_t name_len, value_len;
};

struct head_builder {
    struct http_limits limits;
    struct buf text; /* name value name value … */
    struct head_field *fields;
    size_t count, size;
    struct http_header *list; /* created at the end, when text does not move any more */
    size_t bytes;             /* everything received, kept or not */
    bool too_large;
};

void head_init(struct head_builder *h, const struct http_limits *limits);
void head_done(struct head_builder *h);
void head_reset(struct head_builder *h);
/* The fields are not needed any more; received bytes still count. */
void head_forget(struct head_builder *h);
/* Adds a part of the current name or value. A name after a value begins the next field. */
void head_add_name(struct head_builder *h, struct str part);
void head_add_value(struct head_builder *h, struct str part);
/* Adds a whole field. */
void head_add(struct head_builder *h, struct str name, struct str value);
/* Valid until the next change of the builder. */
struct http_headers head_headers(struct head_builder *h);

/* False if an HTTP/1 connection would misread the headers, so they must not be sent (RFC 9110,
 * 5.5). */
bool head_is_sendable(struct http_headers headers);
/* True for fields that this HTTP implementation handles itself, see http/message.h. */
bool head_is_hop_by_hop(struct str name);
/* Decimal, no sign: RFC 9110, 8.6. */
bool head_content_length(struct str value, int64_t *ret) must_check;
