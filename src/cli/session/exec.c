/* exec and attach: connects a command's input and output to channels of a WebSocket, or to streams
 * of SPDY, which the client opens after the upgrade, one for each channel. */

#include <stdlib.h>

#include "base/json.h"
#include "cli/session/session.h"
#include "http/spdy.h"

#define RESIZE_BYTES_MAX 256

enum { STDIN, STDOUT, STDERR, ERRORS, RESIZE, CHANNELS, CLOSE = 255, NO_CHANNEL = -1 };

/* The names of the SPDY streams. */
static const char *const names[CHANNELS] = { "stdin", "stdout", "stderr", "error", "resize" };

struct exec {
    struct session *session;
    const struct pod_session_source *source;
    struct arena arena;
    struct pod_session_request request;
    struct pod_session *pod; /* NULL: not opened yet, or failed */
    struct error why;        /* … with this error */
    int channel;             /* of the current message */
    struct spdy *spdy;       /* NULL: WebSocket */
    uint32_t streams[CHANNELS];
    bool full;
    struct buf resize;
};

/* ---- to the client ---- */

static void send_frame(void *ctx, struct str first, struct str second)
{
    struct exec *x = ctx;
    x->full = !session_send(x->session, first, second);
}

/* False: the buffer is full. */
static bool send_on(struct exec *x, int channel, struct str bytes)
{
    char byte = (char)channel;
    if (x->spdy)
        spdy_send(x->spdy, x->streams[channel], bytes, false);
    else
        send_frame(x, (struct str){ &byte, 1 }, bytes);
    return !x->full;
}

/* Sends the final status, on the error channel. */
static void finish(struct exec *x, struct arena *a, struct json status)
{
    send_on(x, ERRORS, str_of(json_to_text(a, status)));
    for (int i = STDOUT; x->spdy && i <= ERRORS; i++)
        if (x->streams[i])
            spdy_send(x->spdy, x->streams[i], STR(""), true);
    session_finish(x->session, WEBSOCKET_NORMAL);
}

static void fail_to_open(struct exec *x)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *what = x->request.url                  ? "error sending request"
                       : x->why.code == ERR_NOT_FOUND  ? "unable to upgrade connection"
                       : x->request.kind == POD_ATTACH ? "error attaching to container"
                                                       : "error executing command in container";
    const char *why = arena_printf(&a, "%s: %s", what, x->why.text);
    finish(x,
        &a,
        json_fields(&a,
            { "metadata", json_empty_map() },
            { "status", json_str("Failure") },
            { "message", json_strf(&a, "Internal error occurred: %s", why) },
            { "reason", json_str("InternalError") },
            { "details.causes", json_list(&a, json_map(&a, { "message", json_str(why) })) },
            { "code", json_int(500) }));
}

/* ---- from the pod ---- */

static bool on_output(void *ctx, enum pod_session_stream stream, struct str bytes)
{
    struct exec *x = ctx;
    session_touch(x->session);
    return send_on(x, stream == POD_STDOUT ? STDOUT : STDERR, bytes);
}

static void on_room(void *ctx)
{
    struct exec *x = ctx;
    session_set_reading(x->session, true);
}

static void on_ended(void *ctx, int exit_code)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json success =
        json_fields(&a, { "metadata", json_empty_map() }, { "status", json_str("Success") });
    struct json cause = json_map(
        &a, { "reason", json_str("ExitCode") }, { "message", json_strf(&a, "%d", exit_code) });
    struct json failure = json_fields(&a,
        { "metadata", json_empty_map() },
        { "status", json_str("Failure") },
        { "message",
            json_strf(&a,
                "command terminated with non-zero exit code: command terminated with exit code %d",
                exit_code) },
        { "reason", json_str("NonZeroExitCode") },
        { "details.causes", json_list(&a, cause) });
    finish(ctx, &a, exit_code ? failure : success);
}

static const struct pod_session_handlers pod_handlers = { on_output, on_room, on_ended };

static bool open_pod(struct exec *x)
{
    const struct pod_session_request *r = &x->request;
    if (r->unreachable)
        return fail(&x->why, ERR_UNAVAILABLE, "Post \"%s\": %s", r->url, r->unreachable);
    x->pod = x->source->open(x->source->self, r, &pod_handlers, x, &x->why);
    return x->pod;
}

/* ---- from the client ---- */

/* {"Width":80,"Height":24} */
static void resize(struct exec *x)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json size;
    struct error err;
    bool ok = json_parse(&a, buf_str(&x->resize), &size, &err);
    int64_t columns = ok ? json_get_int(size, "Width", 0) : 0;
    int64_t rows = ok ? json_get_int(size, "Height", 0) : 0;
    buf_reset(&x->resize);
    if (columns > 0 && columns <= UINT16_MAX && rows > 0 && rows <= UINT16_MAX)
        x->source->resize(x->source->self, x->pod, (uint16_t)columns, (uint16_t)rows);
}

/* whole: a complete message, which may be one line. */
static void take_input(struct exec *x, int channel, struct str bytes, bool whole)
{
    if (!x->pod)
        return;
    session_touch(x->session);
    if (channel == STDIN && bytes.len && !x->source->write(x->source->self, x->pod, bytes))
        session_set_reading(x->session, false);
    while (channel == RESIZE && bytes.len) {
        struct str line = str_cut(&bytes, '\n');
        buf_add(&x->resize, line.ptr, line.len);
        if (bytes.ptr || whole)
            resize(x);
    }
}

static void stream_opened(void *ctx, uint32_t id, struct http_headers headers)
{
    struct exec *x = ctx;
    const struct pod_session_request *r = &x->request;
    const bool wanted[CHANNELS] = { r->in, r->out, r->err, true, r->terminal };
    struct str type = http_header_find(headers, "streamtype");
    bool complete = true, known = false;
    for (int i = 0; i < CHANNELS; i++) {
        if (wanted[i] && !x->streams[i] && str_eq(type, str_of(names[i]))) {
            x->streams[i] = id;
            known = true;
        }
        complete = complete && (x->streams[i] || !wanted[i]);
    }
    if (!known) {
        spdy_reset(x->spdy, id, SPDY_REFUSED_STREAM);
        return;
    }
    spdy_reply(x->spdy, id);
    if (complete && !open_pod(x))
        fail_to_open(x);
}

static void stream_data(void *ctx, uint32_t id, struct str bytes, bool last)
{
    struct exec *x = ctx;
    for (int i = 0; id && i < CHANNELS; i++)
        if (x->streams[i] == id)
            take_input(x, i, bytes, false);
    if (last && id && id == x->streams[STDIN] && x->pod)
        x->source->end_input(x->source->self, x->pod);
}

static void stream_reset(void *ctx, uint32_t id)
{
    (void)ctx, (void)id; /* a client that wants no more output closes the connection */
}

static const struct spdy_handlers spdy_handlers = {
    .opened = stream_opened, .data = stream_data, .reset = stream_reset, .send = send_frame
};

static void exec_data(void *body, struct str bytes, bool first, bool last)
{
    struct exec *x = body;
    struct error err;
    if (x->spdy) {
        if (!spdy_feed(x->spdy, bytes, &err))
            session_finish(x->session, WEBSOCKET_PROTOCOL_ERROR);
        return;
    }
    if (first)
        x->channel = NO_CHANNEL;
    if (x->channel == NO_CHANNEL && bytes.len) {
        x->channel = (unsigned char)*bytes.ptr;
        bytes = (struct str){ bytes.ptr + 1, bytes.len - 1 };
    }
    take_input(x, x->channel, bytes, last);
    if (x->channel == CLOSE && session_has_close(x->session) && x->pod && bytes.len &&
        *bytes.ptr == STDIN)
        x->source->end_input(x->source->self, x->pod);
}

static void exec_drained(void *body)
{
    struct exec *x = body;
    x->full = false;
    if (x->pod)
        x->source->resume(x->source->self, x->pod);
}

static void exec_ping(void *body)
{
    struct exec *x = body;
    spdy_ping(x->spdy);
}

/* ---- life ---- */

static void exec_close(void *body)
{
    struct exec *x = body;
    if (x->pod)
        x->source->close(x->source->self, x->pod);
    spdy_free(x->spdy);
    buf_done(&x->resize);
    arena_done(&x->arena);
    free(x);
}

static void copy_request(struct exec *x, const struct pod_session_request *r)
{
    struct arena *a = &x->arena;
    size_t count = 0;
    while (r->command[count])
        count++;
    const char **words = arena_array(a, count + 1, sizeof(*words));
    for (size_t i = 0; i < count; i++)
        words[i] = arena_strdup(a, r->command[i]);
    x->request = *r;
    x->request.ns = arena_strdup(a, r->ns);
    x->request.pod = arena_strdup(a, r->pod);
    x->request.uid = arena_strdup(a, r->uid);
    x->request.container = arena_strdup(a, r->container);
    x->request.command = words;
    x->request.unreachable = arena_strdup(a, r->unreachable);
    x->request.url = arena_strdup(a, r->url);
}

/* Errors are reported before the upgrade, unless the client uses a protocol that kube-apiserver
 * itself implements: there the upgrade always succeeds. With SPDY the command starts when all its
 * streams are open. */
static bool exec_open(
    struct session *s, const struct pod_session_request *request, struct error *err)
{
    struct exec *x = mem_new_of(struct exec);
    *x = (struct exec){ .session = s, .source = session_host(s)->source, .channel = NO_CHANNEL };
    arena_init(&x->arena, ARENA_LIMIT_DEFAULT);
    buf_init(&x->resize, RESIZE_BYTES_MAX);
    copy_request(x, request);
    session_set_body(s, x);
    if (session_has_spdy(s))
        x->spdy = spdy_new(&spdy_handlers, x);
    if (x->spdy || open_pod(x) || session_has_close(s) || x->why.code != ERR_NOT_FOUND)
        return true;
    *err = x->why;
    return false;
}

static void exec_begin(void *body)
{
    struct exec *x = body;
    if (x->spdy)
        return;
    /* Shows the client that the connection works. */
    send_on(x, x->request.out ? STDOUT : x->request.err ? STDERR : ERRORS, STR(""));
    if (!x->pod)
        fail_to_open(x);
}

const struct session_body session_exec = {
    exec_open, exec_begin, exec_data, exec_drained, exec_ping, exec_close
};
