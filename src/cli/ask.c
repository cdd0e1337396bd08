#include "cli/ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/timer.h"
#include "cli/check.h"
#include "cli/up/folder.h"
#include "cli/up/tasks.h"
#include "http/loop.h"
#include "kube/http_transport.h"
#include "kube/status.h"

#define ANSWER_BYTES_MAX ((size_t)256 << 20)
#define ANSWER_MS 60000
#define INSTALL_MS 10000
#define INSTALL_PAUSE_MS 100
#define KINDS_MAX 64

static bool open_config(
    struct ask *ret, const struct kube_config_options *options, const char *ns, struct error *err)
{
    if (!kube_config_load(&ret->cli->arena, options, &ret->config, err))
        return false;
    ret->ns = text_empty(ns) ? ret->config.ns : ns;
    ret->loop = loop_new();
    ret->transport = http_transport_new(
        ret->loop, &(struct http_transport_options){ .config = &ret->config }, err);
    if (!ret->transport)
        return false;
    ret->kube = http_transport_kube(ret->transport);
    return true;
}

static bool nothing_runs(
    struct cli *cli, const char *folder, const char *otherwise, struct error *err)
{
    const char *left = up_tasks_text(&cli->arena, folder);
    if (left)
        return fail(err,
            ERR_NOT_FOUND,
            "leeboard was killed on %s; what it started still runs: %s. `leeboard up` takes it "
            "over, `leeboard down` ends it",
            folder,
            left);
    return fail(err,
        ERR_NOT_FOUND,
        "nothing runs on %s; start it with `leeboard up`, or %s",
        folder,
        otherwise);
}

static bool is_there(const char *folder)
{
    return access(folder, F_OK) == 0;
}

/* No flag selects a server. --data and LEEBOARD_DATA select this machine, even if nothing runs
 * there. An existing folder also does, unless KUBECONFIG is set. Otherwise
 * the kubeconfig is used. */
static bool use_running(struct cli *cli, struct kube_config_options *options, struct error *err)
{
    const char *folder;
    bool given = cli_given(cli, "data") || !text_empty(getenv("LEEBOARD_DATA"));
    if (!text_empty(options->kubeconfig) || options->context || !up_folder(cli, &folder, NULL))
        return true;
    bool other = !text_empty(options->kubeconfig_list);
    const char *own = up_folder_path(&cli->arena, folder, "kubeconfig");
    if (other && (!given || text_eq(options->kubeconfig_list, own)))
        return true;
    options->kubeconfig = up_folder_kubeconfig(&cli->arena, folder);
    return options->kubeconfig || (!given && !is_there(folder)) ||
           nothing_runs(cli, folder, "name another server with --kubeconfig FILE", err);
}

/* A mistake on a server of another machine is worse, so it is named. */
static void name_target(const struct ask *q, const struct kube_config_options *options)
{
    const char *folder,
        *used = options->kubeconfig ? options->kubeconfig : options->kubeconfig_list;
    struct cli *cli = q->cli;
    if (up_folder(cli, &folder, NULL) &&
        text_eq(used, up_folder_path(&cli->arena, folder, "kubeconfig")))
        return;
    fprintf(stderr, "leeboard %s: on %s", cli->command->name, q->config.server);
    if (q->config.origin)
        fprintf(stderr, " (%s)", q->config.origin);
    fprintf(stderr, "\n");
}

bool ask_open(struct cli *cli, struct ask *ret, struct error *err)
{
    *ret = (struct ask){ .cli = cli, .install_ms = INSTALL_MS };
    struct kube_config_options options = {
        .kubeconfig = cli_text(cli, "kubeconfig"),
        .context = cli_text(cli, "context"),
    };
    kube_config_from_environment(&options);
    if (!use_running(cli, &options, err) ||
        !open_config(ret, &options, cli_text(cli, "namespace"), err))
        return false;
    name_target(ret, &options);
    return true;
}

bool ask_open_running(struct cli *cli, const char *folder, struct ask *ret, struct error *err)
{
    *ret = (struct ask){ .cli = cli };
    const char *file = up_folder_kubeconfig(&cli->arena, folder);
    if (!file)
        return nothing_runs(cli, folder, "say where it is with --data", err);
    return open_config(ret, &(struct kube_config_options){ .kubeconfig = file }, NULL, err);
}

void ask_over(struct cli *cli, struct loop *loop, const struct kube_transport *kube, const char *ns,
    struct ask *ret)
{
    *ret = (struct ask){ .cli = cli, .ns = ns, .loop = loop, .kube = kube };
}

void ask_close(struct ask *q)
{
    if (q->transport)
        http_transport_free(q->transport);
    if (q->loop)
        loop_free(q->loop);
}

/* ---- one request ---- */

struct answer {
    bool done, failed;
    int status;
    int64_t retry_after_ms;
    struct buf body;
    struct error err;
};

static void on_head(void *ctx, const struct kube_head *head)
{
    struct answer *a = ctx;
    a->status = head->status;
    a->retry_after_ms = head->retry_after_ms;
}

static void on_data(void *ctx, struct str bytes)
{
    struct answer *a = ctx;
    buf_add(&a->body, bytes.ptr, bytes.len);
}

static void on_end(void *ctx, const struct error *err, bool sent)
{
    struct answer *a = ctx;
    (void)sent;
    a->done = true;
    a->failed = err != NULL;
    if (err)
        a->err = *err;
}

static const struct kube_handlers handlers = { on_head, on_data, on_end };

static bool is_done(void *ctx)
{
    return ((struct answer *)ctx)->done;
}

static bool read_answer(
    struct arena *a, struct answer *got, int *status, struct json *body, struct error *err)
{
    struct str text = buf_str(&got->body);
    struct error no_json;
    *status = got->status;
    if (buf_overflowed(&got->body))
        return fail(err, ERR_TOO_LARGE, "the answer is longer than 256 MiB");
    if (!text.len || !json_parse(a, text, body, &no_json))
        *body = json_none;
    if (got->status < 400)
        return true;
    *err = kube_status_of_answer(got->status, got->retry_after_ms, *body, text).error;
    return false;
}

bool ask(struct ask *q, const struct ask_request *r, int *ret_status, struct json *ret_body,
    struct error *err)
{
    struct arena *a = &q->cli->arena;
    struct answer got = { .body = BUF_INIT(ANSWER_BYTES_MAX) };
    const char *body = json_present(r->body) ? json_to_text(a, r->body) : NULL;
    const char *type = r->content_type ? r->content_type : "application/json";
    kube_open(q->kube,
        &(struct kube_request){
            .method = r->method,
            .path = r->path,
            .content_type = body ? type : NULL,
            .accept = r->accept,
            .body = str_of(body),
            .timeout_ms = ANSWER_MS,
        },
        &handlers,
        &got);
    if (!loop_run_until(q->loop, is_done, &got, 2 * ANSWER_MS))
        assert(got.done); /* the transport ends every call at its time limit */
    bool ok =
        got.failed ? (*err = got.err, false) : read_answer(a, &got, ret_status, ret_body, err);
    buf_done(&got.body);
    return ok;
}

/* ---- discovery ---- */

static struct resource resource_from(struct arena *a, struct json group, struct json r)
{
    struct str version = str_of(json_get_text(group, "groupVersion"));
    struct str name = strchr(version.ptr, '/') ? str_cut(&version, '/') : (struct str){ 0 };
    return (struct resource){
        .group = name.ptr ? str_dup(a, name) : "",
        .version = str_dup(a, version),
        .kind = json_get_text(r, "kind"),
        .plural = json_get_text(r, "name"),
        .cluster_scoped = !json_get_bool(r, "namespaced", false),
    };
}

static bool group_resources(
    struct ask *q, const char *api_version, struct json *ret, struct error *err)
{
    const char *root = strchr(api_version, '/') ? "/apis" : "/api";
    int status;
    return ask(q,
        &(struct ask_request){
            .method = "GET", .path = arena_printf(&q->cli->arena, "%s/%s", root, api_version) },
        &status,
        ret,
        err);
}

static void pass(void *ctx)
{
    *(bool *)ctx = true;
}

static bool is_true(void *ctx)
{
    return *(bool *)ctx;
}

static void wait_ms(struct ask *q, int64_t ms)
{
    bool passed = false;
    struct timer timer;
    timer_init(&timer, pass, &passed);
    timer_set(loop_env(q->loop), &timer, ms);
    loop_run_until(q->loop, is_true, &passed, 2 * ms + 1000);
    timer_stop(loop_env(q->loop), &timer);
}

static bool find_kind(struct ask *q, const char *api_version, const char *kind,
    struct resource *ret, struct error *err)
{
    struct json group;
    if (!group_resources(q, api_version, &group, err))
        return false;
    json_each (r, json_member(group, "resources"))
        if (text_eq(json_get_text(*r, "kind"), kind) && !strchr(json_get_text(*r, "name"), '/')) {
            *ret = resource_from(&q->cli->arena, group, *r);
            return true;
        }
    return fail(err, ERR_NOT_FOUND, "the server has no kind");
}

bool ask_patiently(struct ask *q, const struct ask_request *request, int *ret_status,
    struct json *ret_body, struct error *err)
{
    const struct env *env = loop_env(q->loop);
    int64_t until = env_mono_ms(env) + q->install_ms;
    while (!ask(q, request, ret_status, ret_body, err)) {
        bool busy = err->code == ERR_BUSY || err->code == ERR_UNAVAILABLE;
        if (!busy || env_mono_ms(env) >= until)
            return false;
        wait_ms(q, INSTALL_PAUSE_MS);
    }
    return true;
}

static bool fail_unknown_kind(
    struct ask *q, const char *api_version, const char *kind, struct error *err)
{
    cleanup(buf_done) struct buf names = BUF_INIT(4096);
    const char *list[KINDS_MAX + 1];
    size_t count = 0;
    struct json group;
    if (!group_resources(q, api_version, &group, err))
        return fail(err,
            ERR_NOT_FOUND,
            "the server has no kind %s in %s; apply its CRD first (`leeboard manifests` has those "
            "of leeboard)",
            kind,
            api_version);
    json_each (r, json_member(group, "resources"))
        if (!strchr(json_get_text(*r, "name"), '/') && count < KINDS_MAX) {
            list[count++] = json_get_text(*r, "kind");
            buf_printf(&names, "%s%s", names.len ? ", " : "", list[count - 1]);
        }
    list[count] = NULL;
    const char *nearest = check_nearest(kind, list);
    return fail(err,
        ERR_NOT_FOUND,
        "the server has no kind %s in %s%s%s%s; it has %s",
        kind,
        api_version,
        nearest ? "; did you mean " : "",
        nearest ? nearest : "",
        nearest ? "?" : "",
        buf_text(&names));
}

bool ask_resource_of_kind(struct ask *q, const char *api_version, const char *kind,
    struct resource *ret, struct error *err)
{
    const struct env *env = loop_env(q->loop);
    int64_t until = env_mono_ms(env) + q->install_ms;
    while (!find_kind(q, api_version, kind, ret, err)) {
        if (err->code != ERR_NOT_FOUND)
            return false;
        if (env_mono_ms(env) >= until)
            return fail_unknown_kind(q, api_version, kind, err);
        wait_ms(q, INSTALL_PAUSE_MS);
    }
    return true;
}

static bool is_meant(struct json r, const char *word)
{
    return text_eq(json_get_text(r, "name"), word) ||
           text_eq(json_get_text(r, "singularName"), word) ||
           str_eq_nocase(str_of(json_get_text(r, "kind")), str_of(word)) ||
           json_list_has(json_member(r, "shortNames"), word);
}

bool ask_resource_of_word(struct ask *q, const char *word, struct resource *ret, struct error *err)
{
    struct arena *a = &q->cli->arena;
    struct str group = str_of(word);
    const char *name = str_dup(a, str_cut(&group, '.'));
    struct json_builder versions;
    struct json groups;
    int status;
    json_builder_init(&versions, a);
    json_push(&versions, json_str("v1"));
    if (!ask(q, &(struct ask_request){ .method = "GET", .path = "/apis" }, &status, &groups, err))
        return false;
    json_each (g, json_member(groups, "groups"))
        json_push(&versions, json_get(*g, "preferredVersion.groupVersion"));
    json_each (version, json_list_end(&versions)) {
        struct json resources;
        struct str of = str_of(version->string);
        struct str its = strchr(of.ptr, '/') ? str_cut(&of, '/') : STR("");
        if (group.ptr && !str_eq(its, group))
            continue;
        if (!group_resources(q, version->string, &resources, err))
            return false;
        json_each (r, json_member(resources, "resources"))
            if (!strchr(json_get_text(*r, "name"), '/') && is_meant(*r, name)) {
                *ret = resource_from(a, resources, *r);
                return true;
            }
    }
    return fail(err, ERR_NOT_FOUND, "the server has no resource called %s", word);
}
