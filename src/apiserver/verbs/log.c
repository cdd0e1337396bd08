/* GET pods/NAME/log: validated here, read from the host, which has the files (kube/pod_log.h), and
 * sent as fast as the client reads. */

#include <stdlib.h>
#include <string.h>

#include "apiserver/core/internal.h"
#include "apiserver/core/object.h"
#include "apiserver/core/options.h"
#include "base/time.h"
#include "base/url.h"
#include "kube/pod_log.h"

#define PIECE_BYTES ((size_t)32 << 10)

struct log_stream {
    struct api_call *call;
    const struct pod_log_source *source;
    struct pod_log_stream *stream;
};

/* ---- the query ---- */

struct log_options {
    const char *container;
    struct pod_log_request request;
};

/* An optional number: -1 and *ret_given false if absent. */
static bool read_number(struct api_call *c, const char *key, int64_t *ret, bool *ret_given)
{
    *ret_given = call_param(c, key) != NULL;
    if (!options_read_int(c, key, ret))
        return false;
    if (!*ret_given)
        *ret = -1;
    return true;
}

static bool read_since(struct api_call *c, struct log_options *o)
{
    const char *time = call_param(c, "sinceTime");
    if (text_empty(time))
        return true;
    if (!time_parse(time, &o->request.since_ms))
        return call_fail_bad(
            c, "sinceTime: \"%s\" is not a time such as 2026-01-02T03:04:05Z", time);
    return true;
}

static bool read_options(struct api_call *c, struct log_options *o)
{
    struct pod_log_request *r = &o->request;
    bool tail, limit, since;
    int64_t since_s;
    struct field_errors errors;
    *o = (struct log_options){ .container = call_param(c, "container") };
    r->follow = call_param_bool(c, "follow");
    r->previous = call_param_bool(c, "previous");
    r->timestamps = call_param_bool(c, "timestamps");
    if (!read_number(c, "tailLines", &r->tail_lines, &tail) ||
        !read_number(c, "limitBytes", &r->limit_bytes, &limit) ||
        !read_number(c, "sinceSeconds", &since_s, &since) || !read_since(c, o))
        return false;
    field_errors_init(&errors, &c->arena);
    if (tail && r->tail_lines < 0)
        field_invalid(
            &errors, "tailLines", json_int(r->tail_lines), "must be greater than or equal to 0");
    if (limit && r->limit_bytes < 1)
        field_invalid(&errors, "limitBytes", json_int(r->limit_bytes), "must be greater than 0");
    if (since && r->since_ms)
        field_forbidden(
            &errors, "[]", "at most one of `sinceTime` or `sinceSeconds` may be specified");
    else if (since && since_s < 1)
        field_invalid(&errors, "sinceSeconds", json_int(since_s), "must be greater than 0");
    if (call_param(c, "stream"))
        field_forbidden(&errors, "stream", "may not be specified");
    if (errors.count)
        return call_fail(c, status_invalid(&c->arena, "", "PodLogOptions", c->name, &errors));
    if (since)
        r->since_ms = env_wall_ms(c->server->env) - since_s * 1000;
    return true;
}

/* ---- the container ---- */

static struct json status_of_container(struct json pod, const char *name)
{
    static const char *const lists[] = { "status.containerStatuses",
        "status.initContainerStatuses",
        "status.ephemeralContainerStatuses" };
    for (size_t i = 0; i < lengthof(lists); i++)
        json_each (s, json_get(pod, lists[i]))
            if (text_eq(json_get_text(*s, "name"), name))
                return *s;
    return json_none;
}

/* Whether it has started; errors are worded as by a kubelet. */
static bool check_started(struct api_call *c, struct json pod, const struct log_options *o)
{
    const char *name = o->container;
    struct json status = status_of_container(pod, name);
    bool ended_before = json_present(json_get(status, "lastState.terminated"));
    if (!json_present(status))
        return call_fail_bad(c, "container \"%s\" in pod \"%s\" is not available", name, c->name);
    if (o->request.previous)
        return ended_before || call_fail_bad(c,
                                   "previous terminated container \"%s\" in pod \"%s\" not found",
                                   name,
                                   c->name);
    if (ended_before || json_present(json_get(status, "state.running")) ||
        json_present(json_get(status, "state.terminated")))
        return true;
    const char *why = json_get_text(status, "state.waiting.reason");
    if (!json_present(json_get(status, "state.waiting")))
        return call_fail_bad(
            c, "container \"%s\" in pod \"%s\" is waiting to start - no logs yet", name, c->name);
    if (text_eq(why, "ErrImagePull"))
        why = "image can't be pulled";
    else if (text_eq(why, "ImagePullBackOff"))
        why = "trying and failing to pull image";
    return call_fail_bad(
        c, "container \"%s\" in pod \"%s\" is waiting to start: %s", name, c->name, why ? why : "");
}

/* ---- no log source ---- */

/* The query for a kubelet: the given options, sorted by name. */
static const char *kubelet_query(struct api_call *c, const struct pod_log_request *r)
{
    const struct {
        const char *key, *value;
    } rows[] = {
        { "follow", r->follow ? "true" : NULL },
        { "limitBytes", call_param(c, "limitBytes") },
        { "previous", r->previous ? "true" : NULL },
        { "sinceSeconds", call_param(c, "sinceSeconds") },
        { "sinceTime", call_param(c, "sinceTime") },
        { "tailLines", call_param(c, "tailLines") },
        { "timestamps", r->timestamps ? "true" : NULL },
    };
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)64 << 10);
    for (size_t i = 0; i < lengthof(rows); i++)
        url_add_query(&b, rows[i].key, rows[i].value);
    return arena_strdup(&c->arena, buf_text(&b));
}

/* The response of a server that cannot reach the kubelet of the pod's node. */
static bool fail_unreachable(struct api_call *c, const char *node_name, const struct log_options *o)
{
    struct pod_kubelet k;
    if (!pod_kubelet_find(c, node_name, &k))
        return false;
    const char *message = arena_printf(&c->arena,
        "Get \"https://%s:%d/containerLogs/%s/%s/%s%s\": %s",
        k.host,
        k.port,
        c->ns,
        c->name,
        o->container,
        kubelet_query(c, &o->request),
        pod_kubelet_refuses(&c->arena, &k));
    return call_fail(c, (struct api_status){ 500, "", message, .details = { 0 } });
}

/* ---- the stream ---- */

static void on_more(void *ctx)
{
    struct log_stream *l = ctx;
    server_ready(l->call->server, l->call);
}

void log_stream_send(struct api_call *c)
{
    struct log_stream *l = c->log;
    char piece[PIECE_BYTES];
    bool ended = false;
    while (!c->paused && !c->cancelled && !ended) {
        size_t bytes = l->source->read(l->source->self, l->stream, piece, sizeof(piece), &ended);
        if (!bytes && !ended)
            return;
        api_call_send(c, (struct str){ piece, bytes });
    }
    if (ended && !c->cancelled)
        api_call_end(c);
}

void log_stream_free(struct api_call *c)
{
    struct log_stream *l = take(c->log);
    if (!l)
        return;
    l->source->close(l->source->self, l->stream);
    c->server->watcher_count--;
    free(l);
}

static void open_stream(struct api_call *c, struct json pod, struct log_options *o)
{
    struct apiserver *s = c->server;
    struct error err = { 0 };
    struct log_stream *l = mem_new_of(struct log_stream);
    o->request.ns = c->ns;
    o->request.pod = c->name;
    o->request.uid = json_get_text(pod, "metadata.uid");
    o->request.container = o->container;
    *l = (struct log_stream){ .call = c, .source = s->options.logs };
    l->stream = l->source->open(l->source->self, &o->request, on_more, l, &err);
    if (l->stream) {
        c->log = l;
        s->watcher_count++;
        call_text(c, 200, "text/plain", (struct str){ NULL, 0 });
        return;
    }
    free(l);
    if (err.code == ERR_NOT_FOUND)
        call_fail_bad(c,
            o->request.previous
                ? "previous terminated container \"%s\" in pod \"%s\" not found"
                : "container \"%s\" in pod \"%s\" is waiting to start - no logs yet",
            o->container,
            c->name);
    else
        call_fail(c, status_internal(&c->arena, arena_strdup(&c->arena, err.text)));
}

void rest_get_log(struct api_call *c)
{
    struct log_options o;
    struct apiserver *s = c->server;
    struct json pod;
    if (!read_options(c, &o) || !pod_find(c, &o.container, &pod))
        return;
    const char *node = json_get_text(pod, "spec.nodeName");
    budget_seal(&c->budget);
    if (text_empty(node))
        call_text(c, 204, NULL, (struct str){ NULL, 0 });
    else if (!s->options.logs)
        fail_unreachable(c, node, &o);
    else if (s->watcher_count >= s->options.watchers_max)
        watch_refuse(c);
    else if (check_started(c, pod, &o))
        open_stream(c, pod, &o);
}
