#include "mcp/exchange.h"

#include "http/head.h"
#include "mcp/rpc.h"
#include "mcp/session.h"

/* ---- the request ---- */

struct arena *mcp_arena(struct mcp_exchange *x)
{
    return x->in_messages && x->is_stream ? &x->message : &x->arena;
}

struct str mcp_method(const struct mcp_exchange *x)
{
    return x->method;
}

struct str mcp_path(const struct mcp_exchange *x)
{
    return x->path;
}

struct str mcp_query(const struct mcp_exchange *x)
{
    return x->query;
}

struct str mcp_authority(const struct mcp_exchange *x)
{
    return x->authority;
}

struct http_headers mcp_headers(const struct mcp_exchange *x)
{
    return x->headers;
}

bool mcp_is_tls(const struct mcp_exchange *x)
{
    return x->tls;
}

const char *mcp_remote_address(const struct mcp_exchange *x)
{
    return x->remote;
}

uint16_t mcp_remote_port(const struct mcp_exchange *x)
{
    return x->remote_port;
}

const char *mcp_session_id(const struct mcp_exchange *x)
{
    return x->session ? x->session->id : x->session_id.len ? x->session_id.ptr : NULL;
}

int64_t mcp_started_ms(const struct mcp_exchange *x)
{
    return x->started_ms;
}

int64_t mcp_started_wall_ms(const struct mcp_exchange *x)
{
    return x->started_wall_ms;
}

int64_t mcp_body_bytes(const struct mcp_exchange *x)
{
    return x->body_bytes;
}

void mcp_set_body_limit(struct mcp_exchange *x, int64_t bytes)
{
    x->body_limit = bytes;
    x->body.limit = (size_t)bytes + 1;
}

void mcp_capture_request(struct mcp_exchange *x, int64_t bytes_max)
{
    x->request_capture = bytes_max > x->request_capture ? bytes_max : x->request_capture;
}

struct str mcp_captured_request(const struct mcp_exchange *x)
{
    bool keeps = x->body_ended && x->body.len && (int64_t)x->body.len <= x->request_capture;
    return keeps ? buf_str(&x->body) : (struct str){ 0 };
}

const struct mcp_message *mcp_request(const struct mcp_exchange *x)
{
    return &x->request;
}

const struct mcp_identity *mcp_identity(const struct mcp_exchange *x)
{
    return &x->identity;
}

void mcp_set_identity(struct mcp_exchange *x, const struct mcp_identity *identity)
{
    x->identity = *identity;
}

/* ---- the backend request ---- */

static bool set_request(struct mcp_exchange *x, struct str raw, struct error *err)
{
    struct mcp_message m;
    if (rpc_read(&x->arena, raw, &m, err) != RPC_OK)
        return false;
    x->request = m;
    return true;
}

bool mcp_request_splice(struct mcp_exchange *x, const char *path, struct json value)
{
    struct str raw;
    struct error err;
    return rpc_splice(
               &x->arena, x->request.raw, path, str_of(json_to_text(&x->arena, value)), &raw) &&
           set_request(x, raw, &err);
}

bool mcp_request_replace(struct mcp_exchange *x, struct json message, struct error *err)
{
    struct mcp_message old = x->request;
    if (!set_request(x, str_of(json_to_text(&x->arena, message)), err))
        return false;
    if (x->request.kind == old.kind)
        return true;
    x->request = old;
    return fail(err, ERR_INVALID, "the new message is of another kind than the request");
}

void mcp_backend_header(struct mcp_exchange *x, const char *name, const char *value)
{
    struct header_change *c = arena_new(&x->arena, struct header_change);
    *c = (struct header_change){ .name = arena_strdup(&x->arena, name),
        .value = arena_strdup(&x->arena, value),
        .next = x->changes };
    x->changes = c;
}

const char *mcp_backend_url(const struct mcp_exchange *x)
{
    return proxy_backend_url(x);
}

static bool is_changed(const struct header_change *c, struct str name)
{
    for (; c; c = c->next)
        if (str_eq_nocase(str_of(c->name), name))
            return true;
    return false;
}

/* The proxy itself sets these headers: the identity of the client, and the hops of the request. */
static bool is_ours(struct str name)
{
    static const char *const ours[] = { "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-proto",
        "x-forwarded-port",
        "x-forwarded-prefix",
        "forwarded",
        "x-real-ip",
        "expect",
        "content-length",
        "host" };
    for (size_t i = 0; i < lengthof(ours); i++)
        if (str_eq_nocase(name, str_of(ours[i])))
            return true;
    return false;
}

struct http_headers mcp_backend_headers(struct mcp_exchange *x)
{
    size_t changes = 0;
    for (const struct header_change *c = x->changes; c; c = c->next)
        changes++;
    struct http_header *list =
        arena_array(&x->arena, x->headers.count + changes + 2, sizeof(*list));
    size_t count = 0;
    for (size_t i = 0; i < x->headers.count; i++) {
        struct str name = x->headers.list[i].name;
        if (!head_is_hop_by_hop(name) && !is_ours(name) && !is_changed(x->changes, name))
            list[count++] = x->headers.list[i];
    }
    for (const struct header_change *c = x->changes; c; c = c->next) {
        bool is_latest = true;
        for (const struct header_change *d = x->changes; d != c; d = d->next)
            is_latest = is_latest && !str_eq_nocase(str_of(d->name), str_of(c->name));
        if (is_latest && c->value)
            list[count++] = (struct http_header){ str_of(c->name), str_of(c->value) };
    }
    list[count++] = (struct http_header){ STR("x-forwarded-for"), str_of(x->remote) };
    list[count++] =
        (struct http_header){ STR("x-forwarded-proto"), x->tls ? STR("https") : STR("http") };
    return (struct http_headers){ list, count };
}

/* ---- answering instead of the backend ---- */

void mcp_answer(struct mcp_exchange *x, int status, const char *content_type, struct str body)
{
    x->answered = true;
    x->answer_status = status;
    x->answer_type = arena_strdup(&x->arena, content_type);
    x->answer_body = (struct str){ str_dup(&x->arena, body), body.len };
}

void mcp_answer_header(struct mcp_exchange *x, const char *name, const char *value)
{
    if (x->answer_header_count == lengthof(x->answer_headers))
        return;
    x->answer_headers[x->answer_header_count++] =
        (struct http_header){ str_of(arena_strdup(&x->arena, name)),
            str_of(arena_strdup(&x->arena, value)) };
}

void mcp_answer_error(
    struct mcp_exchange *x, int status, int64_t code, const char *message, struct json data)
{
    struct str text = rpc_error(mcp_arena(x), x->request.id_raw, code, message, data);
    if (x->in_messages)
        x->answer_error = text;
    else
        mcp_answer(x, status, "application/json", text);
}

void mcp_set_signed(struct mcp_exchange *x)
{
    x->is_signed = true;
}

void mcp_set_denied(struct mcp_exchange *x)
{
    x->denied = true;
}

bool mcp_is_denied(const struct mcp_exchange *x)
{
    return x->denied;
}

/* ---- the backend's answer ---- */

int mcp_status(const struct mcp_exchange *x)
{
    return x->status;
}

int64_t mcp_answer_bytes(const struct mcp_exchange *x)
{
    return x->answer_bytes;
}

const struct mcp_message *mcp_reply(const struct mcp_exchange *x)
{
    return &x->reply;
}

void mcp_message_set_result(struct mcp_exchange *x, struct json result)
{
    struct str raw;
    if (rpc_splice(mcp_arena(x),
            x->reply.raw,
            "result",
            str_of(json_to_text(mcp_arena(x), result)),
            &raw)) {
        x->reply.raw = raw;
        x->reply.result = result;
        /* The id may point into the old text. */
        if (!rpc_span(raw, "id", &x->reply.id_raw))
            x->reply.id_raw = (struct str){ 0 };
    }
}

void mcp_capture_answer(struct mcp_exchange *x, size_t max)
{
    x->capture_max = x->capture_max > max ? x->capture_max : max;
}

struct str mcp_captured(const struct mcp_exchange *x)
{
    return buf_str(&x->captured);
}

bool mcp_is_stream(const struct mcp_exchange *x)
{
    return x->is_stream;
}
