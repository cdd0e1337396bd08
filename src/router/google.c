#include "router/google.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/timer.h"
#include "base/url.h"
#include "http/client.h"
#include "jose/jose.h"

#define SCOPE "https://www.googleapis.com/auth/cloud-platform"
#define GRANT "urn:ietf:params:oauth:grant-type:jwt-bearer"
#define ASSERTION_S 3600
#define EARLY_MS ((int64_t)5 * 60 * 1000)
#define AGAIN_MS 5000 /* after a failed attempt */
#define FETCH_MS 10000
#define ANSWER_BYTES_MAX ((size_t)64 << 10)

struct account {
    struct google_accounts *owner;
    struct account *next;
    uint8_t digest[SHA256_BYTES]; /* of the key */
    struct arena arena;           /* for one attempt */
    struct http_origin origin;
    struct url url;
    struct http_call *call;
    struct buf answer;
    int status;
    int64_t asked_ms, until_ms; /* of the last attempt; token expiry (monotonic) */
    char *token;                /* NULL: none yet */
    char *why;                  /* why the last attempt failed; NULL: it did not */
};

struct google_accounts {
    const struct env *env;
    struct http_client *client;
    struct tls_context *tls;
    struct account *first;
};

/* ---- an attempt ---- */

static void replace(char **text, const char *with)
{
    free(*text);
    *text = with ? mem_strdup(with) : NULL;
}

static void on_head(void *ctx, const struct http_response *response)
{
    struct account *c = ctx;
    c->status = response->status;
}

static void on_data(void *ctx, struct str bytes)
{
    struct account *c = ctx;
    buf_add(&c->answer, bytes.ptr, bytes.len);
}

static void on_end(void *ctx, const struct error *err, bool sent)
{
    struct account *c = ctx;
    struct json answer = { 0 };
    struct error why;
    (void)sent;
    c->call = NULL;
    bool read = !err && json_parse(&c->arena, buf_str(&c->answer), &answer, &why);
    const char *token = read && c->status == 200 ? json_get_text(answer, "access_token") : NULL;
    if (!text_empty(token)) {
        int64_t lasts_s = json_get_int(answer, "expires_in", ASSERTION_S);
        c->until_ms = env_mono_ms(c->owner->env) + lasts_s * 1000;
        replace(&c->token, token);
        replace(&c->why, NULL);
    } else {
        /* The body may contain more than clients should see; the OAuth error code does not. */
        const char *word = json_get_text(answer, "error");
        replace(&c->why,
            arena_printf(&c->arena,
                "no access token for its service account: %s",
                err    ? "the token endpoint cannot be reached"
                : word ? word
                       : "the token endpoint refused"));
    }
    buf_reset(&c->answer);
    arena_reset(&c->arena);
}

static const struct http_call_handlers handlers = {
    .head = on_head, .data = on_data, .end = on_end
};

static bool make_assertion(
    struct account *c, struct str key, const char **ret, const char **ret_uri, struct error *err)
{
    struct arena *a = &c->arena;
    struct json account;
    int64_t now_s = env_wall_ms(c->owner->env) / 1000;
    if (!json_parse(a, key, &account, err))
        return fail(err, ERR_INVALID, "its credential is no JSON");
    const char *email = json_get_text(account, "client_email");
    const char *pem = json_get_text(account, "private_key");
    *ret_uri = json_get_text(account, "token_uri");
    if (text_empty(*ret_uri))
        *ret_uri = "https://oauth2.googleapis.com/token";
    if (text_empty(email) || text_empty(pem))
        return fail(err, ERR_INVALID, "its service account has no client_email or private_key");
    struct json header = json_fields(a,
        { "alg", json_str("RS256") },
        { "typ", json_str("JWT") },
        { "kid", json_str_or_absent(json_get_text(account, "private_key_id")) });
    struct json claims = json_fields(a,
        { "iss", json_str(email) },
        { "scope", json_str(SCOPE) },
        { "aud", json_str(*ret_uri) },
        { "iat", json_int(now_s) },
        { "exp", json_int(now_s + ASSERTION_S) });
    return jwt_sign(a, header, claims, str_of(pem), ret, err);
}

static void fetch(struct account *c, struct str key)
{
    static const struct http_header form = { STR("content-type"),
        STR("application/x-www-form-urlencoded") };
    struct arena *a = &c->arena;
    const char *assertion = NULL, *uri = NULL;
    struct error err;
    c->asked_ms = env_mono_ms(c->owner->env);
    if (!make_assertion(c, key, &assertion, &uri, &err) || !url_parse(a, uri, &c->url, &err)) {
        replace(&c->why, err.text);
        arena_reset(a);
        return;
    }
    c->status = 0;
    c->origin = (struct http_origin){ .host = c->url.host,
        .port = (uint16_t)url_port(&c->url),
        .tls = text_eq(c->url.scheme, "https") ? c->owner->tls : NULL };
    const char *body =
        arena_printf(a, "grant_type=%s&assertion=%s", url_encode(a, STR(GRANT)), assertion);
    c->call = http_call_open(c->owner->client,
        &(struct http_request){ .origin = &c->origin,
            .method = "POST",
            .path = url_target(a, &c->url),
            .authority = url_authority(a, &c->url),
            .headers = { &form, 1 },
            .body = str_of(body),
            .body_bytes_max = (int64_t)ANSWER_BYTES_MAX,
            .timeouts = { .wait_ms = FETCH_MS, .total_ms = FETCH_MS } },
        &handlers,
        c);
}

/* ---- accounts ---- */

static struct account *account_of(struct google_accounts *g, struct str key)
{
    uint8_t digest[SHA256_BYTES];
    sha256_of(key, digest);
    for (struct account *c = g->first; c; c = c->next)
        if (memcmp(c->digest, digest, sizeof(digest)) == 0)
            return c;
    struct account *c = mem_new_of(struct account);
    *c = (struct account){ .owner = g, .next = g->first };
    memcpy(c->digest, digest, sizeof(digest));
    arena_init(&c->arena, (size_t)1 << 20);
    buf_init(&c->answer, ANSWER_BYTES_MAX);
    g->first = c;
    return c;
}

const char *google_token(struct google_accounts *g, struct str key, const char **ret_why)
{
    struct account *c = account_of(g, key);
    int64_t now = env_mono_ms(g->env);
    bool due = !c->token || now > c->until_ms - EARLY_MS;
    if (due && !c->call && (!c->asked_ms || !c->why || now - c->asked_ms > AGAIN_MS))
        fetch(c, key);
    *ret_why = c->call ? NULL : c->why;
    return c->token && now < c->until_ms ? c->token : NULL;
}

struct google_accounts *google_accounts_new(
    const struct env *env, struct http_client *client, struct tls_context *tls)
{
    struct google_accounts *g = mem_new_of(struct google_accounts);
    *g = (struct google_accounts){ .env = env, .client = client, .tls = tls };
    return g;
}

void google_accounts_free(struct google_accounts *g)
{
    while (g && g->first) {
        struct account *c = g->first;
        g->first = c->next;
        if (c->call)
            http_call_cancel(c->call);
        buf_done(&c->answer);
        arena_done(&c->arena);
        free(c->token);
        free(c->why);
        free(c);
    }
    free(g);
}
