#pragma once

/* What the effects share. */

#include "base/arena.h"
#include "base/timer.h"
#include "engine/facts.h"
#include "fetch/fetch.h"
#include "http/message.h"

struct http_call;
struct http_response;
struct tls_context;

/* One effect under way; the first member of each effect's own struct. */
struct effect_run {
    struct fetch *fetch;
    const struct effect_sink *sink;
    void *ctx;
    struct arena arena; /* of args and of the result */
    struct json args;
    void (*stop)(struct effect_run *run); /* ends what it holds; no sink call after it */
    struct timer later;
    struct error why; /* for run_fail_later() */
    struct effect_run *next, **back;
};

struct fetch {
    struct fetch_options options;
    struct effect_runner *runner;
    struct tls_context *tls; /* the system's roots; made when first needed */
    struct effect_run *runs;
};

const struct env *fetch_env(const struct fetch *f);

/* Ends the effect with a result (err NULL) or an error, and frees it. */
void run_end(struct effect_run *run, struct json result, const struct error *err);
/* The same with an error, but not from inside start(). */
void run_fail_later(struct effect_run *run);

/* The effects: each starts on a run that is filled but for stop. */

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
    struct json headers; /* name → value; but for range sent to the first URL's origin only */
    struct str body;     /* not sent to where a redirect leads */
    int64_t total_ms;
    bool any_address; /* pods: inside the cluster by nature; not where they redirect to */
    bool (*head)(struct remote *r, const struct http_response *response); /* false: enough */
    bool (*data)(struct remote *r, struct str bytes);                     /* false: enough */
    void (*end)(struct remote *r, const struct error *err);
    void *ctx;
    /* its own */
    struct http_call *call;
    int hops;
    bool redirecting;
    const char *location;
    bool guarded;      /* public addresses only */
    const char *where; /* the URL for messages: a redirect's may be signed */
};

/* The fields up to ctx are filled. Failing to start comes through end(), later. */
void remote_start(struct remote *r);
/* No end() any more. */
void remote_stop(struct remote *r);

/* ---- local.c: files, on a thread. The run's struct has room for FETCH_LOCAL_BYTES. ---- */

#define FETCH_LOCAL_BYTES (sizeof(struct effect_run) + 128)
enum local_work { LOCAL_LOOK, LOCAL_COPY, LOCAL_DIGEST };
void local_start(struct effect_run *run, const char *path, enum local_work what);

/* ---- s3.c ---- */

struct s3_credentials {
    const char *key_id, *secret, *session; /* session may be NULL */
    const char *region;
    const char *endpoint; /* "https://…", no slash at its end */
};
/* URL of an object, path-style. */
const char *s3_url(struct arena *a, const struct s3_credentials *c, const char *source);
/* Headers that sign a request without a body (AWS Signature Version 4). */
struct json s3_sign(struct arena *a, const struct s3_credentials *c, const char *method,
    const char *url, int64_t wall_ms);
