/* The logs of containers, for the API's pods/log. */

#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "http/loop.h"
#include "node/logs.h"
#include "node/node_internal.h"

struct pod_log_stream {
    struct node *node;
    struct pod_log_stream *next;
    char *uid, *container;
    int run;
    bool follow, previous;
    int64_t bytes_left; /* -1: no limit */
    struct log_reader *reader;
    void (*wake)(void *ctx);
    void *ctx;
    bool waits;         /* read() returned nothing */
    struct timer again; /* its container may have ended */
    int notify;         /* inotify; -1: does not follow */
    struct loop_watch *watch;
};

static void tell(void *ctx)
{
    struct pod_log_stream *s = ctx;
    if (!s->waits)
        return;
    s->waits = false;
    s->wake(s->ctx);
}

static void written(void *ctx, int events)
{
    (void)events;
    struct pod_log_stream *s = ctx;
    char drained[4096];
    while (read(s->notify, drained, sizeof(drained)) > 0)
        continue;
    tell(s);
}

void node_logs_wake(struct node *n, const char *uid)
{
    for (struct pod_log_stream *s = n->log_streams; s; s = s->next)
        if (text_eq(s->uid, uid))
            timer_set(loop_env(n->options.loop), &s->again, 0);
}

static bool grows(const struct pod_log_stream *s)
{
    struct entry *e = s->follow && !s->previous ? node_entry(s->node, s->uid) : NULL;
    return e && e->pod && pod_runs(e->pod, s->container, s->run);
}

static bool follow(struct pod_log_stream *s, const char *log, struct error *err)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *folder = arena_strndup(&a, log, (size_t)(strrchr(log, '/') - log));
    s->notify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (s->notify < 0 ||
        inotify_add_watch(s->notify, folder, IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0)
        return fail_errno(err, errno, "follow %s (see /proc/sys/fs/inotify)", log);
    s->watch = loop_watch_new(s->node->options.loop, s->notify, written, s);
    loop_watch_set(s->watch, LOOP_READ);
    return true;
}

static void log_close(void *self, struct pod_log_stream *s)
{
    struct node *n = self;
    struct pod_log_stream **link = &n->log_streams;
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    timer_stop(loop_env(n->options.loop), &s->again);
    loop_watch_free(s->watch);
    if (s->notify >= 0)
        close(s->notify);
    log_reader_free(s->reader);
    free(s->uid);
    free(s->container);
    free(s);
}

static struct pod_log_stream *log_open(void *self, const struct pod_log_request *request,
    void (*wake)(void *ctx), void *ctx, struct error *err)
{
    struct node *n = self;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct entry *e =
        request->uid ? node_entry(n, request->uid) : node_entry_named(n, request->ns, request->pod);
    int run;
    if (!e || !e->pod) {
        fail(err, ERR_NOT_FOUND, "pod %s is not on this node", request->pod);
        return NULL;
    }
    const char *log = pod_log(&a, e->pod, request->container, request->previous, &run, err);
    if (!log)
        return NULL;
    struct pod_log_stream *s = mem_new_of(struct pod_log_stream);
    *s = (struct pod_log_stream){ .node = n,
        .next = n->log_streams,
        .uid = mem_strdup(e->uid),
        .container = mem_strdup(request->container),
        .run = run,
        .follow = request->follow,
        .previous = request->previous,
        .bytes_left = request->limit_bytes,
        .wake = wake,
        .ctx = ctx,
        .notify = -1 };
    timer_init(&s->again, tell, s);
    n->log_streams = s;
    s->reader = log_reader_new(log,
        &(struct log_reader_options){ .tail_lines = request->tail_lines,
            .since_ms = request->since_ms,
            .stream = request->stream,
            .timestamps = request->timestamps });
    if (grows(s) && !follow(s, log, err)) {
        log_close(n, s);
        return NULL;
    }
    return s;
}

static size_t log_read(void *self, struct pod_log_stream *s, char *to, size_t max, bool *ended)
{
    (void)self;
    /* Check first: if the container has ended by now, its output is complete. */
    bool more = grows(s);
    if (s->bytes_left >= 0 && (uint64_t)s->bytes_left < max)
        max = (size_t)s->bytes_left;
    size_t count = max ? log_reader_read(s->reader, to, max) : 0;
    if (s->bytes_left >= 0)
        s->bytes_left -= (int64_t)count;
    *ended = s->bytes_left == 0 || (!count && !more);
    s->waits = !count && !*ended;
    return count;
}

void node_logs_init(struct node *n)
{
    n->logs = (struct pod_log_source){
        .open = log_open, .read = log_read, .close = log_close, .self = n
    };
}

const struct pod_log_source *node_logs(struct node *n)
{
    return &n->logs;
}
