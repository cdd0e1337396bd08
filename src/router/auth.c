/* policy.auth: authenticates clients by signed tokens, and limits the models of their teams.
 *
 * The keys of the issuer are fetched at once, every ten minutes, and when a token names an unknown
 * key (at most every half minute). Until there are keys, all requests are refused. */

#include "router/auth.h"

#include <stdlib.h>

#include "jose/jose.h"
#include "router/dispatch.h"

#define FRESH_MS (10 * 60 * 1000)
#define AGAIN_MS 5000        /* after a failed fetch */
#define UNKNOWN_KEY_MS 30000 /* between fetches for unknown keys */
#define FETCH_MS 10000
#define KEYS_BYTES_MAX ((int64_t)1 << 20)
#define LEEWAY_S 60 /* for clock differences */

struct auth_keys {
    struct router *router;
    char *uri;
    struct arena arena;
    struct url url;
    struct http_origin origin;
    struct jwk_set *set; /* NULL: none yet */
    struct http_call *call;
    struct buf body;
    int status;
    int64_t asked_ms;
    struct timer timer;
};

/* ---- keys ---- */

static void on_head(void *ctx, const struct http_response *response)
{
    struct auth_keys *k = ctx;
    k->status = response->status;
}

static void on_data(void *ctx, struct str bytes)
{
    struct auth_keys *k = ctx;
    buf_add(&k->body, bytes.ptr, bytes.len);
}

static void on_end(void *ctx, const struct error *err, bool sent)
{
    struct auth_keys *k = ctx;
    struct error why;
    (void)sent;
    k->call = NULL;
    struct jwk_set *set = NULL;
    if (!err && k->status == 200)
        set = jwk_set_new(buf_str(&k->body), &why);
    buf_reset(&k->body);
    if (set) {
        jwk_set_free(k->set);
        k->set = set;
    }
    timer_set(k->router->env, &k->timer, set ? FRESH_MS : AGAIN_MS);
}

static const struct http_call_handlers handlers = {
    .head = on_head, .data = on_data, .end = on_end
};

static void fetch(void *ctx)
{
    struct auth_keys *k = ctx;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    if (k->call)
        return;
    k->asked_ms = env_mono_ms(k->router->env);
    k->status = 0;
    const char *path = arena_printf(&a,
        "%s%s%s",
        text_empty(k->url.path) ? "/" : k->url.path,
        k->url.query ? "?" : "",
        k->url.query ?: "");
    k->call = http_call_open(k->router->client,
        &(struct http_request){ .origin = &k->origin,
            .method = "GET",
            .path = path,
            .authority = url_authority(&a, &k->url),
            .gunzip = true,
            .body_bytes_max = KEYS_BYTES_MAX,
            .timeouts = { .wait_ms = FETCH_MS, .total_ms = FETCH_MS } },
        &handlers,
        k);
}

static void keys_free(struct auth_keys *k)
{
    if (!k)
        return;
    timer_stop(k->router->env, &k->timer);
    if (k->call)
        http_call_cancel(k->call);
    jwk_set_free(k->set);
    buf_done(&k->body);
    arena_done(&k->arena);
    free(k->uri);
    free(k);
}

static struct auth_keys *keys_new(struct router *r, const char *uri)
{
    struct auth_keys *k = mem_new_of(struct auth_keys);
    struct error err;
    k->router = r;
    k->uri = mem_strdup(uri);
    arena_init(&k->arena, ARENA_LIMIT_DEFAULT);
    buf_init(&k->body, (size_t)KEYS_BYTES_MAX + 1);
    timer_init(&k->timer, fetch, k);
    if (!url_parse(&k->arena, k->uri, &k->url, &err) || text_empty(k->url.host))
        return k; /* never loaded: every request is refused */
    bool secure = text_eq(k->url.scheme, "https");
    k->origin = (struct http_origin){ .host = k->url.host,
        .port = (uint16_t)url_port(&k->url),
        .tls = secure ? router_tls(r) : NULL };
    timer_set(r->env, &k->timer, 0);
    return k;
}

void router_auth_start(struct router *r)
{
    const struct router_auth *auth = &r->now->config->auth;
    if (r->keys && auth->required && text_eq(r->keys->uri, auth->jwks_uri))
        return;
    keys_free(take(r->keys));
    if (auth->required)
        r->keys = keys_new(r, auth->jwks_uri);
}

void router_auth_stop(struct router *r)
{
    keys_free(take(r->keys));
}

bool router_has_keys(const struct router *r)
{
    return !r->now->config->auth.required || (r->keys && r->keys->set);
}

/* ---- tokens ---- */

static struct router_refusal refuse(int status, const char *message)
{
    return (struct router_refusal){ status, message };
}

static bool is_in_time(struct router *r, struct json claims)
{
    int64_t at, now = env_wall_ms(r->env) / 1000;
    bool late = jwt_time(claims, "exp", &at) && now > at + LEEWAY_S;
    bool early = jwt_time(claims, "nbf", &at) && now < at - LEEWAY_S;
    return !late && !early;
}

static struct router_refusal unknown_key(struct router *r)
{
    struct auth_keys *k = r->keys;
    bool old = env_mono_ms(r->env) - k->asked_ms >= UNKNOWN_KEY_MS;
    if (old)
        fetch(k);
    if (k->call)
        return refuse(503, "the keys of the issuer are being fetched; try again");
    return refuse(401, "the token is signed with a key that the issuer does not publish");
}

struct router_refusal router_auth_check(struct router *r, const struct router_auth *auth,
    struct arena *a, struct http_headers headers, const char **ret_team)
{
    *ret_team = "";
    if (!auth->required)
        return (struct router_refusal){ 0 };
    struct str text = http_header_find(headers, "authorization");
    struct str scheme = text.ptr ? str_cut(&text, ' ') : text;
    if (!str_eq_nocase(scheme, STR("bearer")) || !text.ptr)
        return refuse(401, "a token is needed: Authorization: Bearer TOKEN");
    struct jwt t;
    struct error err;
    if (!jwt_parse(a, str_trim(text), &t, &err))
        return refuse(401, "the token is no JSON web token");
    if (!r->keys || !r->keys->set)
        return refuse(503, "the keys of the issuer are not there yet; try again");
    if (!jwt_verify(&t, r->keys->set, &err)) {
        if (err.code == ERR_NOT_FOUND)
            return unknown_key(r);
        return refuse(401, "the signature of the token is not valid");
    }
    if (!text_eq(json_get_text(t.claims, "iss"), auth->issuer))
        return refuse(401, "the token is of another issuer");
    if (!is_in_time(r, t.claims))
        return refuse(401, "the token is not valid at this time");
    struct json team = json_member(t.claims, auth->team_claim);
    if (!json_present(team))
        team = json_get(t.claims, auth->team_claim);
    if (text_empty(json_text(team)))
        return refuse(403, "the token has no team");
    *ret_team = arena_strdup(a, json_text(team));
    return (struct router_refusal){ 0 };
}

bool router_auth_allows(const struct router_auth *auth, const char *team, const char *model)
{
    if (!json_present(auth->allowlists))
        return true;
    json_each (entry, auth->allowlists)
        if (text_eq(json_get_text(*entry, "team"), team) &&
            json_list_has(json_get(*entry, "models"), model))
            return true;
    return false;
}

struct http_headers router_auth_headers(
    struct arena *a, const struct router_auth *auth, struct http_headers headers, const char *team)
{
    if (!auth->required)
        return headers;
    struct http_header *list = arena_array(a, headers.count + 1, sizeof(*list));
    size_t count = 0;
    for (size_t i = 0; i < headers.count; i++)
        if (!str_eq_nocase(headers.list[i].name, str_of(auth->header_key)))
            list[count++] = headers.list[i];
    list[count++] = (struct http_header){ str_of(auth->header_key), str_of(team) };
    return (struct http_headers){ list, count };
}
