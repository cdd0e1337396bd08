#include "mcp/middleware/authorization.h"

#include "kube/file.h"

#define CONFIG_BYTES_MAX ((size_t)4 << 20)
#define HINTS_MAX 4096

static const struct authorizer *const authorizers[] = { &authorizer_cedar, &authorizer_pdp, NULL };

struct authz {
    const struct authorizer *authorizer;
    void *state;
    /* Annotations of tools, from the latest lists: name → hints. */
    struct arena hints_arena;
    struct json hints;
};

/* One message in progress: one question, or one per item of a list. */
struct authz_check {
    struct authz *authz;
    struct mcp_exchange *x;
    const struct list_kind *list; /* NULL: a request */
    struct json items;
    size_t next;
    struct json_builder kept;
    void *call;
    bool asking; /* waiting for an asynchronous authorizer */
};

/* ---- opening ---- */

static bool read_config(
    const struct mcp_open *o, struct json params, struct json *ret, struct error *err)
{
    const char *path = json_get_text(params, "config_path");
    struct str text;
    *ret = json_member(params, "config_data");
    if (json_is(*ret, JSON_MAP))
        return true;
    if (text_empty(path))
        return fail(err, ERR_INVALID, "parameters: set config_data or config_path");
    return (file_read(o->arena, path, CONFIG_BYTES_MAX, &text, err) &&
               json_parse(o->arena, text, ret, err)) ||
           fail_in(err, "parameters.config_path: %s", path);
}

static void *authz_open(const struct mcp_open *o, struct json params, struct error *err)
{
    struct authz *z = arena_new(o->arena, struct authz);
    struct json config;
    if (!read_config(o, params, &config, err))
        return NULL;
    const char *type = json_get_text(config, "type");
    for (size_t i = 0; authorizers[i]; i++)
        if (text_eq(authorizers[i]->type, type))
            z->authorizer = authorizers[i];
    if (!z->authorizer) {
        fail(err,
            ERR_UNSUPPORTED,
            "parameters.config_data.type: \"%s\" is not known. Use cedarv1 or httpv1.",
            type ? type : "");
        return NULL;
    }
    z->state = z->authorizer->open(o, config, err);
    return z->state ? z : NULL;
}

static void authz_close(void *state)
{
    struct authz *z = state;
    if (z->authorizer->close)
        z->authorizer->close(z->state);
    arena_done(&z->hints_arena);
}

/* ---- requests ---- */

enum treatment { DENY, ALLOW, ASK, FILTER };

/* Methods that are not listed are refused. */
static const struct treated {
    const char *method;
    enum treatment treatment;
    const char *feature, *operation;
} methods[] = {
    { "initialize", ALLOW, NULL, NULL },
    { "ping", ALLOW, NULL, NULL },
    { "server/discover", ALLOW, NULL, NULL },
    { "subscriptions/listen", ALLOW, NULL, NULL },
    { "features/list", ALLOW, NULL, NULL },
    { "roots/list", ALLOW, NULL, NULL },
    { "logging/setLevel", ALLOW, NULL, NULL },
    { "completion/complete", ALLOW, NULL, NULL },
    { "resources/templates/list", ALLOW, NULL, NULL },
    { "notifications/message", ALLOW, NULL, NULL },
    { "notifications/initialized", ALLOW, NULL, NULL },
    { "notifications/progress", ALLOW, NULL, NULL },
    { "notifications/cancelled", ALLOW, NULL, NULL },
    { "notifications/roots/list_changed", ALLOW, NULL, NULL },
    { "notifications/tools/list_changed", ALLOW, NULL, NULL },
    { "notifications/prompts/list_changed", ALLOW, NULL, NULL },
    { "notifications/resources/list_changed", ALLOW, NULL, NULL },
    { "notifications/resources/updated", ALLOW, NULL, NULL },
    { "notifications/tasks/status", ALLOW, NULL, NULL },
    { "tools/list", FILTER, NULL, NULL },
    { "prompts/list", FILTER, NULL, NULL },
    { "resources/list", FILTER, NULL, NULL },
    { "tools/call", ASK, "tool", "call" },
    { "prompts/get", ASK, "prompt", "get" },
    { "resources/read", ASK, "resource", "read" },
    { "resources/subscribe", ASK, "resource", "read" },
    { "resources/unsubscribe", ASK, "resource", "read" },
};

static const struct treated *treatment_of(const char *method)
{
    for (size_t i = 0; i < lengthof(methods); i++)
        if (text_eq(methods[i].method, method))
            return &methods[i];
    return NULL;
}

static enum mcp_verdict deny(struct mcp_exchange *x)
{
    mcp_set_denied(x);
    mcp_answer_error(x, 403, 403, "Unauthorized", json_none);
    return MCP_ANSWER;
}

/* Servers that parse JSON-RPC with any Content-Type would accept a message that was not checked. */
static enum mcp_verdict authz_head(void *state, struct mcp_exchange *x, void **slot)
{
    struct str type = http_header_find(mcp_headers(x), "content-type");
    (void)state;
    (void)slot;
    if (!str_eq(mcp_method(x), STR("POST")) ||
        str_eq_nocase(str_trim(str_cut(&type, ';')), STR("application/json")))
        return MCP_NEXT;
    mcp_set_denied(x);
    mcp_answer_header(x, "x-content-type-options", "nosniff");
    mcp_answer(x, 400, "text/plain; charset=utf-8", STR("Invalid or malformed MCP request\n"));
    return MCP_ANSWER;
}

/* A server that ignores the case of keys would see another request than the one that was
 * checked. */
static bool is_ambiguous(struct json map)
{
    static const char *const keys[] = { "method", "params", "id", "name", "uri", "arguments" };
    json_each_member (m, map)
        for (size_t i = 0; i < lengthof(keys); i++)
            if (str_eq_nocase(str_of(m->key), str_of(keys[i])) && !text_eq(m->key, keys[i]))
                return true;
    return false;
}

static struct authz_check *check_new(struct authz *z, struct mcp_exchange *x, void **slot)
{
    struct authz_check *c = arena_new(mcp_arena(x), struct authz_check);
    c->authz = z;
    c->x = x;
    *slot = c;
    return c;
}

static enum mcp_verdict ask_request(
    struct authz_check *c, const struct treated *t, const struct mcp_message *m)
{
    struct authz *z = c->authz;
    struct authz_question q = {
        .feature = t->feature,
        .operation = t->operation,
        .id = m->resource,
        .arguments = json_if(json_is(m->arguments, JSON_MAP), m->arguments),
        .annotations = json_member(z->hints, m->resource),
    };
    enum authz_answer answer = z->authorizer->ask(z->state, c->x, &q, c, &c->call);
    c->asking = answer == AUTHZ_LATER;
    return c->asking ? MCP_LATER : answer == AUTHZ_ALLOW ? MCP_NEXT : deny(c->x);
}

static enum mcp_verdict authz_message(void *state, struct mcp_exchange *x, void **slot)
{
    const struct mcp_message *m = mcp_request(x);
    if (m->kind == MCP_RESPONSE) /* to a request from the server */
        return MCP_NEXT;
    const struct treated *t = treatment_of(m->method);
    if (!t || is_ambiguous(m->document) || is_ambiguous(m->params))
        return deny(x);
    if (t->treatment != ASK)
        return MCP_NEXT;
    if (text_empty(m->resource))
        return deny(x);
    return ask_request(check_new(state, x, slot), t, m);
}

/* ---- lists ---- */

static const struct list_kind {
    const char *method, *member, *key, *feature, *operation;
} lists[] = {
    { "tools/list", "tools", "name", "tool", "call" },
    { "prompts/list", "prompts", "name", "prompt", "get" },
    { "resources/list", "resources", "uri", "resource", "read" },
};

static bool authz_wants(void *state, struct mcp_exchange *x, void **slot)
{
    const struct mcp_message *m = mcp_request(x);
    (void)state;
    (void)slot;
    for (size_t i = 0; i < lengthof(lists); i++)
        if (text_eq(m->method, lists[i].method))
            return true;
    return m->kind == MCP_NONE;
}

static struct json hints_of(struct arena *a, struct json tool)
{
    static const char *const names[] = {
        "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"
    };
    struct json_builder hints;
    json_builder_init(&hints, a);
    for (size_t i = 0; i < lengthof(names); i++) {
        struct json hint = json_get(json_member(tool, "annotations"), names[i]);
        if (json_is(hint, JSON_BOOL))
            json_put(&hints, names[i], hint);
    }
    return json_or_absent(json_map_end(&hints));
}

static void remember_hints(struct authz *z, struct mcp_exchange *x, struct json tools)
{
    struct json_builder all;
    json_builder_init(&all, mcp_arena(x));
    json_each (tool, tools) {
        const char *name = json_text(json_member(*tool, "name"));
        if (name && all.count < HINTS_MAX)
            json_put(&all, name, hints_of(mcp_arena(x), *tool));
    }
    struct json fresh = json_map_end(&all);
    struct json merged = json_overlay(mcp_arena(x), z->hints, fresh);
    if (merged.count > HINTS_MAX)
        merged = fresh;
    if (json_equal(merged, z->hints))
        return;
    struct arena next;
    arena_init(&next, ARENA_LIMIT_DEFAULT);
    merged = json_copy(&next, merged);
    arena_done(&z->hints_arena);
    z->hints_arena = next;
    z->hints = merged;
}

/* MCP_LATER: an answer is pending. */
static enum mcp_verdict filter(struct authz_check *c)
{
    struct authz *z = c->authz;
    while (c->next < c->items.count) {
        struct json item = c->items.items[c->next];
        const char *id = json_text(json_member(item, c->list->key));
        struct authz_question q = {
            .feature = c->list->feature,
            .operation = c->list->operation,
            .id = id,
            .annotations = hints_of(mcp_arena(c->x), item),
        };
        enum authz_answer answer =
            text_empty(id) ? AUTHZ_DENY : z->authorizer->ask(z->state, c->x, &q, c, &c->call);
        c->asking = answer == AUTHZ_LATER;
        if (c->asking)
            return MCP_LATER;
        c->next++;
        if (answer == AUTHZ_ALLOW)
            json_push(&c->kept, item);
    }
    mcp_message_set_result(c->x,
        json_with_member(
            mcp_arena(c->x), mcp_reply(c->x)->result, c->list->member, json_list_end(&c->kept)));
    return MCP_NEXT;
}

static enum mcp_verdict authz_answer(void *state, struct mcp_exchange *x, void **slot)
{
    struct json result = mcp_reply(x)->result;
    for (size_t i = 0; i < lengthof(lists); i++) {
        struct json items = json_member(result, lists[i].member);
        if (!json_is(items, JSON_LIST))
            continue;
        struct authz_check *c = check_new(state, x, slot);
        c->list = &lists[i];
        c->items = items;
        json_builder_init(&c->kept, mcp_arena(x));
        if (text_eq(c->list->feature, "tool"))
            remember_hints(state, x, items);
        return filter(c);
    }
    return MCP_NEXT;
}

void authz_answered(struct authz_check *c, bool allowed)
{
    c->asking = false;
    c->call = NULL;
    if (!c->list) {
        mcp_step_continue(c->x, allowed ? MCP_NEXT : deny(c->x));
        return;
    }
    if (allowed)
        json_push(&c->kept, c->items.items[c->next]);
    c->next++;
    enum mcp_verdict verdict = filter(c);
    if (verdict != MCP_LATER)
        mcp_step_continue(c->x, verdict);
}

static void authz_end(void *state, struct mcp_exchange *x, void **slot)
{
    struct authz *z = state;
    struct authz_check *c = *slot;
    (void)x;
    if (c && c->asking)
        z->authorizer->cancel(z->state, c->call);
}

static const char *const authorization_parameters[] = { "config_path",
    "config_data.version",
    "config_data.type",
    "config_data.cedar.policies",
    "config_data.cedar.entities_json",
    "config_data.cedar.group_claim_name",
    "config_data.cedar.role_claim_name",
    "config_data.cedar.group_entity_type",
    "config_data.cedar.primary_upstream_provider",
    "config_data.cedar.multi_valued_claims",
    "config_data.pdp.http.url",
    "config_data.pdp.http.timeout",
    "config_data.pdp.http.insecure_skip_verify",
    "config_data.pdp.context.include_args",
    "config_data.pdp.context.include_operation",
    "config_data.pdp.claim_mapping",
    NULL };

const struct mcp_step mcp_step_authorization = {
    .type = "authorization",
    .parameters = authorization_parameters,
    .open = authz_open,
    .close = authz_close,
    .head = authz_head,
    .message = authz_message,
    .wants_answer = authz_wants,
    .answer = authz_answer,
    .end = authz_end,
};
