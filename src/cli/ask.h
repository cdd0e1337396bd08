#pragma once

/* For commands that send a few requests to an API server and exit. Requests are sent one by one,
 * and each waits for its response. */

#include "base/json.h"
#include "base/resource.h"
#include "cli/cli.h"
#include "kube/config.h"

struct ask {
    struct cli *cli;
    struct kube_config config;
    const char *ns; /* --namespace, or the context's */
    struct loop *loop;
    struct http_transport *transport;  /* NULL: the caller owns kube and the loop */
    const struct kube_transport *kube; /* where requests are sent */
    int64_t install_ms;                /* how long to wait for the kind of a new CRD to be served */
};

/* Connects by --kubeconfig, --context and --namespace; else to the server of `leeboard up`, if
 * --data or LEEBOARD_DATA is set, or if its folder exists and KUBECONFIG is not set; else as
 * kubectl does. A server of another machine is named on standard error. Call ask_close() even after
 * a failure. */
bool ask_open(struct cli *cli, struct ask *ret, struct error *err) must_check;
/* Connects to the `leeboard up` of this folder, in the namespace "default". Fails if none runs. */
bool ask_open_running(
    struct cli *cli, const char *folder, struct ask *ret, struct error *err) must_check;
void ask_close(struct ask *q);
/* Uses another transport, which runs on this loop. Needs no ask_close(). */
void ask_over(struct cli *cli, struct loop *loop, const struct kube_transport *kube, const char *ns,
    struct ask *ret);

struct ask_request {
    const char *method, *path;
    const char *content_type, *accept; /* NULL: JSON */
    struct json body;                  /* absent: none */
};
/* Returns the status and body of an answer below 400 (absent body: it is not JSON). Everything else
 * fails with the server's message. Results are allocated in the command's arena. */
bool ask(struct ask *q, const struct ask_request *request, int *ret_status, struct json *ret_body,
    struct error *err) must_check;

/* The same, but retries for some seconds while the server is busy, as it is with a new CRD. */
bool ask_patiently(struct ask *q, const struct ask_request *request, int *ret_status,
    struct json *ret_body, struct error *err) must_check;

/* The resource of a kind, by discovery. Waits for a kind whose CRD was just installed. */
bool ask_resource_of_kind(struct ask *q, const char *api_version, const char *kind,
    struct resource *ret, struct error *err) must_check;
/* By a name that people type: "models", "isvc", "deployments.apps". */
bool ask_resource_of_word(
    struct ask *q, const char *word, struct resource *ret, struct error *err) must_check;
