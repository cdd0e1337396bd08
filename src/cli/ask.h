#pragma once

/* For commands that ask an API server a few questions and end: one after another, each waited for.
 */

#include "base/json.h"
#include "base/resource.h"
#include "cli/cli.h"
#include "kube/config.h"

struct ask {
    struct cli *cli;
    struct kube_config config;
    const char *ns; /* --namespace, else the context's */
    struct loop *loop;
    struct http_transport *transport;  /* NULL: kube is somebody else's, and so is the loop */
    const struct kube_transport *kube; /* where questions go */
    int64_t install_ms;                /* how long a kind whose CRD is new may take to be served */
};

/* By --kubeconfig, --context and --namespace; else the one that `leeboard up` runs, if --data or
 * LEEBOARD_DATA is set, or if its folder is there and KUBECONFIG is not set; else as kubectl. A
 * server that is not this machine's is named on standard error. ask_close() is due after failure
 * too. */
bool ask_open(struct cli *cli, struct ask *ret, struct error *err) must_check;
/* The one that `leeboard up` runs on this folder, in the namespace "default". Fails if none does.
 */
bool ask_open_running(
    struct cli *cli, const char *folder, struct ask *ret, struct error *err) must_check;
void ask_close(struct ask *q);
/* The same questions on another way, which goes through this loop. Needs no closing. */
void ask_over(struct cli *cli, struct loop *loop, const struct kube_transport *kube, const char *ns,
    struct ask *ret);

struct ask_request {
    const char *method, *path;
    const char *content_type, *accept; /* NULL: JSON */
    struct json body;                  /* absent: none */
};
/* An answer below 400 is its status and body (absent if it is no JSON); everything else fails with
 * the server's words. They live in the command's arena. */
bool ask(struct ask *q, const struct ask_request *request, int *ret_status, struct json *ret_body,
    struct error *err) must_check;

/* The same, and again for some seconds while the server is busy, as it is with a CRD that is new.
 */
bool ask_patiently(struct ask *q, const struct ask_request *request, int *ret_status,
    struct json *ret_body, struct error *err) must_check;

/* The resource of a kind, by discovery. One that was installed a moment ago is waited for. */
bool ask_resource_of_kind(struct ask *q, const char *api_version, const char *kind,
    struct resource *ret, struct error *err) must_check;
/* By what people type: "models", "isvc", "deployments.apps". */
bool ask_resource_of_word(
    struct ask *q, const char *word, struct resource *ret, struct error *err) must_check;
