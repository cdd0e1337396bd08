#include "router/target.h"

#include <stdlib.h>

#include "base/buf.h"

void router_target_init(
    struct target *t, struct arena *a, const struct router_backend *b, struct tls_context *tls)
{
    *t = (struct target){ .backend = b };
    if (!url_parse(a, b->address, &t->url, &t->unusable))
        return;
    bool secure = text_eq(t->url.scheme, "https");
    if ((!secure && !text_eq(t->url.scheme, "http")) || text_empty(t->url.host)) {
        fail(&t->unusable,
            ERR_INVALID,
            "%s: the address must begin with http:// or https://",
            b->name);
        return;
    }
    t->origin = (struct http_origin){
        .host = t->url.host, .port = (uint16_t)url_port(&t->url), .tls = secure ? tls : NULL
    };
    t->authority = url_authority(a, &t->url);
}

void router_target_done(struct target *t)
{
    free(t->file_key);
}

void router_target_inherit(struct target *t, const struct target *from)
{
    t->failures = from->failures;
    t->failing_since_ms = from->failing_since_ms;
    t->out_until_ms = from->out_until_ms;
    t->first_token_ms = from->first_token_ms;
    t->down = from->down;
}

/* ---- health ---- */

bool router_target_is_out(const struct target *t, int64_t now_ms)
{
    return t->down || (t->out_until_ms && (now_ms < t->out_until_ms || t->probing));
}

void router_target_begin(struct target *t, int64_t now_ms)
{
    if (t->out_until_ms && now_ms >= t->out_until_ms)
        t->probing = true;
}

void router_target_succeeded(struct target *t)
{
    t->failures = 0;
    t->out_until_ms = 0;
    t->probing = false;
}

void router_target_failed(struct target *t, enum target_failure how, int64_t now_ms, int64_t out_ms)
{
    bool was_out = t->out_until_ms != 0;
    if (t->failures == 0 || now_ms - t->failing_since_ms > out_ms) {
        t->failures = 0;
        t->failing_since_ms = now_ms;
    }
    t->failures++;
    t->probing = false;
    if (out_ms > 0 && (how != TARGET_FAILED || was_out || t->failures >= TARGET_FAILURES_MAX))
        t->out_until_ms = now_ms + out_ms;
}

void router_target_released(struct target *t)
{
    t->probing = false;
}

/* ---- the request ---- */

const char *router_target_path(
    struct arena *a, const struct target *t, struct str path, struct str query)
{
    struct str base = str_of(t->url.path);
    while (base.len && base.ptr[base.len - 1] == '/')
        base.len--;
    /* A base URL that ends in /v1, as the SDKs expect it, must not get a second /v1. That of Vertex
     * AI ends in /endpoints/openapi without a /v1 after it. */
    if (str_ends(base, STR("/v1")) && str_starts(path, STR("/v1/")))
        base.len -= 3;
    if (str_ends(base, STR("/endpoints/openapi")) && str_starts(path, STR("/v1/")))
        path = (struct str){ path.ptr + 3, path.len - 3 };
    bool both = t->url.query && query.len;
    bool any = t->url.query || query.len;
    return arena_printf(a,
        "%.*s%.*s%s%s%s%.*s",
        (int)base.len,
        base.ptr ?: "",
        (int)path.len,
        path.ptr,
        any ? "?" : "",
        t->url.query ?: "",
        both ? "&" : "",
        (int)query.len,
        query.ptr ?: "");
}
