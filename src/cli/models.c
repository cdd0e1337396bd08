/* leeboard models: lists and removes the model files of `leeboard up`, with their users. Files of
 * the machine that are used in place are listed, too.
 *
 * The API server knows the users. If none runs, one is started for this command, without a port, so
 * that the answer is always correct. */

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/ask.h"
#include "cli/columns.h"
#include "cli/model_cache.h"
#include "cli/serve/api_service.h"
#include "cli/serve/local_transport.h"
#include "cli/up/folder.h"
#include "http/loop.h"
#include "kinds/llmkube/inference_service.h"
#include "kinds/llmkube/model.h"
#include "kinds/llmkube/storage.h"
#include "kube/http_transport.h"

struct models {
    struct cli *cli;
    const char *folder;
    struct ask ask;
    bool asked; /* there is a server to query */
    /* The server, if it was started for this command. */
    struct api_service *api;
    struct local_transport *local;
    /* Its objects. */
    struct json models, services;
    struct model_file *files;
    size_t count;
};

/* ---- the server ---- */

static bool open_running(struct models *m, const char *kubeconfig, struct error *err)
{
    struct ask *q = &m->ask;
    *q = (struct ask){ .cli = m->cli, .loop = loop_new() };
    struct kube_config_options options = { .kubeconfig = kubeconfig };
    if (!kube_config_load(&m->cli->arena, &options, &q->config, err))
        return false;
    q->transport =
        http_transport_new(q->loop, &(struct http_transport_options){ .config = &q->config }, err);
    q->kube = q->transport ? http_transport_kube(q->transport) : NULL;
    m->asked = q->kube != NULL;
    return m->asked;
}

static bool open_resting(struct models *m, struct error *err)
{
    struct arena *a = &m->cli->arena;
    const char *server = up_folder_path(a, m->folder, "server");
    if (access(server, F_OK) != 0)
        return true; /* nothing was ever applied here */
    if (!up_folder_lock(a, m->folder, err))
        return false;
    m->ask.loop = loop_new();
    m->api = api_service_new(a,
        &(struct api_service_options){
            .loop = m->ask.loop,
            .folder = server,
            .listen = "127.0.0.1:0",
            .service_cidr = "127.96.0.0/16",
        },
        err);
    if (!m->api)
        return false;
    struct loop *loop = m->ask.loop;
    m->local = local_transport_new(api_service_server(m->api), loop_env(loop), "leeboard");
    ask_over(m->cli, loop, local_transport_kube(m->local), NULL, &m->ask);
    m->asked = true;
    return true;
}

static void close_server(struct models *m)
{
    local_transport_free(m->local);
    api_service_free(m->api);
    ask_close(&m->ask);
}

static bool list(struct models *m, const struct resource *r, struct json *ret, struct error *err)
{
    struct ask_request request = {
        .method = "GET",
        .path = resource_path(&m->cli->arena, r, NULL, NULL, NULL),
    };
    int status;
    struct json answer;
    if (ask(&m->ask, &request, &status, &answer, err))
        *ret = json_get(answer, "items");
    else if (err->code != ERR_NOT_FOUND)
        return fail_in(err, "asking which services use the models");
    return true;
}

static bool open_models(struct models *m, struct error *err)
{
    struct arena *a = &m->cli->arena;
    if (!up_folder(m->cli, &m->folder, err))
        return false;
    const char *kubeconfig = up_folder_kubeconfig(a, m->folder);
    if (kubeconfig ? !open_running(m, kubeconfig, err) : !open_resting(m, err))
        return false;
    if (m->asked && (!list(m, &LLMKUBE_MODEL, &m->models, err) ||
                        !list(m, &LLMKUBE_INFERENCE_SERVICE, &m->services, err)))
        return false;
    return model_cache_list(a, m->folder, &m->files, &m->count, err);
}

/* ---- users of a file ---- */

static bool same(struct json object, const char *path, const char *text)
{
    return text_eq(json_get_text(object, path), text);
}

/* Whether a Model uses this file: a Model of its namespace, or of any namespace for the operator's
 * own copies. Files of this machine are used in place; a copy of one is from an earlier version. */
static bool is_of(struct arena *a, struct json model, const struct model_file *f)
{
    const char *source = json_get_text(model, "spec.source");
    bool in_place = source && source_read(a, source).origin == SOURCE_LOCAL;
    return !in_place &&
           (same(model, "status.cacheKey", f->key) ||
               (source && text_eq(source_cache_key(a, source), f->key))) &&
           (!*f->ns || same(model, "metadata.namespace", f->ns));
}

/* A claim for a single service has its name. */
static bool may_mount(struct arena *a, struct json service, const struct model_file *f)
{
    const char *name = json_get_text(service, "metadata.name");
    return text_eq(f->claim, STORAGE_SHARED_CLAIM) ||
           text_eq(f->claim, arena_printf(a, "%s-model-cache", name));
}

static void add_user(struct buf *b, const char *kind, struct json object)
{
    const char *ns = json_get_text(object, "metadata.namespace");
    buf_printf(b,
        "%s%s %s/%s",
        b->len ? ", " : "",
        kind,
        ns ? ns : "",
        json_get_text(object, "metadata.name"));
}

/* Adds the services that use the Model. f: only if they mount the claim with it; NULL: all. */
static void add_services(
    struct buf *b, const struct models *m, struct json model, const struct model_file *f)
{
    const char *name = json_get_text(model, "metadata.name");
    const char *ns = json_get_text(model, "metadata.namespace");
    json_each (service, m->services)
        if (same(*service, "metadata.namespace", ns) &&
            (!f || may_mount(&m->cli->arena, *service, f)) &&
            (same(*service, "spec.modelRef", name) ||
                same(*service, "spec.speculativeDecoding.draftModelRef", name)))
            add_user(b, "inferenceservice", *service);
}

/* "" if there are none. */
static const char *users_of(const struct models *m, const struct model_file *f)
{
    struct arena *a = &m->cli->arena;
    struct buf b = BUF_INIT((size_t)1 << 16);
    json_each (model, m->models) {
        if (!is_of(a, *model, f))
            continue;
        if (!*f->claim || json_get_bool(*model, "spec.prefetch", false))
            add_user(&b, "model", *model);
        if (*f->ns)
            add_services(&b, m, *model, f);
    }
    const char *users = arena_strdup(a, buf_text(&b));
    buf_done(&b);
    return users;
}

/* ---- list ---- */

static const char *size_text(struct arena *a, int64_t bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    double size = (double)bytes;
    size_t i = 0;
    for (; size >= 1024 && i + 1 < lengthof(units); i++)
        size /= 1024;
    return arena_printf(a, "%.*f %s", i > 0, size, units[i]);
}

static const char *models_of(const struct models *m, const struct model_file *f)
{
    const char *names = "";
    json_each (model, m->models)
        if (is_of(&m->cli->arena, *model, f))
            names = arena_printf(&m->cli->arena,
                "%s%s%s",
                names,
                *names ? ", " : "",
                json_get_text(*model, "metadata.name"));
    return names;
}

/* The row of a local file that is used in place; absent: the Model has another source. */
static struct json row_in_place(const struct models *m, struct json model)
{
    struct arena *a = &m->cli->arena;
    const char *text = json_get_text(model, "spec.source");
    struct source source = source_read(a, text ? text : "");
    struct stat st;
    if (source.origin != SOURCE_LOCAL)
        return (struct json){ 0 };
    const char *ns = json_get_text(model, "metadata.namespace");
    struct buf users = BUF_INIT((size_t)1 << 16);
    add_services(&users, m, model, NULL);
    const char *used = arena_strdup(a, users.len ? buf_text(&users) : "-");
    buf_done(&users);
    bool there = stat(source.path, &st) == 0;
    const char *known = json_get_text(model, "status.size"); /* of all parts together */
    const char *size = !there ? "missing" : text_empty(known) ? size_text(a, st.st_size) : known;
    return json_list(a,
        json_str(ns ? ns : "-"),
        json_str(json_get_text(model, "metadata.name")),
        json_str(source.path),
        json_str(size),
        json_str(used));
}

static void print_list(struct models *m)
{
    struct arena *a = &m->cli->arena;
    struct json_builder rows;
    json_builder_init(&rows, a);
    json_push(&rows,
        json_list(a,
            json_str("NAMESPACE"),
            json_str("MODEL"),
            json_str("FILE"),
            json_str("SIZE"),
            json_str("USED BY")));
    int64_t all = 0;
    for (size_t i = 0; i < m->count; i++) {
        const struct model_file *f = &m->files[i];
        const char *models = models_of(m, f), *users = users_of(m, f);
        all += f->bytes;
        json_push(&rows,
            json_list(a,
                json_str(*f->ns ? f->ns : "-"),
                json_str(*models ? models : "-"),
                json_strf(a, "%s/%s%s", f->key, f->name, f->partial ? " (partial)" : ""),
                json_str(size_text(a, f->bytes)),
                json_str(*users ? users : "-")));
    }
    json_each (model, m->models) {
        struct json row = row_in_place(m, *model);
        if (json_present(row))
            json_push(&rows, row);
    }
    if (rows.count == 1) {
        fprintf(stderr, "There are no model files in %s.\n", m->folder);
        return;
    }
    columns_print(a, json_list_end(&rows));
    if (m->count)
        printf("%zu file%s, %s\n", m->count, m->count == 1 ? "" : "s", size_text(a, all));
}

/* ---- remove ---- */

static bool is_named(const struct models *m, const struct model_file *f, const char *word)
{
    if (text_eq(word, f->key) || text_eq(word, f->name) ||
        text_eq(word, arena_printf(&m->cli->arena, "%s/%s", f->key, f->name)))
        return true;
    json_each (model, m->models)
        if (is_of(&m->cli->arena, *model, f) && same(*model, "metadata.name", word))
            return true;
    return false;
}

static bool same_place(const struct model_file *a, const struct model_file *b)
{
    return text_eq(a->ns, b->ns) && text_eq(a->claim, b->claim) && text_eq(a->key, b->key);
}

/* Removes everything of a key: single parts of a model are useless. */
static bool remove_at(struct models *m, size_t at, struct error *err)
{
    const struct model_file *f = &m->files[at];
    for (size_t i = 0; i < at; i++)
        if (same_place(f, &m->files[i]))
            return true; /* already removed with that one */
    int64_t bytes = 0;
    for (size_t i = at; i < m->count; i++)
        bytes += same_place(f, &m->files[i]) ? m->files[i].bytes : 0;
    if (!model_cache_remove(m->folder, f, err))
        return false;
    printf("removed %s (%s)\n", f->name, size_text(&m->cli->arena, bytes));
    return true;
}

static bool remove_named(struct models *m, const char *word, struct error *err)
{
    bool found = false;
    for (size_t i = 0; i < m->count; i++) {
        const struct model_file *f = &m->files[i];
        if (!is_named(m, f, word))
            continue;
        const char *users = users_of(m, f);
        if (*users)
            return fail(err,
                ERR_INVALID,
                "%s is used by %s: delete that first, then remove the file",
                f->name,
                users);
        found = true;
    }
    for (size_t i = 0; found && i < m->count; i++)
        if (is_named(m, &m->files[i], word) && !remove_at(m, i, err))
            return false;
    json_each (model, found ? json_empty_list() : m->models) {
        const char *text = json_get_text(*model, "spec.source");
        if (same(*model, "metadata.name", word) && text &&
            source_read(&m->cli->arena, text).origin == SOURCE_LOCAL)
            return fail(err,
                ERR_INVALID,
                "the file of %s is used where it is, and is yours to remove: %s",
                word,
                text);
    }
    return found || fail(err,
                        ERR_NOT_FOUND,
                        "no file, model or key %s in %s; `leeboard models` lists them",
                        word,
                        m->folder);
}

static bool remove_unused(struct models *m, struct error *err)
{
    for (size_t i = 0; i < m->count; i++)
        if (!*users_of(m, &m->files[i]) && !remove_at(m, i, err))
            return false;
    return true;
}

/* ---- the command ---- */

static bool work(struct models *m, bool remove, struct error *err)
{
    if (!open_models(m, err))
        return false;
    if (!remove) {
        print_list(m);
        return true;
    }
    if (cli_on(m->cli, "unused"))
        return remove_unused(m, err);
    for (size_t i = 1; i < m->cli->argument_count; i++)
        if (!remove_named(m, m->cli->arguments[i], err))
            return false;
    return true;
}

static int run(struct cli *cli)
{
    struct models m = { .cli = cli };
    struct error err;
    const char *verb = cli->argument_count ? cli->arguments[0] : "list";
    bool remove = text_eq(verb, "remove"), unused = cli_on(cli, "unused");
    if (!remove && (!text_eq(verb, "list") || cli->argument_count > 1 || unused))
        return cli_usage(cli, "say list, or remove NAME, or remove --unused");
    if (remove && (cli->argument_count > 1) == unused)
        return cli_usage(
            cli, "say what to remove: names as `leeboard models` lists them, or --unused");
    bool ok = work(&m, remove, &err);
    close_server(&m);
    return ok ? CLI_OK : cli_fail(cli, &err);
}

static const struct cli_flag flags[] = {
    { "unused", 0, NULL, "false", "With remove: all files that no service uses." },
    { 0 },
};

const struct cli_command cli_models = {
    .name = "models",
    .summary =
        "List the model files of `leeboard up` and the services that use them, or remove some.",
    .arguments = "[list | remove NAME…]",
    .text = "  leeboard models\n"
            "  leeboard models remove tinyllama\n"
            "  leeboard models remove --unused\n\n"
            "NAME is a Model, a file or a key. What a service uses stays; what is removed is\n"
            "fetched again when a service needs it.\n",
    .flags = (const struct cli_flag *const[]){ flags, up_folder_flags, NULL },
    .run = run,
};
