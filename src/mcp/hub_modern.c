/* Two eras in one hub. A modern client in front of a legacy server: the hub makes the handshake,
 * removes `_meta` from requests and adds the fields of modern results. A request from the server
 * ends the client's request with `input_required`, while the server's call waits until the client
 * returns with the answers. The other way round: requests get `_meta` from the client's handshake,
 * and `input_required` becomes requests to the client. */

#include <stdlib.h>

#include "base/base64.h"
#include "mcp/hub_internal.h"

#define PARKED_MS ((int64_t)10 * 60 * 1000)
#define ROUNDS_MAX 32
/* Concurrent requests from a server are sent to the client together. */
#define GATHER_MS 50
#define STATE_BYTES_MAX 2048

/* ---- headers of a modern request ---- */

/* Header values that are not plain ASCII have the form =?base64?…?=. */
static struct str decoded(struct arena *a, struct str value)
{
    struct str bytes;
    struct str head = STR("=?base64?"), tail = STR("?=");
    if (!str_starts(value, head) || !str_ends(value, tail) || value.len < head.len + tail.len)
        return value;
    struct str inner = { value.ptr + head.len, value.len - head.len - tail.len };
    return base64_decode(a, inner, &bytes) ? bytes : value;
}

static bool has_name(const char *method)
{
    return text_eq(method, "tools/call") || text_eq(method, "prompts/get") ||
           text_eq(method, "resources/read");
}

/* False: refused. The server cannot check headers, because it never gets them. */
static bool check_header(struct mcp_exchange *x, const char *name, const char *in_body)
{
    struct arena *a = &x->arena;
    struct str value = http_header_find(x->headers, name);
    struct str said = value.ptr ? decoded(a, str_trim(value)) : value;
    if (value.ptr && str_eq(said, str_of(in_body ? in_body : "")))
        return true;
    x->backend = NULL;
    mcp_answer_error(x,
        400,
        RPC_HEADER_CODE,
        value.ptr ? arena_printf(a,
                        "%s header \"%.*s\" does not match the body's \"%s\"",
                        name,
                        (int)said.len,
                        said.ptr,
                        in_body ? in_body : "")
                  : arena_printf(a, "the %s header is missing", name),
        json_none);
    chain_send_answer(x);
    return false;
}

static bool check_headers(struct mcp_exchange *x)
{
    struct json meta = json_member(x->request.params, "_meta");
    const char *version = json_text(json_member(meta, RPC_META_VERSION));
    return check_header(x, "mcp-protocol-version", version) &&
           check_header(x, "mcp-method", x->request.method) &&
           (!has_name(x->request.method) || check_header(x, "mcp-name", x->request.resource));
}

/* ---- modern client, legacy server: requests ---- */

static bool is_gone(const char *method)
{
    static const char *const gone[] = {
        "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"
    };
    for (size_t i = 0; i < lengthof(gone); i++)
        if (text_eq(method, gone[i]))
            return true;
    return false;
}

struct str modern_request_text(struct hub_call *c, struct str raw, struct arena *a)
{
    struct json_builder kept;
    struct json value;
    struct error err;
    struct str span, changed;
    if (!rpc_span(raw, "params._meta", &span) || !json_parse(a, span, &value, &err))
        return raw;
    (void)c;
    json_builder_init(&kept, a);
    json_each_member (m, value)
        if (!text_starts(m->key, "io.modelcontextprotocol/"))
            json_put(&kept, m->key, m->value);
    struct str text = str_of(json_to_text(a, json_map_end(&kept)));
    return rpc_splice(a, raw, "params._meta", text, &changed) ? changed : raw;
}

bool modern_wants_log(const struct hub_call *c, const char *level)
{
    return c->log_level >= 0 && hub_level_of(level) >= c->log_level;
}

/* Enables the server's log for the first client that requests it. */
void modern_set_level(struct hub_call *c)
{
    struct line *l = c->line;
    if (c->log_level < 0 || (l->level >= 0 && l->level <= c->log_level) ||
        !json_present(json_get(l->about_value, "capabilities.logging")))
        return;
    l->level = c->log_level;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    hub_send(l,
        str_of(arena_printf(&a,
            "{\"jsonrpc\":\"2.0\",\"id\":\"leeboard-level|%llu\",\"method\":\"logging/setLevel\","
            "\"params\":{\"level\":\"%s\"}}",
            (unsigned long long)++l->hub->numbers,
            hub_level_name(l->level))));
}

/* ---- subscriptions/listen ---- */

static struct json honoured(struct line *l, struct json asked, struct arena *a)
{
    struct json caps = json_member(l->about_value, "capabilities");
    struct json none = { 0 };
    bool tools = json_get_bool(asked, "toolsListChanged", false) &&
                 json_get_bool(caps, "tools.listChanged", false);
    bool prompts = json_get_bool(asked, "promptsListChanged", false) &&
                   json_get_bool(caps, "prompts.listChanged", false);
    bool resources = json_get_bool(asked, "resourcesListChanged", false) &&
                     json_get_bool(caps, "resources.listChanged", false);
    struct json uris = json_member(asked, "resourceSubscriptions");
    bool subscribe = json_is(uris, JSON_LIST) && uris.count <= 1000 &&
                     json_get_bool(caps, "resources.subscribe", false);
    return json_copy(a,
        json_map(a,
            { "toolsListChanged", tools ? json_bool(true) : none },
            { "promptsListChanged", prompts ? json_bool(true) : none },
            { "resourcesListChanged", resources ? json_bool(true) : none },
            { "resourceSubscriptions", subscribe ? uris : none }));
}

static void subscribe_all(struct line *l, struct json uris)
{
    json_each (uri, uris) {
        cleanup(arena_done) struct arena a = ARENA_INIT;
        const char *text = json_text(*uri);
        if (!text)
            continue;
        struct json m = json_map(&a,
            { "jsonrpc", json_str("2.0") },
            { "id",
                json_strf(&a, "leeboard-subscribe|%llu", (unsigned long long)++l->hub->numbers) },
            { "method", json_str("resources/subscribe") },
            { "params", json_map(&a, { "uri", json_str(text) }) });
        hub_send(l, str_of(json_to_text(&a, m)));
    }
}

void modern_listen(struct hub_call *c)
{
    struct line *l = c->line;
    struct mcp_exchange *x = take(c->x);
    if (!x) {
        hub_call_free(c);
        return;
    }
    struct outlet *s = outlet_new(c->hub, x, NULL);
    struct arena *a = &s->arena;
    x->call = NULL;
    s->listen_id = (struct str){ str_dup(a, c->client_id), c->client_id.len };
    s->filter = honoured(l, json_member(x->request.params, "notifications"), a);
    hub_call_free(c);
    line_flush_initialized(l);
    subscribe_all(l, json_member(s->filter, "resourceSubscriptions"));
    struct json id;
    struct error err;
    if (!json_parse(a, s->listen_id, &id, &err))
        return;
    struct json m = json_map(a,
        { "jsonrpc", json_str("2.0") },
        { "method", json_str("notifications/subscriptions/acknowledged") },
        { "params",
            json_map(a,
                { "notifications", s->filter },
                { "_meta", json_map(a, { RPC_META_SUBSCRIPTION, id }) }) });
    answer_message(x, str_of(json_to_text(a, m)), false);
}

/* ---- results ---- */

static struct json server_info(const struct line *l)
{
    return json_member(l->about_value, "serverInfo");
}

static bool is_cacheable(const char *method)
{
    return text_eq(method, "tools/list") || text_eq(method, "prompts/list") ||
           text_eq(method, "resources/list") || text_eq(method, "resources/templates/list") ||
           text_eq(method, "resources/read");
}

static struct str discovered(struct hub_call *c, struct arena *a)
{
    struct line *l = c->line;
    struct json caps =
        json_with(a, json_member(l->about_value, "capabilities"), "tasks", json_none);
    struct json result = json_map(a,
        { "resultType", json_str("complete") },
        { "supportedVersions", json_list(a, json_str(RPC_VERSION_MODERN)) },
        { "capabilities", json_is(caps, JSON_MAP) ? caps : json_empty_map() },
        { "instructions", json_member(l->about_value, "instructions") },
        { "ttlMs", json_int(0) },
        { "cacheScope", json_str("private") },
        { "_meta", json_map(a, { RPC_META_SERVER, server_info(l) }) });
    return rpc_response(a, c->client_id, result);
}

/* Adds a member to the result unless it exists. */
static struct str filled(
    struct arena *a, struct str raw, struct json result, const char *key, struct str value)
{
    struct str changed;
    if (json_present(json_member(result, key)))
        return raw;
    return rpc_insert(a, raw, "result", key, value, &changed) ? changed : raw;
}

struct str modern_result(struct hub_call *c, const struct mcp_message *m, struct arena *a)
{
    struct str raw, changed;
    if (!m)
        return discovered(c, a);
    raw = rpc_splice(a, m->raw, "id", c->client_id, &changed) ? changed : m->raw;
    if (json_get_int(m->error, "code", 0) == -32002 &&
        rpc_splice(a, raw, "error.code", STR("-32602"), &changed))
        return changed;
    if (!json_is(m->result, JSON_MAP))
        return raw;
    struct json info = json_map(a, { RPC_META_SERVER, server_info(c->line) });
    struct str meta = str_of(json_to_text(a, info));
    if (json_is(json_member(m->result, "_meta"), JSON_MAP)) {
        struct str text = str_of(json_to_text(a, server_info(c->line)));
        if (rpc_insert(a, raw, "result._meta", RPC_META_SERVER, text, &changed))
            raw = changed;
    } else {
        raw = filled(a, raw, m->result, "_meta", meta);
    }
    if (is_cacheable(c->method)) {
        raw = filled(a, raw, m->result, "cacheScope", STR("\"private\""));
        raw = filled(a, raw, m->result, "ttlMs", STR("0"));
    }
    return filled(a, raw, m->result, "resultType", STR("\"complete\""));
}

/* ---- requests from the server during a call ---- */

static void on_forgotten(void *ctx)
{
    struct hub_call *c = ctx;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    for (struct ask *k = c->asks; k; k = k->next)
        if (!k->answered)
            hub_send(c->line,
                rpc_error(&a,
                    k->id,
                    RPC_INTERNAL_CODE,
                    "The client did not come back with an answer",
                    json_none));
    hub_call_free(c);
}

/* Ends the client's request with all open questions; the server's call waits. */
static void park(void *ctx)
{
    struct hub_call *c = ctx;
    struct mcp_exchange *x = take(c->x);
    struct json_builder asked;
    char secret[37];
    struct arena *a = &x->arena;
    json_builder_init(&asked, a);
    for (struct ask *k = c->asks; k; k = k->next)
        if (!k->answered) {
            k->handed_out = true;
            json_put(&asked, k->key, k->request);
        }
    session_new_id(c->hub->o.env, secret);
    c->secret = arena_strdup(&c->arena, secret);
    struct json result = json_map(a,
        { "resultType", json_str("input_required") },
        { "inputRequests", json_map_end(&asked) },
        { "requestState", json_strf(a, "%s.%s", secret, c->id) },
        { "_meta", json_map(a, { RPC_META_SERVER, server_info(c->line) }) });
    struct str raw = rpc_response(a, c->client_id, result);
    c->parked = true;
    timer_init(&c->patience, on_forgotten, c);
    timer_set(c->hub->o.env, &c->patience, PARKED_MS);
    x->call = NULL;
    x->backend = NULL;
    answer_message(x, raw, true);
}

void modern_ask(struct hub_call *c)
{
    /* A parked client gets the question when it returns. */
    if (!c->x || timer_is_set(&c->patience))
        return;
    timer_init(&c->patience, park, c);
    timer_set(c->hub->o.env, &c->patience, GATHER_MS);
}

static bool is_id(const struct table_node *n, const void *key)
{
    return text_eq(container_of(n, struct hub_call, by_id)->id, key);
}

/* The call that a requestState identifies, if it is this user's and makes the same request. */
static struct hub_call *parked_call(struct hub *hub, struct mcp_exchange *x, const char *state)
{
    const char *dot = strchr(state, '.');
    const struct mcp_identity *who = &x->identity;
    unsigned char differs = 0;
    if (!dot || strlen(state) > STATE_BYTES_MAX)
        return NULL;
    const char *id = dot + 1;
    struct table_node *n =
        table_find(&hub->calls, table_hash(&hub->calls, id, strlen(id)), is_id, id);
    struct hub_call *c = n ? container_of(n, struct hub_call, by_id) : NULL;
    if (!c || !c->parked || !c->secret || strlen(c->secret) != (size_t)(dot - state))
        return NULL;
    for (size_t i = 0; c->secret[i]; i++)
        differs |= (unsigned char)(c->secret[i] ^ state[i]);
    bool same = text_eq(c->method, x->request.method) && text_eq(c->resource, x->request.resource);
    return !differs && same && text_eq(c->subject, who->subject) && text_eq(c->issuer, who->issuer)
               ? c
               : NULL;
}

static void answer_server(struct line *l, struct ask *k, struct json answer)
{
    cleanup(arena_done) struct arena a = HUB_ARENA;
    k->answered = true;
    hub_send(l, rpc_response(&a, k->id, answer));
}

static void resume(struct hub *hub, struct mcp_exchange *x, const char *state)
{
    struct hub_call *c = parked_call(hub, x, state);
    struct json answers = json_member(x->request.params, "inputResponses");
    struct str token;
    bool open = false;
    if (!c) {
        hub_refuse(x, 400, RPC_PARAMS_CODE, "requestState is not valid, or not valid any more");
        return;
    }
    c->x = x;
    x->call = c;
    c->parked = false;
    c->secret = NULL;
    timer_stop(hub->o.env, &c->patience);
    c->client_id = (struct str){ str_dup(&c->arena, x->request.id_raw), x->request.id_raw.len };
    if (c->token && rpc_span(x->request.raw, "params._meta.progressToken", &token))
        c->client_token = (struct str){ str_dup(&c->arena, token), token.len };
    if (++c->rounds > ROUNDS_MAX) {
        hub_call_fail(c, 400, RPC_PARAMS_CODE, "This request was continued too often");
        return;
    }
    for (struct ask *k = c->asks; k; k = k->next) {
        struct json answer = json_member(answers, k->key);
        if (!k->answered && json_is(answer, JSON_MAP))
            answer_server(c->line, k, answer);
        open = open || !k->answered;
    }
    if (open)
        modern_ask(c);
}

void modern_request(struct hub *hub, struct mcp_exchange *x)
{
    struct line *l = &hub->line;
    const char *method = x->request.method;
    bool is_legacy = l->state != LINE_READY || !l->modern;
    if (!check_headers(x))
        return;
    if (is_legacy && is_gone(method)) {
        hub_refuse(x, 404, RPC_METHOD_CODE, "Method not found");
        return;
    }
    const char *state = json_get_text(x->request.params, "requestState");
    if (is_legacy && state) {
        resume(hub, x, state);
        return;
    }
    struct json meta = json_member(x->request.params, "_meta");
    struct hub_call *c = hub_call_new(hub, x, NULL);
    c->resource = arena_strdup(&c->arena, x->request.resource);
    c->endless = text_eq(method, "subscriptions/listen");
    c->log_level = hub_level_of(json_text(json_member(meta, RPC_META_LOG_LEVEL)));
    if (has_name(method))
        c->can = hub_read_capabilities(json_member(meta, RPC_META_CAPABILITIES));
    if (l->state == LINE_READY && !l->modern && c->endless)
        modern_listen(c);
    else if (l->state == LINE_READY && !l->modern && text_eq(method, "server/discover"))
        hub_deliver(c, NULL, NULL);
    else
        hub_call_begin(c, x->request.raw);
}
