#include "kube/config.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/json_bind.h"
#include "base/url.h"
#include "base/yaml.h"
#include "kube/config_exec.h"
#include "kube/config_proxy.h"
#include "kube/file.h"

#define FILE_BYTES_MAX ((size_t)4 << 20)
#define FILES_MAX 64

/* One kubeconfig file. */
struct source {
    const char *file, *directory; /* absolute */
    struct json document;
};

struct loading {
    struct arena *arena;
    struct source sources[FILES_MAX];
    size_t count;
    const char *missing; /* what was searched without success, for messages */
};

/* An entry of clusters, users or contexts, and its position. */
struct entry {
    const struct source *source;
    const char *at; /* "clusters[kind].cluster", for messages */
    struct json value;
};

/* ---- files ---- */

static const char *absolute(struct arena *a, const char *path)
{
    if (*path == '/')
        return path;
    char *here = getcwd(NULL, 0);
    const char *joined = here ? arena_printf(a, "%s/%s", here, path) : path;
    free(here);
    return joined;
}

static bool add_file(struct loading *l, const char *path, bool must_exist, struct error *err)
{
    struct str text;
    struct json documents;
    path = absolute(l->arena, path);
    for (size_t i = 0; i < l->count; i++)
        if (text_eq(l->sources[i].file, path))
            return true;
    if (!must_exist && access(path, F_OK) < 0 && errno == ENOENT)
        return true;
    if (l->count == FILES_MAX)
        return fail(err, ERR_INVALID, "KUBECONFIG names more than %d files", FILES_MAX);
    if (!file_read(l->arena, path, FILE_BYTES_MAX, &text, err))
        return fail_in(err, "kubeconfig");
    if (!yaml_parse_all(l->arena, text, path, &documents, err))
        return fail_in(err, "kubeconfig");
    struct json document = json_item(documents, 0);
    if (documents.count == 0)
        document = json_empty_map();
    if (documents.count > 1 || !json_is(document, JSON_MAP))
        return fail(err, ERR_INVALID, "kubeconfig %s: expected one YAML object", path);
    const char *kind = json_get_text(document, "kind");
    if (json_present(json_get(document, "kind")) && !text_eq(kind, "Config"))
        return fail(err,
            ERR_INVALID,
            "kubeconfig %s: kind: expected Config, got %s; this is not a kubeconfig file",
            path,
            kind ? kind : "something else");
    l->sources[l->count++] = (struct source){
        .file = path,
        .directory = arena_strndup(l->arena, path, (size_t)(strrchr(path, '/') - path)),
        .document = document,
    };
    return true;
}

static bool find_files(
    struct loading *l, const struct kube_config_options *options, struct error *err)
{
    if (!text_empty(options->kubeconfig))
        return add_file(l, options->kubeconfig, true, err);
    if (!text_empty(options->kubeconfig_list)) {
        struct str rest = str_of(options->kubeconfig_list);
        while (rest.ptr) {
            struct str path = str_cut(&rest, ':');
            if (path.len && !add_file(l, str_dup(l->arena, path), false, err))
                return false;
        }
        l->missing =
            arena_printf(l->arena, "no file of KUBECONFIG=%s exists", options->kubeconfig_list);
        return true;
    }
    if (text_empty(options->home)) {
        l->missing = "neither KUBECONFIG nor HOME is set";
        return true;
    }
    const char *path = arena_printf(l->arena, "%s/.kube/config", options->home);
    l->missing = arena_printf(l->arena, "KUBECONFIG is not set, %s does not exist", path);
    return add_file(l, path, false, err);
}

/* ---- entries ---- */

/* The names in a section, for a message: "a, b". */
static const char *names_of(struct loading *l, const char *section)
{
    cleanup(buf_done) struct buf b = BUF_INIT(300);
    for (size_t i = 0; i < l->count; i++)
        json_each (item, json_member(l->sources[i].document, section)) {
            const char *name = json_get_text(*item, "name");
            if (name && b.len + strlen(name) + 2 < b.limit)
                buf_printf(&b, "%s%s", b.len ? ", " : "", name);
        }
    return b.len ? arena_strndup(l->arena, b.ptr, b.len) : "none";
}

static const char *files_of(struct loading *l)
{
    cleanup(buf_done) struct buf b = BUF_INIT(300);
    for (size_t i = 0; i < l->count; i++)
        if (b.len + strlen(l->sources[i].file) + 2 < b.limit)
            buf_printf(&b, "%s%s", i ? ", " : "", l->sources[i].file);
    return arena_strndup(l->arena, b.ptr, b.len);
}

/* For example section "clusters", member "cluster". The first file with the entry wins, as a
 * whole. */
static bool find_entry(struct loading *l, const char *section, const char *member, const char *name,
    struct entry *ret, struct error *err)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct source *s = &l->sources[i];
        struct json list = json_member(s->document, section);
        if (json_present(list) && !json_is(list, JSON_LIST) && !json_is(list, JSON_NULL))
            return fail(err,
                ERR_INVALID,
                "kubeconfig %s: %s: expected list, got %s",
                s->file,
                section,
                json_type_name(list));
        struct json found = json_find(list, "name", name);
        if (!json_present(found))
            continue;
        struct json value = json_member(found, member);
        if (!json_present(value) || json_is(value, JSON_NULL))
            value = json_empty_map();
        *ret = (struct entry){
            .source = s,
            .at = arena_printf(l->arena, "%s[%s].%s", section, name, member),
            .value = value,
        };
        return true;
    }
    return fail(err,
        ERR_NOT_FOUND,
        "%s %s is not in kubeconfig %s, which has: %s",
        member,
        name,
        files_of(l),
        names_of(l, section));
}

static bool bind(struct loading *l, const struct entry *e, const struct json_bind *table,
    void *into, struct error *err)
{
    return json_bind(l->arena, e->value, e->at, table, into, err) ||
           fail_in(err, "kubeconfig %s", e->source->file);
}

#define bad(err, entry, format, ...)                                                               \
    fail((err),                                                                                    \
        ERR_INVALID,                                                                               \
        "kubeconfig %s: %s." format,                                                               \
        (entry)->source->file,                                                                     \
        (entry)->at,                                                                               \
        __VA_ARGS__)

static const char *resolve(struct loading *l, const struct entry *e, const char *path)
{
    if (text_empty(path) || *path == '/')
        return text_empty(path) ? NULL : path;
    return arena_printf(l->arena, "%s/%s", e->source->directory, path);
}

/* Decodes a …-data field: base64, possibly with line breaks. */
static bool decode(struct loading *l, const struct entry *e, const char *field, const char *text,
    const char **ret, struct error *err)
{
    cleanup(buf_done) struct buf clean = BUF_INIT(FILE_BYTES_MAX);
    struct str bytes;
    *ret = NULL;
    if (text_empty(text))
        return true;
    for (const char *c = text; *c; c++)
        if (!strchr("\r\n \t", *c))
            buf_add_char(&clean, *c);
    if (!base64_decode(l->arena, buf_str(&clean), &bytes) || memchr(bytes.ptr, '\0', bytes.len))
        return bad(err, e, "%s: not base64 of a PEM text; remove it, or write it again", field);
    *ret = bytes.ptr;
    return true;
}

/* Header values and URLs must not contain line ends. */
static bool is_plain(const char *text)
{
    for (; text && *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return false;
    return true;
}

/* ---- the cluster ---- */

struct cluster {
    const char *server, *ca_file, *ca_data, *tls_server_name, *proxy_url;
    bool insecure;
    struct json extensions;
};

static const struct json_bind cluster_bind[] = {
    BIND(struct cluster, server, "server"),
    BIND(struct cluster, ca_file, "certificate-authority"),
    BIND(struct cluster, ca_data, "certificate-authority-data"),
    BIND(struct cluster, tls_server_name, "tls-server-name"),
    BIND(struct cluster, proxy_url, "proxy-url"),
    BIND(struct cluster, insecure, "insecure-skip-tls-verify"),
    BIND(struct cluster, extensions, "extensions"),
    { 0 },
};

static bool check_server(
    struct loading *l, const struct entry *e, struct kube_config *c, struct error *err)
{
    struct url url;
    struct error why;
    if (text_empty(c->server))
        return bad(err, e, "%s: required; set it to the API server's URL", "server");
    bool tls = c->ca_data || c->ca_file || c->insecure_skip_tls_verify;
    if (!strstr(c->server, "://"))
        c->server = arena_printf(l->arena, "%s://%s", tls ? "https" : "http", c->server);
    if (!url_parse(l->arena, c->server, &url, &why))
        return bad(err, e, "server: %s: %s", c->server, why.text);
    bool known = text_eq(url.scheme, "https") || text_eq(url.scheme, "http");
    if (!known || text_empty(url.host) || url.query || url.fragment)
        return bad(err, e, "server: %s: expected https://HOST:PORT", c->server);
    size_t length = strlen(c->server);
    while (c->server[length - 1] == '/')
        length--;
    c->server = arena_strndup(l->arena, c->server, length);
    return true;
}

static bool read_cluster(struct loading *l, const struct entry *e, struct cluster *cluster,
    struct kube_config *c, struct error *err)
{
    struct url proxy;
    struct error why;
    if (!bind(l, e, cluster_bind, cluster, err))
        return false;
    c->server = cluster->server;
    c->ca_file = resolve(l, e, cluster->ca_file);
    c->insecure_skip_tls_verify = cluster->insecure;
    c->tls_server_name = text_empty(cluster->tls_server_name) ? NULL : cluster->tls_server_name;
    c->proxy_url = text_empty(cluster->proxy_url) ? NULL : cluster->proxy_url;
    if (!decode(l, e, "certificate-authority-data", cluster->ca_data, &c->ca_data, err))
        return false;
    if (c->ca_data)
        c->ca_file = NULL;
    if (!check_server(l, e, c, err))
        return false;
    if (c->insecure_skip_tls_verify && (c->ca_data || c->ca_file))
        return bad(err,
            e,
            "insecure-skip-tls-verify: true, but a %s is given as well; remove one of the two",
            "certificate-authority");
    if (!c->proxy_url)
        return true;
    if (!url_parse(l->arena, c->proxy_url, &proxy, &why))
        return bad(err, e, "proxy-url: %s", why.text);
    if (!text_eq(proxy.scheme, "http") && !text_eq(proxy.scheme, "https"))
        return bad(err, e, "proxy-url: scheme %s: only http and https are spoken", proxy.scheme);
    return true;
}

/* ---- the user ---- */

struct user {
    const char *token, *token_file, *username, *password;
    const char *cert_file, *cert_data, *key_file, *key_data;
    const char *as, *as_uid;
    struct json as_groups, as_extra, exec, auth_provider;
};

static const struct json_bind user_bind[] = {
    BIND(struct user, token, "token"),
    BIND(struct user, token_file, "tokenFile"),
    BIND(struct user, username, "username"),
    BIND(struct user, password, "password"),
    BIND(struct user, cert_file, "client-certificate"),
    BIND(struct user, cert_data, "client-certificate-data"),
    BIND(struct user, key_file, "client-key"),
    BIND(struct user, key_data, "client-key-data"),
    BIND(struct user, as, "as"),
    BIND(struct user, as_uid, "as-uid"),
    BIND(struct user, as_groups, "as-groups"),
    BIND(struct user, as_extra, "as-user-extra"),
    BIND(struct user, exec, "exec"),
    BIND(struct user, auth_provider, "auth-provider"),
    { 0 },
};

struct headers {
    const char **list;
    size_t count;
};
#define IMPERSONATE_MAX 64

static bool add_header(struct loading *l, const struct entry *e, struct headers *h,
    const char *name, struct json value, struct error *err)
{
    const char *text = json_text(value);
    if (!text || !is_plain(text) || h->count >= IMPERSONATE_MAX)
        return bad(err, e, "as…: expected at most %d texts of one line", IMPERSONATE_MAX);
    h->list[h->count++] = arena_printf(l->arena, "%s: %s", name, text);
    return true;
}

static bool read_impersonation(struct loading *l, const struct entry *e, const struct user *u,
    struct kube_config *c, struct error *err)
{
    struct headers h = { arena_array(l->arena, IMPERSONATE_MAX + 1, sizeof(char *)), 0 };
    bool others = u->as_uid || json_or_absent(u->as_groups).type > JSON_NULL ||
                  json_or_absent(u->as_extra).type > JSON_NULL;
    if (text_empty(u->as))
        return !others || bad(err, e, "%s: required when groups, uid or extras are given", "as");
    if (!add_header(l, e, &h, "Impersonate-User", json_str(u->as), err))
        return false;
    if (u->as_uid && !add_header(l, e, &h, "Impersonate-Uid", json_str(u->as_uid), err))
        return false;
    json_each (group, u->as_groups)
        if (!add_header(l, e, &h, "Impersonate-Group", *group, err))
            return false;
    json_each_member (extra, u->as_extra) {
        const char *name = arena_printf(
            l->arena, "Impersonate-Extra-%s", url_encode(l->arena, str_of(extra->key)));
        json_each (value, extra->value)
            if (!add_header(l, e, &h, name, *value, err))
                return false;
    }
    c->impersonate = h.list;
    return true;
}

static bool read_certificate(struct loading *l, const struct entry *e, const struct user *u,
    struct kube_config *c, struct error *err)
{
    c->cert_file = resolve(l, e, u->cert_file);
    c->key_file = resolve(l, e, u->key_file);
    if (!decode(l, e, "client-certificate-data", u->cert_data, &c->cert_data, err) ||
        !decode(l, e, "client-key-data", u->key_data, &c->key_data, err))
        return false;
    if (c->cert_data)
        c->cert_file = NULL;
    if (c->key_data)
        c->key_file = NULL;
    bool cert = c->cert_data || c->cert_file, key = c->key_data || c->key_file;
    if (cert && !key)
        return bad(err, e, "%s: required, because there is a client-certificate", "client-key");
    if (key && !cert)
        return bad(err, e, "%s: required, because there is a client-key", "client-certificate");
    return true;
}

static bool read_user(struct loading *l, const struct entry *e, const struct cluster *cluster,
    struct kube_config *c, struct error *err)
{
    struct user u = { 0 };
    if (!bind(l, e, user_bind, &u, err))
        return false;
    c->token = text_empty(u.token) ? NULL : u.token;
    c->token_file = resolve(l, e, u.token_file);
    c->username = text_empty(u.username) ? NULL : u.username;
    c->password = u.password;
    if (!read_certificate(l, e, &u, c, err) || !read_impersonation(l, e, &u, c, err))
        return false;
    if (!is_plain(c->token))
        return bad(err, e, "%s: holds a line end; write it in one line", "token");
    if ((c->token || c->token_file) && c->username)
        return bad(err, e, "token: %s", "there is a username as well; only one of them may be");
    if (json_present(u.auth_provider) && !json_is(u.auth_provider, JSON_NULL))
        return bad(err,
            e,
            "auth-provider: %s",
            "gone since Kubernetes 1.26; use an exec plugin of your provider");
    /* As in kubectl, static credentials win over a plugin. */
    bool written = c->token || c->token_file || c->username || c->cert_data || c->cert_file;
    if (written || !json_is(u.exec, JSON_MAP))
        return written || !json_present(u.exec) || json_is(u.exec, JSON_NULL) ||
               bad(err, e, "exec: expected object, got %s", json_type_name(u.exec));
    struct config_exec_place place = {
        .directory = e->source->directory,
        .at = arena_printf(l->arena, "%s.exec", e->at),
        .cluster_extensions = cluster->extensions,
    };
    c->exec = config_exec_read(l->arena, u.exec, &place, c, err);
    return c->exec || fail_in(err, "kubeconfig %s", e->source->file);
}

/* ---- the context ---- */

struct context {
    const char *cluster, *user, *ns;
};

static const struct json_bind context_bind[] = {
    BIND(struct context, cluster, "cluster"),
    BIND(struct context, user, "user"),
    BIND(struct context, ns, "namespace"),
    { 0 },
};

static const char *current_context(const struct loading *l)
{
    for (size_t i = 0; i < l->count; i++) {
        const char *name = json_get_text(l->sources[i].document, "current-context");
        if (!text_empty(name))
            return name;
    }
    return NULL;
}

static bool read_context(
    struct loading *l, const char *name, struct kube_config *c, struct error *err)
{
    struct entry context_entry, cluster_entry, user_entry;
    struct context context = { 0 };
    struct cluster cluster = { 0 };
    if (!find_entry(l, "contexts", "context", name, &context_entry, err))
        return fail_in(err, "choose another with --context");
    if (!bind(l, &context_entry, context_bind, &context, err))
        return false;
    if (text_empty(context.cluster))
        return bad(err, &context_entry, "%s: required", "cluster");
    if (!find_entry(l, "clusters", "cluster", context.cluster, &cluster_entry, err) ||
        !read_cluster(l, &cluster_entry, &cluster, c, err))
        return false;
    c->ns = context.ns;
    c->origin = arena_printf(l->arena, "%s, context %s", context_entry.source->file, name);
    if (text_empty(context.user))
        return true;
    return find_entry(l, "users", "user", context.user, &user_entry, err) &&
           read_user(l, &user_entry, &cluster, c, err);
}

/* ---- in a pod ---- */

static bool in_cluster(struct arena *a, const struct kube_config_options *o, struct kube_config *c)
{
    if (text_empty(o->service_host) || text_empty(o->service_port))
        return false;
    const char *token = arena_printf(a, "%s/token", o->service_account_dir);
    if (access(token, R_OK) < 0)
        return false;
    bool ipv6 = strchr(o->service_host, ':') != NULL;
    c->server = arena_printf(
        a, "https://%s%s%s:%s", ipv6 ? "[" : "", o->service_host, ipv6 ? "]" : "", o->service_port);
    c->origin = arena_printf(a, "the service account in %s", o->service_account_dir);
    c->token_file = token;
    c->in_cluster = true;
    const char *ca = arena_printf(a, "%s/ca.crt", o->service_account_dir);
    c->ca_file = access(ca, R_OK) == 0 ? ca : NULL;
    struct str ns;
    const char *path = arena_printf(a, "%s/namespace", o->service_account_dir);
    if (file_read(a, path, 1024, &ns, NULL))
        c->ns = str_dup(a, str_trim(ns));
    return true;
}

static bool nothing_found(struct loading *l, const struct kube_config_options *o, struct error *err)
{
    if (l->count && !text_eq(names_of(l, "contexts"), "none"))
        return fail(err,
            ERR_NOT_FOUND,
            "kubeconfig %s: current-context: not set; choose one of %s with --context",
            files_of(l),
            names_of(l, "contexts"));
    if (l->count)
        return fail(err,
            ERR_NOT_FOUND,
            "kubeconfig %s has no context; give another file with --kubeconfig",
            files_of(l));
    return fail(err,
        ERR_NOT_FOUND,
        "no cluster is configured: %s, and %s; name a file with --kubeconfig",
        l->missing,
        text_empty(o->service_host) ? "KUBERNETES_SERVICE_HOST is not set"
                                    : "the service account's token cannot be read");
}

/* ---- load ---- */

void kube_config_from_environment(struct kube_config_options *o)
{
    const char *https = getenv("HTTPS_PROXY"), *http = getenv("HTTP_PROXY");
    const char *none = getenv("NO_PROXY");
    o->kubeconfig_list = getenv("KUBECONFIG");
    o->home = getenv("HOME");
    o->service_host = getenv("KUBERNETES_SERVICE_HOST");
    o->service_port = getenv("KUBERNETES_SERVICE_PORT");
    const char *account = getenv("LEEBOARD_SERVICE_ACCOUNT"); /* for a pod without mounts */
    o->service_account_dir = account ? account : "/var/run/secrets/kubernetes.io/serviceaccount";
    o->https_proxy = https ? https : getenv("https_proxy");
    o->http_proxy = http ? http : getenv("http_proxy");
    o->no_proxy = none ? none : getenv("no_proxy");
}

bool kube_config_load(struct arena *a, const struct kube_config_options *options,
    struct kube_config *ret, struct error *err)
{
    struct loading l = { .arena = a };
    *ret = (struct kube_config){ 0 };
    if (!find_files(&l, options, err))
        return false;
    const char *context = text_empty(options->context) ? current_context(&l) : options->context;
    if (context) {
        if (!read_context(&l, context, ret, err))
            return false;
    } else if (options->kubeconfig || !in_cluster(a, options, ret)) {
        return nothing_found(&l, options, err);
    }
    if (!text_empty(options->ns))
        ret->ns = options->ns;
    if (text_empty(ret->ns))
        ret->ns = "default";
    if (!ret->proxy_url)
        ret->proxy_url = config_proxy_of(a, ret->server, options);
    return true;
}
