#include <stdlib.h>

#include "mcp/hub_internal.h"

#define PROBE_MS 5000
#define HANDSHAKE_MS 60000
#define CLIENT_NAME "leeboard"

/* ---- the two handshakes ---- */

static void fail_waiting(struct line *l, const char *why)
{
    struct hub_call *c = l->newest;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *text = arena_printf(&a, "The MCP server did not start: %s", why);
    l->wanted = false;
    l->state = l->state == LINE_DOWN ? LINE_DOWN : LINE_IDLE;
    l->tried_modern = l->tried_legacy = false;
    timer_stop(l->hub->o.env, &l->patience);
    while (c) {
        struct hub_call *older = c->older;
        hub_call_fail(c, 502, RPC_INTERNAL_CODE, text);
        c = older;
    }
}

static const char *fresh_id(struct line *l)
{
    return arena_printf(
        &l->arena, "\"" CLIENT_NAME "|%llu\"", (unsigned long long)++l->hub->numbers);
}

/* Sends the capabilities that any client may have; see owner_of() in hub_server.c. */
static struct json hello_params(struct line *l)
{
    struct arena *a = &l->arena;
    struct json theirs = { 0 };
    struct error err;
    if (l->hello.len && !json_parse(a, l->hello, &theirs, &err))
        theirs = json_none;
    unsigned can = l->hub->o.can;
    struct json none = { 0 };
    struct json all = json_map(a,
        { "roots", can & CAN_ROOTS ? json_map(a, { "listChanged", json_bool(true) }) : none },
        { "sampling", can & CAN_SAMPLING ? json_empty_map() : none },
        { "elicitation", can & CAN_ELICIT ? json_empty_map() : none });
    struct json defaults = json_map(a,
        { "protocolVersion", json_str(RPC_VERSION_LEGACY) },
        { "clientInfo",
            json_map(
                a, { "name", json_str(CLIENT_NAME) }, { "version", json_str(LEEBOARD_VERSION) }) });
    struct json caps = json_overlay(a, all, json_member(theirs, "capabilities"));
    return json_with_member(a, json_overlay(a, defaults, theirs), "capabilities", caps);
}

static void say_hello(struct line *l, const char *method, struct json params, int64_t patience_ms)
{
    struct arena *a = &l->arena;
    if (!l->handshake_id)
        l->handshake_id = fresh_id(l);
    struct buf b = BUF_INIT((size_t)1 << 20);
    buf_printf(&b,
        "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":",
        l->handshake_id,
        method);
    json_print(&b, params);
    buf_add_char(&b, '}');
    timer_set(l->hub->o.env, &l->patience, patience_ms);
    struct str raw = { arena_strndup(a, b.ptr, b.len), b.len };
    buf_done(&b);
    struct wire_note note = { .x = l->newest ? l->newest->x : NULL };
    l->wire->ops->send(l->wire, raw, &note);
}

static void initialize(struct line *l)
{
    l->state = LINE_INITIALIZING;
    l->tried_legacy = true;
    say_hello(l, "initialize", hello_params(l), HANDSHAKE_MS);
}

static void probe(struct line *l)
{
    struct arena *a = &l->arena;
    struct json info =
        json_map(a, { "name", json_str(CLIENT_NAME) }, { "version", json_str(LEEBOARD_VERSION) });
    struct json meta = json_map(a,
        { RPC_META_VERSION, json_str(RPC_VERSION_MODERN) },
        { RPC_META_CLIENT, info },
        { RPC_META_CAPABILITIES, json_empty_map() });
    l->state = LINE_PROBING;
    l->tried_modern = true;
    say_hello(l, "server/discover", json_map(a, { "_meta", meta }), PROBE_MS);
}

/* Tries the other era, or gives up. */
static void try_other(struct line *l, const char *why)
{
    l->handshake_id = NULL;
    if (!l->tried_legacy)
        initialize(l);
    else if (!l->tried_modern)
        probe(l);
    else
        fail_waiting(l, why);
}

static void on_impatient(void *ctx)
{
    struct line *l = ctx;
    if (l->state == LINE_PROBING || l->state == LINE_INITIALIZING)
        try_other(l, "it does not answer the handshake");
    else
        fail_waiting(l, "it cannot be reached");
}

bool line_take_handshake(struct line *l, const struct mcp_message *m)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    if ((l->state != LINE_PROBING && l->state != LINE_INITIALIZING) || m->kind != MCP_RESPONSE ||
        !text_eq(json_to_text(&a, m->id), l->handshake_id))
        return false;
    struct str result;
    struct error err;
    if (!json_is(m->result, JSON_MAP) || !rpc_span(m->raw, "result", &result)) {
        const char *why = json_get_text(m->error, "message");
        try_other(l, why ? why : "its answer to the handshake is not usable");
        return true;
    }
    timer_stop(l->hub->o.env, &l->patience);
    l->modern = l->state == LINE_PROBING;
    l->owes_initialized = !l->modern;
    l->about = (struct str){ str_dup(&l->arena, result), result.len };
    if (!json_parse(&l->arena, l->about, &l->about_value, &err))
        l->about_value = json_empty_map();
    l->state = LINE_READY;
    l->level = -1;
    l->listen_number = 0;
    legacy_listen(l);
    line_send_waiting(l);
    return true;
}

void line_flush_initialized(struct line *l)
{
    if (l->state != LINE_READY || !l->owes_initialized)
        return;
    l->owes_initialized = false;
    hub_send(l, STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"));
}

void line_want(struct line *l, bool modern, const char *id, struct json params)
{
    if (l->wanted)
        return;
    l->wanted = true;
    arena_done(&l->arena);
    arena_init(&l->arena, HUB_ARENA_BYTES);
    l->about = l->hello = (struct str){ 0 };
    if (json_present(params))
        l->hello = str_of(json_to_text(&l->arena, params));
    l->handshake_id = arena_strdup(&l->arena, id);
    if (l->state != LINE_IDLE)
        timer_set(l->hub->o.env, &l->patience, HANDSHAKE_MS);
    else if (modern)
        probe(l);
    else
        initialize(l);
}

/* ---- the connection ---- */

/* Forgets what the previous server process said. */
static void begin_again(struct line *l)
{
    char *hello = l->hello.ptr ? mem_strdup(l->hello.ptr) : NULL;
    char *id = l->handshake_id ? mem_strdup(l->handshake_id) : NULL;
    arena_reset(&l->arena);
    l->hello = str_of(arena_strdup(&l->arena, hello));
    l->handshake_id = arena_strdup(&l->arena, id);
    l->about = (struct str){ 0 };
    l->about_value = json_none;
    free(hello);
    free(id);
}

static void on_up(void *ctx, bool fresh)
{
    struct line *l = ctx;
    l->tried_modern = l->tried_legacy = false;
    if (!fresh && l->about.len) {
        /* The same process: some servers fail on a second handshake. */
        l->state = LINE_READY;
        timer_stop(l->hub->o.env, &l->patience);
        line_send_waiting(l);
        return;
    }
    l->state = LINE_IDLE;
    if (!l->wanted)
        return;
    begin_again(l);
    /* A server keeps its era after a restart. */
    if (l->modern)
        probe(l);
    else
        initialize(l);
}

static void on_line(void *ctx, struct wire_tag *tag, struct str text)
{
    struct line *l = ctx;
    bool is_call = tag && tag != &l->listen;
    hub_take_line(l, is_call ? container_of(tag, struct hub_call, tag) : NULL, text);
}

static void on_down(void *ctx, const struct error *why)
{
    struct line *l = ctx;
    struct hub_call *c = l->newest;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *text = arena_printf(&a, "The connection to the MCP server was lost: %s", why->text);
    if (l->hub->o.said)
        l->hub->o.said(l->hub->o.ctx, text);
    l->state = LINE_DOWN;
    l->handshake_id = NULL;
    while (c) {
        struct hub_call *older = c->older;
        if (c->sent || c->parked)
            hub_call_fail(c, 502, RPC_INTERNAL_CODE, text);
        c = older;
    }
    if (l->wanted)
        timer_set(l->hub->o.env, &l->patience, HANDSHAKE_MS);
}

/* On a wire with tags: an answer has ended. An incomplete handshake has failed. */
static void on_ended(void *ctx, struct wire_tag *tag, const struct error *err)
{
    struct line *l = ctx;
    if (tag == &l->listen)
        l->listen_number = 0;
    else if (tag)
        hub_take_end(container_of(tag, struct hub_call, tag), err);
    else if (l->state == LINE_PROBING || l->state == LINE_INITIALIZING)
        try_other(l, err ? err->text : "it does not answer the handshake");
}

static void on_forgot(void *ctx, struct wire_tag *tag)
{
    struct line *l = ctx;
    hub_call_unsend(container_of(tag, struct hub_call, tag));
    if (l->state != LINE_READY)
        return;
    l->handshake_id = NULL;
    on_up(l, true);
}

void line_init(struct line *l, struct hub *hub, struct mcp_wire *wire)
{
    static const struct wire_handlers handlers = {
        .up = on_up,
        .line = on_line,
        .down = on_down,
        .ended = on_ended,
        .forgot = on_forgot,
    };
    l->hub = hub;
    l->wire = wire;
    l->level = -1;
    arena_init(&l->arena, HUB_ARENA_BYTES);
    timer_init(&l->patience, on_impatient, l);
    wire->ops->start(wire, &handlers, l);
}

void line_done(struct line *l)
{
    timer_stop(l->hub->o.env, &l->patience);
    l->wire->ops->free(l->wire);
    arena_done(&l->arena);
}
