#pragma once

/* Shared by the effects. */

#include "base/arena.h"
#include "base/timer.h"
#include "engine/facts.h"
#include "fetch/fetch.h"
#include "http/message.h"

struct http_call;
struct http_response;
struct tls_context;

/* One running effect; the first member of each effect's own struct. */
struct effect_run {
    struct fetch *fetch;
    const struct effect_sink *sink;
    void *ctx;
    struct arena arena; /* for args and the result */
    struct json args;
    void (*stop)(struct effect_run *run); /* releases its resources; no sink call follows */
    struct timer later;
    struct error why; /* for run_fail_later() */
    struct effect_run *next, **back;
};

struct fetch {
    struct fetch_options options;
    struct effect_runner *runner;
    struct tls_context *tls; /* the system's roots; created on first use */
    struct effect_run *runs;
};

const struct env *fetch_env(const struct fetch *f);

/* Ends the effect with a result (err NULL) or an error, and frees it. */
void run_end(struct effect_run *run, struct json result, const struct error *err);
/* The same with an error, for use inside start(). */
void run_fail_later(struct effect_run *run);

/* Starts the effects: the run is complete except for stop. */

struct effect_type {
    const char *name;
    size_t size; /* of its struct */
    void (*start)(struct effect_run *run);
};
extern const struct effect_type effect_probe, effect_head, effect_copy, effect_digest, effect_file,
    effect_staged, effect_idle, effect_acceleration, effect_remove, effect_lora;

/* ---- remote.c: one HTTP exchange, redirects followed, addresses checked ---- */

struct remote {
    struct effect_run *run;
    const char *method;
    const char *url;
    struct json headers; /* name → value; except range, sent only to the first URL's origin */
    struct str body;     /* not sent after a redirect */
    int64_t total_ms;
    bool any_address; /* pods are inside the cluster; redirects are still checked */
    bool (*head)(struct remote *r, const struct http_response *response); /* false: enough */
    bool (*data)(struct remote *r, struct str bytes);                     /* false: enough */
    void (*end)(struct remote *r, const struct error *err);
    void *ctx;
    /* private */
    struct http_call *call;
    int hops;
    bool redirecting;
    const char *location;
    bool guarded;      /* public addresses only */
    const char *where; /* the URL for messages: that of a redirect may be signed */
};

/* The caller sets all fields up to ctx. A failed start is reported by end(), later. */
void remote_start(struct remote *r);
/* end() is not called any more. */
void remote_stop(struct remote *r);

/* ---- local.c: files, on a thread. The run's struct has FETCH_LOCAL_BYTES. ---- */

#define FETCH_LOCAL_BYTES (sizeof(struct effect_run) + 128)
enum local_work { LOCAL_LOOK, LOCAL_COPY, LOCAL_DIGEST };
void local_start(struct effect_run *run, const char *path, enum local_work what);

/* ---- s3.c ---- */

struct s3_credentials {
    const char *key_id, *secret, *session; /* session may be NULL */
    const char *region;
    const char *endpoint; /* "https://…", without a trailing slash */
};
/* URL of an object, path-style. */
const char *s3_url(struct arena *a, const struct s3_credentials *c, const char *source);
/* Headers of a signed request without a body (AWS Signature Version 4). */
struct json s3_sign(struct arena *a, const struct s3_credentials *c, const char *method,
    const char *url, int64_t wall_ms);
