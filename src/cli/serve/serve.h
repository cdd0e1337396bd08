#pragma once

/* The operator's own little HTTP answers: /healthz, /readyz, /metrics. */

#include "base/error.h"

struct buf;
struct engines;
struct kube_client;
struct loop;
struct serve;

struct serve_options {
    struct loop *loop;
    struct engines *engines;
    const char *health_address;  /* ":8081"; "0" or "": none */
    const char *metrics_address; /* likewise */
    /* Metrics by TLS, and only to those who may `get` /metrics; certificate_file NULL: one of our
     * own making. */
    bool secure;
    struct kube_client *client;
    const char *certificate_file, *key_file;
    void (*more_metrics)(void *ctx, struct buf *to); /* beside the engine's; NULL: none */
    void *ctx;
};

struct serve *serve_new(const struct serve_options *options, struct error *err) must_check;
void serve_free(struct serve *s);
