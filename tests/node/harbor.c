#include "tests/node/harbor.h"

#include <stdlib.h>
#include <unistd.h>

#include "apiserver/core/server.h"
#include "apiserver/store/store.h"
#include "base/tree.h"

struct kube_call {
    struct harbor *harbor;
    struct api_call *call;
    const struct kube_handlers *on;
    void *ctx;
};

static void flush(void *ctx)
{
    struct harbor *h = ctx;
    apiserver_flush(h->server);
    if (apiserver_is_pending(h->server))
        timer_set(loop_env(h->loop), &h->flush, 0);
}

static void wake(void *ctx)
{
    struct harbor *h = ctx;
    timer_set(loop_env(h->loop), &h->flush, 0);
}

static void on_head(void *ctx, const struct api_head *head)
{
    struct kube_call *c = ctx;
    c->on->head(c->ctx,
        &(struct kube_head){ head->status, head->retry_after_s * 1000, head->content_type, NULL });
}

static bool on_data(void *ctx, struct str bytes)
{
    struct kube_call *c = ctx;
    c->on->data(c->ctx, bytes);
    return true;
}

static void on_end(void *ctx)
{
    struct kube_call *c = ctx;
    const struct kube_handlers *on = c->on;
    void *to = c->ctx;
    free(c);
    on->end(to, NULL, true);
}

static struct kube_call *transport_open(
    void *self, const struct kube_request *request, const struct kube_handlers *handlers, void *ctx)
{
    static const struct api_handlers on = { on_head, on_data, on_end };
    static const char *const groups[] = { "system:masters", NULL };
    struct harbor *h = self;
    struct kube_call *c = mem_new_of(struct kube_call);
    struct api_user user = { .name = "admin", .uid = "", .groups = groups };
    struct str query = str_of(request->path), path = str_cut(&query, '?');
    *c = (struct kube_call){ .harbor = h, .on = handlers, .ctx = ctx };
    c->call = apiserver_open(h->server,
        &(struct api_request){ .method = request->method,
            .path = path,
            .query = query,
            .content_type = request->content_type,
            .accept = request->accept,
            .user_agent = "harbor",
            .body = request->body,
            .user = &user },
        &on,
        c);
    wake(h);
    return c;
}

static void transport_cancel(void *self, struct kube_call *c)
{
    struct harbor *h = self;
    apiserver_cancel(h->server, c->call);
    free(c);
}

void harbor_open(struct harbor *h)
{
    char name[] = "/tmp/leeboard-node-XXXXXX";
    struct error err = { 0 };
    *h = (struct harbor){ .loop = loop_new() };
    check(mkdtemp(name));
    h->dir = arena_strdup(test_arena(), name);
    timer_init(&h->flush, flush, h);
    h->transport =
        (struct kube_transport){ .open = transport_open, .cancel = transport_cancel, .self = h };
    h->store = store_new(loop_env(h->loop), &(struct store_options){ 0 }, &err);
    h->server = apiserver_new(&(struct apiserver_options){ .env = loop_env(h->loop),
                                  .store = h->store,
                                  .service_cidr = "127.96.0.0/16",
                                  .token_key = STR("a key that is long enough for a test of it"),
                                  .allow_all = true,
                                  .loopback_endpoints = true },
        &err);
    if (!h->server)
        test_fail(__FILE__, __LINE__, "%s", err.text);
    apiserver_set_wake(h->server, wake, h);
    wake(h);
}

void harbor_close(struct harbor *h)
{
    timer_stop(loop_env(h->loop), &h->flush);
    apiserver_free(h->server);
    store_free(h->store);
    loop_free(h->loop);
    check(tree_remove(h->dir, NULL));
}

struct answer {
    int status;
    struct buf text;
    bool ended;
};

static void answer_head(void *ctx, const struct kube_head *head)
{
    ((struct answer *)ctx)->status = head->status;
}

static void answer_data(void *ctx, struct str bytes)
{
    buf_add(&((struct answer *)ctx)->text, bytes.ptr, bytes.len);
}

static void answer_end(void *ctx, const struct error *err, bool sent)
{
    (void)err, (void)sent;
    ((struct answer *)ctx)->ended = true;
}

struct json harbor_ask(
    struct harbor *h, const char *method, const char *path, const char *body, int *ret_status)
{
    static const struct kube_handlers on = { answer_head, answer_data, answer_end };
    struct answer got = { .text = BUF_INIT(1 << 20) };
    bool patch = text_eq(method, "PATCH");
    struct str bytes = str_of(body ? json_to_text(test_arena(), test_json(body)) : NULL);
    kube_open(&h->transport,
        &(struct kube_request){ .method = method,
            .path = path,
            .content_type = patch  ? "application/merge-patch+json"
                            : body ? "application/json"
                                   : NULL,
            .body = bytes },
        &on,
        &got);
    await(h, got.ended);
    struct json result = { 0 };
    struct error err;
    check(json_parse(test_arena(), buf_str(&got.text), &result, &err));
    *ret_status = got.status;
    buf_done(&got.text);
    return result;
}

struct json harbor_do(struct harbor *h, const char *method, const char *path, const char *body)
{
    int status;
    struct json result = harbor_ask(h, method, path, body, &status);
    if (status >= 300)
        test_fail(__FILE__, __LINE__, "%s %s: %s", method, path, json_get_text(result, "message"));
    return result;
}
