/* leeboard logs: the log of a container, by the name of its pod or of the pod's owner; without a
 * name, the logs of all containers. */

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/url.h"
#include "cli/logs/all.h"
#include "cli/show/rows.h"
#include "cli/show/why.h"
#include "cli/up/folder.h"
#include "cli/up/objects.h"
#include "http/loop.h"
#include "kube/status.h"
#include "kube/transport.h"

#define COMPLAINT_BYTES_MAX ((size_t)64 << 10)

/* ---- finding the container ---- */

/* Prefers the newest pod that is not terminating. */
static bool is_better(struct json pod, struct json best)
{
    bool leaves = json_present(json_get(pod, "metadata.deletionTimestamp"));
    bool best_leaves = json_present(json_get(best, "metadata.deletionTimestamp"));
    const char *made = json_get_text(pod, "metadata.creationTimestamp");
    const char *best_made = json_get_text(best, "metadata.creationTimestamp");
    if (!json_present(best) || leaves != best_leaves)
        return !json_present(best) || best_leaves;
    return strcmp(made ? made : "", best_made ? best_made : "") > 0;
}

static bool find_pod(struct ask *q, const char *name, struct json *ret, struct error *err)
{
    struct up_objects all;
    if (!up_objects_list(q, NULL, &all, err))
        return false;
    struct json owner = json_map(&q->cli->arena,
        { "metadata",
            json_map(
                &q->cli->arena, { "name", json_str(name) }, { "namespace", json_str(q->ns) }) });
    *ret = json_none;
    json_each (pod, all.objects) {
        if (!text_eq(json_get_text(*pod, "kind"), "Pod") ||
            !text_eq(json_get_text(*pod, "metadata.namespace"), q->ns))
            continue;
        bool named = text_eq(json_get_text(*pod, "metadata.name"), name);
        if (named || (show_why_belongs(*pod, owner) && is_better(*pod, *ret)))
            *ret = *pod;
        if (named)
            break;
    }
    return json_present(*ret) ||
           fail(err,
               ERR_NOT_FOUND,
               "there is no pod of %s in namespace %s; `leeboard ps` shows what there is",
               name,
               q->ns);
}

/* The first container; before it starts, the last init container that has started. */
static const char *find_container(struct json pod)
{
    const char *first = json_get_text(pod, "spec.containers.0.name");
    struct json status = json_find(json_get(pod, "status.containerStatuses"), "name", first);
    bool begun = json_get_int(status, "restartCount", 0) > 0 ||
                 !json_present(json_get(status, "state.waiting"));
    const char *init = NULL;
    json_each (s, json_get(pod, "status.initContainerStatuses"))
        if (!json_present(json_get(*s, "state.waiting")))
            init = json_get_text(*s, "name");
    return begun || !init ? first : init;
}

/* ---- the stream ---- */

struct stream {
    int status;
    bool done;
    struct error err;
    struct buf complaint;
};

static void on_head(void *ctx, const struct kube_head *head)
{
    ((struct stream *)ctx)->status = head->status;
}

static void on_data(void *ctx, struct str bytes)
{
    struct stream *s = ctx;
    if (s->status >= 300) {
        buf_add(&s->complaint, bytes.ptr, bytes.len);
        return;
    }
    while (bytes.len && !s->done) {
        ssize_t n = write(STDOUT_FILENO, bytes.ptr, bytes.len);
        if (n > 0)
            bytes = (struct str){ bytes.ptr + n, bytes.len - (size_t)n };
        else if (n < 0 && errno != EINTR)
            s->done = true; /* standard output was closed */
    }
}

static void on_end(void *ctx, const struct error *err, bool sent)
{
    (void)sent;
    struct stream *s = ctx;
    s->done = true;
    if (err)
        s->err = *err;
}

static bool is_done(void *ctx)
{
    return ((struct stream *)ctx)->done;
}

static const char *log_path(struct cli *cli, struct json pod)
{
    struct arena *a = &cli->arena;
    const char *container = cli_text(cli, "container"), *tail = cli_text(cli, "tail");
    struct buf path = BUF_INIT((size_t)64 << 10);
    buf_printf(&path,
        "/api/v1/namespaces/%s/pods/%s/log",
        json_get_text(pod, "metadata.namespace"),
        json_get_text(pod, "metadata.name"));
    url_add_query(&path, "container", text_empty(container) ? find_container(pod) : container);
    url_add_query(&path, "follow", cli_on(cli, "follow") ? "true" : NULL);
    url_add_query(&path, "previous", cli_on(cli, "previous") ? "true" : NULL);
    url_add_query(&path, "tailLines", text_empty(tail) ? NULL : tail);
    const char *text = arena_strdup(a, buf_text(&path));
    buf_done(&path);
    return text;
}

static bool copy_log(struct ask *q, const char *path, struct error *err)
{
    static const struct kube_handlers handlers = { on_head, on_data, on_end };
    struct stream s = { .complaint = BUF_INIT(COMPLAINT_BYTES_MAX) };
    kube_open(q->kube, &(struct kube_request){ .method = "GET", .path = path }, &handlers, &s);
    while (!s.done)
        loop_run_until(q->loop, is_done, &s, INT32_MAX);
    bool ok = s.status < 300 && !s.err.code;
    if (s.err.code)
        *err = s.err;
    else if (!ok) {
        struct json body;
        if (!json_parse(&q->cli->arena, buf_str(&s.complaint), &body, NULL))
            body = json_none;
        *err = kube_status_of_answer(s.status, 0, body, buf_str(&s.complaint)).error;
    }
    buf_done(&s.complaint);
    return ok;
}

static int run(struct cli *cli)
{
    struct ask q = { 0 };
    struct error err;
    struct json pod;
    const char *folder, *ns = cli_text(cli, "namespace");
    bool all = !cli->argument_count;
    if (cli->argument_count > 1)
        return cli_usage(cli, "one name, of an InferenceService or a pod, or none for all of them");
    if (all && (cli_on(cli, "previous") || cli_text(cli, "container")))
        return cli_usage(cli, "--previous and --container need a name: leeboard logs NAME");
    if (!up_folder(cli, &folder, &err))
        return cli_fail(cli, &err);
    bool ok = ask_open_running(cli, folder, &q, &err);
    if (ok && !text_empty(ns))
        q.ns = ns;
    if (ok && all)
        ok = logs_all(
            &(struct logs_all_options){
                .ask = &q,
                .folder = folder,
                .ns = text_empty(ns) ? NULL : ns,
                .follow = cli_on(cli, "follow"),
                .tail = text_empty(cli_text(cli, "tail")) ? NULL : cli_text(cli, "tail"),
            },
            &err);
    else
        ok = ok && find_pod(&q, cli->arguments[0], &pod, &err) &&
             copy_log(&q, log_path(cli, pod), &err);
    ask_close(&q);
    return ok ? CLI_OK : cli_fail(cli, &err);
}

static const struct cli_flag flags[] = {
    { "follow", 'f', NULL, "false", "Show new lines until the container ends." },
    { "container",
        'c',
        "NAME",
        NULL,
        "Container to show. Default: the first container, or the last init container if the first "
        "has not started." },
    { "previous", 'p', NULL, "false", "Show the run before the last restart." },
    { "tail", 0, "LINES", NULL, "Number of lines to show from the end." },
    { "namespace",
        'n',
        "NAME",
        NULL,
        "Namespace of it. Default: `default`; without NAME, all namespaces." },
    { 0 },
};

const struct cli_command cli_logs = {
    .name = "logs",
    .summary = "Show what a model server or another container of `leeboard up` wrote.",
    .arguments = "[NAME]",
    .text =
        "  leeboard logs tinyllama -f\n"
        "  leeboard logs -f --tail 10\n\n"
        "NAME is an InferenceService, another workload or a pod. Without NAME, the logs of all\n"
        "containers are shown, and each line begins with a name; --follow includes containers\n"
        "that start later.\n",
    .flags = (const struct cli_flag *const[]){ flags, up_folder_flags, NULL },
    .run = run,
};
