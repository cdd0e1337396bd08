#include "mcp/middleware/token_exchange.h"

#include "base/base64.h"
#include "base/buf.h"
#include "base/json_bind.h"
#include "base/timer.h"
#include "base/url.h"
#include "mcp/middleware/fetch.h"
#include "mcp/middleware/token_cache.h"

#define TYPE_PREFIX "urn:ietf:params:oauth:token-type:"
#define BODY_BYTES_MAX ((size_t)256 << 10)
#define MARGIN_MS 30000 /* a token is not used for this long before it expires */

struct exchange_fields {
    const char *url, *client_id, *client_secret, *audience, *type, *strategy, *header;
    struct json scopes;
};

static const struct json_bind exchange_bind[] = {
    BIND(struct exchange_fields, url, "token_url", .required = true),
    BIND(struct exchange_fields, client_id, "client_id"),
    BIND(struct exchange_fields, client_secret, "client_secret"),
    BIND(struct exchange_fields, audience, "audience"),
    BIND(struct exchange_fields, scopes, "scopes"),
    BIND(struct exchange_fields, type, "subject_token_type"),
    BIND(struct exchange_fields, strategy, "header_strategy"),
    BIND(struct exchange_fields, header, "external_token_header_name"),
    { 0 },
};

struct exchange {
    struct fetch_target *target;
    const char *basic;  /* NULL: no client credentials */
    const char *form;   /* everything except the subject's token */
    const char *header; /* header for the new token */
    struct token_cache cache;
    const struct env *env;
};

struct exchange_check {
    struct exchange *s;
    struct mcp_exchange *x;
    const char *token;
    struct fetch *fetch;
};

/* ---- opening ---- */

static const char *make_form(struct arena *a, const struct exchange_fields *f, const char *type)
{
    struct buf scopes = BUF_INIT(16384), form = BUF_INIT(BODY_BYTES_MAX);
    json_each (item, f->scopes)
        if (json_text(*item))
            buf_printf(&scopes, "%s%s", scopes.len ? " " : "", json_text(*item));
    buf_printf(&form,
        "grant_type=%s&subject_token_type=%s&requested_token_type=%s",
        url_encode(a, STR("urn:ietf:params:oauth:grant-type:token-exchange")),
        url_encode(a, str_of(type)),
        url_encode(a, STR(TYPE_PREFIX "access_token")));
    if (!text_empty(f->audience))
        buf_printf(&form, "&audience=%s", url_encode(a, str_of(f->audience)));
    if (scopes.len)
        buf_printf(&form, "&scope=%s", url_encode(a, buf_str(&scopes)));
    const char *text = arena_strdup(a, buf_text(&form));
    buf_done(&scopes);
    buf_done(&form);
    return text;
}

static bool check_fields(
    struct arena *a, struct exchange_fields *f, const char **ret_type, struct error *err)
{
    static const char *const types[] = { "access_token", "id_token", "jwt" };
    const char *word = text_empty(f->type) ? types[0] : f->type;
    if (text_starts(word, TYPE_PREFIX))
        word += strlen(TYPE_PREFIX);
    *ret_type = NULL;
    for (size_t i = 0; i < lengthof(types); i++)
        if (text_eq(word, types[i]))
            *ret_type = arena_printf(a, TYPE_PREFIX "%s", word);
    if (!*ret_type)
        return fail(err,
            ERR_INVALID,
            "subject_token_type: \"%s\" is not known. Use access_token, id_token or jwt.",
            f->type);
    bool is_custom = text_eq(f->strategy, "custom");
    if (!is_custom && !text_empty(f->strategy) && !text_eq(f->strategy, "replace"))
        return fail(err,
            ERR_INVALID,
            "header_strategy: \"%s\" is not known. Use replace or custom.",
            f->strategy);
    if (is_custom && text_empty(f->header))
        return fail(
            err, ERR_INVALID, "external_token_header_name: needed for header_strategy custom");
    f->header = is_custom ? f->header : "authorization";
    return true;
}

static void *exchange_open(const struct mcp_open *o, struct json params, struct error *err)
{
    struct exchange *s = arena_new(o->arena, struct exchange);
    struct exchange_fields f = { 0 };
    const char *type;
    if (!json_bind(
            o->arena, json_member(params, "token_exchange_config"), "", exchange_bind, &f, err) ||
        !check_fields(o->arena, &f, &type, err)) {
        fail_in(err, "parameters.token_exchange_config");
        return NULL;
    }
    const char *secret = f.client_secret;
    if (text_empty(secret))
        secret = o->variable(o->ctx, "TOOLHIVE_TOKEN_EXCHANGE_CLIENT_SECRET");
    if (!text_empty(f.client_id))
        s->basic = arena_printf(o->arena,
            "Basic %s",
            base64_encode(o->arena,
                str_of(arena_printf(o->arena,
                    "%s:%s",
                    url_encode(o->arena, str_of(f.client_id)),
                    url_encode(o->arena, str_of(secret ? secret : ""))))));
    s->form = make_form(o->arena, &f, type);
    s->header = f.header;
    s->env = o->env;
    s->target = fetch_target_new(o, &(struct fetch_options){ .url = f.url }, err);
    if (!s->target) {
        fail_in(err, "parameters.token_exchange_config.token_url");
        return NULL;
    }
    token_cache_init(&s->cache, o->env);
    return s;
}

static void exchange_close(void *state)
{
    struct exchange *s = state;
    fetch_target_free(s->target);
    token_cache_done(&s->cache);
}

/* ---- requests ---- */

static void use_token(const struct exchange *s, struct mcp_exchange *x, const char *token)
{
    mcp_backend_header(x, s->header, arena_printf(mcp_arena(x), "Bearer %s", token));
}

static enum mcp_verdict refuse(struct mcp_exchange *x, int status)
{
    mcp_answer_header(x, "x-content-type-options", "nosniff");
    mcp_answer(x, status, "text/plain; charset=utf-8", STR("Token exchange failed\n"));
    return MCP_ANSWER;
}

static void on_answer(void *ctx, int status, struct str body, const struct error *err)
{
    struct exchange_check *c = ctx;
    struct exchange *s = c->s;
    struct json answer;
    c->fetch = NULL;
    const char *token = NULL;
    if (!err && status == 200 && json_parse(mcp_arena(c->x), body, &answer, NULL))
        token = json_text(json_member(answer, "access_token"));
    if (text_empty(token)) {
        bool is_refused = !err && status >= 400 && status < 500;
        mcp_step_continue(c->x, refuse(c->x, is_refused ? 401 : 503));
        return;
    }
    int64_t life_ms = json_get_int(answer, "expires_in", 0) * 1000 - MARGIN_MS;
    if (life_ms > 0) {
        struct token_entry *e = token_entry_new(str_of(c->token));
        e->identity.token = arena_strdup(&e->arena, token);
        e->expires_ms = env_wall_ms(s->env) + life_ms;
        token_cache_add(&s->cache, e);
        token_entry_unref(e);
    }
    use_token(s, c->x, token);
    mcp_step_continue(c->x, MCP_NEXT);
}

static enum mcp_verdict exchange_head(void *state, struct mcp_exchange *x, void **slot)
{
    struct exchange *s = state;
    struct arena *a = mcp_arena(x);
    const char *token = mcp_identity(x)->token;
    if (text_empty(token))
        return MCP_NEXT;
    struct token_entry *known = token_cache_find(&s->cache, str_of(token));
    if (known) {
        use_token(s, x, known->identity.token);
        token_entry_unref(known);
        return MCP_NEXT;
    }
    struct exchange_check *c = arena_new(a, struct exchange_check);
    *c = (struct exchange_check){ .s = s, .x = x, .token = arena_strdup(a, token) };
    struct http_header headers[3] = {
        { STR("content-type"), STR("application/x-www-form-urlencoded") },
        { STR("accept"), STR("application/json") },
        { STR("authorization"), str_of(s->basic) },
    };
    c->fetch = fetch_start(s->target,
        &(struct fetch_request){
            .method = "POST",
            .headers = { headers, s->basic ? 3 : 2 },
            .body = str_of(
                arena_printf(a, "%s&subject_token=%s", s->form, url_encode(a, str_of(token)))),
        },
        on_answer,
        c);
    *slot = c;
    return MCP_LATER;
}

static void exchange_end(void *state, struct mcp_exchange *x, void **slot)
{
    struct exchange_check *c = *slot;
    (void)state;
    (void)x;
    if (c)
        fetch_cancel(c->fetch);
}

static const char *const token_exchange_parameters[] = { "token_exchange_config.token_url",
    "token_exchange_config.client_id",
    "token_exchange_config.client_secret",
    "token_exchange_config.audience",
    "token_exchange_config.scopes",
    "token_exchange_config.subject_token_type",
    "token_exchange_config.header_strategy",
    "token_exchange_config.external_token_header_name",
    NULL };

const struct mcp_step mcp_step_token_exchange = {
    .type = "tokenexchange",
    .parameters = token_exchange_parameters,
    .open = exchange_open,
    .close = exchange_close,
    .head = exchange_head,
    .end = exchange_end,
};
