#include "cli/logs/all.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/url.h"
#include "cli/columns.h"
#include "cli/run/things.h"
#include "cli/show/draw.h"
#include "cli/show/why.h"
#include "cli/up/folder.h"
#include "http/loop.h"
#include "kube/objects.h"
#include "kube/transport.h"

#define LINE_BYTES_MAX ((size_t)1 << 20)
#define LOOK_MS 500

/* One run of a container. */
struct source {
    struct all *all;
    struct source *next;
    struct arena arena; /* of: */
    const char *id, *label, *path;
    struct kube_call *call; /* NULL: not started, or ended */
    bool begun;
    int status;
    struct buf line; /* an incomplete line */
};

struct all {
    const struct logs_all_options *options;
    struct source *sources, **last;
    struct objects *objects;
    bool colour, loaded, closed; /* closed: standard output was closed */
    int width;                   /* of the longest label so far */
};

/* ---- output ---- */

static void put(struct all *all, const char *bytes, size_t count)
{
    while (count && !all->closed) {
        ssize_t n = write(STDOUT_FILENO, bytes, count);
        if (n > 0) {
            bytes += n;
            count -= (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            poll(&(struct pollfd){ .fd = STDOUT_FILENO, .events = POLLOUT }, 1, -1);
        } else if (n < 0 && errno != EINTR) {
            all->closed = true;
        }
    }
}

/* A name has the same colour in every run. */
static int colour_of(const char *label)
{
    static const int colours[] = { 36, 33, 32, 35, 34 };
    unsigned sum = 0;
    for (const char *c = label; *c; c++)
        sum = sum * 31 + (unsigned char)*c;
    return colours[sum % lengthof(colours)];
}

static void put_line(struct source *s)
{
    struct all *all = s->all;
    cleanup(buf_done) struct buf out = BUF_INIT(2 * LINE_BYTES_MAX);
    int blanks = all->width - (int)columns_width(s->label);
    if (all->colour)
        buf_printf(&out, "\x1b[%dm", colour_of(s->label));
    buf_printf(&out, "%s%*s |%s ", s->label, blanks, "", all->colour ? "\x1b[0m" : "");
    buf_add(&out, s->line.ptr, s->line.len);
    buf_add_char(&out, '\n');
    put(all, out.ptr, out.len);
    buf_reset(&s->line);
}

/* ---- one source ---- */

static void on_head(void *ctx, const struct kube_head *head)
{
    ((struct source *)ctx)->status = head->status;
}

/* A container that was deleted in the meantime has no log: print no line for it. */
static void on_data(void *ctx, struct str bytes)
{
    struct source *s = ctx;
    while (bytes.len && s->status < 300) {
        const char *end = memchr(bytes.ptr, '\n', bytes.len);
        size_t count = end ? (size_t)(end - bytes.ptr) : bytes.len;
        size_t room = LINE_BYTES_MAX - s->line.len;
        buf_add(&s->line, bytes.ptr, count < room ? count : room);
        if (!end)
            return;
        put_line(s);
        bytes = (struct str){ end + 1, bytes.len - count - 1 };
    }
}

static void on_end(void *ctx, const struct error *err, bool sent)
{
    struct source *s = ctx;
    (void)err, (void)sent;
    s->call = NULL;
    if (s->line.len)
        put_line(s);
}

static void begin(struct source *s)
{
    static const struct kube_handlers handlers = { on_head, on_data, on_end };
    s->begun = true;
    s->call = kube_open(s->all->options->ask->kube,
        &(struct kube_request){ .method = "GET", .path = s->path },
        &handlers,
        s);
}

static const char *label_of(struct arena *a, struct json pod, const char *container)
{
    const char *ns = json_get_text(pod, "metadata.namespace");
    const char *first = json_get_text(pod, "spec.containers.0.name");
    bool others = !text_eq(container, first);
    struct str workload = show_why_workload(pod);
    const char *name = workload.len ? str_dup(a, workload) : json_get_text(pod, "metadata.name");
    return arena_printf(a,
        "%s%s%s%s%s",
        text_eq(ns, "default") ? "" : ns,
        text_eq(ns, "default") ? "" : "/",
        name,
        others ? "/" : "",
        others ? container : "");
}

static const char *path_of(
    struct arena *a, const struct all *all, struct json pod, const char *container)
{
    cleanup(buf_done) struct buf path = BUF_INIT((size_t)64 << 10);
    buf_printf(&path,
        "/api/v1/namespaces/%s/pods/%s/log",
        json_get_text(pod, "metadata.namespace"),
        json_get_text(pod, "metadata.name"));
    url_add_query(&path, "container", container);
    url_add_query(&path, "follow", all->options->follow ? "true" : NULL);
    url_add_query(&path, "tailLines", all->loaded ? NULL : all->options->tail);
    return arena_strdup(a, buf_text(&path));
}

static bool is_known(const struct all *all, const char *id)
{
    for (const struct source *s = all->sources; s; s = s->next)
        if (text_eq(s->id, id))
            return true;
    return false;
}

static void add_containers(struct all *all, struct json pod, struct json statuses)
{
    json_each (status, statuses) {
        const char *id = json_get_text(*status, "containerID");
        const char *container = json_get_text(*status, "name");
        if (text_empty(id) || is_known(all, id))
            continue;
        struct source *s = mem_new_of(struct source);
        s->all = all;
        arena_init(&s->arena, ARENA_LIMIT_DEFAULT);
        buf_init(&s->line, LINE_BYTES_MAX);
        s->id = arena_strdup(&s->arena, id);
        s->label = label_of(&s->arena, pod, container);
        s->path = path_of(&s->arena, all, pod, container);
        *all->last = s;
        all->last = &s->next;
        int width = (int)columns_width(s->label);
        all->width = width > all->width ? width : all->width;
        if (all->options->follow)
            begin(s);
    }
}

static void add_pod(struct all *all, struct json pod)
{
    const char *ns = json_get_text(pod, "metadata.namespace");
    if (all->options->ns && !text_eq(ns, all->options->ns))
        return;
    add_containers(all, pod, json_get(pod, "status.initContainerStatuses"));
    add_containers(all, pod, json_get(pod, "status.containerStatuses"));
}

/* ---- all sources ---- */

static bool has_ended(void *ctx)
{
    return !((struct source *)ctx)->call;
}

/* Reads one log after the other, so that the lines of each stay together. */
static bool copy(struct all *all, struct error *err)
{
    struct ask everywhere = *all->options->ask;
    struct json pods;
    everywhere.ns = all->options->ns;
    if (!things_list(&everywhere, &RESOURCE_POD, &pods, err))
        return false;
    json_each (pod, pods)
        add_pod(all, *pod);
    for (struct source *s = all->sources; s && !all->closed; s = s->next)
        for (begin(s); s->call;)
            loop_run_until(everywhere.loop, has_ended, s, INT32_MAX);
    return true;
}

static void on_changed(
    void *ctx, const struct resource *kind, const char *ns, const char *name, struct json object)
{
    (void)kind, (void)ns, (void)name;
    if (json_present(object))
        add_pod(ctx, object);
}

static void on_loaded(void *ctx)
{
    ((struct all *)ctx)->loaded = true;
}

static bool is_closed(void *ctx)
{
    return ((struct all *)ctx)->closed;
}

static void follow(struct all *all)
{
    static const struct resource *const kinds[] = { &RESOURCE_POD, NULL };
    struct ask *q = all->options->ask;
    all->objects = objects_new(q->kube,
        loop_env(q->loop),
        kinds,
        (struct objects_watch){ .changed = on_changed, .loaded = on_loaded, .ctx = all });
    objects_start(all->objects);
    while (!all->closed && up_folder_runs(all->options->folder))
        loop_run_until(q->loop, is_closed, all, LOOK_MS);
    objects_free(all->objects);
}

bool logs_all(const struct logs_all_options *options, struct error *err)
{
    struct all all = { .options = options };
    bool ok = true;
    all.last = &all.sources;
    all.colour = show_look_of(STDOUT_FILENO).colour;
    if (options->follow)
        follow(&all);
    else
        ok = copy(&all, err);
    for (struct source *s = all.sources, *next; s; s = next) {
        next = s->next;
        if (s->call)
            kube_cancel(options->ask->kube, s->call);
        buf_done(&s->line);
        arena_done(&s->arena);
        free(s);
    }
    return ok;
}
