#pragma once

/* Single requests to the API server, each with one response.
 *
 *   kube_get(c, (struct kube_target){ &RESOURCE_POD, ns, name }, (struct kube_then){ got, ctx });
 *
 * then.done runs once, later, never inside the call itself, unless the call is cancelled with
 * kube_op_cancel(). The reply and everything in it is valid only while done runs: json_copy() what
 * you keep.
 *
 * The client does not retry. A 429 or 503 is reported with the server's Retry-After, and the
 * caller's queue decides. If a change was sent but its result is not known, outcome_unknown is set:
 * read the object (kube_get) before you decide again.
 *
 * Names and objects are copied. Every response has a size limit, and every request a timeout. */

#include "base/json.h"

struct env;
struct kube_client;
struct kube_op; /* a request in progress; freed after done */
struct kube_transport;
struct resource;
struct stream_identity;

struct kube_reply {
    struct error error; /* code ERR_NONE: success */
    const char *cause;  /* the error's text without the request's name; "" if none */
    int status;         /* HTTP status; 0 without a response */
    struct json body;   /* absent if there is none, or for text */
    struct str text;    /* the response's bytes, unchanged */
    const char *reason; /* Status.reason: "AlreadyExists", "Invalid", …; "" if none */
    struct json causes; /* Status.details.causes: [ { reason, field, message } ], or absent */
    bool outcome_unknown;
    const char *warning; /* the server's Warning header, or NULL */
    struct arena *arena; /* in which body is allocated; also for scratch */
};

struct kube_then {
    void (*done)(void *ctx, const struct kube_reply *reply);
    void *ctx;
    /* Optional. Returns true if the object in a successful response is known already, so that it is
     * not parsed: then done gets no body. */
    bool (*known)(void *ctx, const struct stream_identity *id);
};

/* An object, or a collection (name NULL). */
struct kube_target {
    const struct resource *resource;
    const char *ns;          /* NULL: cluster-scoped, or all namespaces */
    const char *name;        /* NULL: the collection */
    const char *subresource; /* "status", "scale", …; NULL: the object itself */
};

/* Both must outlive the client. */
struct kube_client *kube_client_new(const struct kube_transport *transport, const struct env *env);
/* Cancels the requests in progress; done is not called any more. */
void kube_client_free(struct kube_client *c);
/* The number of requests in progress. */
size_t kube_client_pending(const struct kube_client *c);
void kube_op_cancel(struct kube_client *c, struct kube_op *op);

/* ---- reading ---- */

struct kube_op *kube_get(struct kube_client *c, struct kube_target what, struct kube_then then);

struct kube_list {
    struct kube_target what; /* name NULL */
    const char *label_selector, *field_selector;
    int64_t limit;              /* items per page; 0: all at once */
    const char *continue_token; /* from the previous page */
};
struct kube_op *kube_list(
    struct kube_client *c, const struct kube_list *list, struct kube_then then);

/* Any path with a query: discovery, "/version", "/openapi/v3". */
struct kube_op *kube_raw(
    struct kube_client *c, const char *path, size_t bytes_max, struct kube_then then);

struct kube_log {
    const char *ns, *pod, *container;
    int64_t tail_lines;  /* 0: all */
    int64_t limit_bytes; /* 0: the client's limit */
    bool previous;
};
struct kube_op *kube_pod_log(
    struct kube_client *c, const struct kube_log *log, struct kube_then then);

/* ---- writing ---- */

/* Options of every write. */
struct kube_write {
    const char *field_manager; /* required for apply */
    bool force;                /* apply: take over fields from other managers */
    bool strict;               /* unknown or duplicate fields are errors, not warnings */
    bool dry_run;
};

struct kube_op *kube_create(struct kube_client *c, struct kube_target collection,
    struct json object, struct kube_write how, struct kube_then then);
/* Server-side apply. A conflict has ERR_CONFLICT, and causes that name the field and its
 * manager. */
struct kube_op *kube_apply(struct kube_client *c, struct kube_target what, struct json object,
    struct kube_write how, struct kube_then then);
/* Replaces the object. metadata.resourceVersion makes this a compare-and-swap. */
struct kube_op *kube_update(struct kube_client *c, struct kube_target what, struct json object,
    struct kube_write how, struct kube_then then);

enum kube_patch_type { KUBE_PATCH_MERGE, KUBE_PATCH_JSON, KUBE_PATCH_STRATEGIC };
struct kube_op *kube_patch(struct kube_client *c, struct kube_target what,
    enum kube_patch_type type, struct json patch, struct kube_write how, struct kube_then then);

struct kube_delete {
    const char *uid;              /* delete only the object with this uid; NULL: any */
    const char *resource_version; /* … and this version; NULL: any */
    const char *propagation;      /* Background, Foreground, Orphan; NULL: the kind's default */
    int64_t grace_seconds;        /* -1: the default of the object */
    bool dry_run;
};
struct kube_op *kube_delete(struct kube_client *c, struct kube_target what,
    const struct kube_delete *how, struct kube_then then);
/* policy/v1 Eviction: 429 while a PodDisruptionBudget forbids it. */
struct kube_op *kube_evict(struct kube_client *c, const char *ns, const char *pod,
    const struct kube_delete *how, struct kube_then then);
