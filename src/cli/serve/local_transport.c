#include "cli/serve/local_transport.h"

#include <stdlib.h>

#include "apiserver/core/server.h"
#include "base/arena.h"

struct call {
    struct local_transport *owner;
    struct call *next, **link; /* in the list of waiting or open calls */
    struct arena arena;        /* of the request, until it is passed on */
    struct kube_request request;
    const struct kube_handlers *handlers;
    void *ctx;
    struct api_call *api; /* NULL: not passed on yet */
};

struct local_transport {
    struct kube_transport kube;
    struct apiserver *server;
    const struct env *env;
    struct api_user user;
    struct call *waiting, **waiting_end, *open;
    struct timer hand_in;
};

static void unlink_call(struct call *c)
{
    struct local_transport *t = c->owner;
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    if (t->waiting_end == &c->next)
        t->waiting_end = c->link;
}

static void call_free(struct call *c)
{
    unlink_call(c);
    arena_done(&c->arena);
    free(c);
}

/* ---- the answer ---- */

/* The text in `299 - "text"`. */
static const char *warning_text(struct arena *a, const struct api_head *head)
{
    const char *first = head->warnings ? head->warnings[0] : NULL;
    const char *open = first ? strchr(first, '"') : NULL;
    return open && open[1] ? arena_strndup(a, open + 1, strlen(open + 1) - 1) : NULL;
}

static void on_head(void *ctx, const struct api_head *head)
{
    struct call *c = ctx;
    cleanup(arena_done) struct arena a = ARENA_INIT; /* the handler may cancel the call */
    c->handlers->head(c->ctx,
        &(struct kube_head){
            .status = head->status,
            .retry_after_ms = head->retry_after_s * 1000,
            .content_type = head->content_type ? head->content_type : "",
            .warning = warning_text(&a, head),
        });
}

static bool on_data(void *ctx, struct str bytes)
{
    struct call *c = ctx;
    c->handlers->data(c->ctx, bytes);
    return true;
}

static void on_end(void *ctx)
{
    struct call *c = ctx;
    const struct kube_handlers *handlers = c->handlers;
    void *to = c->ctx;
    call_free(c);
    handlers->end(to, NULL, true);
}

/* ---- the request ---- */

static void open_call(struct call *c)
{
    static const struct api_handlers handlers = { on_head, on_data, on_end };
    struct local_transport *t = c->owner;
    struct str query = str_of(c->request.path), path = str_cut(&query, '?');
    unlink_call(c);
    c->next = t->open;
    c->link = &t->open;
    if (c->next)
        c->next->link = &c->next;
    t->open = c;
    c->api = apiserver_open(t->server,
        &(struct api_request){
            .method = c->request.method,
            .path = path,
            .query = query,
            .content_type = c->request.content_type,
            .accept = c->request.accept,
            .user_agent = t->user.name,
            .body = c->request.body,
            .user = &t->user,
        },
        &handlers,
        c);
    arena_done(&c->arena);
}

/* Handlers may send requests while the server is in a flush, so they are passed on only here. */
static void hand_in(void *ctx)
{
    struct local_transport *t = ctx;
    while (t->waiting)
        open_call(t->waiting);
}

static struct kube_call *open_request(
    void *self, const struct kube_request *request, const struct kube_handlers *handlers, void *ctx)
{
    struct local_transport *t = self;
    struct call *c = mem_new_of(struct call);
    struct arena *a = &c->arena;
    arena_init(a, ARENA_LIMIT_DEFAULT);
    c->owner = t;
    c->handlers = handlers;
    c->ctx = ctx;
    c->request = (struct kube_request){
        .method = arena_strdup(a, request->method),
        .path = arena_strdup(a, request->path),
        .content_type = arena_strdup(a, request->content_type),
        .accept = arena_strdup(a, request->accept),
        .body = { request->body.ptr ? arena_strndup(a, request->body.ptr, request->body.len) : NULL,
            request->body.len },
    };
    c->link = t->waiting_end;
    *t->waiting_end = c;
    t->waiting_end = &c->next;
    timer_set(t->env, &t->hand_in, 0);
    return (struct kube_call *)c;
}

static void cancel(void *self, struct kube_call *call)
{
    struct local_transport *t = self;
    struct call *c = (struct call *)call;
    if (c->api)
        apiserver_cancel(t->server, c->api);
    call_free(c);
}

/* ---- the transport ---- */

struct local_transport *local_transport_new(
    struct apiserver *server, const struct env *env, const char *user)
{
    static const char *const groups[] = { "system:masters", "system:authenticated", NULL };
    struct local_transport *t = mem_new_of(struct local_transport);
    t->kube = (struct kube_transport){ open_request, cancel, t };
    t->server = server;
    t->env = env;
    t->user = (struct api_user){ .name = user, .uid = "", .groups = groups };
    t->waiting_end = &t->waiting;
    timer_init(&t->hand_in, hand_in, t);
    return t;
}

void local_transport_free(struct local_transport *t)
{
    if (!t)
        return;
    while (t->waiting)
        call_free(t->waiting);
    while (t->open)
        cancel(t, (struct kube_call *)t->open);
    timer_stop(t->env, &t->hand_in);
    free(t);
}

const struct kube_transport *local_transport_kube(struct local_transport *t)
{
    return &t->kube;
}
