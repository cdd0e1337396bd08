#pragma once

/* Where the API server is and who we are to it, found as kubectl finds it.
 *
 *   1. --kubeconfig FILE                    that file alone; it must exist
 *   2. KUBECONFIG=FILE:FILE…                merged; files that are missing are passed over
 *   3. ~/.kube/config
 *   4. a pod's service account              when nothing of the above gave a cluster
 *
 * Merging: the first file that has a cluster, user, context or current-context wins, whole entries
 * at a time. Relative paths in a file are relative to that file. Data wins over the file that would
 * hold the same thing. What cannot be used fails with the file, the field and what to do.
 *
 * Only what is named here touches the disk: kube_config_load() reads the kubeconfig files and
 * nothing else; the files that a configuration names (token, CA, certificate, key) are read by
 * kube/credentials, again and again. */

#include "base/error.h"

struct arena;

/* What the command line and the environment say. */
struct kube_config_options {
    const char *kubeconfig; /* --kubeconfig; NULL: none */
    const char *context;    /* --context; NULL: current-context */
    const char *ns;         /* --namespace; NULL: the context's */
    /* Filled by kube_config_from_environment(); tests fill them by hand. */
    const char *kubeconfig_list; /* KUBECONFIG */
    const char *home;            /* HOME */
    const char *service_host;    /* KUBERNETES_SERVICE_HOST */
    const char *service_port;    /* KUBERNETES_SERVICE_PORT */
    /* LEEBOARD_SERVICE_ACCOUNT, or /var/run/secrets/kubernetes.io/serviceaccount */
    const char *service_account_dir;
    const char *https_proxy, *http_proxy, *no_proxy;
};

struct kube_exec_env {
    const char *name, *value;
};

enum kube_exec_interactive { KUBE_EXEC_IF_AVAILABLE, KUBE_EXEC_NEVER, KUBE_EXEC_ALWAYS };

/* A program that prints an ExecCredential; see kube/credentials.h. */
struct kube_exec {
    const char *api_version;         /* client.authentication.k8s.io/v1 or …/v1beta1 */
    const char *command;             /* absolute when the file gave a relative path with a slash */
    const char *const *args;         /* NULL-terminated */
    const struct kube_exec_env *env; /* ended by one without a name */
    const char *install_hint;        /* NULL: none */
    const char *cluster_info;        /* JSON text of spec.cluster; NULL: not asked for */
    enum kube_exec_interactive interactive;
};

/* Members are NULL when not given. Paths are absolute. PEM data is decoded text. */
struct kube_config {
    const char *origin; /* for messages: "/home/me/.kube/config, context kind" */
    const char *server; /* "https://10.0.0.1:6443" or with a path prefix, no slash at its end */
    const char *ns;     /* never NULL; "default" at last */
    bool in_cluster;
    /* the server's identity */
    const char *ca_data, *ca_file;
    const char *tls_server_name;
    bool insecure_skip_tls_verify;
    const char *proxy_url; /* also from HTTPS_PROXY, unless NO_PROXY covers the server */
    /* ours */
    const char *cert_data, *cert_file, *key_data, *key_file;
    const char *token;
    const char *token_file; /* wins over token while it can be read */
    const char *username, *password;
    const struct kube_exec *exec;
    /* whom to act as: headers that go with every request, "Name: value", NULL-terminated */
    const char *const *impersonate;
};

/* Adds to the three flags what the environment says. */
void kube_config_from_environment(struct kube_config_options *options);
/* Everything in *ret lives in the arena. */
bool kube_config_load(struct arena *a, const struct kube_config_options *options,
    struct kube_config *ret, struct error *err) must_check;
