#include "http/wire.h"

#include <ctype.h>
#include <llhttp.h>
#include <stdlib.h>
#include <string.h>

#include "http/h1_text.h"

/* HTTP/1.1 on one connection: one stream at a time.
 *
 *   bytes ─> held ─> llhttp ─> head, data, end          stops: while the stream is paused, and on a
 *                                                       server from the end of a request until its
 *                                                       answer is out (pipelining waits in held)
 *   head, body ─> out ─> output
 *
 * After an upgrade llhttp is not used any more: all bytes are data. */

#define H1_HELD_MAX ((size_t)16 << 10)  /* pipelined bytes; more wait in the kernel */
#define H1_PIECE_MAX ((size_t)16 << 10) /* of a body, per output */
#define H1_DISCARD_MAX ((int64_t)256 << 10)

struct h1 {
    struct wire wire;
    llhttp_t parser;
    struct stream *current;
    enum h1_framing framing; /* of our message */
    struct buf out;
    size_t out_given; /* part of `out` passed to the owner */
    struct buf held;
    struct buf target;
    bool parsing, stopped;
    bool message_open; /* a message is being read */
    bool in_trailers;
    bool discarding; /* server: responded; the rest of the request is discarded */
    int64_t discarded;
    bool keep_alive;
    bool eof; /* the peer has closed */
    int refuse_status;
    const char *refuse_reason;
    bool refuse_aloud; /* the response includes the reason */
};

static struct h1 *h1_of(struct wire *w)
{
    return container_of(w, struct h1, wire);
}

static struct str get_slice(const char *at, size_t length)
{
    return (struct str){ at, length };
}

/* ---- callbacks of llhttp ---- */

/* Ends the parsing with a response (server) or an error (client). */
static int refuse(struct h1 *h, int status, const char *reason)
{
    h->refuse_status = status;
    h->refuse_reason = reason;
    return HPE_USER;
}

/* The same, but the response includes the reason, as in Go's server. */
static int refuse_aloud(struct h1 *h, int status, const char *reason)
{
    h->refuse_aloud = true;
    return refuse(h, status, reason);
}

static int on_message_begin(llhttp_t *p)
{
    struct h1 *h = p->data;
    head_reset(&h->wire.head);
    buf_done(&h->target);
    h->message_open = true;
    h->wire.head_since_ms = env_mono_ms(h->wire.env);
    h->in_trailers = false;
    return 0;
}

static int check_size(struct h1 *h)
{
    const struct head_builder *head = &h->wire.head;
    if (head->too_large || head->bytes + h->target.len > head->limits.header_bytes_max)
        return refuse(h, 431, "the head of the message is too large");
    return 0;
}

static int on_url(llhttp_t *p, const char *at, size_t length)
{
    struct h1 *h = p->data;
    buf_add(&h->target, at, length);
    return buf_overflowed(&h->target) ? refuse(h, 431, "the target is too long") : check_size(h);
}

static int on_field(llhttp_t *p, const char *at, size_t length)
{
    struct h1 *h = p->data;
    if (h->in_trailers) /* trailers are not used: counted, not kept */
        h->wire.head.bytes += length;
    else
        head_add_name(&h->wire.head, get_slice(at, length));
    return check_size(h);
}

static int on_value(llhttp_t *p, const char *at, size_t length)
{
    struct h1 *h = p->data;
    if (h->in_trailers)
        h->wire.head.bytes += length;
    else
        head_add_value(&h->wire.head, get_slice(at, length));
    return check_size(h);
}

static int64_t body_bytes_of(const llhttp_t *p)
{
    if (p->flags & F_CHUNKED)
        return -1;
    if (p->flags & F_CONTENT_LENGTH)
        return p->content_length > INT64_MAX ? INT64_MAX : (int64_t)p->content_length;
    return p->type == HTTP_REQUEST ? 0 : -1;
}

/* Reads "timeout=5" from a Keep-Alive header, which many servers send that close idle
 * connections. */
static void learn_idle_limit(struct wire *w, struct http_headers headers)
{
    struct str rest = http_header_find(headers, "keep-alive");
    int64_t seconds;
    while (rest.ptr) {
        struct str value = str_trim(str_cut(&rest, ','));
        struct str key = str_cut(&value, '=');
        if (str_eq_nocase(key, STR("timeout")) && str_to_int(value, &seconds) && seconds > 0 &&
            seconds < 86400)
            w->idle_limit_ms = seconds * 1000;
    }
}

static int on_response_head(struct h1 *h, struct wire_head *head)
{
    struct stream *s = h->current;
    head->status = h->parser.status_code;
    if (head->status < 100)
        return refuse(h, 0, "the status is none");
    if (head->status == 101)
        return refuse(h, 0, "the server switched protocols unasked");
    if (head->status < 200)
        return 1; /* an interim response has no body, whatever its head says */
    bool no_body = s->is_head_request || head->status == 204 || head->status == 304;
    if (no_body && !s->is_head_request)
        head->body_bytes = 0;
    learn_idle_limit(&h->wire, head->headers);
    s->in_head = true;
    if (s->on && s->on->head)
        s->on->head(s->ctx, head);
    if (!h->current || h->wire.finished)
        return HPE_USER; /* cancelled in the callback */
    if (no_body)
        return 1;
    return h->current->paused ? HPE_PAUSED : 0;
}

/* Accepts "/path?query"; "http://host/path", as sent to a proxy, with an optional path; and "*" for
 * OPTIONS. */
static bool split_target(struct wire_head *head)
{
    struct str t = head->target;
    if (str_starts(t, STR("/")) || str_eq(t, STR("*")))
        return true;
    const char *colon = memmem(t.ptr, t.len, "://", 3);
    if (!colon || colon == t.ptr || memchr(t.ptr, '/', (size_t)(colon - t.ptr)))
        return false;
    size_t skip = (size_t)(colon - t.ptr) + 3, length = 0;
    t = (struct str){ t.ptr + skip, t.len - skip };
    while (length < t.len && t.ptr[length] != '/' && t.ptr[length] != '?')
        length++;
    head->authority = (struct str){ t.ptr, length };
    head->target = (struct str){ t.ptr + length, t.len - length };
    return true;
}

/* Whether every % in the path is followed by two digits. */
static bool is_decodable(struct str target)
{
    for (size_t i = 0; i < target.len && target.ptr[i] != '?'; i++)
        if (target.ptr[i] == '%' &&
            (i + 2 >= target.len || !isxdigit((unsigned char)target.ptr[i + 1]) ||
                !isxdigit((unsigned char)target.ptr[i + 2])))
            return false;
    return true;
}

static bool is_host(struct str host)
{
    for (size_t i = 0; i < host.len; i++)
        if (strchr(" \t/\\?#<>\"^`{|}", host.ptr[i]))
            return false;
    return true;
}

static int check_request(struct h1 *h, struct wire_head *head)
{
    size_t hosts = 0;
    for (size_t i = 0; i < head->headers.count; i++)
        hosts += str_eq_nocase(head->headers.list[i].name, STR("host"));
    if (h->parser.http_major != 1)
        return refuse_aloud(h, 505, "unsupported protocol version");
    if (hosts == 0 && h->parser.http_minor > 0)
        return refuse_aloud(h, 400, "missing required Host header");
    if (hosts > 1)
        return refuse(h, 400, "too many Host headers");
    if (!is_host(head->authority))
        return refuse_aloud(h, 400, "malformed Host header");
    if (h->parser.method == HTTP_CONNECT)
        return refuse(h, 501, "CONNECT is not supported");
    if (!split_target(head) || !is_decodable(head->target))
        return refuse(h, 400, "the target of the request is no path");
    struct str coding = http_header_find(head->headers, "transfer-encoding");
    if (coding.ptr && !str_eq_nocase(coding, STR("chunked")))
        return refuse_aloud(h, 501, "Unsupported transfer encoding");
    struct str expects = http_header_find(head->headers, "expect");
    if (expects.len && !str_eq_nocase(expects, STR("100-continue")))
        return refuse(h, 417, "only 100-continue can be expected");
    if (head->body_bytes > h->wire.config.body_bytes_max)
        return refuse(h, 413, "the body is too large");
    return 0;
}

static int on_request_head(struct h1 *h, struct wire_head *head)
{
    head->method = str_of(llhttp_method_name(h->parser.method));
    head->target = buf_str(&h->target);
    head->authority = http_header_find(head->headers, "host");
    head->scheme = STR("http");
    int refused = check_request(h, head);
    if (refused)
        return refused;
    struct stream *s = stream_new(&h->wire);
    h->current = s;
    h->discarding = false;
    h->keep_alive = llhttp_should_keep_alive(&h->parser) && h->parser.http_minor > 0;
    s->in_head = true;
    s->is_head_request = h->parser.method == HTTP_HEAD;
    h->wire.owner->request(h->wire.owner_ctx, s, head);
    if (h->wire.failed || !h->current)
        return HPE_USER;
    if (!s->head_queued && h->parser.http_minor > 0 && head->body_bytes != 0 &&
        http_header_has_token(head->headers, "expect", "100-continue")) {
        buf_add_text(&h->out, "HTTP/1.1 100 Continue\r\n\r\n");
        wire_kick(&h->wire);
    }
    return s->paused ? HPE_PAUSED : 0;
}

static int on_headers_complete(llhttp_t *p)
{
    struct h1 *h = p->data;
    struct wire_head head = {
        .headers = head_headers(&h->wire.head),
        .body_bytes = body_bytes_of(p),
    };
    h->in_trailers = true;
    h->wire.head_since_ms = 0;
    int result = h->wire.config.is_server ? on_request_head(h, &head) : on_response_head(h, &head);
    /* A head is valid only during its callback, but streams stay open for a long time. */
    h->wire.head.bytes += h->target.len;
    head_forget(&h->wire.head);
    buf_done(&h->target);
    return result;
}

static int on_body(llhttp_t *p, const char *at, size_t length)
{
    struct h1 *h = p->data;
    struct stream *s = h->current;
    if (length == 0) /* llhttp continues after a stop */
        return 0;
    if (h->discarding) {
        h->discarded += (int64_t)length;
        return h->discarded > H1_DISCARD_MAX ? refuse(h, 0, "") : 0;
    }
    s->active_ms = env_mono_ms(h->wire.env);
    s->in_bytes += (int64_t)length;
    if (h->wire.config.is_server && s->in_bytes > h->wire.config.body_bytes_max)
        return refuse(h, 413, "the body is too large");
    if (s->on && s->on->data)
        s->on->data(s->ctx, get_slice(at, length));
    if (h->wire.failed || h->wire.finished || h->current != s)
        return HPE_USER; /* cut or cancelled in the callback */
    return s->paused ? HPE_PAUSED : 0;
}

static int on_message_complete(llhttp_t *p)
{
    struct h1 *h = p->data;
    if (!h->wire.config.is_server && p->status_code < 200)
        return 0;
    h->message_open = false;
    if (h->current)
        h->current->in_done = true;
    if (!h->wire.config.is_server)
        h->keep_alive = llhttp_should_keep_alive(p);
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_message_begin = on_message_begin,
    .on_url = on_url,
    .on_header_field = on_field,
    .on_header_value = on_value,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

/* ---- the ends of messages ---- */

static void finish_connection(struct h1 *h)
{
    h->wire.closing = h->wire.finished = true;
    buf_done(&h->held);
    wire_kick(&h->wire);
}

/* A request that cannot be served, or a response that cannot be parsed. */
static void give_up(struct h1 *h)
{
    struct error err;
    const char *reason = h->refuse_reason ?: llhttp_get_error_reason(&h->parser) ?: "";
    struct stream *s = h->current;
    if (!h->wire.config.is_server) {
        wire_fail(&h->wire,
            h->refuse_status == 431 ? ERR_TOO_LARGE : ERR_UNAVAILABLE,
            "answer is not proper HTTP: %s",
            reason);
        return;
    }
    bool answered = h->discarding || (s && s->head_queued);
    int status = h->refuse_status ?: 400;
    if (s) {
        h->current = NULL;
        fail(&err, status == 413 ? ERR_TOO_LARGE : ERR_INVALID, "request: %s", reason);
        stream_close(s, &err, true);
    }
    if (!answered) {
        h1_add_refusal(&h->out, status, h->refuse_aloud ? h->refuse_reason : NULL);
    }
    finish_connection(h);
}

/* Continues with the next message when the current one is complete in the necessary directions. */
static void settle(struct h1 *h)
{
    struct stream *s = h->current;
    if (!s || h->wire.failed)
        return;
    if (!h->wire.config.is_server) {
        if (!s->in_done || s->paused)
            return;
        h->current = NULL;
        if (!h->keep_alive || !s->out_done || h->wire.closing)
            finish_connection(h);
        stream_close(s, NULL, true);
        return;
    }
    if (s->in_done && !s->end_told && !s->paused) {
        s->end_told = true;
        if (s->on && s->on->end)
            s->on->end(s->ctx);
        if (h->current != s)
            return;
    }
    if (!s->out_done)
        return;
    h->current = NULL;
    h->discarding = !s->in_done;
    h->discarded = 0;
    if (!h->keep_alive || h->wire.closing)
        finish_connection(h);
    stream_close(s, NULL, true);
}

/* ---- in ---- */

/* A pause applies to the body, not to the head. */
static bool is_held_back(const struct stream *s)
{
    return s->paused && s->in_head && !s->in_done;
}

static bool may_parse(const struct h1 *h)
{
    const struct stream *s = h->current;
    if (h->wire.failed || h->wire.finished || h->parsing || (s && s->upgraded))
        return false;
    return s ? !s->in_done && !is_held_back(s) : h->wire.config.is_server;
}

/* Feeds llhttp as far as allowed; returns the number of bytes consumed. */
static size_t parse(struct h1 *h, struct str bytes)
{
    size_t done = 0;
    while ((done < bytes.len || h->stopped) && may_parse(h)) {
        h->stopped = false;
        h->parsing = true;
        llhttp_errno_t rc = llhttp_execute(&h->parser, bytes.ptr + done, bytes.len - done);
        h->parsing = false;
        if (rc == HPE_OK)
            done = bytes.len;
        else
            done = (size_t)(llhttp_get_error_pos(&h->parser) - bytes.ptr);
        if (rc == HPE_PAUSED) {
            llhttp_resume(&h->parser);
            h->stopped = true; /* the end of a message may be due without another byte */
        } else if (rc == HPE_PAUSED_UPGRADE)
            llhttp_resume_after_upgrade(&h->parser);
        else if (rc != HPE_OK && !h->wire.failed && !h->wire.finished)
            give_up(h);
        settle(h);
    }
    return done;
}

static void update_reading(struct h1 *h)
{
    bool waits = h->current && is_held_back(h->current);
    h->wire.owner->set_reading(h->wire.owner_ctx, !waits && h->held.len <= H1_HELD_MAX);
}

/* Delivers bytes of another protocol; while the stream is paused they are held. */
static void hand_out(struct h1 *h, struct str bytes)
{
    struct stream *s = h->current;
    if (s->paused || h->held.len) {
        buf_add(&h->held, bytes.ptr, bytes.len);
        return;
    }
    s->active_ms = env_mono_ms(h->wire.env);
    if (s->on && s->on->data)
        s->on->data(s->ctx, bytes);
}

static bool is_upgraded(const struct h1 *h)
{
    return h->current && h->current->upgraded;
}

static void h1_feed(struct wire *w, struct str bytes)
{
    struct h1 *h = h1_of(w);
    if (is_upgraded(h)) {
        hand_out(h, bytes);
        update_reading(h);
        return;
    }
    if (!w->config.is_server && !h->current) {
        wire_fail(w, ERR_UNAVAILABLE, "the server spoke without being asked");
        return;
    }
    size_t done = h->held.len ? 0 : parse(h, bytes);
    if (w->failed || w->finished)
        return;
    if (done < bytes.len && !w->config.is_server && !h->current)
        finish_connection(h); /* data after the response: do not reuse the connection */
    else
        buf_add(&h->held, bytes.ptr + done, bytes.len - done);
    update_reading(h);
}

/* The peer has closed, and everything before that was read. */
static void end_input(struct h1 *h)
{
    struct stream *s = h->current;
    struct error err;
    bool is_server = h->wire.config.is_server;
    h->keep_alive = false;
    if (!is_server && s && s->in_head && !s->in_done) {
        h->parsing = true;
        llhttp_errno_t rc = llhttp_finish(&h->parser); /* may complete a response */
        h->parsing = false;
        h->keep_alive = false;
        if (rc == HPE_OK || rc == HPE_PAUSED)
            settle(h);
    }
    s = h->current;
    if (!s)
        finish_connection(h);
    else if (s->in_done && (!is_server || s->out_finished))
        return; /* paused; or the client only closed its sending side, and waits for its response */
    else if (!is_server)
        wire_fail(&h->wire, ERR_UNAVAILABLE, "the server closed before it had answered");
    else {
        h->current = NULL;
        fail(&err, ERR_UNAVAILABLE, "the client went away");
        finish_connection(h);
        stream_close(s, &err, true);
    }
}

static void look_for_end(struct h1 *h)
{
    bool waits = h->held.len || (h->current && is_held_back(h->current));
    if (h->eof && !waits && !h->wire.failed && !h->wire.finished)
        end_input(h);
}

static void h1_eof(struct wire *w)
{
    struct h1 *h = h1_of(w);
    h->eof = true;
    if (w->config.is_server && !is_upgraded(h))
        buf_done(&h->held); /* pipelined requests of a client that has left */
    wire_kick(w);
}

static void h1_step(struct wire *w)
{
    struct h1 *h = h1_of(w);
    settle(h);
    if (h->held.len && is_upgraded(h) && !h->current->paused) {
        struct buf held = h->held;
        buf_init(&h->held, held.limit);
        hand_out(h, buf_str(&held));
        buf_done(&held);
    } else if ((h->held.len || h->stopped) && may_parse(h)) {
        /* Parsing can end the connection, which empties `held`: so work on a copy. */
        struct buf held = h->held;
        struct str in = { held.ptr ?: "", held.len };
        buf_init(&h->held, held.limit);
        size_t done = parse(h, in);
        if (!w->failed && !w->finished)
            buf_add(&h->held, in.ptr + done, in.len - done);
        buf_done(&held);
    }
    look_for_end(h);
    if (!w->failed && !w->finished)
        update_reading(h);
}

/* ---- out ---- */

static struct str h1_output(struct wire *w)
{
    struct h1 *h = h1_of(w);
    struct stream *s = h->current;
    buf_eat(&h->out, h->out_given);
    h->out_given = 0;
    if (s && s->head_queued && !s->out_done) {
        if (!s->marked)
            stream_mark(s);
        struct str body = stream_out(s);
        if (body.len > H1_PIECE_MAX)
            body.len = H1_PIECE_MAX;
        if (body.len) {
            h1_add_body(&h->out, body, h->framing);
            stream_out_eat(s, body.len);
        }
        if (s->out_finished && stream_out(s).len == 0) {
            if (h->framing == H1_CHUNKED && !s->mute)
                buf_add_text(&h->out, "0\r\n\r\n");
            s->out_done = true;
            wire_kick(w);
        }
    }
    if (h->out.len == 0)
        buf_done(&h->out);
    h->out_given = h->out.len;
    return buf_str(&h->out);
}

static struct stream *h1_open(struct wire *w, const struct wire_head *head)
{
    struct h1 *h = h1_of(w);
    struct stream *s = stream_new(w);
    h->current = s;
    h->keep_alive = false;
    bool usual_body = str_eq(head->method, STR("POST")) || str_eq(head->method, STR("PUT")) ||
                      str_eq(head->method, STR("PATCH"));
    h->framing = head->body_bytes > 0 || (head->body_bytes == 0 && usual_body) ? H1_LENGTH
                 : head->body_bytes < 0                                        ? H1_CHUNKED
                                                                               : H1_NO_BODY;
    s->is_head_request = str_eq(head->method, STR("HEAD"));
    s->head_queued = true;
    s->out_left = head->body_bytes;
    h1_add_request(&h->out, head, h->framing);
    return s;
}

static void h1_respond(struct stream *s, const struct wire_head *head)
{
    struct h1 *h = h1_of(s->wire);
    bool is_old = h->parser.http_minor == 0;
    h->framing = head->body_bytes >= 0 ? H1_LENGTH : is_old ? H1_UNTIL_END : H1_CHUNKED;
    if (head->status == 204 || (s->mute && head->body_bytes < 0))
        h->framing = H1_NO_BODY;
    h->keep_alive = h->keep_alive && !s->wire->closing;
    h1_add_response(&h->out, head, h->framing, h->keep_alive);
}

static void h1_upgrade(struct stream *s, struct str protocol, struct http_headers headers)
{
    struct h1 *h = h1_of(s->wire);
    h->framing = H1_UNTIL_END;
    h->keep_alive = false;
    h1_add_upgrade(&h->out, protocol, headers);
}

static void h1_wake(struct stream *s)
{
    (void)s; /* h1_output() checks by itself */
}

static void h1_dropped(struct stream *s)
{
    struct h1 *h = h1_of(s->wire);
    assert(h->current == s);
    bool untouched = !s->marked && !s->wire->config.is_server;
    h->current = NULL;
    stream_free(s);
    buf_done(&h->out);
    h->out_given = 0;
    if (!untouched)
        finish_connection(h);
}

static size_t h1_capacity(const struct wire *w)
{
    const struct h1 *h = container_of(w, const struct h1, wire);
    return h->current ? 0 : 1;
}

static void h1_drain(struct wire *w)
{
    struct h1 *h = h1_of(w);
    w->closing = true;
    if (!h->current && !h->message_open)
        finish_connection(h);
}

static void h1_free(struct wire *w)
{
    struct h1 *h = h1_of(w);
    wire_done(w);
    buf_done(&h->out);
    buf_done(&h->held);
    buf_done(&h->target);
    free(h);
}

static const struct wire_ops h1_ops = {
    .feed = h1_feed,
    .eof = h1_eof,
    .step = h1_step,
    .output = h1_output,
    .open = h1_open,
    .respond = h1_respond,
    .upgrade = h1_upgrade,
    .wake = h1_wake,
    .dropped = h1_dropped,
    .capacity = h1_capacity,
    .drain = h1_drain,
    .free = h1_free,
};

struct wire *wire_h1_new(const struct env *env, const struct wire_config *config,
    const struct wire_owner *owner, void *ctx)
{
    struct h1 *h = mem_new_of(struct h1);
    wire_init(&h->wire, &h1_ops, env, config, owner, ctx);
    llhttp_init(&h->parser, config->is_server ? HTTP_REQUEST : HTTP_RESPONSE, &settings);
    h->parser.data = h;
    buf_init(&h->out, SIZE_MAX / 2); /* a head and one part of a body */
    buf_init(&h->held, SIZE_MAX / 2);
    buf_init(&h->target, h->wire.head.limits.header_bytes_max);
    return &h->wire;
}
