#include "kube/config_exec.h"

#include "base/base64.h"
#include "base/json_bind.h"
#include "kube/config.h"

#define ITEMS_MAX 256
#define API_V1 "client.authentication.k8s.io/v1"
#define API_V1BETA1 "client.authentication.k8s.io/v1beta1"
/* Cluster-specific data for the plugin, written by the author of the kubeconfig file. */
#define EXTENSION "client.authentication.k8s.io/exec"

struct section {
    const char *api_version, *command, *install_hint, *interactive_mode;
    bool provide_cluster_info;
    struct json args, env;
};

static const struct json_bind section_bind[] = {
    BIND(struct section, api_version, "apiVersion", .required = true),
    BIND(struct section, command, "command", .required = true),
    BIND(struct section, install_hint, "installHint"),
    BIND(struct section, interactive_mode, "interactiveMode"),
    BIND(struct section, provide_cluster_info, "provideClusterInfo"),
    BIND(struct section, args, "args"),
    BIND(struct section, env, "env"),
    { 0 },
};

static bool read_mode(
    const struct section *s, const char *at, struct kube_exec *e, struct error *err)
{
    static const char *const modes[] = {
        [KUBE_EXEC_IF_AVAILABLE] = "IfAvailable",
        [KUBE_EXEC_NEVER] = "Never",
        [KUBE_EXEC_ALWAYS] = "Always",
    };
    const char *mode = s->interactive_mode;
    if (text_empty(mode) && text_eq(s->api_version, API_V1BETA1))
        mode = "IfAvailable";
    for (size_t i = 0; i < lengthof(modes); i++)
        if (text_eq(mode, modes[i])) {
            e->interactive = (enum kube_exec_interactive)i;
            return true;
        }
    return fail(err,
        ERR_INVALID,
        "%s.interactiveMode: expected Never, IfAvailable or Always, got %s",
        at,
        text_empty(mode) ? "nothing" : mode);
}

static bool read_args(
    struct arena *a, struct json args, const char *at, struct kube_exec *e, struct error *err)
{
    size_t count = 0;
    const char **list = arena_array(a, ITEMS_MAX + 1, sizeof(*list));
    json_each (arg, args) {
        if (!json_is(*arg, JSON_STR) || count == ITEMS_MAX)
            return fail(err, ERR_INVALID, "%s.args: expected at most %d strings", at, ITEMS_MAX);
        list[count++] = arg->string;
    }
    e->args = list;
    return true;
}

static bool read_env(
    struct arena *a, struct json env, const char *at, struct kube_exec *e, struct error *err)
{
    size_t count = 0;
    struct kube_exec_env *list = arena_array(a, ITEMS_MAX + 1, sizeof(*list));
    json_each (item, env) {
        const char *name = json_get_text(*item, "name");
        const char *value = json_get_text(*item, "value");
        if (text_empty(name) || strchr(name, '=') || !value || count == ITEMS_MAX)
            return fail(err,
                ERR_INVALID,
                "%s.env: expected at most %d items, each with a name and a value",
                at,
                ITEMS_MAX);
        list[count++] = (struct kube_exec_env){ name, value };
    }
    e->env = list;
    return true;
}

static const char *cluster_info(
    struct arena *a, const struct config_exec_place *place, const struct kube_config *c)
{
    struct json extension = json_find(place->cluster_extensions, "name", EXTENSION);
    const char *ca = c->ca_data ? base64_encode(a, str_of(c->ca_data)) : NULL;
    return json_to_text(a,
        json_map(a,
            { "server", json_str(c->server) },
            { "tls-server-name", json_str(c->tls_server_name) },
            { "insecure-skip-tls-verify", json_true_or_absent(c->insecure_skip_tls_verify) },
            { "certificate-authority-data", json_str(ca) },
            { "proxy-url", json_str(c->proxy_url) },
            { "config", json_member(extension, "extension") }));
}

const struct kube_exec *config_exec_read(struct arena *a, struct json exec,
    const struct config_exec_place *place, const struct kube_config *config, struct error *err)
{
    struct section s = { 0 };
    struct kube_exec *e = arena_new(a, struct kube_exec);
    if (!json_bind(a, exec, place->at, section_bind, &s, err))
        return NULL;
    if (!text_eq(s.api_version, API_V1) && !text_eq(s.api_version, API_V1BETA1)) {
        fail(err,
            ERR_INVALID,
            "%s.apiVersion: expected " API_V1 " or " API_V1BETA1 ", got %s; update the plugin",
            place->at,
            s.api_version);
        return NULL;
    }
    if (text_empty(s.command)) {
        fail(err, ERR_INVALID, "%s.command: required", place->at);
        return NULL;
    }
    if (!read_mode(&s, place->at, e, err) || !read_args(a, s.args, place->at, e, err) ||
        !read_env(a, s.env, place->at, e, err))
        return NULL;
    /* A bare name is looked up in PATH; a path with a slash is relative to the file. */
    bool relative = *s.command != '/' && strchr(s.command, '/');
    e->api_version = s.api_version;
    e->command = relative ? arena_printf(a, "%s/%s", place->directory, s.command) : s.command;
    e->install_hint = text_empty(s.install_hint) ? NULL : s.install_hint;
    e->cluster_info = s.provide_cluster_info ? cluster_info(a, place, config) : NULL;
    return e;
}
