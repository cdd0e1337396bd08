#pragma once

/* A back end at run time: its address, its health and its credentials.
 *
 * Health by outcome: a refused connection, or a 503, puts it into quarantine. Other failures do so
 * only after TARGET_FAILURES_MAX of them within the length of one quarantine and without a success
 * in between, so that one bad prompt does not make it unavailable for all clients. After the
 * quarantine one request probes it, and the others wait for the outcome. Health by checks: see
 * health.c. */

#include "base/timer.h"
#include "base/url.h"
#include "http/client.h"
#include "router/config.h"

#define TARGET_FAILURES_MAX 3
#define TARGET_KEY_MAX 8192

struct google_accounts;

struct target {
    const struct router_backend *backend;
    struct google_accounts *google; /* tokens of service accounts; NULL: not supported */
    struct url url;
    struct http_origin origin;
    const char *authority;
    struct error unusable; /* error of the address; code ERR_NONE: it is valid */
    /* health */
    unsigned failures; /* since the last success */
    int64_t failing_since_ms;
    int64_t out_until_ms; /* end of the quarantine; 0: none */
    bool probing;
    bool down;             /* by the active checks */
    double first_token_ms; /* moving average; 0: none yet */
    /* the key of a file */
    char *file_key;
    int64_t file_mtime_ns;
};

enum target_failure { TARGET_REFUSED, TARGET_SAYS_NO, TARGET_FAILED };

void router_target_init(
    struct target *t, struct arena *a, const struct router_backend *b, struct tls_context *tls);
void router_target_done(struct target *t);
/* Takes over the health of the same back end before a reload. */
void router_target_inherit(struct target *t, const struct target *from);
bool router_target_is_out(const struct target *t, int64_t now_ms);
void router_target_begin(struct target *t, int64_t now_ms);
void router_target_succeeded(struct target *t);
void router_target_failed(
    struct target *t, enum target_failure how, int64_t now_ms, int64_t out_ms);
/* Neither success nor failure: the client disconnected. */
void router_target_released(struct target *t);
/* The request target: base path, then path, then both queries. */
const char *router_target_path(
    struct arena *a, const struct target *t, struct str path, struct str query);

/* ---- credentials.c ---- */

#define TARGET_CREDENTIALS_MAX 3

/* Why there is no key, for the client. */
const char *router_target_without_key(struct target *t, struct arena *a);
/* Whether its requests are signed, including the complete body. */
bool router_target_signs(struct target *t, struct arena *a);
struct target_request {
    const char *method, *path; /* including the query */
    struct str content_type;   /* len 0: none */
    struct str body;
};
/* Sets the headers of a signature, TARGET_CREDENTIALS_MAX at most; returns how many. */
size_t router_target_sign(struct target *t, struct arena *a, const struct target_request *q,
    int64_t wall_ms, struct http_header *ret);
/* Whether it waits for its token; the first call requests it. */
bool router_target_awaits_token(struct target *t, struct arena *a);
/* Sets the headers with our credentials, TARGET_CREDENTIALS_MAX at most; false: the key is missing.
 * Sets none for a request that will be signed. */
bool router_target_credentials(struct target *t, struct arena *a, struct http_headers from_client,
    struct http_header *ret, size_t *ret_count) must_check;
