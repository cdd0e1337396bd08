#pragma once

/* One HTTP request of a step to a service from its parameters: an issuer, a webhook, a policy
 * decision point, a collector. The response is read completely, up to a limit. Redirects are not
 * followed.
 *
 *   open():  s->target = fetch_target_new(o, &(struct fetch_options){ .url = … }, err)
 *   hook:    s->fetch = fetch_start(s->target, &request, on_done, ctx); return MCP_LATER;
 *   end():   fetch_cancel(s->fetch) if it still runs
 *   close(): fetch_target_free(s->target) */

#include "mcp/middleware.h"

struct fetch;
struct fetch_target;

struct fetch_options {
    const char *url;
    const char *ca_file;                     /* NULL or "": the system's roots */
    const char *certificate_file, *key_file; /* NULL: no client certificate */
    bool verify_off;
    bool public_only; /* refuse private addresses */
};

/* Fails for a URL that is not http or https, and for unusable files. */
struct fetch_target *fetch_target_new(
    const struct mcp_open *o, const struct fetch_options *options, struct error *err) must_check;
void fetch_target_free(struct fetch_target *t); /* NULL is allowed */
bool fetch_target_is_tls(const struct fetch_target *t);
const char *fetch_target_path(const struct fetch_target *t); /* includes the query */
const char *fetch_target_authority(const struct fetch_target *t);

#define FETCH_BYTES_MAX ((size_t)1 << 20)

struct fetch_request {
    const char *method;
    const char *path; /* NULL: the path of the target's URL */
    struct http_headers headers;
    struct str body;
    int64_t timeout_ms; /* 0: 10 s */
    size_t bytes_max;   /* of the response; 0: FETCH_BYTES_MAX */
};

/* err NULL: there is a response, with any status. The fetch is freed after this. */
typedef void fetch_done(void *ctx, int status, struct str body, const struct error *err);

/* Copies everything in the request. done() is never called from inside this call. */
struct fetch *fetch_start(struct fetch_target *t, const struct fetch_request *request,
    fetch_done *done, void *ctx) must_check;
void fetch_cancel(struct fetch *f); /* NULL is allowed */
