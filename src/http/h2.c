#include "http/wire.h"

#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <string.h>

/* HTTP/2 on one connection: nghttp2 does the framing, and this file the flow control.
 *
 * The connection window is restored as soon as bytes arrive, and a stream window when they are
 * delivered. So a paused stream holds back only its own sender, and buffers at most its window. */

#define H2_CONNECTION_WINDOW_MIN ((size_t)1 << 20)
#define H2_WINDOW_DEFAULT ((size_t)64 << 10)
/* A client that opens streams only to reset them costs work (CVE-2023-44487). */
#define H2_RESETS_MAX 400
#define H2_RESETS_WINDOW_MS 10000
/* A few bytes that refer to large fields of the table unpack to megabytes, even after the head was
 * found too large. The connection ends beyond this many times the limit. */
#define H2_HEAD_EXCESS 4

struct h2 {
    struct wire wire;
    nghttp2_session *session;
    bool draining, drain_final;
    int resets;
    int64_t resets_since_ms;
    char goodbye[160]; /* the message of the peer's GOAWAY */
};

static struct h2 *h2_of(struct wire *w)
{
    return container_of(w, struct h2, wire);
}

static struct stream *stream_of(struct h2 *h, int32_t id)
{
    return nghttp2_session_get_stream_user_data(h->session, id);
}

/* From now on nghttp2 does not call the stream's owner any more. */
static void forget(struct h2 *h, struct stream *s)
{
    nghttp2_session_set_stream_user_data(h->session, s->id, NULL);
}

/* Does nothing for a stream that is closed on both sides; a stream that was not sent yet is
 * dropped. */
static void reset(struct h2 *h, const struct stream *s, uint32_t code)
{
    if (s->marked && !nghttp2_session_find_stream(h->session, s->id))
        return;
    nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, s->id, code);
    wire_kick(&h->wire);
}

/* ---- in ---- */

/* Reports the end of the input, once all data before it is delivered. */
static void settle(struct h2 *h, struct stream *s)
{
    if (!s->in_done || s->end_told || s->paused || s->held.len)
        return;
    s->end_told = true;
    if (h->wire.config.is_server) {
        if (s->on && s->on->end)
            s->on->end(s->ctx);
        return;
    }
    forget(h, s);
    if (!s->out_done)
        reset(h, s, NGHTTP2_CANCEL);
    stream_close(s, NULL, true);
}

static void fail_stream(struct h2 *h, struct stream *s, const struct error *err, bool sent)
{
    forget(h, s);
    stream_close(s, err, sent);
}

static int64_t body_bytes_of(struct http_headers headers, bool ended)
{
    int64_t length;
    if (ended)
        return 0;
    return head_content_length(http_header_find(headers, "content-length"), &length) ? length : -1;
}

/* Removes the pseudo-headers, which must come first. */
static void read_head(struct h2 *h, bool ended, struct wire_head *head)
{
    *head = (struct wire_head){ .headers = head_headers(&h->wire.head) };
    int64_t status;
    while (head->headers.count && head->headers.list[0].name.len &&
           head->headers.list[0].name.ptr[0] == ':') {
        struct http_header field = head->headers.list[0];
        head->headers.list++;
        head->headers.count--;
        if (str_eq(field.name, STR(":status")) && str_to_int(field.value, &status))
            head->status = (int)status;
        else if (str_eq(field.name, STR(":method")))
            head->method = field.value;
        else if (str_eq(field.name, STR(":path")))
            head->target = field.value;
        else if (str_eq(field.name, STR(":authority")))
            head->authority = field.value;
        else if (str_eq(field.name, STR(":scheme")))
            head->scheme = field.value;
    }
    head->body_bytes = body_bytes_of(head->headers, ended);
}

static void got_response(struct h2 *h, struct stream *s, bool ended)
{
    struct wire_head head = { 0 };
    struct error err;
    bool too_large = h->wire.head.too_large;
    if (!too_large)
        read_head(h, ended, &head);
    if (!too_large && (s->in_head || (head.status >= 100 && head.status < 200)))
        return; /* trailers, or interim */
    if (too_large || head.status < 100) {
        reset(h, s, NGHTTP2_CANCEL);
        fail(&err,
            too_large ? ERR_TOO_LARGE : ERR_UNAVAILABLE,
            too_large ? "the head of the answer is too large" : "the answer has no status");
        fail_stream(h, s, &err, true);
        return;
    }
    s->in_head = true;
    if (s->is_head_request && !ended)
        head.body_bytes = 0;
    if (s->on && s->on->head)
        s->on->head(s->ctx, &head);
}

static void refuse_request(struct h2 *h, int32_t id, const char *status)
{
    nghttp2_nv field = {
        .name = (uint8_t *)(uintptr_t) ":status",
        .namelen = 7,
        .value = (uint8_t *)(uintptr_t)status,
        .valuelen = 3,
    };
    nghttp2_submit_response(h->session, id, &field, 1, NULL);
    wire_kick(&h->wire);
}

static void got_reset(struct h2 *h)
{
    int64_t now_ms = env_mono_ms(h->wire.env);
    if (now_ms - h->resets_since_ms > H2_RESETS_WINDOW_MS) {
        h->resets = 0;
        h->resets_since_ms = now_ms;
    }
    if (h->wire.config.is_server && ++h->resets > H2_RESETS_MAX)
        nghttp2_session_terminate_session(h->session, NGHTTP2_ENHANCE_YOUR_CALM);
}

static void got_request(struct h2 *h, int32_t id, bool ended)
{
    struct wire_head head;
    if (h->wire.head.too_large) {
        got_reset(h); /* the same wasted work as a reset */
        refuse_request(h, id, "431");
        return;
    }
    read_head(h, ended, &head);
    if (!head.authority.ptr)
        head.authority = http_header_find(head.headers, "host");
    if (str_eq(head.method, STR("CONNECT")) || head.target.len == 0) {
        refuse_request(h, id, "501");
        return;
    }
    if (head.body_bytes > h->wire.config.body_bytes_max) {
        refuse_request(h, id, "413");
        return;
    }
    struct stream *s = stream_new(&h->wire);
    s->id = id;
    s->in_head = true;
    s->is_head_request = str_eq(head.method, STR("HEAD"));
    nghttp2_session_set_stream_user_data(h->session, id, s);
    h->wire.owner->request(h->wire.owner_ctx, s, &head);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    (void)session, (void)frame;
    struct h2 *h = ctx;
    head_reset(&h->wire.head);
    h->wire.head_since_ms = env_mono_ms(h->wire.env);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
    size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags, void *ctx)
{
    (void)session, (void)frame, (void)flags;
    struct h2 *h = ctx;
    head_add(&h->wire.head,
        (struct str){ (const char *)name, name_len },
        (struct str){ (const char *)value, value_len });
    struct head_builder *head = &h->wire.head;
    bool bomb = head->bytes > H2_HEAD_EXCESS * head->limits.header_bytes_max;
    return bomb ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static void got_headers(struct h2 *h, const nghttp2_frame *frame, bool ended)
{
    struct stream *s = stream_of(h, frame->hd.stream_id);
    if (!h->wire.config.is_server && s)
        got_response(h, s, ended);
    else if (h->wire.config.is_server && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        got_request(h, frame->hd.stream_id, ended);
    h->wire.head_since_ms = 0;
    head_reset(&h->wire.head);
}

static void got_goaway(struct h2 *h, const nghttp2_goaway *goaway)
{
    h->wire.closing = true;
    snprintf(h->goodbye,
        sizeof(h->goodbye),
        "%s%s%.*s",
        nghttp2_http2_strerror(goaway->error_code),
        goaway->opaque_data_len ? ": " : "",
        (int)(goaway->opaque_data_len < 100 ? goaway->opaque_data_len : 100),
        (const char *)goaway->opaque_data ?: "");
    wire_kick(&h->wire);
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct h2 *h = ctx;
    bool ended = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    switch (frame->hd.type) {
    case NGHTTP2_SETTINGS:
        h->wire.settling = false;
        wire_kick(&h->wire);
        return 0;
    case NGHTTP2_GOAWAY:
        got_goaway(h, &frame->goaway);
        return 0;
    case NGHTTP2_RST_STREAM:
        got_reset(h);
        return 0;
    case NGHTTP2_PING:
        if (h->draining && frame->hd.flags & NGHTTP2_FLAG_ACK && !h->drain_final) {
            h->drain_final = true;
            nghttp2_submit_goaway(session,
                NGHTTP2_FLAG_NONE,
                nghttp2_session_get_last_proc_stream_id(session),
                NGHTTP2_NO_ERROR,
                NULL,
                0);
        }
        return 0;
    case NGHTTP2_HEADERS:
        got_headers(h, frame, ended);
        break;
    case NGHTTP2_DATA:
        break;
    default:
        return 0;
    }
    struct stream *s = stream_of(h, frame->hd.stream_id);
    if (s && ended) {
        s->in_done = true;
        settle(h, s);
    }
    return 0;
}

static void too_long(struct h2 *h, struct stream *s)
{
    struct error err;
    if (s->head_queued)
        reset(h, s, NGHTTP2_CANCEL);
    else
        refuse_request(h, s->id, "413");
    fail(&err, ERR_TOO_LARGE, "request: the body is too large");
    fail_stream(h, s, &err, true);
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
    size_t count, void *ctx)
{
    (void)flags;
    struct h2 *h = ctx;
    struct stream *s = stream_of(h, id);
    nghttp2_session_consume_connection(session, count);
    if (s) {
        s->active_ms = env_mono_ms(h->wire.env);
        s->in_bytes += (int64_t)count;
    }
    if (s && h->wire.config.is_server && s->in_bytes > h->wire.config.body_bytes_max) {
        too_long(h, s);
    } else if (s && (s->paused || s->held.len)) {
        buf_add(&s->held, bytes, count);
    } else {
        if (s && s->on && s->on->data)
            s->on->data(s->ctx, (struct str){ (const char *)bytes, count });
        nghttp2_session_consume_stream(session, id, count);
    }
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *ctx)
{
    (void)session;
    struct h2 *h = ctx;
    struct stream *s = stream_of(h, id);
    struct error err;
    bool complete = h->wire.config.is_server ? s && s->out_done : s && s->in_done;
    if (!s)
        return 0;
    forget(h, s);
    if (complete)
        return 0; /* only waits for a resume */
    if (h->wire.config.is_server)
        fail(&err,
            ERR_UNAVAILABLE,
            "the client reset the request: %s",
            nghttp2_http2_strerror(code));
    else
        fail(&err,
            code == NGHTTP2_PROTOCOL_ERROR ? ERR_INTERNAL : ERR_UNAVAILABLE,
            "the server reset the request: %s%s%s",
            nghttp2_http2_strerror(code),
            *h->goodbye ? ", after " : "",
            h->goodbye);
    /* nghttp2 also reports this for streams above the last one of a GOAWAY. */
    stream_close(s, &err, code != NGHTTP2_REFUSED_STREAM);
    return 0;
}

/* Delivers data that arrived while the stream was paused. */
static void hand_out(struct h2 *h, struct stream *s)
{
    struct buf held = s->held;
    int32_t id = s->id;
    buf_init(&s->held, held.limit);
    if (s->on && s->on->data)
        s->on->data(s->ctx, buf_str(&held));
    nghttp2_session_consume_stream(h->session, id, held.len);
    buf_done(&held);
}

static void h2_step(struct wire *w)
{
    struct h2 *h = h2_of(w);
    struct stream *s = w->resume_due ? w->streams : NULL;
    w->resume_due = false;
    while (s && !w->failed) {
        bool has_data = !s->paused && s->held.len;
        bool has_end = !s->paused && s->in_done && !s->end_told;
        if (has_data)
            hand_out(h, s);
        else if (has_end)
            settle(h, s);
        s = has_data || has_end ? w->streams : s->next; /* the callback may free streams */
    }
    if (h->draining && h->drain_final && w->stream_count == 0)
        w->finished = true;
}

static void h2_feed(struct wire *w, struct str bytes)
{
    struct h2 *h = h2_of(w);
    ssize_t done = nghttp2_session_mem_recv(h->session, (const uint8_t *)bytes.ptr, bytes.len);
    if (done < 0)
        wire_fail(w, ERR_UNAVAILABLE, "HTTP/2: %s", nghttp2_strerror((int)done));
    wire_kick(w);
}

static void h2_eof(struct wire *w)
{
    struct h2 *h = h2_of(w);
    if (w->stream_count)
        wire_fail(w,
            ERR_UNAVAILABLE,
            "the other side closed the connection%s%s",
            *h->goodbye ? " after " : "",
            h->goodbye);
    else
        w->finished = true;
}

/* ---- out ---- */

static int before_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    (void)session;
    struct h2 *h = ctx;
    struct stream *s = frame->hd.type == NGHTTP2_HEADERS ? stream_of(h, frame->hd.stream_id) : NULL;
    if (s && !s->marked)
        stream_mark(s);
    return 0;
}

static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct h2 *h = ctx;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
        return 0;
    int32_t id = frame->hd.stream_id;
    struct stream *s = stream_of(h, id);
    if (s)
        s->active_ms = env_mono_ms(h->wire.env);
    if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    if (s)
        s->out_done = true;
    /* The response was sent before the whole request arrived: the rest of the request is not
     * needed. */
    if (h->wire.config.is_server && nghttp2_session_get_stream_remote_close(session, id) == 0)
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
    if (s && h->wire.config.is_server) {
        forget(h, s);
        stream_close(s, NULL, true);
    }
    return 0;
}

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *into, size_t size,
    uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
    (void)session, (void)source;
    struct h2 *h = ctx;
    struct stream *s = stream_of(h, id);
    if (!s)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    struct str body = stream_out(s);
    size_t count = body.len < size ? body.len : size;
    if (count)
        memcpy(into, body.ptr, count);
    if (count)
        stream_out_eat(s, count);
    if (s->out_finished && stream_out(s).len == 0)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    else if (count == 0)
        return NGHTTP2_ERR_DEFERRED;
    return (ssize_t)count;
}

static struct str h2_output(struct wire *w)
{
    struct h2 *h = h2_of(w);
    const uint8_t *bytes;
    ssize_t count = nghttp2_session_mem_send(h->session, &bytes);
    if (count < 0)
        wire_fail(w, ERR_INTERNAL, "HTTP/2: %s", nghttp2_strerror((int)count));
    if (count > 0)
        return (struct str){ (const char *)bytes, (size_t)count };
    if (!nghttp2_session_want_read(h->session) && !nghttp2_session_want_write(h->session)) {
        if (w->stream_count)
            wire_fail(w, ERR_UNAVAILABLE, "HTTP/2: the session was ended for a protocol error");
        w->finished = w->closing = true;
    }
    return (struct str){ NULL, 0 };
}

static nghttp2_nv field_of(struct str name, struct str value)
{
    return (nghttp2_nv){
        .name = (uint8_t *)(uintptr_t)name.ptr,
        .namelen = name.len,
        .value = (uint8_t *)(uintptr_t)value.ptr,
        .valuelen = value.len,
    };
}

#define H2_OWN_FIELDS_MAX 5

/* Adds the headers after `count` pseudo-headers; returns the new count. */
static size_t add_fields(
    nghttp2_nv *fields, size_t count, const struct wire_head *head, char length[24])
{
    for (size_t i = 0; i < head->headers.count; i++)
        if (!head_is_hop_by_hop(head->headers.list[i].name))
            fields[count++] = field_of(head->headers.list[i].name, head->headers.list[i].value);
    if (head->body_bytes > 0 || (head->body_bytes == 0 && head->status && head->status != 204)) {
        snprintf(length, 24, "%lld", (long long)head->body_bytes);
        fields[count++] = field_of(STR("content-length"), str_of(length));
    }
    return count;
}

static struct stream *h2_open(struct wire *w, const struct wire_head *head)
{
    struct h2 *h = h2_of(w);
    struct stream *s = stream_new(w);
    nghttp2_nv *fields = mem_resize(NULL, head->headers.count + H2_OWN_FIELDS_MAX, sizeof(*fields));
    nghttp2_data_provider body = { .read_callback = read_body };
    char length[24];
    fields[0] = field_of(STR(":method"), head->method);
    fields[1] = field_of(STR(":scheme"), head->scheme);
    fields[2] = field_of(STR(":authority"), head->authority);
    fields[3] = field_of(STR(":path"), head->target);
    size_t count = add_fields(fields, 4, head, length);
    s->is_head_request = str_eq(head->method, STR("HEAD"));
    s->head_queued = true;
    s->out_left = head->body_bytes;
    s->id =
        nghttp2_submit_request(h->session, NULL, fields, count, head->body_bytes ? &body : NULL, s);
    assert(s->id > 0);
    free(fields);
    return s;
}

static void h2_respond(struct stream *s, const struct wire_head *head)
{
    struct h2 *h = h2_of(s->wire);
    nghttp2_nv *fields = mem_resize(NULL, head->headers.count + H2_OWN_FIELDS_MAX, sizeof(*fields));
    nghttp2_data_provider body = { .read_callback = read_body };
    char length[24], status[12];
    snprintf(status, sizeof(status), "%d", head->status);
    fields[0] = field_of(STR(":status"), str_of(status));
    size_t count = add_fields(fields, 1, head, length);
    nghttp2_submit_response(h->session, s->id, fields, count, &body);
    free(fields);
}

static void h2_wake(struct stream *s)
{
    nghttp2_session_resume_data(h2_of(s->wire)->session, s->id);
}

static void h2_dropped(struct stream *s)
{
    struct h2 *h = h2_of(s->wire);
    reset(h, s, NGHTTP2_CANCEL);
    forget(h, s);
    stream_free(s);
}

static size_t h2_capacity(const struct wire *w)
{
    const struct h2 *h = container_of(w, const struct h2, wire);
    size_t most = 1; /* until the server has sent its settings */
    if (!w->settling)
        most = nghttp2_session_get_remote_settings(
            h->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
    if (!nghttp2_session_check_request_allowed(h->session) || w->stream_count >= most)
        return 0;
    return most - w->stream_count;
}

static void h2_ping(struct wire *w)
{
    nghttp2_submit_ping(h2_of(w)->session, NGHTTP2_FLAG_NONE, NULL);
}

/* RFC 9113, 6.8: first a GOAWAY that refuses nothing, and after a round trip the final one. */
static void h2_drain(struct wire *w)
{
    struct h2 *h = h2_of(w);
    w->closing = true;
    if (h->draining)
        return;
    h->draining = true;
    nghttp2_submit_shutdown_notice(h->session);
    h2_ping(w);
}

static void h2_free(struct wire *w)
{
    struct h2 *h = h2_of(w);
    nghttp2_session_del(h->session);
    wire_done(w);
    free(h);
}

static const struct wire_ops h2_ops = {
    .feed = h2_feed,
    .eof = h2_eof,
    .step = h2_step,
    .output = h2_output,
    .open = h2_open,
    .respond = h2_respond,
    .wake = h2_wake,
    .dropped = h2_dropped,
    .capacity = h2_capacity,
    .ping = h2_ping,
    .drain = h2_drain,
    .free = h2_free,
};

static void submit_settings(struct h2 *h)
{
    const struct wire_config *config = &h->wire.config;
    uint32_t window = (uint32_t)(config->window_bytes ?: H2_WINDOW_DEFAULT);
    uint32_t head_max = (uint32_t)h->wire.head.limits.header_bytes_max;
    nghttp2_settings_entry entries[] = {
        { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window },
        { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, head_max },
        { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
            (uint32_t)(config->is_server ? config->streams_max : 0) },
        { NGHTTP2_SETTINGS_ENABLE_PUSH, 0 }, /* sent by clients only, so it is last */
    };
    size_t count = lengthof(entries) - (config->is_server ? 1 : 0);
    nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, entries, count);
    int32_t all = (int32_t)(window > H2_CONNECTION_WINDOW_MIN ? window : H2_CONNECTION_WINDOW_MIN);
    nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE, 0, all);
}

struct wire *wire_h2_new(const struct env *env, const struct wire_config *config,
    const struct wire_owner *owner, void *ctx)
{
    struct h2 *h = mem_new_of(struct h2);
    wire_init(&h->wire, &h2_ops, env, config, owner, ctx);
    h->wire.is_h2 = h->wire.settling = true;
    nghttp2_session_callbacks *on;
    nghttp2_option *option;
    int rc = nghttp2_session_callbacks_new(&on) ?: nghttp2_option_new(&option);
    assert(rc == 0);
    nghttp2_session_callbacks_set_on_begin_headers_callback(on, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(on, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(on, on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(on, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(on, on_stream_close);
    nghttp2_session_callbacks_set_before_frame_send_callback(on, before_frame_send);
    nghttp2_session_callbacks_set_on_frame_send_callback(on, on_frame_send);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_no_closed_streams(option, 1);
    rc = config->is_server ? nghttp2_session_server_new2(&h->session, on, h, option)
                           : nghttp2_session_client_new2(&h->session, on, h, option);
    assert(rc == 0);
    nghttp2_session_callbacks_del(on);
    nghttp2_option_del(option);
    submit_settings(h);
    return &h->wire;
}
