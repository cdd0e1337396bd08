#include "kube/config.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kube/config_proxy.h"
#include "tests/test.h"

/* A folder of files that is gone when the test ends well. */
struct folder {
    char path[64];
    char *files[8];
    size_t count;
};

static void folder_init(struct folder *f)
{
    *f = (struct folder){ .path = "/tmp/leeboard-config-XXXXXX" };
    check(mkdtemp(f->path) != NULL);
}

static void folder_done(struct folder *f)
{
    for (size_t i = 0; i < f->count; i++) {
        unlink(f->files[i]);
        free(f->files[i]);
    }
    rmdir(f->path);
}

static const char *put(struct folder *f, const char *name, const char *text)
{
    const char *path = arena_printf(test_arena(), "%s/%s", f->path, name);
    FILE *out = fopen(path, "w");
    check(out && f->count < lengthof(f->files));
    fputs(text, out);
    fclose(out);
    f->files[f->count++] = mem_strdup(path);
    return path;
}

static bool load(
    const struct kube_config_options *options, struct kube_config *ret, struct error *err)
{
    return kube_config_load(test_arena(), options, ret, err);
}

#define KIND                                                                                       \
    "apiVersion: v1\nkind: Config\ncurrent-context: kind\n"                                        \
    "contexts: [{name: kind, context: {cluster: kind, user: me, namespace: work}}]\n"

/* A file of one context: the members of its cluster and of its user. */
static const char *file_of(struct folder *f, const char *cluster, const char *user)
{
    return put(f,
        arena_printf(test_arena(), "config%zu", f->count),
        arena_printf(test_arena(),
            KIND "clusters: [{name: kind, cluster: {%s}}]\nusers: [{name: me, user: {%s}}]\n",
            cluster,
            user));
}

TEST(a_kubeconfig_is_read_as_kubectl_reads_it)
{
    struct folder f;
    struct kube_config c;
    struct error err;
    folder_init(&f);
    const char *path = file_of(&f,
        "server: 'https://10.0.0.1:6443/', certificate-authority: pki/ca.crt,"
        " tls-server-name: api, proxy-url: 'http://proxy:3128'",
        "client-certificate: /abs/me.crt, client-key-data: a2V5, tokenFile: ../token");
    check(load(&(struct kube_config_options){ .kubeconfig = path }, &c, &err));
    check_text(c.server, "https://10.0.0.1:6443");
    check_text(c.ns, "work");
    check_text(c.ca_file, arena_printf(test_arena(), "%s/pki/ca.crt", f.path));
    check_text(c.ca_data, NULL);
    check_text(c.tls_server_name, "api");
    check_text(c.proxy_url, "http://proxy:3128");
    check_text(c.cert_file, "/abs/me.crt");
    check_text(c.key_data, "key");
    check_text(c.key_file, NULL);
    check_text(c.token_file, arena_printf(test_arena(), "%s/../token", f.path));
    check_text(c.origin, arena_printf(test_arena(), "%s, context kind", path));
    check(!c.insecure_skip_tls_verify && !c.exec && !c.in_cluster);
    struct kube_config_options other = { .kubeconfig = path, .ns = "mine" };
    check(load(&other, &c, &err));
    check_text(c.ns, "mine");
    folder_done(&f);
}

TEST(data_wins_over_files)
{
    struct folder f;
    struct kube_config c;
    struct error err;
    folder_init(&f);
    const char *path = file_of(&f,
        "server: 'https://h', certificate-authority: x, certificate-authority-data: \"Y\\n2E=\"",
        "client-certificate: x, client-certificate-data: Yw==, client-key: x, client-key-data: "
        "aw==");
    check(load(&(struct kube_config_options){ .kubeconfig = path }, &c, &err));
    check_text(c.ca_data, "ca");
    check_text(c.cert_data, "c");
    check_text(c.key_data, "k");
    check(!c.ca_file && !c.cert_file && !c.key_file);
    folder_done(&f);
}

TEST(several_files_merge_and_the_first_wins)
{
    struct folder f;
    struct kube_config c;
    struct error err;
    folder_init(&f);
    const char *one = put(&f,
        "one",
        "users: [{name: me, user: {token: first}}]\nclusters: null\n"
        "contexts: [{name: a, context: {cluster: east, user: me}}]\n");
    const char *two = put(&f,
        "two",
        "current-context: a\nusers: [{name: me, user: {token: second, username: x}}]\n"
        "clusters: [{name: east, cluster: {server: 'https://east', certificate-authority: ca}}]\n");
    const char *three = put(&f, "three", "current-context: b\n");
    struct kube_config_options options = {
        .kubeconfig_list =
            arena_printf(test_arena(), ":/no/such/file:%s:%s::%s:%s", one, two, one, three),
    };
    check(load(&options, &c, &err));
    check_text(c.server, "https://east");
    check_text(c.token, "first");
    check_text(c.username, NULL); /* whole entries: not the other file's rest */
    check_text(c.ca_file, arena_printf(test_arena(), "%s/ca", f.path));
    check_text(c.ns, "default");
    /* --kubeconfig alone counts. */
    options.kubeconfig = two;
    check_fails(load(&options, &c, &err), err, "context a is not in kubeconfig");
    folder_done(&f);
}

TEST(the_home_folder_and_the_pod_come_last)
{
    struct folder f, home;
    struct kube_config c;
    struct error err;
    folder_init(&f);
    folder_init(&home);
    put(&f, "token", "abc");
    put(&f, "ca.crt", "CA");
    put(&f, "namespace", "pods\n");
    struct kube_config_options options = {
        .home = home.path,
        .service_host = "fd00::1",
        .service_port = "443",
        .service_account_dir = f.path,
    };
    check(load(&options, &c, &err));
    check(c.in_cluster);
    check_text(c.server, "https://[fd00::1]:443");
    check_text(c.ns, "pods");
    check_text(c.token_file, arena_printf(test_arena(), "%s/token", f.path));
    check_text(c.ca_file, arena_printf(test_arena(), "%s/ca.crt", f.path));
    const char *dot_kube = arena_printf(test_arena(), "%s/.kube", home.path);
    check(mkdir(dot_kube, 0700) == 0);
    put(&home,
        ".kube/config",
        KIND "clusters: [{name: kind, cluster: {server: h}}]\n"
             "users: [{name: me, user: {}}]\n");
    check(load(&options, &c, &err));
    check(!c.in_cluster);
    check_text(c.server, "http://h");
    unlink(home.files[0]);
    rmdir(dot_kube);
    options.service_host = NULL;
    check_fails(load(&options, &c, &err), err, "no cluster is configured: KUBECONFIG is not set, ");
    check_fails(
        load(&options, &c, &err), err, "does not exist, and KUBERNETES_SERVICE_HOST is not");
    folder_done(&f);
    folder_done(&home);
}

TEST(contexts_are_chosen_and_missed_by_name)
{
    struct folder f;
    struct kube_config c;
    struct error err;
    folder_init(&f);
    const char *path = put(&f,
        "config",
        "contexts: [{name: a, context: {cluster: a}}, {name: b, context: {cluster: b, user: u}},"
        " {name: c, context: {user: u}}]\n"
        "clusters: [{name: a, cluster: {server: 'https://a'}}, {name: b, cluster: {server:"
        " 'https://b'}}]\n");
    struct kube_config_options options = { .kubeconfig = path };
    check_fails(load(&options, &c, &err), err, "current-context: not set; choose one of a, b, c");
    options.context = "a";
    check(load(&options, &c, &err));
    check_text(c.server, "https://a");
    options.context = "b";
    check_fails(load(&options, &c, &err), err, "user u is not in kubeconfig");
    options.context = "c";
    check_fails(load(&options, &c, &err), err, "contexts[c].context.cluster: required");
    options.context = "d";
    check_fails(
        load(&options, &c, &err), err, "choose another with --context: context d is not in");
    check_fails(load(&options, &c, &err), err, "which has: a, b, c");
    folder_done(&f);
}

TEST(what_cannot_be_used_names_file_and_field)
{
    static const struct {
        const char *cluster, *user, *message;
    } cases[] = {
        { "x: y", "", ": clusters[kind].cluster.server: required" },
        { "server: 5", "", ": clusters[kind].cluster.server: expected string, got integer" },
        { "server: 'ftp://h'", "", ".server: ftp://h: expected https://HOST:PORT" },
        { "server: 'https://h h'", "", ".cluster.server: https://h h:" },
        { "server: h, certificate-authority-data: '%%'", "", "-data: not base64 of a PEM text" },
        { "server: h, insecure-skip-tls-verify: true, certificate-authority: x",
            "",
            "insecure-skip-tls-verify: true, but a certificate-authority is given as well" },
        { "server: h, insecure-skip-tls-verify: maybe", "", "expected boolean, got string" },
        { "server: h, proxy-url: 'socks5://p'", "", "proxy-url: scheme socks5: only http and" },
        { "server: h", "token: t, username: u", ": users[me].user.token: there is a username" },
        { "server: h", "client-certificate: c", "user.client-key: required, because" },
        { "server: h", "client-key-data: aw==", "user.client-certificate: required, because" },
        { "server: h", "token: \"a\\nb\"", "user.token: holds a line end" },
        { "server: h", "auth-provider: {name: gcp}", "auth-provider: gone since Kubernetes 1.26" },
        { "server: h", "as-groups: [a]", "user.as: required when groups" },
        { "server: h", "as: \"a\\r\\nX: y\"", "texts of one line" },
        { "server: h", "exec: {command: c}", "users[me].user.exec.apiVersion: required" },
        { "server: h",
            "exec: {command: c, apiVersion: client.authentication.k8s.io/v1alpha1}",
            "got client.authentication.k8s.io/v1alpha1; update the plugin" },
        { "server: h",
            "exec: {command: c, apiVersion: client.authentication.k8s.io/v1}",
            "exec.interactiveMode: expected Never, IfAvailable or Always, got nothing" },
        { "server: h",
            "exec: {command: c, apiVersion: client.authentication.k8s.io/v1beta1, args: [1]}",
            "exec.args: expected at most" },
        { "server: h", "exec: no", "exec: expected object, got string" },
    };
    struct kube_config c;
    struct error err;
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct folder f;
        folder_init(&f);
        const char *path = file_of(&f, cases[i].cluster, cases[i].user);
        struct kube_config_options options = { .kubeconfig = path };
        check_fails(load(&options, &c, &err), err, cases[i].message);
        check(strstr(err.text, path));
        folder_done(&f);
    }
}

TEST(files_that_are_no_kubeconfig_are_refused)
{
    struct folder f;
    struct kube_config c;
    struct error err;
    folder_init(&f);
    struct kube_config_options options = { .kubeconfig = "/no/such/file" };
    check_fails(load(&options, &c, &err), err, "kubeconfig: read /no/such/file: No such file");
    options.kubeconfig = "/tmp";
    check_fails(load(&options, &c, &err), err, "kubeconfig: read /tmp: not a plain file");
    options.kubeconfig = put(&f, "a", "kind: Pod\n");
    check_fails(load(&options, &c, &err), err, "kind: expected Config, got Pod; this is not a");
    options.kubeconfig = put(&f, "b", "clusters: [\n");
    check_fails(load(&options, &c, &err), err, "/b:");
    options.kubeconfig = put(&f, "c", "a: 1\n---\nb: 2\n");
    check_fails(load(&options, &c, &err), err, "/c: expected one YAML object");
    options.kubeconfig = put(&f, "d", "");
    check_fails(load(&options, &c, &err), err, "has no context; give another file");
    options.kubeconfig = put(&f, "e", "current-context: x\ncontexts: {}\n");
    check_fails(load(&options, &c, &err), err, "/e: contexts: expected list, got object");
    folder_done(&f);
}

TEST(an_exec_section_is_read_whole)
{
    struct folder f;
    struct kube_config c;
    struct error err;
    folder_init(&f);
    const char *path = file_of(&f,
        "server: 'https://h', certificate-authority-data: Y2E=, extensions: [{name:"
        " client.authentication.k8s.io/exec, extension: {audience: x}}]",
        "exec: {command: bin/plug, apiVersion: client.authentication.k8s.io/v1, args: [a, 'b c'],"
        " env: [{name: A, value: B}], installHint: 'get it', interactiveMode: Never,"
        " provideClusterInfo: true}");
    check(load(&(struct kube_config_options){ .kubeconfig = path }, &c, &err));
    check_text(c.exec->command, arena_printf(test_arena(), "%s/bin/plug", f.path));
    check_text(c.exec->args[1], "b c");
    check(!c.exec->args[2]);
    check_text(c.exec->env[0].name, "A");
    check(!c.exec->env[1].name);
    check_int(c.exec->interactive, KUBE_EXEC_NEVER);
    check_text(c.exec->cluster_info,
        "{\"certificate-authority-data\":\"Y2E=\",\"config\":{\"audience\":\"x\"},"
        "\"server\":\"https://h\"}");
    /* What is written down beats what a program would say. */
    path = file_of(&f, "server: h", "token: t, exec: {command: x}");
    check(load(&(struct kube_config_options){ .kubeconfig = path }, &c, &err));
    check(!c.exec);
    folder_done(&f);
}

TEST(impersonation_becomes_headers)
{
    struct folder f;
    struct kube_config c;
    struct error err;
    folder_init(&f);
    const char *path = file_of(&f,
        "server: h",
        "as: jane, as-uid: '7', as-groups: [a, b], as-user-extra: {example.org/x y: [v]}");
    check(load(&(struct kube_config_options){ .kubeconfig = path }, &c, &err));
    check_text(c.impersonate[0], "Impersonate-User: jane");
    check_text(c.impersonate[1], "Impersonate-Uid: 7");
    check_text(c.impersonate[3], "Impersonate-Group: b");
    check_text(c.impersonate[4], "Impersonate-Extra-example.org%2Fx%20y: v");
    check(!c.impersonate[5]);
    folder_done(&f);
}

TEST(proxies_of_the_environment_follow_gos_rules)
{
    static const struct {
        const char *server, *no_proxy;
        bool proxied;
    } cases[] = {
        { "https://api.example.org:6443", NULL, true },
        { "https://api.example.org:6443", "example.org", false },
        { "https://api.example.org:6443", "*.example.org", false },
        { "https://api.example.org:6443", ".example.org", false },
        { "https://example.org", ".example.org", true },
        { "https://example.org", "Example.ORG", false },
        { "https://myexample.org", "example.org", true },
        { "https://api.example.org:6443", "other, example.org:6443", false },
        { "https://api.example.org:6443", "example.org:443", true },
        { "https://example.org", "example.org:443", false },
        { "https://10.1.2.3:6443", "10.0.0.0/8", false },
        { "https://11.1.2.3:6443", "10.0.0.0/8", true },
        { "https://10.1.2.3:6443", "10.1.2.3", false },
        { "https://10.1.2.3:6443", "10.1.2.3:1", true },
        { "https://110.1.2.3:6443", "10.1.2.3", true },
        { "https://[fd00::1]:6443", "fd00::/16", false },
        { "https://[fd00::1]:6443", "[fd00::1]:6443", false },
        { "https://[fd00::1]:6443", "fd00::1", false },
        { "https://anything", "*", false },
        { "https://anything", " , ,", true },
        { "https://localhost:6443", NULL, false },
        { "https://127.0.0.1:6443", NULL, false },
        { "http://plain", NULL, false }, /* HTTP_PROXY is not set */
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct kube_config_options options = { .https_proxy = "proxy:3128",
            .no_proxy = cases[i].no_proxy };
        check_text(config_proxy_of(test_arena(), cases[i].server, &options),
            cases[i].proxied ? "http://proxy:3128" : NULL);
    }
}
