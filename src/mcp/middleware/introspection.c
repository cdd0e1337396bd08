/* RFC 7662: what an authorization server says of a token that only it can read. */

#include <stdlib.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/url.h"
#include "mcp/middleware/auth.h"
#include "mcp/middleware/fetch.h"
#include "mcp/middleware/key_source.h"

#define ANSWER_BYTES_MAX ((size_t)64 << 10)

struct introspection {
    struct fetch_target *target;
    const char *basic; /* NULL: no client credentials */
    const char *token_file;
};

struct introspection_call {
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
    if (strstr(url, "oauth2.googleapis.com/tokeninfo") ||
        strstr(url, "api.github.com/applications")) {
        fail(err,
            ERR_UNSUPPORTED,
            "IntrospectionURL: the token checks of Google and GitHub are not RFC 7662 and not "
            "supported. Use an issuer with JWTs.");
        return NULL;
    }
    if (!check_url_scheme(o->arena, url, json_get_bool(oidc, "InsecureAllowHTTP", false), err)) {
        fail_in(err, "IntrospectionURL");
        return NULL;
    }
    struct introspection *i = mem_new_of(struct introspection);
    i->token_file = text_empty(file) ? NULL : file;
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

static void on_answer(void *ctx, int status, struct str body, const struct error *err)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct introspection_call *c = ctx;
    struct error failed;
    struct json claims = { 0 };
    if (!err) {
        if (status != 200)
            fail(&failed, ERR_UNAVAILABLE, "introspection is answered with status %d", status);
        else if (!json_parse(&a, body, &claims, &failed))
            failed.code = ERR_UNAVAILABLE;
        else if (!json_get_bool(claims, "active", false))
            fail(&failed, ERR_UNAUTHORIZED, "invalid token");
        else
            failed.code = ERR_NONE;
        err = failed.code ? &failed : NULL;
    }
    c->done(c->ctx, claims, err);
    free(c);
}

struct introspection_call *introspection_ask(struct introspection *i, const char *token,
    void (*done)(void *ctx, struct json claims, const struct error *err), void *ctx)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct introspection_call *c = mem_new_of(struct introspection_call);
    struct http_header headers[3] = {
        { STR("content-type"), STR("application/x-www-form-urlencoded") },
        { STR("accept"), STR("application/json") },
    };
    size_t count = 2;
    if (i->basic)
        headers[count++] = (struct http_header){ STR("authorization"), str_of(i->basic) };
    else if (i->token_file && read_bearer(&a, i->token_file, &headers[count], NULL))
        count++;
    c->done = done;
    c->ctx = ctx;
    c->fetch = fetch_start(i->target,
        &(struct fetch_request){
            .method = "POST",
            .headers = { headers, count },
            .body = str_of(arena_printf(
                &a, "token=%s&token_type_hint=access_token", url_encode(&a, str_of(token)))),
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
