#pragma once

/* The operator's own HTTP endpoints: /healthz, /readyz, /metrics. */

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
    /* Serves metrics over TLS, and only to clients that may `get` /metrics; certificate_file NULL:
     * a self-signed certificate. */
    bool secure;
    struct kube_client *client;
    const char *certificate_file, *key_file;
    void (*more_metrics)(void *ctx, struct buf *to); /* in addition to the engine's; NULL: none */
    void *ctx;
};

struct serve *serve_new(const struct serve_options *options, struct error *err) must_check;
void serve_free(struct serve *s);
