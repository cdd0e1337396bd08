/* leeboard apiserver: the built-in API server on the network.
 *
 *   signal ──> no new requests, watches end ──> the last answer ──> the disk closes ──> exit */

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "apiserver/access/auth.h"
#include "apiserver/core/server.h"
#include "apiserver/store/sqlite.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/serve/api_service.h"
#include "cli/serve/apiserver_http.h"
#include "http/loop.h"
#include "kube/file.h"

#define EXIT_MS 5000
#define TRIM_MS 15000
#define TOKENS_MAX 1024
#define TOKEN_FILE_BYTES_MAX ((size_t)1 << 20)

struct app {
    struct cli *cli;
    struct loop *loop;
    struct api_service *service;
    struct loop_signal *signals[2];
    struct timer trim;
    bool ending;
};

/* ---- the command line ---- */

/* One line is token,user,uid[,"group,group"], as in kube-apiserver's --token-auth-file. */
static bool read_token_line(struct arena *a, struct str line, struct auth_static_token *ret)
{
    struct str rest = line, token = str_cut(&rest, ',');
    struct str user = rest.ptr ? str_cut(&rest, ',') : rest;
    struct str uid = rest.ptr ? str_cut(&rest, ',') : rest;
    if (!token.len || !user.len || !uid.ptr)
        return false;
    const char **groups = arena_array(a, 34, sizeof(*groups));
    rest = str_trim(rest);
    if (rest.len > 1 && rest.ptr[0] == '"' && rest.ptr[rest.len - 1] == '"')
        rest = (struct str){ rest.ptr + 1, rest.len - 2 };
    for (size_t i = 0; rest.ptr && rest.len && i < 32; i++)
        groups[i] = str_dup(a, str_trim(str_cut(&rest, ',')));
    *ret = (struct auth_static_token){
        .token = str_dup(a, token),
        .user = { .name = str_dup(a, user), .uid = str_dup(a, str_trim(uid)), .groups = groups },
    };
    return true;
}

static bool read_tokens(struct app *app, struct error *err)
{
    struct arena *a = &app->cli->arena;
    const char *path = cli_text(app->cli, "token-file");
    struct str text;
    if (text_empty(path))
        return true;
    if (!file_read(a, path, TOKEN_FILE_BYTES_MAX, &text, err))
        return false;
    struct auth_static_token *list = arena_array(a, TOKENS_MAX + 1, sizeof(*list));
    size_t count = 0;
    for (int number = 1; text.ptr && count < TOKENS_MAX; number++) {
        struct str line = str_trim(str_cut(&text, '\n'));
        if (!line.len || line.ptr[0] == '#')
            continue;
        if (!read_token_line(a, line, &list[count++]))
            return fail(err,
                ERR_INVALID,
                "%s:%d: a line is token,user,uid and, in quotes, groups",
                path,
                number);
    }
    auth_set_static_tokens(apiserver_auth(api_service_server(app->service)), list);
    return true;
}

/* ---- construction ---- */

static const char *data_folder(const struct app *app)
{
    return cli_on(app->cli, "in-memory") ? NULL : cli_text(app->cli, "data");
}

static bool make_service(struct app *app, struct error *err)
{
    app->service = api_service_new(&app->cli->arena,
        &(struct api_service_options){
            .loop = app->loop,
            .folder = data_folder(app),
            .no_fsync = cli_on(app->cli, "no-fsync"),
            .listen = cli_text(app->cli, "listen"),
            .names = cli_text(app->cli, "tls-san"),
            .service_cidr = cli_text(app->cli, "service-cidr"),
        },
        err);
    return app->service != NULL;
}

static bool write_kubeconfig(struct app *app, struct error *err)
{
    const char *path = cli_text(app->cli, "kubeconfig"), *folder = data_folder(app);
    if (text_empty(path))
        path = folder ? arena_printf(&app->cli->arena, "%s/kubeconfig", folder)
                      : "leeboard.kubeconfig";
    if (!api_service_write_kubeconfig(app->service, path, err))
        return false;
    printf("%s\n", path);
    fflush(stdout);
    log_info("leeboard " LEEBOARD_VERSION " serves %s; kubeconfig: %s",
        api_service_url(app->service),
        path);
    return true;
}

/* ---- running and shutdown ---- */

static void stop(void *ctx)
{
    struct app *app = ctx;
    loop_stop(app->loop);
}

static void on_signal(void *ctx, int number)
{
    struct app *app = ctx;
    if (app->ending) {
        loop_stop(app->loop);
        return;
    }
    app->ending = true;
    log_info("got %s; finishing what is in flight", strsignal(number));
    apiserver_http_drain(api_service_http(app->service), EXIT_MS, stop, app);
}

/* Returns the memory of lists and bursts to the system. */
static void trim(void *ctx)
{
    struct app *app = ctx;
    malloc_trim(0);
    timer_set(loop_env(app->loop), &app->trim, TRIM_MS);
}

static void free_all(struct app *app)
{
    for (size_t i = 0; i < lengthof(app->signals); i++)
        if (app->signals[i])
            loop_signal_free(app->signals[i]);
    api_service_free(app->service);
    timer_stop(loop_env(app->loop), &app->trim);
    loop_free(app->loop);
}

static int run_backup(struct cli *cli)
{
    struct error err;
    if (cli->argument_count != 2)
        return cli_usage(cli, "backup takes the name of one FILE");
    if (!store_sqlite_backup(cli_text(cli, "data"), cli->arguments[1], &err))
        return cli_fail(cli, &err);
    return CLI_OK;
}

static int run(struct cli *cli)
{
    struct app app = { .cli = cli };
    struct error err;
    if (!cli_setup_log(cli, &err))
        return cli_usage(cli, "%s", err.text);
    if (cli->argument_count && text_eq(cli->arguments[0], "backup"))
        return run_backup(cli);
    if (cli->argument_count)
        return cli_usage(cli, "there is no %s; see --help", cli->arguments[0]);
    if (!api_service_check_listen(cli_text(cli, "listen"), &err))
        return cli_usage(cli, "%s", err.text);
    api_service_tune_heap();
    app.loop = loop_new();
    timer_init(&app.trim, trim, &app);
    bool ok = make_service(&app, &err) && read_tokens(&app, &err) && write_kubeconfig(&app, &err);
    if (ok) {
        app.signals[0] = loop_signal_new(app.loop, SIGTERM, on_signal, &app);
        app.signals[1] = loop_signal_new(app.loop, SIGINT, on_signal, &app);
        timer_set(loop_env(app.loop), &app.trim, TRIM_MS);
        loop_run(app.loop);
        log_info("ended");
    }
    int code = ok ? CLI_OK : cli_fail(cli, &err);
    free_all(&app);
    return code;
}

static const struct cli_flag flags[] = {
    { "data", 0, "DIR", "leeboard-data", "Data folder; it is created if it does not exist." },
    { "in-memory",
        0,
        NULL,
        NULL,
        "Keep all objects in memory; they are lost when the process ends." },
    { "listen", 0, "ADDRESS:PORT", "127.0.0.1:6443", "Address to serve on; port 0: any free one." },
    { "kubeconfig",
        0,
        "FILE",
        NULL,
        "Where to write the administrator's kubeconfig. Default: DIR/kubeconfig." },
    { "no-fsync", 0, NULL, NULL, "Faster; a power failure may take the last seconds." },
    { "token-file",
        0,
        "FILE",
        NULL,
        "Users by token, one on each line: token,user,uid,\"group,group\"." },
    { "tls-san", 0, "NAMES", NULL, "More names and addresses of the server, separated by commas." },
    { "service-cidr", 0, "CIDR", "10.96.0.0/16", "Addresses for Services." },
    { 0 },
};

const struct cli_command cli_apiserver = {
    .name = "apiserver",
    .summary = "Serve the Kubernetes API from this machine, for kubectl and operators.",
    .arguments = "[backup FILE]",
    .text =
        "  leeboard apiserver --data DIR & kubectl --kubeconfig DIR/kubeconfig get namespaces\n\n"
        "Prints the path of the kubeconfig when it is ready. `leeboard apiserver --data DIR\n"
        "backup FILE` writes a consistent copy of all objects to FILE, also while a server runs\n"
        "on DIR; as DIR/leeboard.db of another folder it is that state again.\n",
    .flags = (const struct cli_flag *const[]){ flags, cli_flags_log, NULL },
    .run = run,
};
