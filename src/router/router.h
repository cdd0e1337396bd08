#pragma once

/* The router: one address for many models. A handler for the project's HTTP server. It finds the
 * model of a request while its body is streamed, sends it to a back end by the rules of the config,
 * tries the next one after a failure, and streams the answer back.
 *
 *   request ─> hold and scan ─> route ─> attempt ─> (failed: next attempt) ─> answer ─> report
 *
 * A body is held until its model is known, ROUTER_HOLD_BYTES at least; what follows streams. A copy
 * of at most ROUTER_COPY_BYTES is kept until a back end answers, for the next attempt; a longer
 * request gets one attempt.
 *
 * Nothing here logs: audit and log lines are passed to the owner. */

#include "base/error.h"
#include "base/metric.h"
#include "http/server.h"
#include "router/config.h"

#define ROUTER_BODY_BYTES_MAX ((int64_t)32 << 20)
#define ROUTER_HOLD_BYTES ((size_t)64 << 10)
#define ROUTER_COPY_BYTES ((size_t)4 << 20)

struct kube_client;
struct loop;
struct router;

/* Zero selects the default in the comment. */
struct router_options {
    struct loop *loop;
    int64_t quarantine_ms;     /* 15 s */
    bool no_quarantine;        /* try a failed back end again at once */
    int64_t first_token_ms;    /* 120 s */
    int64_t between_tokens_ms; /* default: first_token_ms */
    int64_t connect_ms;        /* 10 s */
    int64_t total_ms;          /* none */
    int64_t keep_alive_ms;     /* interval of comments in a held stream; 10 s */
    /* Limit of all bodies together, without the first ROUTER_HOLD_BYTES of each; 512 MiB. Beyond
     * it, the largest one that is still being received is answered 503. */
    size_t hold_all_bytes;
    const char *name; /* label `router` of metrics; "default" */
    /* For the members of ModelPools; NULL: requests are sent to them at once. Must outlive the
     * router. */
    struct kube_client *kube;
    /* Receives one audit record, as a JSON object without braces or as key=value text. */
    bool audit_text;
    void (*audit)(void *ctx, struct str line);
    void *ctx;
};

/* Takes a reference to config. */
struct router *router_new(
    const struct router_options *options, struct router_config *config) must_check;
/* All exchanges must have ended: free the server first. */
void router_free(struct router *r);
/* For new requests; running ones keep the config that they started with. */
void router_set_config(struct router *r, struct router_config *config);
/* Reports in /readyz that it is not ready any more. */
void router_set_draining(struct router *r);
/* The body of an error in OpenAI's form. */
struct json router_openai_error(struct arena *a, int status, const char *code, const char *message);
/* For http_server_options; ctx is the router. */
void router_request(void *ctx, struct http_exchange *x, const struct http_request_head *head);
void router_metrics_print(struct router *r, struct buf *to);
/* Whether the issuer's keys are loaded, if tokens are required. */
bool router_has_keys(const struct router *r);
/* Body bytes that count against hold_all_bytes. */
size_t router_held(const struct router *r);
/* The number of open requests. */
size_t router_open(const struct router *r);
