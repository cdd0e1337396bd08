#include "apiserver/core/server.h"

#include <stdlib.h>
#include <string.h>

#include "apiserver/access/auth.h"
#include "apiserver/access/secret_tokens.h"
#include "apiserver/builtin/builtin.h"
#include "apiserver/controllers/aggregate.h"
#include "apiserver/controllers/bootstrap.h"
#include "apiserver/controllers/crd.h"
#include "apiserver/controllers/expiry.h"
#include "apiserver/controllers/gc.h"
#include "apiserver/controllers/local_services.h"
#include "apiserver/controllers/quota.h"
#include "apiserver/controllers/undone.h"
#include "apiserver/core/body.h"
#include "apiserver/core/internal.h"
#include "apiserver/core/object.h"
#include "apiserver/describe/documents.h"
#include "apiserver/verbs/write.h"

/* If a client does not read its response, the rest is held back. */
#define PIECE_BYTES ((size_t)64 << 10)
/* Limits for one request. A step is an allocation: about 50 ns with the related work. */
#define REQUEST_BYTES_MAX ARENA_LIMIT_DEFAULT
#define REQUEST_STEPS_MAX ((uint64_t)8 << 20)

/* ---- calls ---- */

static struct api_call *call_new(
    struct apiserver *s, const struct api_handlers *handlers, void *ctx)
{
    struct api_call *c = mem_new_of(struct api_call);
    c->server = s;
    c->handlers = *handlers;
    c->ctx = ctx;
    if (s->spare_count)
        c->arena = s->spare[--s->spare_count];
    else
        arena_init(&c->arena, ARENA_LIMIT_DEFAULT);
    c->budget.bytes_max = REQUEST_BYTES_MAX;
    c->budget.steps_max = REQUEST_STEPS_MAX;
    c->arena.budget = &c->budget;
    c->next = s->calls;
    c->link = &s->calls;
    if (c->next)
        c->next->link = &c->next;
    s->calls = c;
    return c;
}

static void call_free(struct api_call *c)
{
    struct apiserver *s = c->server;
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    store_object_release(c->held);
    document_release(c->document);
    list_stream_free(c->list);
    watch_stream_free(c);
    log_stream_free(c);
    c->arena.budget = NULL;
    arena_reset(&c->arena);
    if (s->spare_count < lengthof(s->spare))
        s->spare[s->spare_count++] = c->arena;
    else
        arena_done(&c->arena);
    free(c);
}

void server_ready(struct apiserver *s, struct api_call *c)
{
    if (c->queued)
        return;
    c->queued = true;
    c->next_ready = NULL;
    *s->ready_end = c;
    s->ready_end = &c->next_ready;
    server_wake(s);
}

void server_wake(struct apiserver *s)
{
    if (s->wake)
        s->wake(s->wake_ctx);
}

void apiserver_set_wake(struct apiserver *s, void (*wake)(void *ctx), void *ctx)
{
    s->wake = wake;
    s->wake_ctx = ctx;
}

bool api_call_send(struct api_call *c, struct str bytes)
{
    if (c->cancelled)
        return false;
    if (bytes.len && !c->handlers.data(c->ctx, bytes))
        c->paused = true;
    return !c->paused && !c->cancelled;
}

void api_call_end(struct api_call *c)
{
    if (!c->cancelled)
        c->handlers.end(c->ctx);
    c->ended = true;
}

static void send_head(struct api_call *c)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < lengthof(c->parts); i++)
        bytes += (int64_t)c->parts[i].len;
    struct api_head head = {
        .status = c->status,
        .content_type = c->content_type,
        .warnings = c->warnings,
        .retry_after_s = c->retry_after_s,
        .body_bytes = c->watch || c->log ? -1
                      : c->list          ? list_stream_bytes(c->list)
                                         : bytes,
        .live = c->watch || c->log,
        .watch = c->watch,
        .etag = c->etag,
        .session = c->session,
    };
    c->head_sent = true;
    c->handlers.head(c->ctx, &head);
}

/* Sends as much as fits. May free the call. */
static void send_answer(struct api_call *c)
{
    c->busy = true;
    if (!c->head_sent)
        send_head(c);
    bool room = !c->paused && !c->cancelled;
    while (room && c->next_part < lengthof(c->parts)) {
        struct str *part = &c->parts[c->next_part];
        struct str piece = { part->ptr, part->len < PIECE_BYTES ? part->len : PIECE_BYTES };
        if (part->len)
            *part = (struct str){ part->ptr + piece.len, part->len - piece.len };
        c->next_part += part->len == 0;
        room = api_call_send(c, piece);
    }
    if (room && c->list)
        room = list_stream_send(c);
    if (c->watch)
        watch_stream_send(c);
    else if (c->log)
        log_stream_send(c);
    else if (room)
        api_call_end(c);
    c->busy = false;
    if (c->cancelled || c->ended)
        call_free(c);
}

static void note_writer(struct apiserver *s, const struct api_request *r)
{
    if (r->connection && !text_eq(r->method, "GET") && s->writer_count < lengthof(s->writers))
        s->writers[s->writer_count++] = r->connection;
}

bool server_is_writer(const struct apiserver *s, const void *connection)
{
    for (size_t i = 0; i < s->writer_count; i++)
        if (s->writers[i] == connection)
            return true;
    return false;
}

static void drop_answer(struct api_call *c)
{
    store_object_release(take(c->held));
    document_release(take(c->document));
    list_stream_free(take(c->list));
    watch_stream_free(c);
    log_stream_free(c);
    memset(c->parts, 0, sizeof(c->parts));
    c->session = NULL;
}

static void handle(void *ctx)
{
    request_handle(ctx);
}

/* Nothing was stored, because a write seals the budget before it changes anything. */
static void fail_spent(struct api_call *c)
{
    drop_answer(c);
    c->answered = false;
    call_unwarn(c, 0);
    call_fail(c,
        (struct api_status){ 413,
            "RequestEntityTooLarge",
            c->budget.bytes > c->budget.bytes_max
                ? arena_printf(&c->arena,
                      "the request needs more than %zu MiB of memory: split it into smaller ones",
                      c->budget.bytes_max >> 20)
                : arena_printf(&c->arena,
                      "the request needs more than %llu steps: split it into smaller ones",
                      (unsigned long long)c->budget.steps_max) });
}

struct api_call *apiserver_open(struct apiserver *s, const struct api_request *request,
    const struct api_handlers *handlers, void *ctx)
{
    struct api_call *c = call_new(s, handlers, ctx);
    c->request = request;
    c->refusal = accept_error_media(&c->arena, request->accept);
    if (request->body.len > s->options.body_bytes_max)
        call_fail(c,
            (struct api_status){ 413,
                "RequestEntityTooLarge",
                arena_printf(&c->arena,
                    "Request entity too large: limit is %zu",
                    s->options.body_bytes_max) });
    else if (!budget_run(&c->budget, handle, c))
        fail_spent(c);
    note_writer(s, request);
    s->last_steps = c->budget.steps;
    assert(c->answered);
    c->request = NULL;
    server_ready(s, c);
    return c;
}

bool apiserver_refuses_head(struct apiserver *s, const struct api_request *request)
{
    static const struct api_handlers nobody = { 0 };
    struct api_call *c = call_new(s, &nobody, NULL);
    c->request = request;
    c->head_only = true;
    c->refusal = accept_error_media(&c->arena, request->accept);
    bool refused = !budget_run(&c->budget, handle, c) || c->answered;
    call_free(c);
    return refused;
}

void apiserver_cancel(struct apiserver *s, struct api_call *call)
{
    assert(call->server == s);
    call->cancelled = true;
    if (!call->busy && !call->queued)
        call_free(call);
}

void apiserver_resume(struct apiserver *s, struct api_call *call)
{
    call->paused = false;
    server_ready(s, call);
}

void server_add_hook(struct apiserver *s, const struct server_hook *hook)
{
    assert(s->hook_count < SERVER_HOOKS_MAX);
    s->hooks[s->hook_count++] = *hook;
}

static bool has_work(const struct apiserver *s)
{
    bool pending = false;
    for (size_t i = 0; i < s->hook_count && !pending; i++)
        pending = s->hooks[i].is_pending(s->hooks[i].ctx);
    return pending;
}

bool apiserver_is_pending(const struct apiserver *s)
{
    return s->ready != NULL || s->bookmarks_due || store_is_dirty(s->store) ||
           (!undone_rests(s->undone) && has_work(s));
}

/* Reads and writes since the last flush are invalid: no client may get their result. */
static void refuse_all(struct apiserver *s, const struct error *why)
{
    for (struct api_call *c = s->ready; c; c = c->next_ready) {
        if (c->head_sent || c->cancelled)
            continue;
        drop_answer(c);
        call_fail(c, status_internal(&c->arena, arena_strdup(&c->arena, why->text)));
    }
}

static void send_all(struct api_call *c)
{
    while (c) {
        struct api_call *next = c->next_ready;
        c->queued = false;
        if (c->cancelled)
            call_free(c);
        else
            send_answer(c);
        c = next;
    }
}

/* Events first: a client that caches the response to its write (Argo Workflows) ignores a later
 * event for it, and waits for the next one. */
static void send_ready(struct apiserver *s)
{
    struct api_call *lists[2], **ends[2] = { &lists[0], &lists[1] };
    for (struct api_call *c = s->ready; c; c = c->next_ready) {
        *ends[!c->watch] = c;
        ends[!c->watch] = &c->next_ready;
    }
    *ends[0] = *ends[1] = NULL;
    s->ready = NULL;
    s->ready_end = &s->ready;
    send_all(lists[0]);
    send_all(lists[1]);
    s->writer_count = 0;
}

void apiserver_flush(struct apiserver *s)
{
    struct error err = { 0 };
    for (size_t i = 0; i < s->hook_count && !undone_rests(s->undone); i++)
        if (s->hooks[i].before_flush)
            s->hooks[i].before_flush(s->hooks[i].ctx);
    if (!store_flush(s->store, &err)) {
        refuse_all(s, &err);
        undone_recover(s->undone);
    }
    if (s->bookmarks_due)
        watch_send_bookmarks(s);
    s->bookmarks_due = false;
    send_ready(s);
    for (size_t i = 0; i < s->hook_count && !undone_rests(s->undone); i++)
        if (s->hooks[i].after_flush)
            s->hooks[i].after_flush(s->hooks[i].ctx);
}

/* ---- the server ---- */

static void on_bookmarks(void *ctx)
{
    struct apiserver *s = ctx;
    s->bookmarks_due = s->watches != NULL;
    if (s->bookmarks_due)
        server_wake(s);
    timer_set(s->env, &s->bookmarks, s->options.bookmark_ms);
}

static void on_pace(void *ctx)
{
    watch_release_held(ctx);
}

static const char *const own_groups[] = { "system:masters", NULL };
static const struct api_user self = { .name = "system:apiserver", .uid = "", .groups = own_groups };

bool apiserver_allows_loopback(const struct apiserver *s, const struct api_user *user)
{
    return s->options.loopback_endpoints || user == &self;
}

static void ignore_head(void *ctx, const struct api_head *head)
{
    (void)ctx;
    (void)head;
}
static bool ignore_data(void *ctx, struct str bytes)
{
    (void)ctx;
    (void)bytes;
    return true;
}
static void ignore_end(void *ctx)
{
    (void)ctx;
}

void server_ask(struct apiserver *s, struct api_request *request)
{
    static const struct api_handlers nobody = { ignore_head, ignore_data, ignore_end };
    request->user = &self;
    apiserver_open(s, request, &nobody, NULL);
}

/* The server's own objects are written like all others, without a waiting client. */
static void put_object(struct apiserver *s, struct json object, bool again)
{
    static const struct api_request request = { .method = "POST", .user = &self };
    static const struct api_handlers nobody = { 0 };
    struct api_call *c = call_new(s, &nobody, NULL);
    const char *version = json_get_text(object, "apiVersion"), *slash = strchr(version, '/');
    const char *ns = json_get_text(object, "metadata.namespace"), *why;
    const char *group = slash ? arena_strndup(&c->arena, version, (size_t)(slash - version)) : "";
    c->request = &request;
    c->ns = ns ? ns : "";
    c->subresource = "";
    c->manager = text_eq(group, "flowcontrol.apiserver.k8s.io")
                     ? "api-priority-and-fairness-config-producer-v1"
                     : "kube-apiserver";
    c->kind = registry_find_kind(
        s->registry, group, slash ? slash + 1 : version, json_get_text(object, "kind"));
    struct write w = {
        .call = c,
        .server = s,
        .arena = &c->arena,
        .kind = c->kind,
        .ns = c->ns,
        .name = json_get_text(object, "metadata.name"),
    };
    bool there = c->kind && write_read_old(&w);
    if (c->kind && (again || !there) &&
        body_read_object(c, c->kind, &object, (struct str){ NULL, 0 }, false, &why)) {
        if (there)
            update_object(&w, object, false);
        else
            create_object(&w, object, false);
    }
    call_free(c);
}

void server_create(struct apiserver *s, struct json object)
{
    put_object(s, object, false);
}

void apiserver_set_endpoint(struct apiserver *s, const char *address, uint16_t port)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    json_each (object, bootstrap_endpoint(&a, s->options.service_cidr, address, port))
        put_object(s, *object, true);
    free(s->endpoint);
    bool v6 = strchr(address, ':');
    s->endpoint = mem_strdup(
        arena_printf(&a, "%s%s%s:%u", v6 ? "[" : "", address, v6 ? "]" : "", (unsigned)port));
    server_wake(s);
}

const char *apiserver_endpoint(const struct apiserver *s)
{
    return s->endpoint;
}

static void create_bootstrap(struct apiserver *s)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    json_each (object, bootstrap_objects(&a, s->options.service_cidr))
        server_create(s, *object);
}

static void set_defaults(struct apiserver_options *o)
{
    if (!o->service_cidr)
        o->service_cidr = "10.96.0.0/16";
    if (!o->bookmark_ms)
        o->bookmark_ms = 60000;
    if (!o->watchers_max)
        o->watchers_max = 10000;
    if (!o->body_bytes_max)
        o->body_bytes_max = (size_t)3 << 20;
    if (!o->watch_behind_bytes)
        o->watch_behind_bytes = (size_t)16 << 20;
}

static bool add_kinds(struct apiserver *s, struct error *err)
{
    bool ok = s->options.kinds ? s->options.kinds(s->registry)
                               : (s->builtin = builtin_register(s->registry)) != NULL;
    if (!ok || !auth_register_reviews(s->registry))
        return fail(err, ERR_INTERNAL, "two kinds of the same name");
    return !s->builtin || builtin_set_service_range(s->builtin, s->options.service_cidr, err);
}

/* Consequences of stored and initial objects are processed before the first request. */
#define SETTLE_FLUSHES_MAX 1000

struct apiserver *apiserver_new(const struct apiserver_options *options, struct error *err)
{
    struct apiserver *s = mem_new_of(struct apiserver);
    s->options = *options;
    set_defaults(&s->options);
    s->env = options->env;
    s->store = options->store;
    s->registry = registry_new();
    s->ready_end = &s->ready;
    buf_init(&s->scratch, (size_t)64 << 20);
    buf_init(&s->batch.text, (size_t)64 << 20);
    timer_init(&s->bookmarks, on_bookmarks, s);
    timer_init(&s->pace, on_pace, s);
    timer_set(s->env, &s->bookmarks, s->options.bookmark_ms);
    if (!add_kinds(s, err)) {
        apiserver_free(s);
        return NULL;
    }
    s->crds = crds_new(s);
    s->gc = gc_new(s);
    s->expiry = expiry_new(s);
    s->auth = auth_new(s, &s->options);
    s->documents = documents_new(s);
    s->aggregate = aggregate_new(s);
    s->local_services = local_services_new(s);
    s->secret_tokens = secret_tokens_new(s);
    s->undone = undone_new(s);
    create_bootstrap(s);
    secret_tokens_start(s->secret_tokens);
    quota_count_all(s);
    for (int i = 0; i < SETTLE_FLUSHES_MAX && apiserver_is_pending(s); i++)
        apiserver_flush(s);
    return s;
}

void apiserver_free(struct apiserver *s)
{
    if (!s)
        return;
    while (s->calls) {
        assert(!s->calls->busy);
        call_free(s->calls);
    }
    undone_free(s->undone);
    secret_tokens_free(s->secret_tokens);
    local_services_free(s->local_services);
    aggregate_free(s->aggregate);
    documents_free(s->documents);
    auth_free(s->auth);
    gc_free(s->gc);
    expiry_free(s->expiry);
    for (size_t i = 0; i < s->spare_count; i++)
        arena_done(&s->spare[i]);
    registry_free(s->registry);
    if (s->builtin)
        builtin_free(s->builtin);
    crds_free(s->crds);
    buf_done(&s->scratch);
    timer_stop(s->env, &s->bookmarks);
    timer_stop(s->env, &s->pace);
    watch_batch_forget(&s->batch);
    buf_done(&s->batch.text);
    free(s->endpoint);
    free(s);
}

struct store *apiserver_store(struct apiserver *s)
{
    return s->store;
}

struct registry *apiserver_registry(struct apiserver *s)
{
    return s->registry;
}

const struct env *apiserver_env(const struct apiserver *s)
{
    return s->env;
}

struct auth *apiserver_auth(struct apiserver *s)
{
    return s->auth;
}

struct json apiserver_read(struct apiserver *s, struct arena *a, const struct api_kind *k,
    const char *ns, const char *name)
{
    const struct store_object *o = store_get(store_table(s->store, k->table), ns, name);
    return json_if(o, object_read(k, a, o));
}
