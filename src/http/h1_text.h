#pragma once

/* Formats outgoing HTTP/1.1 messages. Incoming messages are parsed by h1.c. */

#include "base/buf.h"
#include "http/head.h"

enum h1_framing {
    H1_NO_BODY,
    H1_LENGTH,    /* Content-Length */
    H1_CHUNKED,   /* Transfer-Encoding: chunked */
    H1_UNTIL_END, /* ends with the connection: responses to HTTP/1.0 */
};

void h1_add_request(struct buf *out, const struct wire_head *head, enum h1_framing framing);
void h1_add_response(
    struct buf *out, const struct wire_head *head, enum h1_framing framing, bool keep_alive);
/* Adds a complete response to an invalid request, as Go's server does: "400 Bad Request: why" (why
 * NULL: without a reason). The body of a 501 is only `why`; that of a 417 is empty. */
void h1_add_refusal(struct buf *out, int status, const char *why);
void h1_add_upgrade(struct buf *out, struct str protocol, struct http_headers headers);
/* Adds a part of the body. It must not be empty, because an empty chunk would end the body. */
void h1_add_body(struct buf *out, struct str bytes, enum h1_framing framing);
