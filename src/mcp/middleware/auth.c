#include "mcp/middleware/auth.h"

#include "base/buf.h"
#include "base/json_bind.h"
#include "base/timer.h"
#include "base/url.h"
#include "jose/jose.h"
#include "mcp/middleware/key_source.h"
#include "mcp/middleware/token_cache.h"

#define METADATA_PATH "/.well-known/oauth-protected-resource"
#define SKEW_MS 30000 /* allowed clock difference */

struct oidc_config {
    const char *issuer, *audience, *jwks_url, *client_id, *client_secret, *ca_file, *token_file;
    const char *introspection_url, *resource_url;
    bool allow_private, allow_http;
    struct json scopes;
};

static const struct json_bind oidc_bind[] = {
    BIND(struct oidc_config, issuer, "Issuer"),
    BIND(struct oidc_config, audience, "Audience"),
    BIND(struct oidc_config, jwks_url, "JWKSURL"),
    BIND(struct oidc_config, client_id, "ClientID"),
    BIND(struct oidc_config, client_secret, "ClientSecret"),
    BIND(struct oidc_config, ca_file, "CACertPath"),
    BIND(struct oidc_config, token_file, "AuthTokenFile"),
    BIND(struct oidc_config, allow_private, "AllowPrivateIP"),
    BIND(struct oidc_config, allow_http, "InsecureAllowHTTP"),
    BIND(struct oidc_config, introspection_url, "IntrospectionURL"),
    BIND(struct oidc_config, resource_url, "ResourceURL"),
    BIND(struct oidc_config, scopes, "Scopes"),
    { 0 },
};

struct auth {
    bool local; /* no issuer: every client is this user */
    struct mcp_identity user;
    struct oidc_config c;
    const struct env *env;
    struct key_source *keys;
    struct introspection *introspection; /* NULL: none */
    struct token_cache cache;
    uint64_t generation;   /* of the keys that verified the cached tokens */
    const char *challenge; /* of WWW-Authenticate, up to the error */
    struct str metadata;
};

/* One request in progress. */
struct auth_check {
    struct auth *auth;
    struct mcp_exchange *x;
    struct token_entry *entry; /* owns the request's identity */
    const char *token;
    struct jwt jwt;
    struct key_wait wait;
    struct introspection_call *call;
};

/* ---- opening ---- */

static void make_local(struct auth *s, const struct mcp_open *o)
{
    const char *user = o->variable(o->ctx, "USER");
    struct mcp_identity *who = &s->user;
    s->local = true;
    who->subject = text_empty(user) ? "local" : arena_strdup(o->arena, user);
    who->name = arena_printf(o->arena, "Local User: %s", who->subject);
    who->email = arena_printf(o->arena, "%s@localhost", who->subject);
    who->issuer = "toolhive-local";
    who->claims = json_map(o->arena,
        { "sub", json_str(who->subject) },
        { "iss", json_str(who->issuer) },
        { "aud", json_str("toolhive") },
        { "email", json_str(who->email) },
        { "name", json_str(who->name) });
}

static const char *quoted(struct arena *a, const char *text)
{
    struct buf b = BUF_INIT(8192);
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            buf_add_char(&b, '\\');
        buf_add_char(&b, (unsigned char)*c < ' ' || (unsigned char)*c > '~' ? '?' : *c);
    }
    const char *copy = arena_printf(a, "\"%s\"", buf_text(&b));
    buf_done(&b);
    return copy;
}

/* RFC 9728, 3.1: the well-known part comes before the resource's path. */
static const char *metadata_url(struct arena *a, const char *resource)
{
    struct url url;
    if (text_empty(resource) || !url_parse(a, resource, &url, NULL))
        return NULL;
    return arena_printf(a,
        "%s://%s" METADATA_PATH "%s",
        url.scheme,
        url_authority(a, &url),
        text_eq(url.path, "/") ? "" : url.path);
}

static const char *joined(struct arena *a, struct json list)
{
    struct buf b = BUF_INIT(8192);
    json_each (item, list)
        if (json_text(*item))
            buf_printf(&b, "%s%s", b.len ? " " : "", json_text(*item));
    const char *text = arena_strdup(a, buf_text(&b));
    buf_done(&b);
    return text;
}

static void make_texts(struct auth *s, struct arena *a)
{
    const struct oidc_config *c = &s->c;
    const char *url = metadata_url(a, c->resource_url), *scopes = joined(a, c->scopes);
    s->challenge = arena_printf(a,
        "Bearer %s%s%s%s%s",
        text_empty(c->issuer) ? "" : arena_printf(a, "realm=%s, ", quoted(a, c->issuer)),
        url ? "resource_metadata=" : "",
        url ? quoted(a, url) : "",
        url ? ", " : "",
        *scopes ? arena_printf(a, "scope=%s, ", quoted(a, scopes)) : "");
    bool has_scopes = json_is(c->scopes, JSON_LIST) && c->scopes.count;
    s->metadata = str_of(json_to_text(a,
        json_map(a,
            { "resource", json_str(c->resource_url) },
            { "authorization_servers", json_list(a, json_str(c->issuer)) },
            { "bearer_methods_supported", json_list(a, json_str("header")) },
            { "scopes_supported", has_scopes ? c->scopes : json_list(a, json_str("openid")) })));
}

static bool open_oidc(struct auth *s, const struct mcp_open *o, struct json oidc, struct error *err)
{
    struct oidc_config *c = &s->c;
    if (!json_bind(o->arena, oidc, "parameters.oidc_config", oidc_bind, c, err))
        return false;
    if (text_empty(c->issuer) && text_empty(c->jwks_url))
        return fail(err, ERR_INVALID, "parameters.oidc_config: set Issuer or JWKSURL");
    s->keys = key_source_new(o,
        &(struct key_source_options){
            .issuer = c->issuer,
            .jwks_url = c->jwks_url,
            .ca_file = c->ca_file,
            .token_file = c->token_file,
            .allow_private = c->allow_private,
            .allow_http = c->allow_http,
        },
        err);
    if (!s->keys)
        return fail_in(err, "parameters.oidc_config");
    if (!text_empty(c->introspection_url)) {
        s->introspection = introspection_new(o, oidc, err);
        if (!s->introspection)
            return fail_in(err, "parameters.oidc_config");
    }
    make_texts(s, o->arena);
    return true;
}

static void auth_close(void *state)
{
    struct auth *s = state;
    if (s->local)
        return;
    key_source_free(s->keys);
    introspection_free(s->introspection);
    token_cache_done(&s->cache);
}

static void *auth_open(const struct mcp_open *o, struct json params, struct error *err)
{
    struct auth *s = arena_new(o->arena, struct auth);
    struct json oidc = json_member(params, "oidc_config");
    s->env = o->env;
    if (!json_present(oidc) || json_is(oidc, JSON_NULL)) {
        make_local(s, o);
        return s;
    }
    token_cache_init(&s->cache, o->env);
    if (open_oidc(s, o, oidc, err))
        return s;
    auth_close(s);
    return NULL;
}

/* ---- metadata ---- */

static bool auth_serve(void *state, struct mcp_exchange *x)
{
    const struct auth *s = state;
    if (!str_starts(mcp_path(x), STR("/.well-known/")))
        return false;
    if (s->local || !str_starts(mcp_path(x), STR(METADATA_PATH))) {
        mcp_answer(x, 404, "application/json", STR("{\"error\":\"not_found\"}"));
        return true;
    }
    struct str origin = http_header_find(mcp_headers(x), "origin");
    mcp_answer_header(
        x, "access-control-allow-origin", origin.len ? str_dup(mcp_arena(x), origin) : "*");
    mcp_answer_header(x, "access-control-allow-methods", "GET, OPTIONS");
    mcp_answer_header(
        x, "access-control-allow-headers", "mcp-protocol-version, Content-Type, Authorization");
    mcp_answer_header(x, "access-control-max-age", "86400");
    if (str_eq(mcp_method(x), STR("OPTIONS")))
        mcp_answer(x, 204, NULL, (struct str){ 0 });
    else if (text_empty(s->c.resource_url))
        mcp_answer(x, 404, NULL, (struct str){ 0 });
    else
        mcp_answer(x, 200, "application/json", s->metadata);
    return true;
}

/* ---- refusing ---- */

static enum mcp_verdict refuse_as(const struct auth *s, struct mcp_exchange *x, const char *code,
    const char *why, const char *said)
{
    struct arena *a = mcp_arena(x);
    mcp_answer_header(x,
        "www-authenticate",
        arena_printf(
            a, "%serror=%s, error_description=%s", s->challenge, quoted(a, code), quoted(a, why)));
    struct json body =
        json_map(a, { "error", json_str(code) }, { "error_description", json_str(said) });
    mcp_answer(x, 401, "application/json", str_of(json_to_text(a, body)));
    return MCP_ANSWER;
}

static enum mcp_verdict refuse(const struct auth *s, struct mcp_exchange *x, const char *why)
{
    return refuse_as(
        s, x, "invalid_token", why, arena_printf(mcp_arena(x), "Invalid token: %s", why));
}

/* The client's token may be valid: the client must not discard it. */
static enum mcp_verdict cannot_tell(struct mcp_exchange *x, const struct error *err)
{
    struct arena *a = mcp_arena(x);
    const char *text = arena_printf(a, "The token cannot be checked now: %s", err->text);
    struct json body = json_map(a,
        { "error", json_str("temporarily_unavailable") },
        { "error_description", json_str(text) });
    mcp_answer_header(x, "retry-after", "1");
    mcp_answer(x, 503, "application/json", str_of(json_to_text(a, body)));
    return MCP_ANSWER;
}

/* ---- claims ---- */

/* NULL: they are valid. */
static const char *wrong_claim(const struct auth *s, struct json claims, bool is_jwt)
{
    int64_t now_ms = env_wall_ms(s->env), at_s;
    const char *issuer = json_text(json_member(claims, "iss"));
    bool has_end = jwt_time(claims, "exp", &at_s);
    if (has_end && at_s * 1000 + SKEW_MS < now_ms)
        return is_jwt ? "failed to parse token: token has invalid claims: token is expired"
                      : "token expired";
    if (jwt_time(claims, "nbf", &at_s) && at_s * 1000 - SKEW_MS > now_ms)
        return "failed to parse token: token has invalid claims: token is not valid yet";
    if (!text_empty(s->c.issuer) && !text_eq(issuer, s->c.issuer))
        return "invalid issuer";
    if (!text_empty(s->c.audience) && !jwt_is_for(claims, s->c.audience))
        return "invalid audience";
    return has_end ? NULL : "token expired";
}

/* The claims are verified: sets the identity of the request. */
static enum mcp_verdict accept(struct auth_check *c, struct json claims, bool is_jwt)
{
    struct auth *s = c->auth;
    struct token_entry *e = token_entry_new(str_of(c->token));
    struct mcp_identity *who = &e->identity;
    int64_t end_s = 0;
    const char *why = wrong_claim(s, claims, is_jwt);
    who->claims = json_copy(&e->arena, claims);
    who->subject = json_text(json_member(who->claims, "sub"));
    if (why || text_empty(who->subject)) {
        token_entry_unref(e);
        return why ? refuse(s, c->x, why)
                   : refuse_as(s,
                         c->x,
                         "invalid_token",
                         "missing or invalid 'sub' claim (OIDC Core 1.0, 5.1)",
                         "Invalid authentication claims");
    }
    who->name = json_text(json_member(who->claims, "name"));
    who->email = json_text(json_member(who->claims, "email"));
    who->issuer = json_text(json_member(who->claims, "iss"));
    who->token = e->token.ptr;
    who->token_type = "Bearer";
    c->entry = e;
    mcp_set_identity(c->x, who);
    int64_t keep_ms = is_jwt ? INT64_MAX : introspection_keep_ms(s->introspection);
    if (keep_ms && jwt_time(claims, "exp", &end_s)) {
        int64_t now_ms = env_wall_ms(s->env);
        e->expires_ms = end_s * 1000 + SKEW_MS;
        if (keep_ms < e->expires_ms - now_ms)
            e->expires_ms = now_ms + keep_ms;
        token_cache_add(&s->cache, e);
    }
    return MCP_NEXT;
}

/* ---- tokens ---- */

static void on_introspected(void *ctx, struct json claims, const struct error *err)
{
    struct auth_check *c = ctx;
    enum mcp_verdict verdict;
    c->call = NULL;
    if (!err)
        verdict = accept(c, claims, false);
    else if (err->code == ERR_UNAUTHORIZED)
        verdict = refuse(c->auth,
            c->x,
            arena_printf(mcp_arena(c->x), "failed to introspect opaque token: %s", err->text));
    else
        verdict = cannot_tell(c->x, err);
    mcp_step_continue(c->x, verdict);
}

static enum mcp_verdict introspect(struct auth_check *c)
{
    if (!c->auth->introspection)
        return refuse(c->auth,
            c->x,
            "failed to introspect opaque token: no introspection endpoint available");
    c->call = introspection_ask(c->auth->introspection, c->token, on_introspected, c);
    return MCP_LATER;
}

static enum mcp_verdict prove(struct auth_check *c, const struct jwk_set *keys)
{
    struct auth *s = c->auth;
    struct error err;
    if (key_source_generation(s->keys) != s->generation) {
        token_cache_clear(&s->cache);
        s->generation = key_source_generation(s->keys);
    }
    if (jwt_verify(&c->jwt, keys, &err))
        return accept(c, c->jwt.claims, true);
    const char *what = err.code == ERR_UNAUTHORIZED
                           ? ""
                           : "token is unverifiable: error while executing keyfunc: ";
    return refuse(
        s, c->x, arena_printf(mcp_arena(c->x), "failed to parse token: %s%s", what, err.text));
}

static void on_keys(void *ctx, const struct jwk_set *keys, const struct error *err)
{
    struct auth_check *c = ctx;
    mcp_step_continue(c->x, keys ? prove(c, keys) : cannot_tell(c->x, err));
}

static enum mcp_verdict check_jwt(struct auth_check *c)
{
    const struct jwk_set *keys;
    /* No key can make these valid, so do not fetch keys. */
    if (!jwt_knows(&c->jwt) || text_empty(c->jwt.kid)) {
        const char *what =
            jwt_knows(&c->jwt)
                ? "token header missing kid"
                : arena_printf(mcp_arena(c->x), "unexpected signing method: %s", c->jwt.algorithm);
        return refuse(c->auth,
            c->x,
            arena_printf(mcp_arena(c->x),
                "failed to parse token: token is unverifiable: error while executing keyfunc: %s",
                what));
    }
    c->wait = (struct key_wait){ .done = on_keys, .ctx = c };
    if (!key_source_get(c->auth->keys, c->jwt.kid, &c->wait, &keys))
        return MCP_LATER;
    if (keys)
        return prove(c, keys);
    struct error err;
    fail(&err, ERR_UNAVAILABLE, "the keys of the issuer could not be fetched");
    return cannot_tell(c->x, &err);
}

/* NULL: there is none, and *ret_why says what was found. */
static const char *bearer(struct mcp_exchange *x, const char **ret_why)
{
    struct http_headers headers = mcp_headers(x);
    struct str value = http_header_find(headers, "authorization");
    struct str scheme = str_cut(&value, ' '), token = str_trim(value);
    size_t count = 0;
    for (size_t i = 0; i < headers.count; i++)
        count += str_eq_nocase(headers.list[i].name, STR("authorization"));
    *ret_why = scheme.ptr ? "invalid authorization header format, expected 'Bearer <token>'"
                          : "authorization header required";
    if (!str_eq_nocase(scheme, STR("Bearer")) || !token.len || count > 1)
        return NULL;
    return str_dup(mcp_arena(x), token);
}

static enum mcp_verdict auth_head(void *state, struct mcp_exchange *x, void **slot)
{
    struct auth *s = state;
    const char *why;
    if (s->local) {
        mcp_set_identity(x, &s->user);
        return MCP_NEXT;
    }
    struct auth_check *c = arena_new(mcp_arena(x), struct auth_check);
    *slot = c;
    c->auth = s;
    c->x = x;
    c->token = bearer(x, &why);
    if (!c->token)
        return refuse_as(s, x, "invalid_request", why, why);
    if (key_source_generation(s->keys) == s->generation)
        c->entry = token_cache_find(&s->cache, str_of(c->token));
    if (c->entry) {
        mcp_set_identity(x, &c->entry->identity);
        return MCP_NEXT;
    }
    return jwt_parse(mcp_arena(x), str_of(c->token), &c->jwt, NULL) ? check_jwt(c) : introspect(c);
}

static void auth_end(void *state, struct mcp_exchange *x, void **slot)
{
    struct auth_check *c = *slot;
    (void)state;
    if (!c)
        return;
    mcp_set_identity(x, &(struct mcp_identity){ 0 });
    key_wait_cancel(&c->wait);
    introspection_cancel(c->call);
    token_entry_unref(c->entry);
}

static const char *const auth_parameters[] = { "oidc_config.Issuer",
    "oidc_config.Audience",
    "oidc_config.JWKSURL",
    "oidc_config.ClientID",
    "oidc_config.ClientSecret",
    "oidc_config.CACertPath",
    "oidc_config.AuthTokenFile",
    "oidc_config.AllowPrivateIP",
    "oidc_config.InsecureAllowHTTP",
    "oidc_config.IntrospectionURL",
    "oidc_config.ResourceURL",
    "oidc_config.Scopes",
    NULL };

const struct mcp_step mcp_step_auth = {
    .type = "auth",
    .parameters = auth_parameters,
    .open = auth_open,
    .close = auth_close,
    .serve = auth_serve,
    .head = auth_head,
    .end = auth_end,
};
