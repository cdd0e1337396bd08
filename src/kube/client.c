#include "kube/client.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/resource.h"
#include "base/timer.h"
#include "base/url.h"
#include "kube/status.h"
#include "kube/stream.h"
#include "kube/transport.h"

/* An API server refuses objects above 3 MiB; managed fields and a Status around them add to
 * that. */
#define OBJECT_BYTES_MAX ((size_t)4 << 20)
#define LIST_BYTES_MAX ((size_t)32 << 20)
#define LOG_BYTES_MAX ((size_t)4 << 20)
#define OBJECT_TIMEOUT_MS 30000
/* The server itself ends requests after 60 s. */
#define LIST_TIMEOUT_MS 65000

struct kube_op {
    struct kube_op *next, **link;
    struct kube_client *client;
    struct kube_call *call;
    struct kube_then then;
    struct arena arena; /* the request, then the reply */
    const char *what;   /* "get pods default/x", for messages */
    bool changes;       /* not only reads */
    bool as_text;       /* the response is not expected to be JSON */
    struct buf body;
    int status;
    int64_t retry_after_ms;
    const char *content_type;
    const char *warning;
};

struct kube_client {
    const struct kube_transport *transport;
    const struct env *env;
    struct kube_op *ops;
    size_t pending;
};

struct kube_client *kube_client_new(const struct kube_transport *transport, const struct env *env)
{
    struct kube_client *c = mem_new_of(struct kube_client);
    c->transport = transport;
    c->env = env;
    return c;
}

void kube_client_free(struct kube_client *c)
{
    if (!c)
        return;
    while (c->ops)
        kube_op_cancel(c, c->ops);
    free(c);
}

size_t kube_client_pending(const struct kube_client *c)
{
    return c->pending;
}

static void op_free(struct kube_op *op)
{
    buf_done(&op->body);
    arena_done(&op->arena);
    free(op);
}

static void op_unlink(struct kube_op *op)
{
    *op->link = op->next;
    if (op->next)
        op->next->link = op->link;
    op->client->pending--;
}

void kube_op_cancel(struct kube_client *c, struct kube_op *op)
{
    assert(op->client == c);
    kube_cancel(c->transport, op->call);
    op_unlink(op);
    op_free(op);
}

/* ---- the response ---- */

static bool is_json(const char *content_type)
{
    return content_type && strstr(content_type, "json");
}

static bool is_known(struct kube_op *op)
{
    if (!op->then.known || op->status < 200 || op->status >= 300 || !is_json(op->content_type))
        return false;
    struct stream_identity id = stream_identify(&op->arena, buf_str(&op->body), false);
    return !text_empty(id.name) && !text_empty(id.version) && op->then.known(op->then.ctx, &id);
}

static void read_answer(struct kube_op *op, struct kube_reply *reply)
{
    struct error unreadable = { 0 };
    if (is_known(op))
        return;
    bool parsed = is_json(op->content_type) &&
                  json_parse(&op->arena, buf_str(&op->body), &reply->body, &unreadable);
    if (op->status >= 400) {
        struct kube_status s =
            kube_status_of_answer(op->status, op->retry_after_ms, reply->body, buf_str(&op->body));
        reply->error = s.error;
        reply->reason = s.reason;
        reply->causes = s.causes;
        /* A 503 of the API server itself means that it did nothing. Any other 5xx, including its
         * own 500 or 504 (etcd may have committed), says nothing about the result. */
        reply->outcome_unknown = op->status >= 500 && !(op->status == 503 && s.from_server) &&
                                 s.error.code != ERR_INVALID;
        return;
    }
    if (op->status < 200 || op->status >= 300) {
        fail(&reply->error, ERR_INTERNAL, "HTTP status %d, which no API server sends", op->status);
        return;
    }
    if (parsed || op->as_text)
        return;
    if (unreadable.code)
        fail(&reply->error, ERR_INTERNAL, "the answer cannot be read: %s", unreadable.text);
    else
        fail(&reply->error,
            ERR_INTERNAL,
            "the answer is %s, not JSON; is this a Kubernetes API server? It says: %s",
            text_empty(op->content_type) ? "of no type" : op->content_type,
            kube_status_excerpt(&op->arena, buf_str(&op->body)));
    reply->outcome_unknown = true;
}

static void op_finish(struct kube_op *op, const struct error *err, bool sent)
{
    struct kube_reply reply = {
        .status = op->status,
        .text = buf_str(&op->body),
        .reason = "",
        .warning = op->warning,
        .arena = &op->arena,
    };
    op_unlink(op);
    if (err) {
        reply.error = *err;
        reply.outcome_unknown = sent;
    } else {
        read_answer(op, &reply);
    }
    reply.outcome_unknown = reply.outcome_unknown && op->changes;
    reply.cause = arena_strdup(&op->arena, reply.error.text);
    if (reply.error.code)
        fail_in(&reply.error, "%s", op->what);
    op->then.done(op->then.ctx, &reply);
    op_free(op);
}

static void on_head(void *ctx, const struct kube_head *head)
{
    struct kube_op *op = ctx;
    op->status = head->status;
    op->retry_after_ms = head->retry_after_ms;
    op->content_type = arena_strdup(&op->arena, head->content_type);
    op->warning = arena_strdup(&op->arena, head->warning);
}

static void on_data(void *ctx, struct str bytes)
{
    struct kube_op *op = ctx;
    buf_add(&op->body, bytes.ptr, bytes.len);
    if (!buf_overflowed(&op->body))
        return;
    struct error err;
    fail(&err, ERR_TOO_LARGE, "the answer is larger than %zu bytes", op->body.limit);
    kube_cancel(op->client->transport, op->call);
    op_finish(op, &err, true);
}

static void on_end(void *ctx, const struct error *err, bool sent)
{
    op_finish(ctx, err, sent);
}

/* ---- the request ---- */

struct question {
    const char *method, *verb; /* verb: for messages */
    struct kube_target what;
    const char *content_type, *accept;
    struct json body;
    size_t bytes_max;
    int64_t timeout_ms;
    bool as_text;
};

static struct kube_op *op_new(struct kube_client *c, struct kube_then then)
{
    struct kube_op *op = mem_new_of(struct kube_op);
    op->client = c;
    op->then = then;
    arena_init(&op->arena, LIST_BYTES_MAX * 8);
    op->next = c->ops;
    op->link = &c->ops;
    if (op->next)
        op->next->link = &op->next;
    c->ops = op;
    c->pending++;
    return op;
}

/* "apply deployments/status apps/x" */
static const char *describe(struct arena *a, const struct question *q)
{
    const struct kube_target *t = &q->what;
    if (!t->resource)
        return q->verb;
    return arena_printf(a,
        "%s %s%s%s%s%s%s%s",
        q->verb,
        t->resource->plural,
        t->subresource ? "/" : "",
        t->subresource ? t->subresource : "",
        t->ns || t->name ? " " : "",
        t->ns ? t->ns : "",
        t->ns && t->name ? "/" : "",
        t->name ? t->name : "");
}

static struct kube_op *ask(struct kube_op *op, const struct question *q, const struct buf *path)
{
    static const struct kube_handlers handlers = { on_head, on_data, on_end };
    assert(!buf_overflowed(path));
    buf_init(&op->body, q->bytes_max ? q->bytes_max : OBJECT_BYTES_MAX);
    op->what = describe(&op->arena, q);
    op->changes = !text_eq(q->method, "GET");
    op->as_text = q->as_text;
    struct kube_request request = {
        .method = q->method,
        .path = buf_text(path),
        .content_type = q->content_type,
        .accept = q->accept,
        .timeout_ms = q->timeout_ms ? q->timeout_ms : OBJECT_TIMEOUT_MS,
    };
    cleanup(buf_done) struct buf body = BUF_INIT(LIST_BYTES_MAX);
    if (json_present(q->body)) {
        json_print(&body, q->body);
        request.body = buf_str(&body);
        if (!request.content_type)
            request.content_type = "application/json";
    }
    op->call = kube_open(op->client->transport, &request, &handlers, op);
    return op;
}

/* Far longer than any name, selector and token together. */
#define PATH_BYTES_MAX ((size_t)64 << 10)

static void add_path(struct buf *b, struct arena *a, struct kube_target t)
{
    buf_add_text(b, resource_path(a, t.resource, t.ns, t.name, t.subresource));
}

struct kube_op *kube_get(struct kube_client *c, struct kube_target what, struct kube_then then)
{
    struct kube_op *op = op_new(c, then);
    cleanup(buf_done) struct buf path = BUF_INIT(PATH_BYTES_MAX);
    assert(what.name);
    add_path(&path, &op->arena, what);
    return ask(op, &(struct question){ .method = "GET", .verb = "get", .what = what }, &path);
}

struct kube_op *kube_list(
    struct kube_client *c, const struct kube_list *list, struct kube_then then)
{
    struct kube_op *op = op_new(c, then);
    cleanup(buf_done) struct buf path = BUF_INIT(PATH_BYTES_MAX);
    assert(!list->what.name);
    add_path(&path, &op->arena, list->what);
    if (list->limit > 0)
        url_add_query(&path, "limit", arena_printf(&op->arena, "%lld", (long long)list->limit));
    url_add_query(&path, "continue", list->continue_token);
    url_add_query(&path, "labelSelector", list->label_selector);
    url_add_query(&path, "fieldSelector", list->field_selector);
    struct question q = {
        .method = "GET",
        .verb = "list",
        .what = list->what,
        .bytes_max = LIST_BYTES_MAX,
        .timeout_ms = LIST_TIMEOUT_MS,
    };
    return ask(op, &q, &path);
}

struct kube_op *kube_raw(
    struct kube_client *c, const char *path, size_t bytes_max, struct kube_then then)
{
    struct kube_op *op = op_new(c, then);
    cleanup(buf_done) struct buf copy = BUF_INIT(PATH_BYTES_MAX);
    buf_add_text(&copy, path);
    struct question q = {
        .method = "GET",
        .verb = arena_printf(&op->arena, "get %s", path),
        .accept = "application/json, */*",
        .bytes_max = bytes_max,
        .timeout_ms = LIST_TIMEOUT_MS,
        .as_text = true,
    };
    return ask(op, &q, &copy);
}

struct kube_op *kube_pod_log(
    struct kube_client *c, const struct kube_log *log, struct kube_then then)
{
    struct kube_op *op = op_new(c, then);
    cleanup(buf_done) struct buf path = BUF_INIT(PATH_BYTES_MAX);
    struct kube_target what = { &RESOURCE_POD, log->ns, log->pod, "log" };
    int64_t bytes = log->limit_bytes > 0 && log->limit_bytes < (int64_t)LOG_BYTES_MAX
                        ? log->limit_bytes
                        : (int64_t)LOG_BYTES_MAX;
    add_path(&path, &op->arena, what);
    url_add_query(&path, "container", log->container);
    url_add_query(&path, "previous", log->previous ? "true" : NULL);
    if (log->tail_lines > 0)
        url_add_query(
            &path, "tailLines", arena_printf(&op->arena, "%lld", (long long)log->tail_lines));
    url_add_query(&path, "limitBytes", arena_printf(&op->arena, "%lld", (long long)bytes));
    struct question q = {
        .method = "GET",
        .verb = "get",
        .what = what,
        .accept = "*/*",
        /* A refusal is JSON, and may be longer than a short log. */
        .bytes_max = (size_t)bytes + 65536,
        .as_text = true,
    };
    return ask(op, &q, &path);
}

static void add_write(struct buf *path, struct kube_write how)
{
    url_add_query(path, "fieldManager", how.field_manager);
    url_add_query(path, "fieldValidation", how.strict ? "Strict" : "Warn");
    url_add_query(path, "force", how.force ? "true" : NULL);
    url_add_query(path, "dryRun", how.dry_run ? "All" : NULL);
}

static struct kube_op *write_object(
    struct kube_client *c, const struct question *q, struct kube_write how, struct kube_then then)
{
    struct kube_op *op = op_new(c, then);
    cleanup(buf_done) struct buf path = BUF_INIT(PATH_BYTES_MAX);
    add_path(&path, &op->arena, q->what);
    add_write(&path, how);
    return ask(op, q, &path);
}

struct kube_op *kube_create(struct kube_client *c, struct kube_target collection,
    struct json object, struct kube_write how, struct kube_then then)
{
    struct question q = { .method = "POST", .verb = "create", .what = collection, .body = object };
    assert(!how.force && (collection.subresource || !collection.name));
    return write_object(c, &q, how, then);
}

struct kube_op *kube_apply(struct kube_client *c, struct kube_target what, struct json object,
    struct kube_write how, struct kube_then then)
{
    struct question q = {
        .method = "PATCH",
        .verb = "apply",
        .what = what,
        .body = object,
        .content_type = "application/apply-patch+yaml",
    };
    assert(how.field_manager && what.name);
    return write_object(c, &q, how, then);
}

struct kube_op *kube_update(struct kube_client *c, struct kube_target what, struct json object,
    struct kube_write how, struct kube_then then)
{
    struct question q = { .method = "PUT", .verb = "update", .what = what, .body = object };
    assert(!how.force && what.name);
    return write_object(c, &q, how, then);
}

struct kube_op *kube_patch(struct kube_client *c, struct kube_target what,
    enum kube_patch_type type, struct json patch, struct kube_write how, struct kube_then then)
{
    static const char *const types[] = {
        [KUBE_PATCH_MERGE] = "application/merge-patch+json",
        [KUBE_PATCH_JSON] = "application/json-patch+json",
        [KUBE_PATCH_STRATEGIC] = "application/strategic-merge-patch+json",
    };
    assert((size_t)type < lengthof(types) && !how.force && what.name);
    struct question q = {
        .method = "PATCH",
        .verb = "patch",
        .what = what,
        .body = patch,
        .content_type = types[type],
    };
    return write_object(c, &q, how, then);
}

static struct json delete_options(struct arena *a, const struct kube_delete *how)
{
    struct json all = json_list(a, json_str("All"));
    return json_fields(a,
        { "apiVersion", json_str("v1") },
        { "kind", json_str("DeleteOptions") },
        { "preconditions.uid", json_str(how->uid) },
        { "preconditions.resourceVersion", json_str(how->resource_version) },
        { "propagationPolicy", json_str(how->propagation) },
        { "gracePeriodSeconds", json_if(how->grace_seconds >= 0, json_int(how->grace_seconds)) },
        { "dryRun", json_if(how->dry_run, all) });
}

struct kube_op *kube_delete(struct kube_client *c, struct kube_target what,
    const struct kube_delete *how, struct kube_then then)
{
    struct kube_op *op = op_new(c, then);
    cleanup(buf_done) struct buf path = BUF_INIT(PATH_BYTES_MAX);
    assert(what.name);
    add_path(&path, &op->arena, what);
    struct question q = {
        .method = "DELETE",
        .verb = "delete",
        .what = what,
        .body = delete_options(&op->arena, how),
    };
    return ask(op, &q, &path);
}

struct kube_op *kube_evict(struct kube_client *c, const char *ns, const char *pod,
    const struct kube_delete *how, struct kube_then then)
{
    struct kube_op *op = op_new(c, then);
    cleanup(buf_done) struct buf path = BUF_INIT(PATH_BYTES_MAX);
    struct question q = {
        .method = "POST",
        .verb = "evict",
        .what = { &RESOURCE_POD, ns, pod, "eviction" },
        .body = json_fields(&op->arena,
            { "apiVersion", json_str("policy/v1") },
            { "kind", json_str("Eviction") },
            { "metadata.name", json_str(pod) },
            { "metadata.namespace", json_str(ns) },
            { "deleteOptions", delete_options(&op->arena, how) }),
    };
    add_path(&path, &op->arena, q.what);
    return ask(op, &q, &path);
}
