#include "kube/credentials.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/time.h"
#include "base/timer.h"
#include "http/process.h"
#include "http/tls.h"
#include "kube/config.h"
#include "kube/file.h"

#define FILE_BYTES_MAX ((size_t)1 << 20)
#define LOOK_MS 10000
/* A file system may hide a change from stat; client-go also reads once a minute. */
#define READ_AGAIN_MS 60000
/* After a failure the plugin is not run for every request. */
#define PLUGIN_PAUSE_MS 5000
#define PLUGIN_TIMEOUT_MS 60000

enum { TOKEN, CA, CERTIFICATE, KEY, FILES };

/* The last contents of a file. */
struct watched {
    const char *path; /* NULL: not from a file */
    struct file_stamp stamp;
    char *text; /* NULL: never read */
};

struct credentials {
    struct loop *loop;
    const struct env *env;
    const struct kube_config *config;
    void (*changed)(void *ctx);
    void *ctx;
    struct watched files[FILES];
    int64_t looked_at_ms, read_at_ms;
    bool looked;
    uint64_t epoch;
    char *header;
    struct tls_context *tls;
    bool tls_wanted;
    struct error error;

    struct process *plugin;
    char *plugin_token, *plugin_certificate, *plugin_key;
    bool plugin_done;  /* it has returned credentials */
    bool plugin_stale; /* … which the server rejected */
    int64_t plugin_expires_wall_ms;
    int64_t plugin_failed_at_ms;
    struct error plugin_error;
};

static void set_text(char **into, const char *text)
{
    char *copy = text ? mem_strdup(text) : NULL;
    free(*into);
    *into = copy;
}

/* ---- the plugin's protocol ---- */

const char *credentials_exec_info(struct arena *a, const struct kube_exec *exec)
{
    struct json cluster = { 0 };
    if (exec->cluster_info) {
        bool ours = json_parse(a, str_of(exec->cluster_info), &cluster, NULL);
        assert(ours);
    }
    return json_to_text(a,
        json_fields(a,
            { "apiVersion", json_str(exec->api_version) },
            { "kind", json_str("ExecCredential") },
            { "spec.interactive", json_bool(false) },
            { "spec.cluster", cluster }));
}

bool credentials_exec_parse(struct arena *a, const struct kube_exec *exec, struct str output,
    struct credentials_exec_result *ret, struct error *err)
{
    struct json credential;
    if (!json_parse(a, output, &credential, err))
        return fail_in(err, "its output");
    const char *api_version = json_get_text(credential, "apiVersion");
    if (!text_eq(api_version, exec->api_version) ||
        !text_eq(json_get_text(credential, "kind"), "ExecCredential"))
        return fail(err,
            ERR_INVALID,
            "its output is not an ExecCredential of %s but of %s",
            exec->api_version,
            api_version ? api_version : "nothing");
    struct json status = json_get(credential, "status");
    *ret = (struct credentials_exec_result){
        .token = json_get_text(status, "token"),
        .certificate = json_get_text(status, "clientCertificateData"),
        .key = json_get_text(status, "clientKeyData"),
        .expires_wall_ms = INT64_MAX,
    };
    if (!ret->certificate != !ret->key)
        return fail(err, ERR_INVALID, "its output has a certificate or a key without the other");
    if (text_empty(ret->token) && !ret->key)
        return fail(err, ERR_INVALID, "its output has neither status.token nor a certificate");
    for (const char *c = ret->token; c && *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return fail(err, ERR_INVALID, "its status.token holds a blank or a line end");
    const char *expires = json_get_text(status, "expirationTimestamp");
    if (expires && !time_parse(expires, &ret->expires_wall_ms))
        return fail(err, ERR_INVALID, "its status.expirationTimestamp is no time: %s", expires);
    return true;
}

/* ---- current credentials ---- */

static const char *text_of(const struct credentials *c, int file, const char *data)
{
    return data ? data : c->files[file].text;
}

static bool make_tls(struct credentials *c, struct error *err)
{
    const struct kube_config *config = c->config;
    const char *certificate =
        c->plugin_certificate ? c->plugin_certificate : text_of(c, CERTIFICATE, config->cert_data);
    const char *key = c->plugin_key ? c->plugin_key : text_of(c, KEY, config->key_data);
    struct tls_client_options options = {
        .ca = str_of(text_of(c, CA, config->ca_data)),
        .certificate = str_of(certificate),
        .key = str_of(key),
        .server_name = config->tls_server_name,
        .verify_off = config->insecure_skip_tls_verify,
    };
    struct tls_context *tls = tls_client_new(&options, err);
    if (!tls)
        return fail_in(err, "TLS of %s", config->origin);
    tls_context_unref(c->tls);
    c->tls = tls;
    return true;
}

static void make_header(struct credentials *c)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *token = c->files[TOKEN].text ? c->files[TOKEN].text : c->config->token;
    char *old = c->header;
    token = c->plugin_token ? c->plugin_token : token;
    if (token)
        c->header = mem_strdup(arena_printf(&a, "Bearer %s", token));
    else if (c->config->username)
        c->header = mem_strdup(arena_printf(&a,
            "Basic %s",
            base64_encode(&a,
                str_of(arena_printf(&a,
                    "%s:%s",
                    c->config->username,
                    c->config->password ? c->config->password : "")))));
    else
        c->header = NULL;
    free(old);
}

static bool lacks_tls(const struct credentials *c)
{
    return c->tls_wanted && !c->tls;
}

/* If a new TLS context cannot be created, the old one stays in use: the files may be
 * half-written. */
static void rebuild(struct credentials *c, bool tls_changed)
{
    struct error err = { 0 };
    make_header(c);
    if (c->tls_wanted && tls_changed && !make_tls(c, &err) && !c->tls)
        c->error = err;
    c->epoch++;
}

/* ---- files ---- */

/* False if there is no content at all; a file that was readable before may fail. */
static bool read_file(struct credentials *c, int which, bool *changed, struct error *err)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct watched *w = &c->files[which];
    struct str text;
    struct file_stamp stamp = file_stamp(w->path);
    if (!file_read(&a, w->path, FILE_BYTES_MAX, &text, err))
        return w->text || (which == TOKEN && c->config->token);
    if (which == TOKEN)
        text = str_trim(text);
    const char *copy = str_dup(&a, text);
    for (const char *s = copy; which == TOKEN && *s; s++)
        if ((unsigned char)*s <= ' ' || *s == 0x7f)
            return fail(err, ERR_INVALID, "read %s: expected one token", w->path) || w->text;
    if (!text.len || strlen(copy) != text.len)
        return fail(err, ERR_INVALID, "read %s: empty, or not text", w->path) || w->text;
    w->stamp = stamp;
    *changed |= !text_eq(w->text, copy);
    set_text(&w->text, copy);
    return true;
}

static void look_at_files(struct credentials *c, bool all)
{
    bool changed[FILES] = { 0 };
    struct error err, first = { 0 };
    c->looked_at_ms = env_mono_ms(c->env);
    c->looked = true;
    if (all)
        c->read_at_ms = c->looked_at_ms;
    for (int i = 0; i < FILES; i++) {
        struct watched *w = &c->files[i];
        if (!w->path || (!all && w->text && file_stamp_eq(w->stamp, file_stamp(w->path))))
            continue;
        if (!read_file(c, i, &changed[i], &err) && !first.code)
            first = err;
    }
    c->error = first;
    bool tls_changed = changed[CA] || changed[CERTIFICATE] || changed[KEY] || lacks_tls(c);
    if (!first.code && (tls_changed || changed[TOKEN] || !c->epoch))
        rebuild(c, tls_changed);
}

/* ---- the plugin ---- */

static bool plugin_take(
    struct credentials *c, const struct process_result *result, struct error *err)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct credentials_exec_result got;
    if (result->err) {
        *err = *result->err;
        return false;
    }
    if (result->exit_code != 0) {
        struct str said = str_trim(result->errors);
        size_t skip = said.len > 300 ? said.len - 300 : 0;
        return fail(err,
            ERR_UNAUTHORIZED,
            "it ended with code %d: %.*s",
            result->exit_code,
            (int)(said.len - skip),
            said.len ? said.ptr + skip : "");
    }
    if (!credentials_exec_parse(&a, c->config->exec, result->output, &got, err))
        return false;
    bool tls_changed = !text_eq(c->plugin_certificate, got.certificate) ||
                       !text_eq(c->plugin_key, got.key) || lacks_tls(c);
    set_text(&c->plugin_token, text_empty(got.token) ? NULL : got.token);
    set_text(&c->plugin_certificate, got.certificate);
    set_text(&c->plugin_key, got.key);
    c->plugin_expires_wall_ms = got.expires_wall_ms;
    c->plugin_done = true;
    c->plugin_stale = false;
    rebuild(c, tls_changed);
    return true;
}

static void on_plugin_end(void *ctx, const struct process_result *result)
{
    struct credentials *c = ctx;
    const struct kube_exec *exec = c->config->exec;
    struct error err;
    c->plugin = NULL;
    c->plugin_error = (struct error){ 0 };
    if (!plugin_take(c, result, &err)) {
        bool missing = result->err && result->err->code == ERR_NOT_FOUND;
        const char *hint = missing && exec->install_hint ? exec->install_hint : NULL;
        fail(&c->plugin_error,
            ERR_UNAUTHORIZED,
            "exec plugin %s of %s: %s%s%s",
            exec->command,
            c->config->origin,
            err.text,
            hint ? "\n" : "",
            hint ? hint : "");
        c->plugin_failed_at_ms = env_mono_ms(c->env);
    }
    c->changed(c->ctx);
}

static void plugin_run(struct credentials *c)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const struct kube_exec *exec = c->config->exec;
    size_t args = 0, envs = 0;
    while (exec->args[args])
        args++;
    while (exec->env[envs].name)
        envs++;
    const char **argv = arena_array(&a, args + 2, sizeof(*argv));
    const char **env = arena_array(&a, envs + 2, sizeof(*env));
    argv[0] = exec->command;
    for (size_t i = 0; i < args; i++)
        argv[i + 1] = exec->args[i];
    for (size_t i = 0; i < envs; i++)
        env[i] = arena_printf(&a, "%s=%s", exec->env[i].name, exec->env[i].value);
    env[envs] = arena_printf(&a, "KUBERNETES_EXEC_INFO=%s", credentials_exec_info(&a, exec));
    struct process_options options = {
        .argv = argv,
        .extra_env = env,
        .timeout_ms = PLUGIN_TIMEOUT_MS,
    };
    c->plugin = process_start(c->loop, &options, on_plugin_end, c);
}

/* Whether the plugin's credentials (or its error) can be used for now. */
static bool plugin_ready(struct credentials *c)
{
    if (c->plugin)
        return false;
    bool fresh =
        c->plugin_done && !c->plugin_stale && env_wall_ms(c->env) < c->plugin_expires_wall_ms;
    bool pause =
        c->plugin_error.code && env_mono_ms(c->env) - c->plugin_failed_at_ms < PLUGIN_PAUSE_MS;
    if (fresh || pause)
        return true;
    c->plugin_error = (struct error){ 0 };
    if (c->config->exec->interactive == KUBE_EXEC_ALWAYS) {
        fail(&c->plugin_error,
            ERR_UNAUTHORIZED,
            "exec plugin %s of %s: interactiveMode is Always, but there is no terminal; use a user "
            "that needs none",
            c->config->exec->command,
            c->config->origin);
        return true;
    }
    plugin_run(c);
    return false;
}

/* ---- interface ---- */

struct credentials *credentials_new(struct loop *loop, const struct env *env,
    const struct kube_config *config, void (*changed)(void *ctx), void *ctx)
{
    struct credentials *c = mem_new_of(struct credentials);
    c->loop = loop;
    c->env = env;
    c->config = config;
    c->changed = changed;
    c->ctx = ctx;
    c->tls_wanted = text_starts(config->server, "https:");
    c->files[TOKEN].path = config->token_file;
    c->files[CA].path = config->ca_data ? NULL : config->ca_file;
    c->files[CERTIFICATE].path = config->cert_data ? NULL : config->cert_file;
    c->files[KEY].path = config->key_data ? NULL : config->key_file;
    return c;
}

void credentials_free(struct credentials *c)
{
    if (!c)
        return;
    if (c->plugin)
        process_cancel(c->plugin);
    for (int i = 0; i < FILES; i++)
        free(c->files[i].text);
    free(c->header);
    free(c->plugin_token);
    free(c->plugin_certificate);
    free(c->plugin_key);
    tls_context_unref(c->tls);
    free(c);
}

bool credentials_ready(struct credentials *c)
{
    int64_t now_ms = env_mono_ms(c->env);
    bool all = !c->looked || now_ms - c->read_at_ms >= READ_AGAIN_MS;
    if (all || c->error.code || now_ms - c->looked_at_ms >= LOOK_MS)
        look_at_files(c, all);
    return !c->config->exec || plugin_ready(c);
}

const struct error *credentials_error(const struct credentials *c)
{
    if (c->error.code)
        return &c->error;
    return c->plugin_error.code ? &c->plugin_error : NULL;
}

const char *credentials_header(const struct credentials *c)
{
    return c->header;
}

struct tls_context *credentials_tls(const struct credentials *c)
{
    return c->tls;
}

uint64_t credentials_epoch(const struct credentials *c)
{
    return c->epoch;
}

bool credentials_rejected(struct credentials *c, uint64_t epoch)
{
    if (epoch == c->epoch)
        look_at_files(c, true);
    if (epoch != c->epoch)
        return true;
    c->plugin_stale |= c->config->exec != NULL;
    return c->config->exec != NULL;
}
