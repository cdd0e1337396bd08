#include "cli/serve/webhooks.h"

#include <stdlib.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/engines.h"
#include "engine/engine.h"
#include "engine/view.h"
#include "http/server.h"
#include "http/tls.h"
#include "kinds/llmkube/admission.h"

/* Two versions of an object, each limited to 3 MiB by the API server. */
#define REVIEW_BYTES_MAX ((size_t)8 << 20)
/* Limit for all reviews being received: clients on this port may be others than the API server. */
#define REVIEWS_BYTES_MAX ((size_t)32 << 20)
#define CONNECTIONS_MAX 64
#define REVIEWERS_MAX 8

enum answer { ALLOWED, DENIED, FAILED, ANSWERS };

struct webhooks {
    struct webhooks_options o;
    struct http_server *server; /* NULL: no certificate yet */
    size_t held;                /* bytes of all bodies */
    uint64_t counts[REVIEWERS_MAX][ANSWERS];
};

struct review {
    struct webhooks *webhooks;
    struct http_exchange *exchange;
    size_t index; /* of llmkube_admissions */
    struct buf body;
    size_t came;
    bool answered;
};

/* ---- a verdict ---- */

static struct json response_of(struct arena *a, struct json uid, const struct admission_verdict *v)
{
    struct json response = json_fields(a, { "uid", uid }, { "allowed", json_bool(v->status == 0) });
    if (v->status)
        response = json_with(a,
            response,
            "status",
            json_fields(a,
                { "status", json_str("Failure") },
                { "code", json_int(v->status) },
                { "reason", json_str(v->reason) },
                { "message", json_str(v->message) }));
    if (json_present(v->patch)) {
        cleanup(buf_done) struct buf patch = BUF_INIT(REVIEW_BYTES_MAX);
        json_print(&patch, v->patch);
        response = json_with(a, response, "patchType", json_str("JSONPatch"));
        response = json_with(a, response, "patch", json_str(base64_encode(a, buf_str(&patch))));
    }
    return response;
}

static bool judge(struct webhooks *w, const struct admission *admission, struct arena *a,
    struct str body, struct json *ret, struct error *err)
{
    struct json review;
    struct view view;
    struct admission_verdict verdict = { 0 };
    if (!json_parse(a, body, &review, err))
        return false;
    struct json request = json_get(review, "request");
    struct json uid = json_get(request, "uid"), object = json_get(request, "object");
    if (!json_text(uid))
        return fail(err, ERR_INVALID, "request.uid: there is none");
    const char *operation = json_get_text(request, "operation");
    if (text_eq(operation, "CREATE") || text_eq(operation, "UPDATE")) {
        const char *ns = json_get_text(object, "metadata.namespace");
        if (!engine_look(engines_of(w->o.engines, ns), a, admission->kind, object, &view, err))
            return false;
        struct json old = json_get(request, "oldObject");
        admission->review(&view, json_if(json_is(old, JSON_MAP), old), &verdict);
    }
    *ret = json_fields(a,
        { "apiVersion", json_str("admission.k8s.io/v1") },
        { "kind", json_str("AdmissionReview") },
        { "response", response_of(a, uid, &verdict) });
    return !arena_overflowed(a) || fail(err, ERR_INVALID, "the object is too large");
}

static void on_end(void *ctx)
{
    struct review *r = ctx;
    struct webhooks *w = r->webhooks;
    if (r->answered)
        return;
    const struct admission *admission = &llmkube_admissions[r->index];
    cleanup(arena_done) struct arena a;
    arena_init(&a, REVIEW_BYTES_MAX * 8);
    cleanup(buf_done) struct buf text = BUF_INIT(REVIEW_BYTES_MAX * 2);
    struct json answer;
    struct error err = { 0 };
    bool judged =
        !buf_overflowed(&r->body) && judge(w, admission, &a, buf_str(&r->body), &answer, &err);
    enum answer how = FAILED;
    if (judged) {
        how = json_get_bool(answer, "response.allowed", false) ? ALLOWED : DENIED;
        json_print(&text, answer);
    } else {
        log_warn("webhook %s: %s", admission->name, err.text);
        buf_add_text(&text, err.text);
    }
    w->counts[r->index][how]++;
    int status = judged ? 200 : err.code == ERR_INVALID ? 400 : 500;
    http_exchange_reply(
        r->exchange, status, judged ? "application/json" : "text/plain", buf_str(&text));
}

static void on_data(void *ctx, struct str bytes)
{
    struct review *r = ctx;
    struct webhooks *w = r->webhooks;
    if (r->answered)
        return;
    if (w->held + bytes.len > REVIEWS_BYTES_MAX) {
        r->answered = true;
        w->counts[r->index][FAILED]++;
        http_exchange_close_after(r->exchange);
        http_exchange_reply(r->exchange, 503, "text/plain", STR("too many reviews at once"));
        return;
    }
    w->held += bytes.len;
    r->came += bytes.len;
    buf_add(&r->body, bytes.ptr, bytes.len);
}

static void on_closed(void *ctx, const struct error *err)
{
    (void)err;
    struct review *r = ctx;
    r->webhooks->held -= r->came;
    buf_done(&r->body);
    free(r);
}

static void on_request(void *ctx, struct http_exchange *x, const struct http_request_head *head)
{
    static const struct http_exchange_handlers handlers = {
        .data = on_data, .end = on_end, .closed = on_closed
    };
    struct webhooks *w = ctx;
    size_t i = 0;
    while (llmkube_admissions[i].name && !str_eq(head->path, str_of(llmkube_admissions[i].path)))
        i++;
    if (!llmkube_admissions[i].name || !str_eq(head->method, STR("POST"))) {
        http_exchange_reply(x, 404, "text/plain", STR("there is no such webhook"));
        return;
    }
    struct review *r = mem_new_of(struct review);
    *r = (struct review){ .webhooks = w, .exchange = x, .index = i };
    buf_init(&r->body, REVIEW_BYTES_MAX);
    http_exchange_take(x, &handlers, r);
}

/* ---- the server ---- */

struct webhooks *webhooks_new(const struct webhooks_options *options)
{
    struct webhooks *w = mem_new_of(struct webhooks);
    w->o = *options;
    return w;
}

void webhooks_free(struct webhooks *w)
{
    if (!w)
        return;
    http_server_free(w->server);
    free(w);
}

bool webhooks_set_certificate(
    struct webhooks *w, struct str certificate, struct str key, struct error *err)
{
    struct tls_context *tls =
        tls_server_new(&(struct tls_server_options){ .certificate = certificate, .key = key }, err);
    if (!tls)
        return false;
    if (w->server)
        http_server_set_tls(w->server, tls);
    else
        w->server = http_server_new(w->o.loop,
            &(struct http_server_options){
                .port = w->o.port,
                .tls = tls,
                .request = on_request,
                .ctx = w,
                .body_bytes_max = REVIEW_BYTES_MAX,
                .connections_max = CONNECTIONS_MAX,
            },
            err);
    tls_context_unref(tls);
    return w->server || fail_in(err, "webhooks on port %d", w->o.port);
}

void webhooks_metrics_print(const struct webhooks *w, struct buf *to)
{
    static const char *const names[ANSWERS] = { "allowed", "denied", "failed" };
    buf_add_text(to,
        "# HELP leeboard_admission_reviews_total Objects that admission webhooks were asked "
        "about.\n"
        "# TYPE leeboard_admission_reviews_total counter\n");
    for (size_t i = 0; llmkube_admissions[i].name; i++)
        for (size_t k = 0; k < ANSWERS; k++)
            buf_printf(to,
                "leeboard_admission_reviews_total{webhook=\"%s\",outcome=\"%s\"} %llu\n",
                llmkube_admissions[i].name,
                names[k],
                (unsigned long long)w->counts[i][k]);
}
