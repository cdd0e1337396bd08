#pragma once

/* The router: one address for many models. A handler on the project's HTTP server that finds the
 * model of a request while its body streams in, sends it to a back end by the rules of the config,
 * tries the next one when that fails, and streams the answer back.
 *
 *   request ─> hold and scan ─> route ─> attempt ─> (failed: next attempt) ─> answer ─> report
 *
 * A body is held until its model is known, ROUTER_HOLD_BYTES at least; what follows streams. A copy
 * of at most ROUTER_COPY_BYTES is kept until a back end answers, for the next attempt; a longer
 * request gets one attempt.
 *
 * Nothing here logs: lines of the audit and of the log go to the owner. */

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

/* Zero means the default beside it. */
struct router_options {
    struct loop *loop;
    int64_t quarantine_ms;     /* 15 s */
    bool no_quarantine;        /* a back end that fails is tried again at once */
    int64_t first_token_ms;    /* 120 s */
    int64_t between_tokens_ms; /* as first_token_ms */
    int64_t connect_ms;        /* 10 s */
    int64_t total_ms;          /* none */
    int64_t keep_alive_ms;     /* comments of a held stream; 10 s */
    /* Of all bodies together, beyond the first ROUTER_HOLD_BYTES of each; 512 MiB. When there are
     * more, the largest that is still coming in is answered 503. */
    size_t hold_all_bytes;
    const char *name; /* label `router` of metrics; "default" */
    /* For the members of ModelPools; NULL: requests go to them at once. It outlives the router. */
    struct kube_client *kube;
    /* One audit record, as a JSON object without braces or as key=value text. */
    bool audit_text;
    void (*audit)(void *ctx, struct str line);
    void *ctx;
};

/* Takes a reference to config. */
struct router *router_new(
    const struct router_options *options, struct router_config *config) must_check;
/* Its exchanges must have ended: free the server first. */
void router_free(struct router *r);
/* From now on; what runs goes on with the config that it began with. */
void router_set_config(struct router *r, struct router_config *config);
/* Not ready any more: /readyz says so. */
void router_set_draining(struct router *r);
/* The body of an error, as OpenAI's clients read it. */
struct json router_openai_error(struct arena *a, int status, const char *code, const char *message);
/* For http_server_options; ctx is the router. */
void router_request(void *ctx, struct http_exchange *x, const struct http_request_head *head);
void router_metrics_print(struct router *r, struct buf *to);
/* The issuer's keys are there, if tokens are needed. */
bool router_has_keys(const struct router *r);
/* Bytes of bodies that count against hold_all_bytes. */
size_t router_held(const struct router *r);
/* Requests that are open. */
size_t router_open(const struct router *r);
