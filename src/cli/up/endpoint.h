#pragma once

/* The shared endpoint of `leeboard up`: an OpenAI-compatible address for all InferenceServices of
 * the machine, selected by the name of the model.
 *
 *   InferenceServices (watched) ─> endpoint_config() ─> router_set_config()
 *   a service becomes ready ─> its own /v1/models is read for the names that it serves
 *
 * Answers in progress keep their config when the services change. */

#include "base/error.h"

struct http_client;
struct kube_transport;
struct loop;
struct endpoint;

struct endpoint_options {
    struct loop *loop;
    const struct kube_transport *transport;
    struct http_client *http; /* to read the models of services */
    const char *address;      /* "127.0.0.1:11435"; port 0: any free one */
    /* A file with one key per line; requests need one of them. Reloaded when it changes. NULL: no
     * key is needed, and then the address must be local to this machine unless open is set. */
    const char *key_file;
    bool open;
};

/* Listens. Fails, with a remedy, if the address is invalid, in use, or not safe. */
struct endpoint *endpoint_new(const struct endpoint_options *options, struct error *err) must_check;
/* Starts to watch the services; their CRD must exist. */
void endpoint_start(struct endpoint *e);
/* Aborts all requests. NULL is allowed. */
void endpoint_free(struct endpoint *e);
/* "http://127.0.0.1:11435/v1", for programs on this machine. */
const char *endpoint_url(const struct endpoint *e);
