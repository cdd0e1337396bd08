#include "cli/serve/local_transport.h"

#include "tests/node/harbor.h"

struct caller {
    struct loop *loop;
    const struct kube_transport *kube;
    struct kube_call *call;
    int heads, pieces, ends, status;
    char warning[200];
    bool cancels_at_head, cancels_at_data, asks_again;
};

static void ask_for(struct caller *c, const char *path);

static void stop(struct caller *c)
{
    kube_cancel(c->kube, take(c->call));
}

static void on_head(void *ctx, const struct kube_head *head)
{
    struct caller *c = ctx;
    c->heads++;
    c->status = head->status;
    snprintf(c->warning, sizeof(c->warning), "%s", head->warning ? head->warning : "");
    if (c->cancels_at_head)
        stop(c);
}

static void on_data(void *ctx, struct str bytes)
{
    struct caller *c = ctx;
    c->pieces += bytes.len > 0;
    if (c->cancels_at_data)
        stop(c);
}

static void on_end(void *ctx, const struct error *err, bool sent)
{
    struct caller *c = ctx;
    check(!err && sent);
    c->ends++;
    if (c->asks_again) {
        c->asks_again = false;
        ask_for(c, "/api/v1/namespaces/none");
        check_int(c->status, 200); /* nothing is called inside open */
    }
}

static const struct kube_handlers handlers = { on_head, on_data, on_end };

static void ask_for(struct caller *c, const char *path)
{
    char copy[200];
    snprintf(copy, sizeof(copy), "%s", path);
    c->call =
        kube_open(c->kube, &(struct kube_request){ .method = "GET", .path = copy }, &handlers, c);
    copy[0] = '\0'; /* it has a copy of its own */
}

TEST(local_transport_takes_questions_from_within_an_answer)
{
    cleanup(harbor_close) struct harbor h;
    harbor_open(&h);
    struct local_transport *t = local_transport_new(h.server, loop_env(h.loop), "leeboard");
    struct caller c = { .loop = h.loop, .kube = local_transport_kube(t), .asks_again = true };
    ask_for(&c, "/api/v1/namespaces/default");
    check_int(c.heads, 0);
    await(&c, c.ends == 2);
    check_int(c.heads, 2);
    check_int(c.status, 404);
    local_transport_free(t);
}

TEST(local_transport_calls_nobody_who_has_left)
{
    cleanup(harbor_close) struct harbor h;
    harbor_open(&h);
    struct local_transport *t = local_transport_new(h.server, loop_env(h.loop), "leeboard");
    const struct kube_transport *kube = local_transport_kube(t);
    struct caller early = { .kube = kube }, at_head = { .kube = kube, .cancels_at_head = true };
    struct caller at_data = { .kube = kube, .cancels_at_data = true }, open = { .kube = kube };
    struct caller last = { .loop = h.loop, .kube = kube };
    ask_for(&early, "/api/v1/namespaces");
    stop(&early);
    ask_for(&at_head, "/api/v1/namespaces");
    ask_for(&at_data, "/api/v1/namespaces?watch=true");
    ask_for(&open, "/api/v1/namespaces?watch=true");
    ask_for(&last, "/api/v1/namespaces");
    await(&last, last.ends);
    check_int(early.heads + early.ends, 0);
    check_int(at_head.heads, 1);
    check_int(at_head.pieces + at_head.ends, 0);
    check(at_data.pieces == 1 && !at_data.ends);
    check(open.pieces >= 1 && !open.ends);
    local_transport_free(t); /* with one that is open */
    check_int(open.ends, 0);
}

TEST(local_transport_passes_warnings_on)
{
    cleanup(harbor_close) struct harbor h;
    harbor_open(&h);
    struct local_transport *t = local_transport_new(h.server, loop_env(h.loop), "leeboard");
    struct caller c = { .loop = h.loop, .kube = local_transport_kube(t) };
    kube_open(c.kube,
        &(struct kube_request){ .method = "POST",
            .path = "/api/v1/namespaces?fieldValidation=Warn",
            .content_type = "application/json",
            .body = STR("{\"metadata\": {\"name\": \"sea\"}, \"depth\": 3}") },
        &handlers,
        &c);
    await(&c, c.ends);
    check_int(c.status, 201);
    check_text(c.warning, "unknown field \\\"depth\\\"");
    local_transport_free(t);
}
