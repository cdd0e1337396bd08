#include "mcp/middleware/fetch.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/url.h"
#include "http/client.h"
#include "http/tls.h"
#include "kube/file.h"

#define TIMEOUT_MS 10000
#define PEM_BYTES_MAX ((size_t)1 << 20)

struct fetch_target {
    struct http_client *client;
    struct http_origin origin;
    const char *path, *authority, *shown;
};

struct fetch {
    struct http_call *call;
    fetch_done *done;
    void *ctx;
    const struct fetch_target *target;
    int status;
    struct buf body;
};

/* ---- targets ---- */

static bool is_public(void *ctx, const struct sockaddr *address)
{
    char text[INET6_ADDRSTRLEN] = "";
    (void)ctx;
    if (address->sa_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, text, sizeof(text));
    else if (address->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, text, sizeof(text));
    return url_address_kind(text) == URL_ADDRESS_PUBLIC;
}

static bool read_pem(struct arena *a, const char *path, struct str *ret, struct error *err)
{
    return text_empty(path) || file_read(a, path, PEM_BYTES_MAX, ret, err);
}

static bool make_tls(struct fetch_target *t, const struct fetch_options *f, struct error *err)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct tls_client_options options = {
        .ca_file = text_empty(f->ca_file) ? NULL : f->ca_file,
        .verify_off = f->verify_off,
    };
    if (!read_pem(&a, f->certificate_file, &options.certificate, err) ||
        !read_pem(&a, f->key_file, &options.key, err))
        return false;
    t->origin.tls = tls_client_new(&options, err);
    return t->origin.tls != NULL;
}

struct fetch_target *fetch_target_new(
    const struct mcp_open *o, const struct fetch_options *f, struct error *err)
{
    struct url url;
    if (!url_parse(o->arena, f->url ? f->url : "", &url, err))
        return NULL;
    bool is_tls = text_eq(url.scheme, "https");
    if ((!is_tls && !text_eq(url.scheme, "http")) || text_empty(url.host)) {
        fail(err,
            ERR_INVALID,
            "\"%s\" is not an http or https URL",
            url_to_safe_text(o->arena, &url));
        return NULL;
    }
    struct fetch_target *t = mem_new_of(struct fetch_target);
    *t = (struct fetch_target){
        .client = o->http,
        .origin = { .host = url.host,
            .port = (uint16_t)url_port(&url),
            .address_allowed = f->public_only ? is_public : NULL },
        .path = url_target(o->arena, &url),
        .authority = url_authority(o->arena, &url),
        .shown = url_to_safe_text(o->arena, &url),
    };
    if (!is_tls || make_tls(t, f, err))
        return t;
    free(t);
    return NULL;
}

void fetch_target_free(struct fetch_target *t)
{
    if (t)
        tls_context_unref(t->origin.tls);
    free(t);
}

bool fetch_target_is_tls(const struct fetch_target *t)
{
    return t->origin.tls != NULL;
}

const char *fetch_target_path(const struct fetch_target *t)
{
    return t->path;
}

const char *fetch_target_authority(const struct fetch_target *t)
{
    return t->authority;
}

/* ---- requests ---- */

static void on_head(void *ctx, const struct http_response *response)
{
    ((struct fetch *)ctx)->status = response->status;
}

static void on_data(void *ctx, struct str bytes)
{
    buf_add(&((struct fetch *)ctx)->body, bytes.ptr, bytes.len);
}

static void on_end(void *ctx, const struct error *err, bool sent)
{
    struct fetch *f = ctx;
    struct error failed;
    (void)sent;
    if (err) {
        failed = *err;
        fail_in(&failed, "%s", f->target->shown);
    }
    f->done(f->ctx, f->status, buf_str(&f->body), err ? &failed : NULL);
    buf_done(&f->body);
    free(f);
}

struct fetch *fetch_start(
    struct fetch_target *t, const struct fetch_request *request, fetch_done *done, void *ctx)
{
    static const struct http_call_handlers handlers = { on_head, on_data, on_end, NULL };
    struct fetch *f = mem_new_of(struct fetch);
    int64_t timeout_ms = request->timeout_ms ? request->timeout_ms : TIMEOUT_MS;
    size_t bytes_max = request->bytes_max ? request->bytes_max : FETCH_BYTES_MAX;
    *f = (struct fetch){ .done = done, .ctx = ctx, .target = t };
    buf_init(&f->body, bytes_max + 1);
    f->call = http_call_open(t->client,
        &(struct http_request){
            .origin = &t->origin,
            .method = request->method,
            .path = request->path ? request->path : t->path,
            .authority = t->authority,
            .headers = request->headers,
            .body = request->body,
            .gunzip = true,
            .body_bytes_max = (int64_t)bytes_max,
            .timeouts = { .wait_ms = timeout_ms,
                .first_byte_ms = timeout_ms,
                .total_ms = timeout_ms },
        },
        &handlers,
        f);
    return f;
}

void fetch_cancel(struct fetch *f)
{
    if (!f)
        return;
    http_call_cancel(f->call);
    buf_done(&f->body);
    free(f);
}
