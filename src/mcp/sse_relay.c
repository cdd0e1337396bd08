#include "mcp/sse_relay.h"

#include <stdlib.h>

#include "base/table.h"
#include "base/timer.h"
#include "base/url.h"
#include "http/sse.h"
#include "mcp/exchange.h"

#define ENDPOINT_BYTES_MAX ((size_t)64 << 10)

struct sse_stream {
    struct table_node node; /* once the endpoint is known */
    struct sse_relay *relay;
    struct mcp_exchange *x;
    struct sse_reader reader;
    char *endpoint; /* path and query, decoded; NULL: unknown */
};

struct sse_relay {
    struct sse_relay_options o;
    struct table streams;
};

struct sse_relay *sse_relay_new(const struct sse_relay_options *options)
{
    struct sse_relay *r = mem_new_of(struct sse_relay);
    r->o = *options;
    table_init(&r->streams, r->o.env->random(r->o.env->ctx), r->o.env->random(r->o.env->ctx));
    return r;
}

void sse_relay_free(struct sse_relay *r)
{
    if (!r)
        return;
    assert(!r->streams.count);
    table_done(&r->streams);
    free(r);
}

/* ---- owners of addresses ---- */

struct who {
    const char *endpoint;
    const struct mcp_identity *identity; /* NULL: any client's */
};

static bool is_stream_of(const struct table_node *n, const void *key)
{
    const struct sse_stream *s = container_of(n, struct sse_stream, node);
    const struct who *who = key;
    const struct mcp_identity *a = &s->x->identity, *b = who->identity;
    return text_eq(s->endpoint, who->endpoint) &&
           (!b || (text_eq(a->subject, b->subject) && text_eq(a->issuer, b->issuer)));
}

/* Decoded, because clients may escape the same address differently. */
static const char *address_of(struct arena *a, struct str path, struct str query)
{
    const char *text = arena_printf(
        a, "%.*s?%.*s", (int)path.len, path.ptr, (int)query.len, query.ptr ? query.ptr : "");
    const char *decoded;
    return url_decode(a, str_of(text), &decoded) ? decoded : text;
}

bool sse_relay_is_strange(const struct sse_relay *r, struct mcp_exchange *x)
{
    struct who who = { address_of(&x->arena, x->path, x->query), &x->identity };
    uint64_t hash = table_hash(&r->streams, who.endpoint, strlen(who.endpoint));
    if (table_find(&r->streams, hash, is_stream_of, &who))
        return false;
    who.identity = NULL;
    return table_find(&r->streams, hash, is_stream_of, &who) != NULL;
}

/* ---- events of the stream ---- */

static void write_event(struct sse_stream *s, const struct sse_event *event)
{
    struct buf out = BUF_INIT(ENDPOINT_BYTES_MAX * 2);
    sse_write(&out, event);
    answer_data(s->x, buf_str(&out));
    buf_done(&out);
}

static const char *forwarded(const struct sse_stream *s, const char *name)
{
    if (!s->relay->o.trust_proxy_headers)
        return NULL;
    struct str value = http_header_find(s->x->headers, name);
    return value.len ? str_dup(&s->x->arena, value) : NULL;
}

/* The proxy's address as the client sees it: "https://host/prefix", or a part of that. */
static const char *front_of(const struct sse_stream *s)
{
    struct arena *a = &s->x->arena;
    const char *prefix = s->relay->o.endpoint_prefix;
    const char *host = forwarded(s, "x-forwarded-host");
    const char *scheme = forwarded(s, "x-forwarded-proto");
    if (text_empty(prefix))
        prefix = forwarded(s, "x-forwarded-prefix");
    struct str path = str_of(prefix ? prefix : "");
    while (str_ends(path, STR("/")))
        path.len--;
    const char *slash = path.len && !str_starts(path, STR("/")) ? "/" : "";
    const char *rest = arena_printf(a, "%s%.*s", slash, (int)path.len, path.ptr);
    if (!host)
        return rest;
    return arena_printf(a, "%s://%s%s", scheme ? scheme : s->x->tls ? "https" : "http", host, rest);
}

/* A client's posts go through the proxy, so the server's own host and port are dropped. */
static void take_endpoint(struct sse_stream *s, const struct sse_event *event)
{
    struct arena *a = &s->x->arena;
    struct url base, url;
    struct error err;
    const char *at = arena_printf(a, "http://server%.*s", (int)s->x->path.len, s->x->path.ptr);
    if (!url_parse(a, at, &base, &err) ||
        !url_resolve(a, &base, str_dup(a, str_trim(event->data)), &url, &err)) {
        write_event(s, event);
        return;
    }
    const char *query = url.query ? url.query : "";
    s->endpoint = mem_strdup(address_of(a, str_of(url.path), str_of(query)));
    table_add(&s->relay->streams,
        &s->node,
        table_hash(&s->relay->streams, s->endpoint, strlen(s->endpoint)));
    struct sse_event ours = *event;
    ours.data =
        str_of(arena_printf(a, "%s%s%s%s", front_of(s), url.path, url.query ? "?" : "", query));
    write_event(s, &ours);
}

void sse_stream_feed(struct sse_stream *s, struct str bytes)
{
    struct sse_event event;
    while (!s->endpoint && !s->x->finished && sse_read(&s->reader, &bytes, &event)) {
        if (str_eq(event.type, STR("endpoint")))
            take_endpoint(s, &event);
        else
            write_event(s, &event);
    }
    if (!s->endpoint && sse_failed(&s->reader))
        answer_cut(s->x);
    else if (s->endpoint && bytes.len)
        answer_data(s->x, bytes);
}

/* ---- life ---- */

struct sse_stream *sse_stream_new(struct sse_relay *r, struct mcp_exchange *x)
{
    struct sse_stream *s = mem_new_of(struct sse_stream);
    *s = (struct sse_stream){ .relay = r, .x = x };
    sse_reader_init(&s->reader, ENDPOINT_BYTES_MAX);
    return s;
}

void sse_stream_free(struct sse_stream *s)
{
    if (!s)
        return;
    if (s->endpoint)
        table_remove(&s->relay->streams, &s->node);
    sse_reader_done(&s->reader);
    free(s->endpoint);
    free(s);
}
