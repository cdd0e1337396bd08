#pragma once

/* The operator's own little HTTP answers: /healthz, /readyz, /metrics. */

#include "base/error.h"

struct buf;
struct engine;
struct http_server;
struct kube_client;
struct loop;

struct serve_options {
    struct loop *loop;
    struct engine *engine;
    const char *health_address; /* ":8081"; "0" or "": none */
    const char *metrics_address;
    void (*more_metrics)(void *ctx, struct buf *to); /* beside the engine's; NULL: none */
    void *ctx;
};

struct serve;
struct serve *serve_new(const struct serve_options *options, struct error *err) must_check;
void serve_free(struct serve *s);
