#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/url.h"
#include "fetch/internal.h"
#include "http/client.h"
#include "http/tls.h"

#define REMOTE_HOPS_MAX 5

static bool host_allowed(const struct fetch *f, const char *host)
{
    json_each (allowed, f->options.allowed_remote_hosts)
        if (allowed->type == JSON_STR && str_eq_nocase(str_of(allowed->string), str_of(host)))
            return true;
    return false;
}

/* Called for each address that the name resolves to; the connection uses exactly that one. Does not
 * use the remote, which may be freed before its name is resolved. */
static bool address_allowed(void *ctx, const struct sockaddr *address)
{
    (void)ctx;
    char text[INET6_ADDRSTRLEN] = "";
    if (address->sa_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, text, sizeof(text));
    else if (address->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, text, sizeof(text));
    return url_address_kind(text) == URL_ADDRESS_PUBLIC;
}

static void open_call(struct remote *r);

static void end(struct remote *r, const struct error *err)
{
    r->call = NULL;
    r->end(r, err);
}

static void fail_later(void *ctx)
{
    struct remote *r = ctx;
    struct error why = r->run->why;
    end(r, &why);
}

static void on_head(void *ctx, const struct http_response *response)
{
    struct remote *r = ctx;
    int status = response->status;
    bool redirect =
        status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
    struct str location = http_header_find(response->headers, "location");
    if (redirect && location.ptr) {
        r->redirecting = true;
        r->location = str_dup(&r->run->arena, location);
        return;
    }
    if (!r->head(r, response)) {
        http_call_cancel(r->call);
        end(r, NULL);
    }
}

static void on_data(void *ctx, struct str bytes)
{
    struct remote *r = ctx;
    if (!r->redirecting && !r->data(r, bytes)) {
        http_call_cancel(r->call);
        end(r, NULL);
    }
}

static bool follow(struct remote *r, struct error *err)
{
    struct arena *a = &r->run->arena;
    struct url from, to;
    if (++r->hops > REMOTE_HOPS_MAX)
        return fail(err, ERR_INVALID, "more than %d redirects", REMOTE_HOPS_MAX);
    if (!url_parse(a, r->url, &from, err) || !url_resolve(a, &from, r->location, &to, err))
        return fail_in(err, "redirect");
    if (!text_eq(to.scheme, "http") && !text_eq(to.scheme, "https"))
        return fail(err, ERR_INVALID, "redirect to %s, which is not http", to.scheme);
    if (!url_same_origin(&from, &to)) {
        /* Credentials and address exceptions apply only to the first origin. */
        r->headers = json_fields(a, { "range", json_member(r->headers, "range") });
        r->any_address = false;
    }
    r->url = url_to_text(a, &to);
    r->redirecting = false;
    open_call(r);
    return true;
}

static void on_end(void *ctx, const struct error *err, bool sent)
{
    (void)sent;
    struct remote *r = ctx;
    struct error why;
    r->call = NULL;
    if (!err && r->redirecting) {
        if (!follow(r, &why))
            end(r, &why);
        return;
    }
    if (err && r->guarded && err->code == ERR_FORBIDDEN) {
        fail(&why,
            ERR_FORBIDDEN,
            "%s resolves to an address that is not public; name its host in "
            "--allowed-remote-hosts to permit it",
            r->where);
        err = &why;
    }
    end(r, err);
}

static bool prepare_tls(struct fetch *f, struct error *err)
{
    if (!f->tls)
        f->tls = tls_client_new(&(struct tls_client_options){ 0 }, err);
    return f->tls != NULL;
}

static bool open_url(struct remote *r, struct error *err)
{
    static const struct http_call_handlers handlers = {
        .head = on_head,
        .data = on_data,
        .end = on_end,
    };
    struct fetch *f = r->run->fetch;
    struct arena *a = &r->run->arena;
    struct url url;
    const char *authorization;
    r->where = r->url;
    if (!url_parse(a, r->url, &url, err) || !url_basic_auth(a, &url, &authorization, err))
        return false;
    r->where = url_to_safe_text(a, &url);
    bool secure = text_eq(url.scheme, "https");
    if ((!secure && !text_eq(url.scheme, "http")) || !*url.host)
        return fail(err, ERR_INVALID, "%s is not an http or https URL", r->where);
    if (secure && !prepare_tls(f, err))
        return false;
    r->guarded = !r->any_address && !host_allowed(f, url.host);
    struct http_origin origin = {
        .host = url.host,
        .port = (uint16_t)url_port(&url),
        .tls = secure ? f->tls : NULL,
        .address_allowed = r->guarded ? address_allowed : NULL,
    };
    struct http_header *headers = arena_array(a, r->headers.count + 2, sizeof(*headers));
    size_t count = 0;
    headers[count++] = (struct http_header){ STR("user-agent"), STR("leeboard/" LEEBOARD_VERSION) };
    if (authorization)
        headers[count++] = (struct http_header){ STR("authorization"), str_of(authorization) };
    json_each_member (m, r->headers)
        headers[count++] = (struct http_header){ str_of(m->key), str_of(m->value.string) };
    r->call = http_call_open(f->options.http,
        &(struct http_request){
            .origin = &origin,
            .method = r->method,
            .path = url_target(a, &url),
            .authority = url_authority(a, &url),
            .headers = { headers, count },
            .body = r->hops ? (struct str){ 0 } : r->body,
            .timeouts = { .total_ms = r->total_ms, .idle_ms = 15000 },
        },
        &handlers,
        r);
    return true;
}

static void open_call(struct remote *r)
{
    if (open_url(r, &r->run->why))
        return;
    /* Not from inside remote_start(). */
    timer_init(&r->run->later, fail_later, r);
    timer_set(fetch_env(r->run->fetch), &r->run->later, 0);
}

void remote_start(struct remote *r)
{
    open_call(r);
}

void remote_stop(struct remote *r)
{
    if (r->call)
        http_call_cancel(r->call);
    r->call = NULL;
}
