#pragma once

/* HTTP/1.1 as text, on its way out. What comes in is read by h1.c. */

#include "base/buf.h"
#include "http/head.h"

enum h1_framing {
    H1_NO_BODY,
    H1_LENGTH,    /* Content-Length */
    H1_CHUNKED,   /* Transfer-Encoding: chunked */
    H1_UNTIL_END, /* the connection ends it: answers to HTTP/1.0 */
};

void h1_add_request(struct buf *out, const struct wire_head *head, enum h1_framing framing);
void h1_add_response(
    struct buf *out, const struct wire_head *head, enum h1_framing framing, bool keep_alive);
/* A whole answer to what is no request, as Go's server gives it: "400 Bad Request: why" (why NULL:
 * nothing more); a 501 is the why alone, a 417 nothing at all. */
void h1_add_refusal(struct buf *out, int status, const char *why);
void h1_add_upgrade(struct buf *out, struct str protocol, struct http_headers headers);
/* A piece of the body, not empty: an empty chunk would end it. */
void h1_add_body(struct buf *out, struct str bytes, enum h1_framing framing);
