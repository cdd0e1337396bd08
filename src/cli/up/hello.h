#pragma once

/* What `leeboard up` says once everything is ready: how to talk to the first InferenceService, and,
 * if it was told to, what that answers to a first question. */

#include "base/base.h"

struct env;
struct http_client;
struct kube_client;
struct up_hello;

struct up_hello_options {
    const struct env *env;
    struct kube_client *client;
    struct http_client *http;
    const char *question; /* NULL: none is asked */
    const char *url;      /* of the endpoint for all models; NULL: the service's own is shown */
    /* One line for the person. */
    void (*print)(void *ctx, const char *line);
    void *ctx;
};

/* What the options point to outlives it. */
struct up_hello *up_hello_new(const struct up_hello_options *options) must_check;
/* NULL is fine. */
void up_hello_free(struct up_hello *h);
