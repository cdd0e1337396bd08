#pragma once

/* A back end at run time: where it is, how it is, and which key it wants.
 *
 * Health by outcome: a refused connection, or a 503, takes it out of the choice for the quarantine;
 * other failures only when TARGET_FAILURES_MAX come within one quarantine without a success between
 * them, so that one bad prompt does not take it away from everybody. After the quarantine one
 * request probes it, and the others wait for the outcome. Health by checks: see health.c. */

#include "base/timer.h"
#include "base/url.h"
#include "http/client.h"
#include "router/config.h"

#define TARGET_FAILURES_MAX 3
#define TARGET_KEY_MAX 8192

struct google_accounts;

struct target {
    const struct router_backend *backend;
    struct google_accounts *google; /* tokens of service accounts; NULL: there are none */
    struct url url;
    struct http_origin origin;
    const char *authority;
    struct error unusable; /* of the address; code ERR_NONE: it is fine */
    /* health */
    unsigned failures; /* since the last success */
    int64_t failing_since_ms;
    int64_t out_until_ms; /* quarantined until; 0: not */
    bool probing;
    bool down;             /* the active checks say so */
    double first_token_ms; /* moving average; 0: none yet */
    /* the key of a file */
    char *file_key;
    int64_t file_mtime_ns;
};

enum target_failure { TARGET_REFUSED, TARGET_SAYS_NO, TARGET_FAILED };

void router_target_init(
    struct target *t, struct arena *a, const struct router_backend *b, struct tls_context *tls);
void router_target_done(struct target *t);
/* Health of the same back end before a reload. */
void router_target_inherit(struct target *t, const struct target *from);
bool router_target_is_out(const struct target *t, int64_t now_ms);
void router_target_begin(struct target *t, int64_t now_ms);
void router_target_succeeded(struct target *t);
void router_target_failed(
    struct target *t, enum target_failure how, int64_t now_ms, int64_t out_ms);
/* Neither: the client left. */
void router_target_released(struct target *t);
/* The target of a request: base path, then path, then both queries. */
const char *router_target_path(
    struct arena *a, const struct target *t, struct str path, struct str query);

/* ---- credentials.c ---- */

#define TARGET_CREDENTIALS_MAX 3

/* Why there is no key, for the client. */
const char *router_target_without_key(struct target *t, struct arena *a);
/* Its requests are signed, with their whole body. */
bool router_target_signs(struct target *t, struct arena *a);
struct target_request {
    const char *method, *path; /* with the query */
    struct str content_type;   /* len 0: none */
    struct str body;
};
/* The headers of a signature, TARGET_CREDENTIALS_MAX at most; returns how many. */
size_t router_target_sign(struct target *t, struct arena *a, const struct target_request *q,
    int64_t wall_ms, struct http_header *ret);
/* Its token is on its way; asking begins that. */
bool router_target_awaits_token(struct target *t, struct arena *a);
/* The headers that identify us, TARGET_CREDENTIALS_MAX at most; false: there should be a key and
 * there is none. None for a request that is to be signed. */
bool router_target_credentials(struct target *t, struct arena *a, struct http_headers from_client,
    struct http_header *ret, size_t *ret_count) must_check;
