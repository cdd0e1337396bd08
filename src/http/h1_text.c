#include "http/h1_text.h"

#define HEAD_BYTES 250 /* most heads are shorter */

static const struct {
    int status;
    const char *reason;
} reasons[] = {
    { 200, "OK" },
    { 201, "Created" },
    { 202, "Accepted" },
    { 204, "No Content" },
    { 206, "Partial Content" },
    { 301, "Moved Permanently" },
    { 302, "Found" },
    { 304, "Not Modified" },
    { 307, "Temporary Redirect" },
    { 308, "Permanent Redirect" },
    { 400, "Bad Request" },
    { 401, "Unauthorized" },
    { 403, "Forbidden" },
    { 404, "Not Found" },
    { 405, "Method Not Allowed" },
    { 406, "Not Acceptable" },
    { 408, "Request Timeout" },
    { 409, "Conflict" },
    { 410, "Gone" },
    { 411, "Length Required" },
    { 413, "Request Entity Too Large" },
    { 415, "Unsupported Media Type" },
    { 416, "Requested Range Not Satisfiable" },
    { 417, "Expectation Failed" },
    { 422, "Unprocessable Entity" },
    { 429, "Too Many Requests" },
    { 431, "Request Header Fields Too Large" },
    { 500, "Internal Server Error" },
    { 501, "Not Implemented" },
    { 502, "Bad Gateway" },
    { 503, "Service Unavailable" },
    { 504, "Gateway Timeout" },
    { 505, "HTTP Version Not Supported" },
};

static const char *reason_of(int status)
{
    for (size_t i = 0; i < lengthof(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "";
}

static void add_str(struct buf *out, struct str s)
{
    buf_add(out, s.ptr, s.len);
}

static void add_fields(struct buf *out, struct http_headers headers)
{
    for (size_t i = 0; i < headers.count; i++) {
        if (head_is_hop_by_hop(headers.list[i].name))
            continue;
        add_str(out, headers.list[i].name);
        buf_add_text(out, ": ");
        add_str(out, headers.list[i].value);
        buf_add_text(out, "\r\n");
    }
}

static void add_framing(struct buf *out, enum h1_framing framing, int64_t body_bytes)
{
    if (framing == H1_LENGTH) {
        buf_add_text(out, "Content-Length: ");
        buf_add_number(out, body_bytes);
        buf_add_text(out, "\r\n");
    } else if (framing == H1_CHUNKED) {
        buf_add_text(out, "Transfer-Encoding: chunked\r\n");
    }
}

void h1_add_request(struct buf *out, const struct wire_head *head, enum h1_framing framing)
{
    buf_reserve(out, HEAD_BYTES);
    add_str(out, head->method);
    buf_add_char(out, ' ');
    add_str(out, head->target);
    buf_add_text(out, " HTTP/1.1\r\nHost: ");
    add_str(out, head->authority);
    buf_add_text(out, "\r\n");
    add_fields(out, head->headers);
    add_framing(out, framing, head->body_bytes);
    buf_add_text(out, "\r\n");
}

void h1_add_response(
    struct buf *out, const struct wire_head *head, enum h1_framing framing, bool keep_alive)
{
    buf_reserve(out, HEAD_BYTES);
    buf_add_text(out, "HTTP/1.1 ");
    buf_add_number(out, head->status);
    buf_add_char(out, ' ');
    buf_add_text(out, reason_of(head->status));
    buf_add_text(out, "\r\n");
    add_fields(out, head->headers);
    add_framing(out, framing, head->body_bytes);
    if (!keep_alive)
        buf_add_text(out, "Connection: close\r\n");
    buf_add_text(out, "\r\n");
}

void h1_add_refusal(struct buf *out, int status, const char *why)
{
    char text[160];
    const char *reason = reason_of(status), *between = why ? ": " : "";
    int length = snprintf(text, sizeof(text), "%d %s%s%s", status, reason, between, why ? why : "");
    if (status == 417 || (status == 501 && why))
        length = snprintf(text, sizeof(text), "%s", status == 417 ? "" : why);
    assert(length >= 0 && (size_t)length < sizeof(text));
    struct http_header type = { STR("Content-Type"), STR("text/plain; charset=utf-8") };
    struct wire_head head = {
        .status = status,
        .headers = { &type, length > 0 },
        .body_bytes = length,
    };
    h1_add_response(out, &head, H1_LENGTH, false);
    buf_add(out, text, (size_t)length);
}

void h1_add_upgrade(struct buf *out, struct str protocol, struct http_headers headers)
{
    buf_add_text(out, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ");
    add_str(out, protocol);
    buf_add_text(out, "\r\n");
    add_fields(out, headers);
    buf_add_text(out, "\r\n");
}

void h1_add_body(struct buf *out, struct str bytes, enum h1_framing framing)
{
    if (framing == H1_CHUNKED)
        buf_printf(out, "%zx\r\n", bytes.len);
    add_str(out, bytes);
    if (framing == H1_CHUNKED)
        buf_add_text(out, "\r\n");
}
