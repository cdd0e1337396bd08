/* A legacy client in front of a modern server; see hub_modern.c. */

#include <stdlib.h>

#include "mcp/hub_internal.h"

#define ROUNDS_MAX 32

/* ---- requests ---- */

static struct json hello_of(const struct hub_call *c, struct arena *a)
{
    struct json hello;
    struct error err;
    if (!c->peer || !c->peer->hello || !json_parse(a, str_of(c->peer->hello), &hello, &err))
        return json_empty_map();
    return hello;
}

struct str legacy_request(struct hub_call *c, struct str raw, struct arena *a)
{
    struct json hello = hello_of(c, a), old = json_empty_map();
    struct json caps = json_member(hello, "capabilities");
    struct str span, changed;
    struct error err;
    if (rpc_span(raw, "params._meta", &span) && !json_parse(a, span, &old, &err))
        old = json_empty_map();
    struct json meta = json_overlay(a,
        old,
        json_map(a,
            { RPC_META_VERSION, json_str(RPC_VERSION_MODERN) },
            { RPC_META_CLIENT, json_member(hello, "clientInfo") },
            { RPC_META_CAPABILITIES, json_is(caps, JSON_MAP) ? caps : json_empty_map() },
            { RPC_META_LOG_LEVEL,
                json_str_or_absent(hub_level_name(c->peer ? c->peer->level : -1)) }));
    struct str text = str_of(json_to_text(a, meta));
    if (rpc_splice(a, raw, "params._meta", text, &changed) ||
        rpc_insert(a, raw, "params", "_meta", text, &changed))
        return changed;
    struct str params = str_of(arena_printf(a, "{\"_meta\":%s}", text.ptr));
    if (rpc_splice(a, raw, "params", params, &changed) ||
        rpc_insert(a, raw, "", "params", params, &changed))
        return changed;
    return raw;
}

struct str legacy_initialize_result(struct line *l, struct arena *a, const char *version)
{
    struct json about = l->about_value, meta = json_member(about, "_meta");
    struct json info = json_member(meta, RPC_META_SERVER);
    struct json unknown =
        json_map(a, { "name", json_str("mcp-server") }, { "version", json_str("unknown") });
    struct json caps = json_member(about, "capabilities");
    bool known = text_eq(version, "2025-11-25") || text_eq(version, "2025-06-18") ||
                 text_eq(version, "2025-03-26") || text_eq(version, "2024-11-05");
    struct json result = json_map(a,
        { "protocolVersion", json_str(known ? version : RPC_VERSION_LEGACY) },
        { "capabilities", json_is(caps, JSON_MAP) ? caps : json_empty_map() },
        { "serverInfo", json_is(info, JSON_MAP) ? info : unknown },
        { "instructions", json_member(about, "instructions") });
    return str_of(json_to_text(a, result));
}

/* ---- subscriptions ---- */

static void stop_listening(struct line *l)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    if (!l->listen_number)
        return;
    if (l->wire->ops->forget) {
        l->wire->ops->forget(l->wire, &l->listen);
        return;
    }
    hub_notify(l,
        "notifications/cancelled",
        json_map(&a,
            { "requestId",
                json_strf(&a, "leeboard-listen|%llu", (unsigned long long)l->listen_number) }));
}

void legacy_listen(struct line *l)
{
    cleanup(arena_done) struct arena a = HUB_ARENA;
    struct json_builder uris;
    bool any = false;
    if (l->state != LINE_READY || !l->modern)
        return;
    json_builder_init(&uris, &a);
    for (const struct outlet *s = l->hub->streams; s; s = s->next) {
        any = any || s->peer;
        for (const struct subscription *u = s->peer ? s->peer->subscriptions : NULL; u; u = u->next)
            json_push(&uris, json_str(u->uri));
    }
    stop_listening(l);
    l->listen_number = any ? ++l->hub->numbers : 0;
    if (!any)
        return;
    struct json meta = json_map(&a,
        { RPC_META_VERSION, json_str(RPC_VERSION_MODERN) },
        { RPC_META_CAPABILITIES, json_empty_map() });
    struct json wanted = json_map(&a,
        { "toolsListChanged", json_bool(true) },
        { "promptsListChanged", json_bool(true) },
        { "resourcesListChanged", json_bool(true) },
        { "resourceSubscriptions", json_or_absent(json_list_end(&uris)) });
    struct json m = json_map(&a,
        { "jsonrpc", json_str("2.0") },
        { "id", json_strf(&a, "leeboard-listen|%llu", (unsigned long long)l->listen_number) },
        { "method", json_str("subscriptions/listen") },
        { "params", json_map(&a, { "notifications", wanted }, { "_meta", meta }) });
    struct str raw = str_of(json_to_text(&a, m));
    l->wire->ops->send(l->wire, raw, &(struct wire_note){ .tag = &l->listen });
}

/* ---- requests for input ---- */

static unsigned need_of(const char *method)
{
    return text_eq(method, "elicitation/create")       ? CAN_ELICIT
           : text_eq(method, "sampling/createMessage") ? CAN_SAMPLING
           : text_eq(method, "roots/list")             ? CAN_ROOTS
                                                       : ~0u;
}

static bool ask_client(struct hub_call *c, const struct json_member *m)
{
    struct arena *a = &c->arena;
    const char *method = json_get_text(m->value, "method");
    if ((c->can & need_of(method)) != need_of(method))
        return false;
    struct ask *k = arena_new(a, struct ask);
    k->call = c;
    k->next = c->asks;
    c->asks = k;
    k->name = arena_strdup(a, m->key);
    k->key = arena_printf(a, "ask-%llu", (unsigned long long)++c->hub->numbers);
    k->handed_out = true;
    struct json ask = json_map(a,
        { "jsonrpc", json_str("2.0") },
        { "id", json_str(k->key) },
        { "method", json_str(method) },
        { "params", json_member(m->value, "params") });
    return hub_tell(c, str_of(json_to_text(a, ask)));
}

/* Sends the request again, under another id, with the client's answers. */
static void say_again(struct hub_call *c)
{
    struct arena *a = &c->arena;
    struct hub *hub = c->hub;
    struct json_builder answers;
    struct str raw = c->request, changed;
    json_builder_init(&answers, a);
    for (struct ask *k = c->asks; k; k = k->next)
        json_put(&answers, k->name, k->answer);
    struct str said = str_of(json_to_text(a, json_map_end(&answers)));
    if (c->asks && rpc_insert(a, raw, "params", "inputResponses", said, &changed))
        raw = changed;
    if (c->state.ptr && rpc_insert(a, raw, "params", "requestState", c->state, &changed))
        raw = changed;
    c->parked = false;
    table_remove(&hub->calls, &c->by_id);
    c->id = arena_printf(a, "\"leeboard|%llu\"", (unsigned long long)++hub->numbers);
    table_add(&hub->calls, &c->by_id, table_hash(&hub->calls, c->id, strlen(c->id)));
    c->asks = NULL;
    struct str original = c->request;
    hub_call_begin(c, raw);
    c->request = original;
}

bool legacy_input_required(struct hub_call *c, const struct mcp_message *m)
{
    struct json asked = json_member(m->result, "inputRequests");
    struct str state;
    if (!text_eq(json_get_text(m->result, "resultType"), "input_required"))
        return false;
    c->state = (struct str){ 0 };
    if (rpc_span(m->raw, "result.requestState", &state))
        c->state = (struct str){ str_dup(&c->arena, state), state.len };
    if (++c->rounds > ROUNDS_MAX) {
        hub_call_fail(c, 200, RPC_INTERNAL_CODE, "The server asked for input too often");
        return true;
    }
    c->asks = NULL;
    hub_call_unsend(c);
    c->parked = true;
    json_each_member (k, asked)
        if (!ask_client(c, k)) {
            hub_call_fail(c,
                200,
                RPC_CAPABILITY_CODE,
                "The server asks for input that this client cannot give");
            return true;
        }
    if (!c->asks)
        say_again(c);
    return true;
}

void legacy_input_given(struct ask *k, const struct mcp_message *m)
{
    struct hub_call *c = k->call;
    if (!json_is(m->result, JSON_MAP)) {
        const char *why = json_get_text(m->error, "message");
        hub_call_fail(c, 200, RPC_INTERNAL_CODE, why ? why : "The client refused to give input");
        return;
    }
    k->answer = json_copy(&c->arena, m->result);
    for (struct ask *other = c->asks; other; other = other->next)
        if (!other->answered)
            return;
    say_again(c);
}
