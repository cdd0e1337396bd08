/* RFC 7662: asks the authorization server about a token that only it can read. Google and GitHub
 * have their own protocols, whose responses are converted to the same claims. */

#include <stdlib.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/time.h"
#include "base/timer.h"
#include "base/url.h"
#include "mcp/middleware/auth.h"
#include "mcp/middleware/fetch.h"
#include "mcp/middleware/key_source.h"

#define ANSWER_BYTES_MAX ((size_t)64 << 10)
/* They limit requests, so their results are cached for this long. GitHub's have no expiry. */
#define KEEP_MS ((int64_t)60 * 1000)

enum dialect { RFC_7662, GOOGLE, GITHUB };

struct introspection {
    struct fetch_target *target;
    const char *basic; /* NULL: no client credentials */
    const char *token_file;
    enum dialect dialect;
    const struct env *env;
};

struct introspection_call {
    struct introspection *introspection;
    struct fetch *fetch;
    void (*done)(void *ctx, struct json claims, const struct error *err);
    void *ctx;
};

struct introspection *introspection_new(
    const struct mcp_open *o, struct json oidc, struct error *err)
{
    const char *url = json_get_text(oidc, "IntrospectionURL");
    const char *id = json_get_text(oidc, "ClientID"), *file = json_get_text(oidc, "AuthTokenFile");
    const char *secret = json_get_text(oidc, "ClientSecret");
    if (text_empty(secret))
        secret = o->variable(o->ctx, "TOOLHIVE_OIDC_CLIENT_SECRET");
    if (!check_url_scheme(o->arena, url, json_get_bool(oidc, "InsecureAllowHTTP", false), err)) {
        fail_in(err, "IntrospectionURL");
        return NULL;
    }
    struct introspection *i = mem_new_of(struct introspection);
    i->token_file = text_empty(file) ? NULL : file;
    i->env = o->env;
    i->dialect = strstr(url, "oauth2.googleapis.com/tokeninfo") ? GOOGLE
                 : strstr(url, "api.github.com/applications/")  ? GITHUB
                                                                : RFC_7662;
    i->target = fetch_target_new(o,
        &(struct fetch_options){
            .url = url,
            .ca_file = json_get_text(oidc, "CACertPath"),
            .public_only = !json_get_bool(oidc, "AllowPrivateIP", false),
        },
        err);
    if (!i->target) {
        fail_in(err, "IntrospectionURL");
        free(i);
        return NULL;
    }
    if (!text_empty(id) && !text_empty(secret))
        i->basic = arena_printf(o->arena,
            "Basic %s",
            base64_encode(o->arena,
                str_of(arena_printf(o->arena,
                    "%s:%s",
                    url_encode(o->arena, str_of(id)),
                    url_encode(o->arena, str_of(secret))))));
    return i;
}

void introspection_free(struct introspection *i)
{
    if (i)
        fetch_target_free(i->target);
    free(i);
}

int64_t introspection_keep_ms(const struct introspection *i)
{
    return i->dialect == RFC_7662 ? 0 : KEEP_MS;
}

/* ---- responses as claims ---- */

/* Numbers and booleans are strings there. A token without an expiry is not active. */
static struct json google_claims(struct arena *a, struct json v, int64_t now_ms)
{
    int64_t end_s;
    const char *end = json_get_text(v, "exp");
    bool is_active = end && str_to_int(str_of(end), &end_s) && end_s * 1000 > now_ms;
    v = json_with_member(a, v, "active", json_bool(is_active));
    if (is_active)
        v = json_with_member(a, v, "exp", json_int(end_s));
    return json_with_member(a, v, "iss", json_str("https://accounts.google.com"));
}

static struct json github_claims(struct arena *a, struct json v, int64_t now_ms)
{
    struct json user = json_member(v, "user"), scopes = json_member(v, "scopes");
    int64_t id = json_get_int(user, "id", 0), created_ms;
    const char *created = json_get_text(v, "created_at");
    bool has_time = created && time_parse(created, &created_ms);
    cleanup(buf_done) struct buf scope = BUF_INIT(ANSWER_BYTES_MAX);
    json_each (item, scopes)
        if (json_text(*item))
            buf_printf(&scope, "%s%s", scope.len ? " " : "", json_text(*item));
    return json_map(a,
        { "active", json_bool(id != 0) },
        { "iss", json_str("https://github.com") },
        { "aud", json_str("https://github.com") },
        { "sub", json_strf(a, "%lld", (long long)id) },
        { "exp", json_int((now_ms + KEEP_MS) / 1000) },
        { "iat", json_if(has_time, json_int(created_ms / 1000)) },
        { "preferred_username", json_or_absent(json_member(user, "login")) },
        { "login", json_or_absent(json_member(user, "login")) },
        { "email", json_or_absent(json_member(user, "email")) },
        { "name", json_or_absent(json_member(user, "name")) },
        { "user_type", json_or_absent(json_member(user, "type")) },
        { "site_admin", json_or_absent(json_member(user, "site_admin")) },
        { "app_name", json_or_absent(json_get(v, "app.name")) },
        { "scopes", json_or_absent(scopes) },
        { "scope", json_str_or_absent(scope.len ? arena_strdup(a, buf_text(&scope)) : NULL) });
}

/* The statuses that mean that there is no such token. */
static bool is_refusal(enum dialect d, int status)
{
    return (d == GOOGLE && status == 400) || (d == GITHUB && (status == 404 || status == 422));
}

static void on_answer(void *ctx, int status, struct str body, const struct error *err)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct introspection_call *c = ctx;
    const struct introspection *i = c->introspection;
    struct error failed = { 0 };
    struct json claims = { 0 };
    if (!err) {
        if (is_refusal(i->dialect, status))
            fail(&failed, ERR_UNAUTHORIZED, "invalid token");
        else if (status != 200)
            fail(&failed, ERR_UNAVAILABLE, "introspection is answered with status %d", status);
        else if (!json_parse(&a, body, &claims, &failed))
            failed.code = ERR_UNAVAILABLE;
        else if (i->dialect == GOOGLE)
            claims = google_claims(&a, claims, env_wall_ms(i->env));
        else if (i->dialect == GITHUB)
            claims = github_claims(&a, claims, env_wall_ms(i->env));
        if (!failed.code && !json_get_bool(claims, "active", false))
            fail(&failed, ERR_UNAUTHORIZED, "invalid token");
        err = failed.code ? &failed : NULL;
    }
    c->done(c->ctx, claims, err);
    free(c);
}

/* ---- requests ---- */

struct introspection_call *introspection_ask(struct introspection *i, const char *token,
    void (*done)(void *ctx, struct json claims, const struct error *err), void *ctx)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct introspection_call *c = mem_new_of(struct introspection_call);
    bool is_github = i->dialect == GITHUB;
    struct http_header headers[4] = {
        { STR("accept"), STR("application/json") },
        { STR("user-agent"), STR("leeboard") },
        { STR("content-type"),
            is_github ? STR("application/json") : STR("application/x-www-form-urlencoded") },
    };
    size_t count = 3;
    struct json secret = json_map(&a, { "access_token", json_str(token) });
    if (i->basic)
        headers[count++] = (struct http_header){ STR("authorization"), str_of(i->basic) };
    else if (i->token_file && read_bearer(&a, i->token_file, &headers[count], NULL))
        count++;
    *c = (struct introspection_call){ .introspection = i, .done = done, .ctx = ctx };
    bool is_google = i->dialect == GOOGLE;
    const char *encoded = url_encode(&a, str_of(token));
    const char *path =
        arena_printf(&a, "%s?access_token=%s", fetch_target_path(i->target), encoded);
    const char *form = arena_printf(&a, "token=%s&token_type_hint=access_token", encoded);
    c->fetch = fetch_start(i->target,
        &(struct fetch_request){
            .method = is_google ? "GET" : "POST",
            .path = is_google ? path : NULL,
            .headers = { headers, count },
            .body = str_of(is_google   ? ""
                           : is_github ? json_to_text(&a, secret)
                                       : form),
            .bytes_max = ANSWER_BYTES_MAX,
        },
        on_answer,
        c);
    return c;
}

void introspection_cancel(struct introspection_call *c)
{
    if (!c)
        return;
    fetch_cancel(c->fetch);
    free(c);
}
