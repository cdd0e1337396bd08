#include <stdlib.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/resource.h"
#include "base/timer.h"
#include "http/loop.h"
#include "kube/attach.h"
#include "kube/client.h"
#include "mcp/lines.h"
#include "mcp/wire.h"

#define CONTAINER "mcp"
#define PAUSE_MIN_MS 1000
#define PAUSE_MAX_MS 15000
#define STEADY_MS 30000
#define UNSENT_BYTES_MAX ((size_t)128 << 20)

struct wire_attach {
    struct mcp_wire base;
    struct wire_attach_options o;
    struct arena arena;
    const struct wire_handlers *on;
    void *ctx;
    struct kube_op *op;
    struct kube_attach *attach;
    char *container_id; /* of the container that completed the handshake; NULL: none yet */
    char *next_id;      /* of the container being attached to */
    bool is_up;
    struct lines lines;
    struct timer timer;
    unsigned tries;
    int64_t began_ms;
};

static void look(void *ctx);

/* ---- disconnects ---- */

static void again(struct wire_attach *w)
{
    const struct env *env = loop_env(w->o.loop);
    timer_set(env, &w->timer, env_backoff_ms(env, PAUSE_MIN_MS, PAUSE_MAX_MS, w->tries++));
}

/* The connection is freed from the timer, because this runs in its own callback. */
static void lost(struct wire_attach *w, const struct error *err)
{
    bool was_up = w->is_up;
    w->is_up = false;
    lines_done(&w->lines);
    if (env_mono_ms(loop_env(w->o.loop)) - w->began_ms > STEADY_MS)
        w->tries = 0;
    again(w);
    if (was_up)
        w->on->down(w->ctx, err);
    else if (w->o.said)
        w->o.said(w->o.ctx, err->text);
}

/* ---- the connection ---- */

static void on_opened(void *ctx)
{
    struct wire_attach *w = ctx;
    bool fresh = !text_eq(w->container_id, w->next_id);
    free(w->container_id);
    w->container_id = take(w->next_id);
    w->is_up = true;
    w->began_ms = env_mono_ms(loop_env(w->o.loop));
    lines_init(&w->lines, WIRE_LINE_BYTES_MAX);
    w->on->up(w->ctx, fresh);
}

static void take_line(void *ctx, struct str line)
{
    struct wire_attach *w = ctx;
    w->on->line(w->ctx, NULL, line);
}

/* The server's standard error is already in the pod's log. */
static void on_output(void *ctx, enum kube_attach_stream stream, struct str bytes)
{
    struct wire_attach *w = ctx;
    struct error err = { 0 };
    if (stream != KUBE_STDOUT || !w->is_up || lines_feed(&w->lines, bytes, take_line, w))
        return;
    fail(&err, ERR_TOO_LARGE, "the server wrote a line without an end");
    lost(w, &err);
}

static void on_ended(void *ctx, const struct error *err)
{
    lost(ctx, err);
}

/* ---- choosing the pod ---- */

static struct json running_container(struct json pod)
{
    json_each (status, json_get(pod, "status.containerStatuses"))
        if (text_eq(json_get_text(*status, "name"), CONTAINER) &&
            json_present(json_get(*status, "state.running")))
            return *status;
    return json_none;
}

static void on_pods(void *ctx, const struct kube_reply *reply)
{
    static const struct kube_attach_handlers handlers = { on_opened, on_output, on_ended };
    struct wire_attach *w = ctx;
    w->op = NULL;
    json_each (pod, json_member(reply->body, "items")) {
        struct json status = running_container(*pod);
        const char *name = json_get_text(*pod, "metadata.name");
        const char *id = json_get_text(status, "containerID");
        if (!name || !json_present(status) ||
            json_present(json_get(*pod, "metadata.deletionTimestamp")))
            continue;
        free(w->next_id);
        w->next_id = mem_strdup(id ? id : name);
        w->attach = kube_attach_new(
            &(struct kube_attach_options){
                .loop = w->o.loop,
                .config = w->o.config,
                .ns = w->o.ns,
                .pod = name,
                .container = CONTAINER,
            },
            &handlers,
            w);
        return;
    }
    if (reply->error.code && w->o.said)
        w->o.said(w->o.ctx, reply->error.text);
    again(w);
}

static void look(void *ctx)
{
    struct wire_attach *w = ctx;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct error err = { 0 };
    if (w->is_up) { /* set by attach_send() */
        fail(&err, ERR_TOO_LARGE, "the server does not read");
        lost(w, &err);
    }
    kube_attach_free(take(w->attach));
    w->op = kube_list(w->o.client,
        &(struct kube_list){
            .what = { &RESOURCE_POD, w->o.ns },
            .label_selector = arena_printf(&a, "app=%s", w->o.name),
            .limit = 100,
        },
        (struct kube_then){ on_pods, w });
}

/* ---- interface ---- */

static void attach_start(struct mcp_wire *base, const struct wire_handlers *on, void *ctx)
{
    struct wire_attach *w = container_of(base, struct wire_attach, base);
    w->on = on;
    w->ctx = ctx;
    timer_set(loop_env(w->o.loop), &w->timer, 0);
}

static void attach_send(struct mcp_wire *base, struct str message, const struct wire_note *note)
{
    struct wire_attach *w = container_of(base, struct wire_attach, base);
    (void)note;
    if (!w->is_up)
        return;
    struct buf line = BUF_INIT(message.len + 1);
    buf_add(&line, message.ptr, message.len);
    buf_add_char(&line, '\n');
    kube_attach_write(w->attach, buf_str(&line));
    buf_done(&line);
    if (kube_attach_pending(w->attach) > UNSENT_BYTES_MAX)
        timer_set(loop_env(w->o.loop), &w->timer, 0);
}

static void attach_free(struct mcp_wire *base)
{
    struct wire_attach *w = container_of(base, struct wire_attach, base);
    timer_stop(loop_env(w->o.loop), &w->timer);
    if (w->op)
        kube_op_cancel(w->o.client, w->op);
    kube_attach_free(w->attach);
    lines_done(&w->lines);
    free(w->container_id);
    free(w->next_id);
    arena_done(&w->arena);
    free(w);
}

struct mcp_wire *wire_attach_new(const struct wire_attach_options *options)
{
    static const struct wire_ops ops = {
        .start = attach_start,
        .send = attach_send,
        .free = attach_free,
    };
    struct wire_attach *w = mem_new_of(struct wire_attach);
    w->base.ops = &ops;
    w->o = *options;
    arena_init(&w->arena, ARENA_LIMIT_DEFAULT);
    w->o.ns = arena_strdup(&w->arena, options->ns);
    w->o.name = arena_strdup(&w->arena, options->name);
    timer_init(&w->timer, look, w);
    return &w->base;
}
