#include "mcp/hub.h"

#include <stdlib.h>

#include "mcp/hub_internal.h"

#define PROTOCOL_DEFAULT "2025-11-25"

/* ---- answers of the hub ---- */

void hub_refuse(struct mcp_exchange *x, int status, int64_t code, const char *text)
{
    x->backend = NULL;
    if (x->is_detached) {
        answer_message(x, rpc_error(&x->arena, x->request.id_raw, code, text, json_none), true);
        return;
    }
    mcp_answer_error(x, status, code, text, json_none);
    chain_send_answer(x);
}

static void answer_empty(struct mcp_exchange *x, int status)
{
    x->backend = NULL;
    mcp_answer(x, status, NULL, (struct str){ 0 });
    chain_send_answer(x);
}

static void answer_text(struct mcp_exchange *x, int status, const char *text)
{
    x->backend = NULL;
    proxy_answer_text(x, status, text);
}

static void answer_result(struct mcp_exchange *x, struct json result)
{
    struct str raw = rpc_response(&x->arena, x->request.id_raw, result);
    x->backend = NULL;
    answer_message(x, raw, true);
}

/* ---- sending ---- */

void hub_send(struct line *l, struct str raw)
{
    l->wire->ops->send(l->wire, raw, &(struct wire_note){ 0 });
}

void hub_notify(struct line *l, const char *method, struct json params)
{
    cleanup(arena_done) struct arena a = HUB_ARENA;
    struct json m = json_map(
        &a, { "jsonrpc", json_str("2.0") }, { "method", json_str(method) }, { "params", params });
    hub_send(l, str_of(json_to_text(&a, m)));
}

/* Messages are sent as lines. In JSON, line ends occur only between tokens. */
static struct str one_line(struct arena *a, struct str raw)
{
    if (!memchr(raw.ptr, '\n', raw.len) && !memchr(raw.ptr, '\r', raw.len))
        return raw;
    char *copy = str_dup(a, raw);
    for (size_t i = 0; i < raw.len; i++)
        if (copy[i] == '\n' || copy[i] == '\r')
            copy[i] = ' ';
    return (struct str){ copy, raw.len };
}

static struct str without_mark(struct str raw)
{
    struct str mark = STR("\xef\xbb\xbf");
    return str_starts(raw, mark) ? (struct str){ raw.ptr + mark.len, raw.len - mark.len } : raw;
}

/* ---- calls ---- */

static bool is_id(const struct table_node *n, const void *key)
{
    return text_eq(container_of(n, struct hub_call, by_id)->id, key);
}

static bool knows_id(const struct hub *hub, const char *id)
{
    return table_find(&hub->calls, table_hash(&hub->calls, id, strlen(id)), is_id, id);
}

/* From the session and the client's id, to make a server's log readable; always unique. */
static const char *server_id(struct hub *hub, struct hub_call *c, const struct mcp_exchange *x)
{
    const char *session = x->session ? x->session->id : NULL;
    char fresh[37];
    if (!session) {
        session_new_id(hub->o.env, fresh);
        session = fresh;
    }
    const char *text = json_text(x->request.id);
    const char *kind = text ? "s:" : json_is(x->request.id, JSON_INT) ? "int64:" : "number:";
    struct str word = text ? str_of(text) : x->request.id_raw;
    struct json id = json_strf(&c->arena, "%s|%s%.*s", session, kind, (int)word.len, word.ptr);
    const char *raw = json_to_text(&c->arena, id);
    while (knows_id(hub, raw))
        raw = json_to_text(&c->arena,
            json_strf(&c->arena, "%s|%llu", session, (unsigned long long)++hub->numbers));
    return raw;
}

static void link_call(struct hub_call *c, struct peer *peer)
{
    struct line *l = c->line;
    c->older = l->newest;
    if (c->older)
        c->older->newer = c;
    l->newest = c;
    c->peer = peer;
    if (!peer)
        return;
    c->peer_link = &peer->calls;
    c->peer_next = peer->calls;
    if (c->peer_next)
        c->peer_next->peer_link = &c->peer_next;
    peer->calls = c;
    peer->call_count++;
}

struct hub_call *hub_call_new(struct hub *hub, struct mcp_exchange *x, struct peer *peer)
{
    struct hub_call *c = mem_new_of(struct hub_call);
    arena_init(&c->arena, HUB_ARENA_BYTES);
    c->hub = hub;
    c->line = &hub->line;
    c->x = x;
    c->client_id = (struct str){ str_dup(&c->arena, x->request.id_raw), x->request.id_raw.len };
    c->method = arena_strdup(&c->arena, x->request.method);
    c->subject = arena_strdup(&c->arena, x->identity.subject);
    c->issuer = arena_strdup(&c->arena, x->identity.issuer);
    c->modern = x->request.modern;
    c->log_level = -1;
    c->id = server_id(hub, c, x);
    table_add(&hub->calls, &c->by_id, table_hash(&hub->calls, c->id, strlen(c->id)));
    hub->call_count++;
    link_call(c, peer);
    x->call = c;
    return c;
}

void hub_call_unsend(struct hub_call *c)
{
    struct mcp_wire *w = c->line->wire;
    c->sent = false;
    if (w->ops->forget)
        w->ops->forget(w, &c->tag);
}

void hub_call_free(struct hub_call *c)
{
    struct hub *hub = c->hub;
    hub_call_unsend(c);
    timer_stop(hub->o.env, &c->patience);
    table_remove(&hub->calls, &c->by_id);
    if (c->token)
        table_remove(&hub->tokens, &c->by_token);
    *(c->newer ? &c->newer->older : &c->line->newest) = c->older;
    if (c->older)
        c->older->newer = c->newer;
    if (c->peer_link) {
        *c->peer_link = c->peer_next;
        if (c->peer_next)
            c->peer_next->peer_link = c->peer_link;
        c->peer->call_count--;
    }
    if (c->x)
        c->x->call = NULL;
    hub->call_count--;
    arena_done(&c->arena);
    free(c);
}

void hub_call_fail(struct hub_call *c, int status, int64_t code, const char *text)
{
    struct mcp_exchange *x = take(c->x);
    struct str id = { NULL, 0 };
    if (x) {
        x->call = NULL;
        id = (struct str){ str_dup(&x->arena, c->client_id), c->client_id.len };
    }
    hub_call_free(c);
    if (!x)
        return;
    if (!x->responded) {
        hub_refuse(x, status, code, text);
        return;
    }
    struct str raw = rpc_error(&x->arena, id, code, text, json_none);
    x->backend = NULL;
    answer_message(x, raw, true);
}

/* Replaces the progress token, because clients may choose equal ones. */
static struct str give_token(struct hub_call *c, struct str raw, struct arena *a)
{
    struct hub *hub = c->hub;
    struct str token, changed;
    char fresh[37];
    if (!rpc_span(raw, "params._meta.progressToken", &token))
        return raw;
    if (!c->token) {
        session_new_id(hub->o.env, fresh);
        c->client_token = (struct str){ str_dup(&c->arena, token), token.len };
        c->token = arena_strdup(&c->arena, fresh);
        table_add(&hub->tokens, &c->by_token, table_hash(&hub->tokens, fresh, strlen(fresh)));
    }
    struct str text = str_of(arena_printf(a, "\"%s\"", c->token));
    return rpc_splice(a, raw, "params._meta.progressToken", text, &changed) ? changed : raw;
}

static void send_call(struct hub_call *c)
{
    cleanup(arena_done) struct arena a = HUB_ARENA;
    struct line *l = c->line;
    struct str raw = c->request, changed;
    if (!c->modern && l->modern)
        raw = legacy_request(c, raw, &a);
    if (c->modern && !l->modern)
        raw = modern_request_text(c, raw, &a);
    raw = give_token(c, raw, &a);
    if (!rpc_splice(&a, raw, "id", str_of(c->id), &changed))
        return;
    line_flush_initialized(l);
    if (c->modern && !l->modern)
        modern_set_level(c);
    c->sent = true;
    raw = one_line(&a, without_mark(changed));
    l->wire->ops->send(l->wire, raw, &(struct wire_note){ .x = c->x, .tag = &c->tag });
}

void hub_call_begin(struct hub_call *c, struct str raw)
{
    c->request = (struct str){ str_dup(&c->arena, raw), raw.len };
    if (c->line->state == LINE_READY)
        send_call(c);
    else
        line_want(c->line, c->modern, c->id, json_none);
}

/* The hub makes one handshake for all clients; a legacy client's own is answered from its
 * result. */
static void answer_initialize(struct hub_call *c)
{
    struct mcp_exchange *x = c->x;
    struct line *l = c->line;
    struct arena *a = &c->arena;
    if (!x) {
        hub_call_free(c);
        return;
    }
    const char *version = json_get_text(x->request.params, "protocolVersion");
    struct str about =
        l->modern ? legacy_initialize_result(l, a, version ? version : PROTOCOL_DEFAULT) : l->about;
    struct str head = str_of(arena_printf(a,
        "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":",
        (int)c->client_id.len,
        c->client_id.ptr));
    struct buf raw = BUF_INIT(WIRE_LINE_BYTES_MAX);
    buf_add(&raw, head.ptr, head.len);
    buf_add(&raw, about.ptr, about.len);
    buf_add_char(&raw, '}');
    hub_call_free(c);
    x->backend = NULL;
    answer_message(x, buf_str(&raw), true);
    buf_done(&raw);
}

void line_send_waiting(struct line *l)
{
    struct hub_call *c = l->newest;
    while (c && c->older)
        c = c->older;
    while (c) {
        struct hub_call *next = c->newer;
        if (c->is_initialize)
            answer_initialize(c);
        else if (c->parked || c->sent)
            ;
        else if (c->modern && !l->modern && text_eq(c->method, "server/discover"))
            hub_deliver(c, NULL, NULL);
        else if (c->modern && !l->modern && c->endless)
            modern_listen(c);
        else
            send_call(c);
        c = next;
    }
}

/* ---- messages from clients ---- */

unsigned hub_read_capabilities(struct json c)
{
    return (json_is(json_member(c, "roots"), JSON_MAP) ? CAN_ROOTS : 0) |
           (json_is(json_member(c, "sampling"), JSON_MAP) ? CAN_SAMPLING : 0) |
           (json_is(json_member(c, "elicitation"), JSON_MAP) ? CAN_ELICIT : 0);
}

static struct peer *find_peer(struct hub *hub, struct mcp_exchange *x)
{
    struct mcp_session *s = x->session;
    if (!s && x->session_id.len && x->session_id.len <= SESSION_ID_BYTES_MAX) {
        s = session_find(hub->o.sessions, x->session_id, &x->identity);
        if (s) {
            x->session = s;
            s->users++;
        }
    }
    return s ? s->peer : NULL;
}

static bool has_room(struct hub *hub, struct peer *peer, struct mcp_exchange *x)
{
    if (hub->call_count < HUB_CALLS_MAX && (!peer || peer->call_count < HUB_SESSION_CALLS_MAX))
        return true;
    mcp_answer_header(x, "retry-after", "1");
    hub_refuse(x, 429, RPC_INTERNAL_CODE, "Too many requests are under way; try again later");
    return false;
}

static void take_initialize(struct hub *hub, struct mcp_exchange *x, struct peer *peer)
{
    struct json params = x->request.params;
    if (!peer) {
        char id[37];
        session_new_id(hub->o.env, id);
        x->session =
            session_add(hub->o.sessions, str_of(id), (struct str){ 0 }, &x->identity, STR(""));
        x->session->users++;
        peer = peer_new(hub, x->session, 0);
        mcp_answer_header(x, "mcp-session-id", id);
    }
    peer->can = hub_read_capabilities(json_member(params, "capabilities"));
    peer_set_hello(peer, json_to_text(&x->arena, params));
    struct hub_call *c = hub_call_new(hub, x, peer);
    c->is_initialize = true;
    if (hub->line.state == LINE_READY)
        answer_initialize(c);
    else
        line_want(&hub->line, false, c->id, params);
}

/* Methods that a modern server does not know any more. True: answered. */
static bool answer_here(struct hub *hub, struct mcp_exchange *x)
{
    static const char *const gone[] = {
        "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"
    };
    if (!hub->line.modern || hub->line.state != LINE_READY)
        return false;
    for (size_t i = 0; i < lengthof(gone); i++)
        if (text_eq(x->request.method, gone[i])) {
            if (text_starts(gone[i], "resources/"))
                legacy_listen(&hub->line);
            answer_result(x, json_empty_map());
            return true;
        }
    return false;
}

static const char *const level_names[] = {
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
};

int hub_level_of(const char *name)
{
    for (size_t i = 0; i < lengthof(level_names); i++)
        if (text_eq(level_names[i], name))
            return (int)i;
    return -1;
}

const char *hub_level_name(int level)
{
    return level < 0 || level >= (int)lengthof(level_names) ? NULL : level_names[level];
}

/* Records what the hub needs to know about a forwarded request. */
static bool note_request(struct mcp_exchange *x, struct peer *peer)
{
    const char *method = x->request.method, *uri = json_get_text(x->request.params, "uri");
    if (!peer)
        return true;
    if (text_eq(method, "logging/setLevel"))
        peer->level = hub_level_of(json_get_text(x->request.params, "level"));
    if (text_eq(method, "resources/unsubscribe") && uri)
        peer_unsubscribe(peer, uri);
    if (text_eq(method, "resources/subscribe") && uri && !peer_subscribe(peer, uri)) {
        hub_refuse(x, 429, RPC_INTERNAL_CODE, "Too many resources are subscribed in this session");
        return false;
    }
    return true;
}

static void take_request(struct hub *hub, struct mcp_exchange *x)
{
    if (x->request.modern) {
        if (has_room(hub, NULL, x))
            modern_request(hub, x);
        return;
    }
    struct peer *peer = find_peer(hub, x);
    const char *method = x->request.method;
    if (x->session_id.len && !peer && !text_eq(method, "initialize")) {
        hub_refuse(x, 404, RPC_SESSION_CODE, "Session not found");
        return;
    }
    if (!has_room(hub, peer, x))
        return;
    if (text_eq(method, "initialize")) {
        take_initialize(hub, x, x->is_detached ? peer : NULL);
        return;
    }
    if (!note_request(x, peer) || answer_here(hub, x))
        return;
    struct hub_call *c = hub_call_new(hub, x, peer);
    c->can = peer ? peer->can : 0;
    /* Another client still subscribes to it: the server must not get this one's unsubscribe. */
    const char *uri = json_get_text(x->request.params, "uri");
    if (text_eq(method, "resources/unsubscribe") && uri && hub_anyone_subscribed(hub, uri)) {
        hub_call_free(c);
        answer_result(x, json_empty_map());
        return;
    }
    hub_call_begin(c, x->request.raw);
}

static struct hub_call *find_call(const struct peer *peer, struct json id, struct arena *a)
{
    const char *text = json_to_text(a, id);
    for (struct hub_call *c = peer ? peer->calls : NULL; c; c = c->peer_next)
        if (str_eq(c->client_id, str_of(text)))
            return c;
    return NULL;
}

static void take_cancel(struct hub *hub, struct mcp_exchange *x, struct peer *peer)
{
    struct arena *a = &x->arena;
    struct json id = json_member(x->request.params, "requestId");
    struct hub_call *c = find_call(peer, id, a);
    struct str raw;
    if (!c || !c->sent || c->cancelled)
        return;
    c->cancelled = true;
    if (rpc_splice(a, x->request.raw, "params.requestId", str_of(c->id), &raw))
        hub_send(&hub->line, one_line(a, without_mark(raw)));
}

static void take_notification(struct hub *hub, struct mcp_exchange *x)
{
    const char *method = x->request.method;
    struct line *l = &hub->line;
    struct peer *peer = find_peer(hub, x);
    bool known = peer || !x->session_id.len;
    if (text_eq(method, "notifications/cancelled"))
        take_cancel(hub, x, peer);
    else if (text_eq(method, "notifications/initialized"))
        line_flush_initialized(l);
    else if (known && l->state == LINE_READY && !l->modern)
        hub_notify(l, method, x->request.params);
    answer_empty(x, 202);
}

static struct ask *find_ask(const struct peer *peer, struct json id, struct arena *a)
{
    struct str text = str_of(json_to_text(a, id));
    for (struct hub_call *c = peer ? peer->calls : NULL; c; c = c->peer_next)
        for (struct ask *k = c->asks; k; k = k->next)
            if (k->handed_out && !k->answered &&
                str_eq(k->id.ptr ? k->id : str_of(arena_printf(a, "\"%s\"", k->key)), text))
                return k;
    return NULL;
}

static void take_response(struct hub *hub, struct mcp_exchange *x)
{
    struct peer *peer = find_peer(hub, x);
    struct ask *k = find_ask(peer, x->request.id, &x->arena);
    if (k) {
        k->answered = true;
        if (k->id.ptr)
            hub_send(&hub->line, one_line(&x->arena, without_mark(x->request.raw)));
        else
            legacy_input_given(k, &x->request);
    }
    answer_empty(x, 202);
}

static void take_post(struct hub *hub, struct mcp_exchange *x)
{
    if (x->request.kind == MCP_REQUEST)
        take_request(hub, x);
    else if (x->request.kind == MCP_NOTIFICATION)
        take_notification(hub, x);
    else if (x->request.kind == MCP_RESPONSE)
        take_response(hub, x);
    else
        answer_text(x, 400, "Bad Request");
}

/* The client of the session that a GET or DELETE is about. NULL: answered. */
static struct peer *need_peer(struct hub *hub, struct mcp_exchange *x)
{
    bool is_get = str_eq(x->method, STR("GET"));
    if (!x->session_id.len) {
        answer_text(x,
            400,
            is_get ? "Mcp-Session-Id header required for standalone SSE"
                   : "Mcp-Session-Id header required for DELETE");
        return NULL;
    }
    struct peer *peer = find_peer(hub, x);
    if (!peer)
        hub_refuse(x, 404, RPC_SESSION_CODE, "Session not found");
    return peer;
}

static void end_session(struct hub *hub, struct mcp_exchange *x)
{
    struct peer *peer = need_peer(hub, x);
    if (!peer)
        return;
    session_remove(hub->o.sessions, peer->session);
    answer_empty(x, 204);
}

static bool is_modern_head(const struct mcp_exchange *x)
{
    return str_eq(http_header_find(x->headers, "mcp-protocol-version"), STR(RPC_VERSION_MODERN));
}

static void take_streamable(struct hub *hub, struct mcp_exchange *x)
{
    bool is_get = str_eq(x->method, STR("GET"));
    if (!hub->o.any_path && !str_eq(x->path, STR("/mcp"))) {
        answer_text(x, 404, "404 page not found");
    } else if (str_eq(x->method, STR("POST"))) {
        take_post(hub, x);
    } else if (is_modern_head(x) || (!is_get && !str_eq(x->method, STR("DELETE")))) {
        mcp_answer_header(x, "allow", is_modern_head(x) ? "POST" : "GET, POST, DELETE");
        answer_text(x, 405, "Method not allowed");
    } else if (is_get) {
        struct peer *peer = need_peer(hub, x);
        if (peer)
            outlet_open(hub, x, peer);
    } else {
        end_session(hub, x);
    }
}

/* "sessionId=…" or "session_id=…" of the query. */
static struct str session_of_query(const struct mcp_exchange *x)
{
    struct str rest = x->query;
    while (rest.ptr) {
        struct str value = str_cut(&rest, '&');
        struct str name = str_cut(&value, '=');
        if (str_eq(name, STR("sessionId")) || str_eq(name, STR("session_id")))
            return value;
    }
    return (struct str){ 0 };
}

/* HTTP+SSE of 2024-11-05: a POST gets a 202, and its answer is sent on the stream. */
static void take_sse(struct hub *hub, struct mcp_exchange *x)
{
    bool is_post = str_eq(x->method, STR("POST"));
    if (str_eq(x->path, STR("/sse")) && str_eq(x->method, STR("GET"))) {
        outlet_open_sse(hub, x);
        return;
    }
    if (!str_eq(x->path, STR("/messages")) || !is_post) {
        answer_text(x, 404, "404 page not found");
        return;
    }
    x->session_id = session_of_query(x);
    if (!x->session_id.len) {
        answer_text(x, 400, "sessionId is missing from the query");
        return;
    }
    struct peer *peer = find_peer(hub, x);
    if (!peer || !peer->stream) {
        answer_text(x, 404, "Could not find session");
        return;
    }
    if (x->request.kind == MCP_REQUEST)
        answer_detach(x, peer->stream->x);
    take_post(hub, x);
}

static void hub_send_exchange(struct mcp_backend *base, struct mcp_exchange *x)
{
    struct hub *hub = container_of(base, struct hub, base);
    x->call = NULL;
    if (hub->o.serves_sse)
        take_sse(hub, x);
    else
        take_streamable(hub, x);
}

/* ---- disconnects ---- */

static void cancel_at_server(struct hub_call *c, const char *reason)
{
    if (!c->sent || c->cancelled || c->line->state != LINE_READY)
        return;
    cleanup(arena_done) struct arena a = HUB_ARENA;
    struct json id;
    struct error err;
    if (json_parse(&a, str_of(c->id), &id, &err))
        hub_notify(c->line,
            "notifications/cancelled",
            json_map(&a, { "requestId", id }, { "reason", json_str(reason) }));
}

/* In the legacy era a lost connection does not cancel a request: the call continues without its
 * client. */
static void hub_cancel(struct mcp_backend *base, struct mcp_exchange *x)
{
    (void)base;
    struct hub_call *c = x->call;
    if (x->stream) {
        outlet_close(x->stream);
        return;
    }
    if (!c)
        return;
    c->x = NULL;
    x->call = NULL;
    if (!c->modern && c->sent)
        return;
    cancel_at_server(c, "the client has left");
    hub_call_free(c);
}

static void hub_session_ended(struct mcp_backend *base, struct mcp_session *s)
{
    (void)base;
    struct peer *p = take(s->peer);
    if (!p)
        return;
    while (p->calls) {
        struct hub_call *c = p->calls;
        cancel_at_server(c, "the session has ended");
        hub_call_fail(c, 404, RPC_SESSION_CODE, "Session not found");
    }
    peer_free(p);
}

/* A client that does not read must not block the shared connection. It is disconnected when it is
 * too far behind; see outlet_write(). */
static void hub_pause(struct mcp_backend *base, struct mcp_exchange *x)
{
    (void)base;
    x->behind = true;
}

static void hub_resume(struct mcp_backend *base, struct mcp_exchange *x)
{
    (void)base;
    x->behind = false;
}

static void hub_free(struct mcp_backend *base)
{
    struct hub *hub = container_of(base, struct hub, base);
    while (hub->line.newest) {
        struct hub_call *c = hub->line.newest;
        if (c->x)
            c->x->backend = NULL;
        hub_call_free(c);
    }
    while (hub->streams)
        outlet_close(hub->streams);
    line_done(&hub->line);
    table_done(&hub->calls);
    table_done(&hub->tokens);
    free(hub);
}

bool hub_is_idle(const struct mcp_backend *base)
{
    const struct hub *hub = container_of(base, struct hub, base);
    return !hub->line.newest && !hub->streams;
}

struct mcp_backend *hub_new(const struct hub_options *options)
{
    static const struct mcp_backend_ops ops = {
        .send = hub_send_exchange,
        .cancel = hub_cancel,
        .pause = hub_pause,
        .resume = hub_resume,
        .free = hub_free,
        .session_ended = hub_session_ended,
        .owns_sessions = true,
    };
    struct hub *hub = mem_new_of(struct hub);
    const struct env *env = options->env;
    hub->base.ops = &ops;
    hub->o = *options;
    if (!hub->o.any_path)
        hub->o.can = CAN_ROOTS | CAN_SAMPLING | CAN_ELICIT;
    table_init(&hub->calls, env->random(env->ctx), env->random(env->ctx));
    table_init(&hub->tokens, env->random(env->ctx), env->random(env->ctx));
    line_init(&hub->line, hub, options->wire);
    return &hub->base;
}
