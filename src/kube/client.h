#pragma once

/* One question to the API server, one answer.
 *
 *   kube_get(c, (struct kube_target){ &RESOURCE_POD, ns, name }, (struct kube_then){ got, ctx });
 *
 * then.done runs once, later, never inside the call itself, unless kube_op_cancel() came first.
 * The reply and everything it points to lives only while done runs: json_copy() what must last.
 *
 * Nothing is repeated here. A 429 or 503 is reported with the time the server asked for, and the
 * caller's queue decides; a request that changes something and whose end we did not see is reported
 * with outcome_unknown: look (kube_get) before you decide again.
 *
 * Names and objects are copied. Every answer has a size limit and every request a time limit. */

#include "base/json.h"

struct env;
struct kube_client;
struct kube_op; /* a question under way; gone once done has run */
struct kube_transport;
struct resource;
struct stream_identity;

struct kube_reply {
    struct error error; /* code ERR_NONE: the server said yes */
    const char *cause;  /* the error's text without what was asked for; "" if there is none */
    int status;         /* HTTP; 0 when no answer came */
    struct json body;   /* absent when there is none, or for text */
    struct str text;    /* the answer's bytes as they came */
    const char *reason; /* Status.reason: "AlreadyExists", "Invalid", …; "" if none */
    struct json causes; /* Status.details.causes: [ { reason, field, message } ], or absent */
    bool outcome_unknown;
    const char *warning; /* the server's Warning header, or NULL */
    struct arena *arena; /* where body lives; for scratch as well */
};

struct kube_then {
    void (*done)(void *ctx, const struct kube_reply *reply);
    void *ctx;
    /* Optional: true if the object that a yes brings is known, so that it need not be read: done
     * gets no body then. */
    bool (*known)(void *ctx, const struct stream_identity *id);
};

/* Which object, or (name NULL) which collection. */
struct kube_target {
    const struct resource *resource;
    const char *ns;          /* NULL: cluster-scoped, or all namespaces */
    const char *name;        /* NULL: the collection */
    const char *subresource; /* "status", "scale", …; NULL: the object itself */
};

/* Both outlive the client. */
struct kube_client *kube_client_new(const struct kube_transport *transport, const struct env *env);
/* Cancels what is under way; no done runs any more. */
void kube_client_free(struct kube_client *c);
/* How many questions are under way. */
size_t kube_client_pending(const struct kube_client *c);
void kube_op_cancel(struct kube_client *c, struct kube_op *op);

/* ---- reading ---- */

struct kube_op *kube_get(struct kube_client *c, struct kube_target what, struct kube_then then);

struct kube_list {
    struct kube_target what; /* name NULL */
    const char *label_selector, *field_selector;
    int64_t limit;              /* items a page; 0: all at once */
    const char *continue_token; /* of the page before */
};
struct kube_op *kube_list(
    struct kube_client *c, const struct kube_list *list, struct kube_then then);

/* Any path with its query: discovery, "/version", "/openapi/v3". */
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

/* ---- changing ---- */

/* Of every change. */
struct kube_write {
    const char *field_manager; /* required for apply */
    bool force;                /* apply: take fields from others */
    bool strict;               /* unknown or repeated fields fail; else they are warned about */
    bool dry_run;
};

struct kube_op *kube_create(struct kube_client *c, struct kube_target collection,
    struct json object, struct kube_write how, struct kube_then then);
/* Server-side apply. A conflict has ERR_CONFLICT and causes that name field and manager. */
struct kube_op *kube_apply(struct kube_client *c, struct kube_target what, struct json object,
    struct kube_write how, struct kube_then then);
/* Replaces the object; its metadata.resourceVersion makes that a compare-and-swap. */
struct kube_op *kube_update(struct kube_client *c, struct kube_target what, struct json object,
    struct kube_write how, struct kube_then then);

enum kube_patch_type { KUBE_PATCH_MERGE, KUBE_PATCH_JSON, KUBE_PATCH_STRATEGIC };
struct kube_op *kube_patch(struct kube_client *c, struct kube_target what,
    enum kube_patch_type type, struct json patch, struct kube_write how, struct kube_then then);

struct kube_delete {
    const char *uid;              /* delete only this one; NULL: any */
    const char *resource_version; /* … in this version; NULL: any */
    const char *propagation;      /* Background, Foreground, Orphan; NULL: the kind's default */
    int64_t grace_seconds;        /* -1: the object's own */
    bool dry_run;
};
struct kube_op *kube_delete(struct kube_client *c, struct kube_target what,
    const struct kube_delete *how, struct kube_then then);
/* policy/v1 Eviction: 429 while a disruption budget forbids it. */
struct kube_op *kube_evict(struct kube_client *c, const char *ns, const char *pod,
    const struct kube_delete *how, struct kube_then then);
