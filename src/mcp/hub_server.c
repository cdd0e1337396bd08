#include <stdlib.h>

#include "mcp/hub_internal.h"

/* Limit for a client that does not read: beyond it the client is disconnected. */
#define BEHIND_BYTES_MAX ((size_t)8 << 20)

/* ---- lookups ---- */

static bool is_id(const struct table_node *n, const void *key)
{
    return text_eq(container_of(n, struct hub_call, by_id)->id, key);
}

static bool is_token(const struct table_node *n, const void *key)
{
    return text_eq(container_of(n, struct hub_call, by_token)->token, key);
}

static struct hub_call *call_of_id(struct hub *hub, const char *id)
{
    struct table_node *n =
        table_find(&hub->calls, table_hash(&hub->calls, id, strlen(id)), is_id, id);
    return n ? container_of(n, struct hub_call, by_id) : NULL;
}

static struct hub_call *call_of_token(struct hub *hub, const char *token)
{
    if (!token)
        return NULL;
    uint64_t hash = table_hash(&hub->tokens, token, strlen(token));
    struct table_node *n = table_find(&hub->tokens, hash, is_token, token);
    return n ? container_of(n, struct hub_call, by_token) : NULL;
}

/* ---- to the client ---- */

static bool has_room(struct mcp_exchange *x, size_t bytes)
{
    struct mcp_exchange *to = x->sink ? x->sink : x;
    if (!to->behind)
        return true;
    to->behind_bytes += bytes;
    if (to->behind_bytes <= BEHIND_BYTES_MAX)
        return true;
    answer_cut(to);
    return false;
}

bool hub_tell(struct hub_call *c, struct str raw)
{
    if (c->x && (c->x->sink || answer_takes_events(c->x))) {
        if (has_room(c->x, raw.len))
            answer_message(c->x, raw, false);
        return true;
    }
    if (c->modern || !c->peer || !c->peer->stream)
        return false;
    outlet_write(c->peer->stream, raw);
    return true;
}

static int status_of(const struct hub_call *c, const struct mcp_message *m)
{
    int64_t code = m ? json_get_int(m->error, "code", 0) : 0;
    if (!c->modern || !code)
        return 200;
    if (code == RPC_METHOD_CODE)
        return 404;
    return code <= RPC_HEADER_CODE && code >= RPC_VERSION_CODE ? 400 : 200;
}

void hub_deliver(struct hub_call *c, const struct mcp_message *m, struct arena *a)
{
    struct line *l = c->line;
    struct str raw;
    if (!c->modern && l->modern && legacy_input_required(c, m))
        return;
    struct mcp_exchange *x = c->x;
    if (x) {
        if (c->modern && !l->modern)
            raw = modern_result(c, m, m ? a : &x->arena);
        else if (!rpc_splice(a, m->raw, "id", c->client_id, &raw))
            raw = m->raw;
        x->message_status = status_of(c, m);
    }
    hub_call_free(c);
    if (!x)
        return;
    x->backend = NULL;
    answer_message(x, raw, true);
}

/* ---- requests from the server ---- */

static void refuse_server(
    struct line *l, const struct mcp_message *m, int64_t code, const char *text)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    hub_send(l, rpc_error(&a, m->id_raw, code, text, json_none));
}

static bool same_user(const struct hub_call *a, const struct hub_call *b)
{
    return text_eq(a->subject, b->subject) && text_eq(a->issuer, b->issuer);
}

/* The newest call in progress whose client supports the request. On standard streams a message does
 * not say which call it belongs to. NULL: none, or it could be another user's. */
static struct hub_call *owner_of(
    struct line *l, struct hub_call *about, unsigned can, const char **ret_why)
{
    struct hub_call *found = NULL;
    *ret_why = "No client that has a request under way can answer this";
    for (struct hub_call *c = l->newest; c; c = c->older) {
        bool reachable = c->x || c->parked || (c->peer && c->peer->stream);
        if (!c->sent || c->cancelled || c->endless || !reachable || (c->can & can) != can ||
            (about && c != about))
            continue;
        if (found && !same_user(found, c)) {
            *ret_why =
                "Requests of several users are in progress, so the user of this one is unknown";
            return NULL;
        }
        found = found ? found : c;
    }
    return found;
}

/* Reports to a modern client which capability it should have declared. */
static bool fail_for_capability(struct line *l, struct hub_call *about, unsigned can)
{
    struct hub_call *c = about ? about : l->newest;
    while (c && (!c->sent || c->endless || !c->x))
        c = c->older;
    if (!c || !c->modern || (!about && c->older && c->older->sent && !same_user(c, c->older)))
        return false;
    struct mcp_exchange *x = take(c->x);
    struct arena *a = &x->arena;
    const char *name = can == CAN_ROOTS      ? "roots"
                       : can == CAN_SAMPLING ? "sampling"
                                             : "elicitation";
    x->call = NULL;
    struct str raw = rpc_error(a,
        x->request.id_raw,
        RPC_CAPABILITY_CODE,
        arena_printf(a, "The server needs the client capability \"%s\" for this request", name),
        json_fields(a, { "requiredCapabilities", json_map(a, { name, json_empty_map() }) }));
    hub_call_free(c);
    x->backend = NULL;
    x->message_status = 400;
    answer_message(x, raw, true);
    return true;
}

/* For a modern client, the name of the question is the server's own id. */
static const char *key_of(struct hub_call *c, struct json id)
{
    const char *key = json_text(id) ? json_text(id) : json_to_text(&c->arena, id);
    for (const struct ask *k = c->asks; k; k = k->next)
        if (text_eq(k->key, key))
            return arena_printf(&c->arena, "%s-%u", key, c->ask_count);
    return arena_strdup(&c->arena, key);
}

static void ask_client(
    struct line *l, struct hub_call *about, const struct mcp_message *m, unsigned can)
{
    const char *why;
    struct hub_call *c = owner_of(l, about, can, &why);
    if (!c) {
        refuse_server(l, m, RPC_METHOD_CODE, why);
        /* Many servers request roots on their own, soon after the handshake. */
        if (about || can != CAN_ROOTS)
            fail_for_capability(l, about, can);
        return;
    }
    if (c->ask_count >= HUB_SESSION_CALLS_MAX) {
        refuse_server(l, m, RPC_INTERNAL_CODE, "Too many questions in one request");
        return;
    }
    struct arena *a = &c->arena;
    struct ask *k = arena_new(a, struct ask);
    struct ask **end = &c->asks;
    k->key = key_of(c, m->id);
    while (*end)
        end = &(*end)->next;
    *end = k;
    k->call = c;
    k->id = (struct str){ str_dup(a, m->id_raw), m->id_raw.len };
    c->ask_count++;
    k->request = json_map(a,
        { "method", json_str(arena_strdup(a, m->method)) },
        { "params", json_copy(a, m->params) });
    if (c->modern) {
        modern_ask(c);
        return;
    }
    k->handed_out = true;
    if (hub_tell(c, m->raw))
        return;
    k->answered = true;
    refuse_server(l, m, RPC_INTERNAL_CODE, "The client has no stream open to be asked on");
}

static void take_request(struct line *l, struct hub_call *about, const struct mcp_message *m)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    if (text_eq(m->method, "ping"))
        hub_send(l, rpc_response(&a, m->id_raw, json_empty_map()));
    else if (text_eq(m->method, "elicitation/create"))
        ask_client(l, about, m, CAN_ELICIT);
    else if (text_eq(m->method, "sampling/createMessage"))
        ask_client(l, about, m, CAN_SAMPLING);
    else if (text_eq(m->method, "roots/list"))
        ask_client(l, about, m, CAN_ROOTS);
    else
        refuse_server(l, m, RPC_METHOD_CODE, "Method not found");
}

/* ---- notifications from the server ---- */

static void take_progress(struct line *l, const struct mcp_message *m, struct arena *a)
{
    struct hub_call *c = call_of_token(l->hub, json_get_text(m->params, "progressToken"));
    struct str raw;
    if (c && rpc_splice(a, m->raw, "params.progressToken", c->client_token, &raw))
        hub_tell(c, raw);
}

static void take_log(
    struct line *l, struct hub_call *about, const struct mcp_message *m, struct arena *a)
{
    const char *why;
    struct hub_call *c = owner_of(l, about, 0, &why);
    if (!c) {
        if (!l->newest)
            outlets_broadcast(l->hub, m, a);
        return;
    }
    if (!c->modern) {
        hub_tell(c, m->raw);
        return;
    }
    if (modern_wants_log(c, json_get_text(m->params, "level")))
        hub_tell(c, m->raw);
}

/* The server has cancelled its request. */
static void take_cancelled(struct line *l, const struct mcp_message *m, struct arena *a)
{
    struct str id = str_of(json_to_text(a, json_member(m->params, "requestId")));
    for (struct hub_call *c = l->newest; c; c = c->older)
        for (struct ask *k = c->asks; k; k = k->next)
            if (k->id.ptr && !k->answered && str_eq(k->id, id)) {
                k->answered = true;
                if (!c->modern)
                    hub_tell(c, m->raw);
                return;
            }
}

/* Notifications from a modern server contain the id of their subscriptions/listen. */
static bool take_tagged(struct line *l, const struct mcp_message *m, struct arena *a)
{
    struct json meta = json_member(m->params, "_meta");
    struct json id = json_member(meta, RPC_META_SUBSCRIPTION);
    struct str raw;
    if (!json_present(id))
        return false;
    struct hub_call *c = call_of_id(l->hub, json_to_text(a, id));
    if (!c) {
        outlets_broadcast(l->hub, m, a);
        return true;
    }
    struct json theirs;
    struct error err;
    if (!json_parse(a, c->client_id, &theirs, &err))
        return true;
    meta = json_with_member(a, meta, RPC_META_SUBSCRIPTION, theirs);
    if (rpc_splice(a, m->raw, "params._meta", str_of(json_to_text(a, meta)), &raw))
        hub_tell(c, raw);
    return true;
}

static void take_notification(
    struct line *l, struct hub_call *about, const struct mcp_message *m, struct arena *a)
{
    if (text_eq(m->method, "notifications/progress"))
        take_progress(l, m, a);
    else if (text_eq(m->method, "notifications/message"))
        take_log(l, about, m, a);
    else if (text_eq(m->method, "notifications/cancelled"))
        take_cancelled(l, m, a);
    else if (!take_tagged(l, m, a))
        outlets_broadcast(l->hub, m, a);
}

void hub_take_end(struct hub_call *c, const struct error *err)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    hub_call_fail(c,
        502,
        RPC_INTERNAL_CODE,
        arena_printf(
            &a, "The MCP server gave no answer: %s", err ? err->text : "the stream has ended"));
}

void hub_take_line(struct line *l, struct hub_call *about, struct str text)
{
    cleanup(arena_done) struct arena a = HUB_ARENA;
    struct mcp_message m;
    struct error err;
    /* Servers also print lines that are not messages. */
    if (str_trim(text).ptr[0] != '{' || rpc_read(&a, text, &m, &err) != RPC_OK)
        return;
    if (line_take_handshake(l, &m))
        return;
    if (m.kind == MCP_NOTIFICATION) {
        take_notification(l, about, &m, &a);
    } else if (m.kind == MCP_REQUEST) {
        take_request(l, about, &m);
    } else if (m.kind == MCP_RESPONSE && m.id_raw.ptr) {
        struct hub_call *c = call_of_id(l->hub, json_to_text(&a, m.id));
        if (c && c->sent)
            hub_deliver(c, &m, &a);
    }
}
