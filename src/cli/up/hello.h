#pragma once

/* The message of `leeboard up` once everything is ready: how to use the first InferenceService and,
 * if requested, its answer to a first question. */

#include "base/base.h"

struct env;
struct http_client;
struct kube_client;
struct up_hello;

struct up_hello_options {
    const struct env *env;
    struct kube_client *client;
    struct http_client *http;
    const char *question; /* NULL: no question */
    const char *url;      /* the shared endpoint of all models; NULL: show the service's own */
    /* Prints one line. */
    void (*print)(void *ctx, const char *line);
    void *ctx;
};

/* Everything that options points to must outlive it. */
struct up_hello *up_hello_new(const struct up_hello_options *options) must_check;
/* NULL is allowed. */
void up_hello_free(struct up_hello *h);
