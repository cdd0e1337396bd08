#pragma once

/* The one address of `leeboard up`: an OpenAI-compatible endpoint for all InferenceServices of the
 * machine, by the name of the model.
 *
 *   InferenceServices (watched) ─> endpoint_config() ─> router_set_config()
 *   a service becomes ready ─> its own /v1/models is asked for the names that it serves
 *
 * An answer that is under way when the services change goes on with the config that it began with.
 */

#include "base/error.h"

struct http_client;
struct kube_transport;
struct loop;
struct endpoint;

struct endpoint_options {
    struct loop *loop;
    const struct kube_transport *transport;
    struct http_client *http; /* for what services say of themselves */
    const char *address;      /* "127.0.0.1:11435"; port 0: any free one */
    /* A key on each line; requests need one of them. Read again when it changes. NULL: no key is
     * needed, and then the address must be of this machine alone, unless open is set. */
    const char *key_file;
    bool open;
};

/* Listens. Fails, with the remedy, if the address is wrong, is taken, or is not safe. */
struct endpoint *endpoint_new(const struct endpoint_options *options, struct error *err) must_check;
/* From now on it knows the services; their CRD must be there. */
void endpoint_start(struct endpoint *e);
/* Cuts what is under way. NULL is fine. */
void endpoint_free(struct endpoint *e);
/* "http://127.0.0.1:11435/v1" for programs of this machine. */
const char *endpoint_url(const struct endpoint *e);
