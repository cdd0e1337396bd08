#include "mcp/middleware/key_source.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/timer.h"
#include "base/url.h"
#include "jose/jose.h"
#include "kube/file.h"
#include "mcp/middleware/fetch.h"

#define DISCOVERY_PATH "/.well-known/openid-configuration"
#define TOKEN_BYTES_MAX ((size_t)64 << 10)
#define FAILED_REFETCH_MS 1000

struct key_source {
    struct mcp_open o;
    struct key_source_options options;
    struct fetch_target *discovery, *jwks;
    struct arena arena; /* for the results of discovery */
    struct fetch *fetch;
    struct jwk_set *keys;
    uint8_t digest[SHA256_BYTES]; /* of the text of the keys */
    uint64_t generation;
    int64_t asked_ms, got_ms; /* time of the last fetch, and of the last successful one */
    int64_t missed_ms;        /* time of the last fetch for an unknown key */
    bool missed;
    bool asked, failed;
    struct key_wait *waiting;
};

bool read_bearer(struct arena *a, const char *path, struct http_header *ret, struct error *err)
{
    struct str text;
    if (!file_read(a, path, TOKEN_BYTES_MAX, &text, err))
        return false;
    text = str_trim(text);
    *ret = (struct http_header){ STR("authorization"),
        str_of(arena_printf(a, "Bearer %.*s", (int)text.len, text.ptr)) };
    return true;
}

bool check_url_scheme(struct arena *a, const char *text, bool allow_http, struct error *err)
{
    struct url url;
    if (!url_parse(a, text, &url, err))
        return false;
    bool is_local =
        text_eq(url.host, "localhost") || url_address_kind(url.host) == URL_ADDRESS_LOOPBACK;
    if (text_eq(url.scheme, "https") || (text_eq(url.scheme, "http") && (is_local || allow_http)))
        return true;
    return fail(err,
        ERR_INVALID,
        "\"%s\" must be an https URL. Set InsecureAllowHTTP for tests.",
        url_to_safe_text(a, &url));
}

static struct fetch_target *target(
    const struct key_source *s, struct arena *a, const char *url, struct error *err)
{
    struct mcp_open o = s->o;
    o.arena = a;
    if (!check_url_scheme(a, url, s->options.allow_http, err))
        return NULL;
    return fetch_target_new(&o,
        &(struct fetch_options){
            .url = url,
            .ca_file = s->options.ca_file,
            .public_only = !s->options.allow_private,
        },
        err);
}

struct key_source *key_source_new(
    const struct mcp_open *o, const struct key_source_options *options, struct error *err)
{
    struct key_source *s = mem_new_of(struct key_source);
    bool discovers = text_empty(options->jwks_url);
    struct str issuer = str_of(options->issuer);
    s->o = *o;
    s->options = *options;
    if (str_ends(issuer, STR("/")))
        issuer.len--;
    const char *url =
        discovers
            ? arena_printf(
                  o->arena, "%.*s" DISCOVERY_PATH, (int)issuer.len, issuer.ptr ? issuer.ptr : "")
            : options->jwks_url;
    struct fetch_target *t = target(s, o->arena, url, err);
    if (discovers)
        s->discovery = t;
    else
        s->jwks = t;
    if (t)
        return s;
    fail_in(err, discovers ? "Issuer" : "JWKSURL");
    key_source_free(s);
    return NULL;
}

void key_source_free(struct key_source *s)
{
    if (!s)
        return;
    fetch_cancel(s->fetch);
    fetch_target_free(s->discovery);
    fetch_target_free(s->jwks);
    jwk_set_free(s->keys);
    arena_done(&s->arena);
    free(s);
}

uint64_t key_source_generation(const struct key_source *s)
{
    return s->generation;
}

/* ---- fetching ---- */

static void finish(struct key_source *s, const struct error *err)
{
    struct key_wait *w = s->waiting;
    s->failed = err != NULL;
    s->waiting = NULL;
    if (w)
        w->link = &w; /* remove it from the list: cancel works on the rest of the list */
    while (w) {
        struct key_wait *now = w;
        key_wait_cancel(now);
        now->done(now->ctx, s->keys, s->keys ? NULL : err);
    }
}

static void start(struct key_source *s, struct fetch_target *t, fetch_done *done)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct http_header headers[2] = { { STR("accept"), STR("application/json") } };
    struct error err;
    size_t count = 1;
    if (!text_empty(s->options.token_file)) {
        /* Without a token the server refuses the request, and that error is reported. */
        if (read_bearer(&a, s->options.token_file, &headers[1], &err))
            count++;
    }
    s->fetch = fetch_start(
        t, &(struct fetch_request){ .method = "GET", .headers = { headers, count } }, done, s);
}

static void on_keys(void *ctx, int status, struct str body, const struct error *err)
{
    struct key_source *s = ctx;
    struct error failed;
    uint8_t digest[SHA256_BYTES];
    s->fetch = NULL;
    if (!err && status != 200) {
        fail(&failed, ERR_UNAVAILABLE, "the key set is answered with status %d", status);
        err = &failed;
    }
    if (err) {
        /* The address may have changed. */
        if (s->discovery) {
            fetch_target_free(s->jwks);
            s->jwks = NULL;
        }
        finish(s, err);
        return;
    }
    sha256_of(body, digest);
    if (!s->keys || memcmp(digest, s->digest, sizeof(digest)) != 0) {
        struct jwk_set *keys = jwk_set_new(body, &failed);
        if (!keys) {
            finish(s, &failed);
            return;
        }
        jwk_set_free(s->keys);
        s->keys = keys;
        s->generation++;
        memcpy(s->digest, digest, sizeof(digest));
    }
    s->got_ms = env_mono_ms(s->o.env);
    finish(s, NULL);
}

static void on_document(void *ctx, int status, struct str body, const struct error *err)
{
    struct key_source *s = ctx;
    struct error failed;
    struct json document;
    s->fetch = NULL;
    arena_done(&s->arena);
    arena_init(&s->arena, ARENA_LIMIT_DEFAULT);
    if (err) {
        finish(s, err);
        return;
    }
    if (status != 200)
        fail(&failed, ERR_UNAVAILABLE, "OIDC discovery is answered with status %d", status);
    else if (!json_parse(&s->arena, body, &document, &failed))
        fail_in(&failed, "OIDC discovery");
    else if (text_empty(json_text(json_member(document, "jwks_uri"))))
        fail(&failed, ERR_INVALID, "OIDC discovery: there is no jwks_uri");
    else
        s->jwks = target(s, &s->arena, json_text(json_member(document, "jwks_uri")), &failed);
    if (s->jwks)
        start(s, s->jwks, on_keys);
    else
        finish(s, &failed);
}

static void refetch(struct key_source *s)
{
    if (s->fetch)
        return;
    s->asked = true;
    s->asked_ms = env_mono_ms(s->o.env);
    if (s->jwks)
        start(s, s->jwks, on_keys);
    else
        start(s, s->discovery, on_document);
}

/* ---- lookups ---- */

static bool may_fetch(const struct key_source *s, int64_t now_ms)
{
    int64_t pause = s->keys && !s->failed ? KEYS_REFETCH_MS : FAILED_REFETCH_MS;
    return !s->asked || now_ms - s->asked_ms >= pause;
}

/* Keys may have been replaced right after the last fetch. */
static bool may_look_for_key(struct key_source *s, int64_t now_ms)
{
    if (!s->keys || s->failed)
        return may_fetch(s, now_ms);
    if (s->missed && now_ms - s->missed_ms < KEYS_REFETCH_MS)
        return false;
    s->missed = true;
    s->missed_ms = now_ms;
    return true;
}

static void wait_for(struct key_source *s, struct key_wait *w)
{
    w->next = s->waiting;
    w->link = &s->waiting;
    if (w->next)
        w->next->link = &w->next;
    s->waiting = w;
}

bool key_source_get(
    struct key_source *s, const char *kid, struct key_wait *w, const struct jwk_set **ret)
{
    int64_t now_ms = env_mono_ms(s->o.env);
    bool has = s->keys && jwk_set_has(s->keys, kid);
    *ret = s->keys;
    if (has && now_ms - s->got_ms > KEYS_MAX_AGE_MS && may_fetch(s, now_ms))
        refetch(s);
    if (has || (!s->fetch && !may_look_for_key(s, now_ms)))
        return true;
    refetch(s);
    wait_for(s, w);
    return false;
}

void key_wait_cancel(struct key_wait *w)
{
    if (!w->link)
        return;
    *w->link = w->next;
    if (w->next)
        w->next->link = w->link;
    w->link = NULL;
}
