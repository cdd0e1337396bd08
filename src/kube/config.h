#pragma once

/* The address of the API server and our credentials, found in the same places as kubectl does.
 *
 *   1. --kubeconfig FILE                    only that file; it must exist
 *   2. KUBECONFIG=FILE:FILE…                merged; missing files are skipped
 *   3. ~/.kube/config
 *   4. a pod's service account              if none of the above names a cluster
 *
 * Merging: for each cluster, user and context (as a whole), and for current-context, the first file
 * wins. Paths in a file are relative to that file. A …-data field wins over the file with the same
 * content. An invalid value is an error that names the file, the field and what to do.
 *
 * kube_config_load() reads only the kubeconfig files. The files that a configuration names (token,
 * CA, certificate, key) are read by kube/credentials, repeatedly. */

#include "base/error.h"

struct arena;

/* Options from the command line and the environment. */
struct kube_config_options {
    const char *kubeconfig; /* --kubeconfig; NULL: none */
    const char *context;    /* --context; NULL: current-context */
    const char *ns;         /* --namespace; NULL: the context's */
    /* Set by kube_config_from_environment(); tests set them directly. */
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
    const char *command;             /* absolute if the file had a relative path with a slash */
    const char *const *args;         /* NULL-terminated */
    const struct kube_exec_env *env; /* terminated by one without a name */
    const char *install_hint;        /* NULL: none */
    const char *cluster_info;        /* JSON text of spec.cluster; NULL: not requested */
    enum kube_exec_interactive interactive;
};

/* Members are NULL if not set. Paths are absolute. PEM data is decoded text. */
struct kube_config {
    const char *origin; /* for messages: "/home/me/.kube/config, context kind" */
    const char *server; /* "https://10.0.0.1:6443", perhaps with a path; no slash at the end */
    const char *ns;     /* never NULL; "default" if not set */
    bool in_cluster;
    /* the server */
    const char *ca_data, *ca_file;
    const char *tls_server_name;
    bool insecure_skip_tls_verify;
    const char *proxy_url; /* also from HTTPS_PROXY, unless NO_PROXY matches the server */
    /* our credentials */
    const char *cert_data, *cert_file, *key_data, *key_file;
    const char *token;
    const char *token_file; /* wins over token while it is readable */
    const char *username, *password;
    const struct kube_exec *exec;
    /* impersonation headers of every request, "Name: value", NULL-terminated */
    const char *const *impersonate;
};

/* Adds the environment variables to the three flags. */
void kube_config_from_environment(struct kube_config_options *options);
/* *ret and all of its contents are allocated in the arena. */
bool kube_config_load(struct arena *a, const struct kube_config_options *options,
    struct kube_config *ret, struct error *err) must_check;
