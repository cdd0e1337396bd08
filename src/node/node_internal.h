#pragma once

/* For the files of node.h. */

#include "base/table.h"
#include "base/timer.h"
#include "kube/client.h"
#include "kube/pod_log.h"
#include "kube/pod_session.h"
#include "node/capacity.h"
#include "node/node.h"
#include "node/pod.h"

#define NODE_MANAGER "leeboard-node" /* of fields, and who reports events */

/* A pod that is ours, or may become it. */
struct entry {
    struct table_node hash;
    struct node *node;
    char *uid, *ns, *name;
    struct pod *pod; /* NULL: not bound to us yet */
    struct capacity wanted;
    bool ended; /* Succeeded or Failed: holds nothing any more */
    bool gone;  /* its object is */
    bool binding;
    struct arena unfit_arena;
    struct json unbound; /* the object while it is not ours */

    struct kube_op *write; /* status, binding or deletion: one at a time */
    bool dirty, deleted;
    struct timer again;
    unsigned failures;

    struct kube_op *token;
    struct timer token_again;
    char *audiences[8];
    size_t audience_count, audience_next;
};

struct node {
    struct node_options options;
    struct arena arena; /* of texts in options and host */
    struct pod_host host;
    struct kube_client *client;
    struct objects *objects;
    struct table entries; /* by uid */
    struct gpus gpus;
    struct capacity capacity;
    bool loaded;
    void (*stopped)(void *ctx);
    void *stopped_ctx;
    struct timer stop_told;
    char *names; /* of Services, as pods were told last */
    struct timer names_look;
    struct event_recorder *events;
    struct pod_log_source logs;
    struct pod_log_stream *log_streams;
    struct pod_session_source sessions;
    struct pod_session *open_sessions;
};

/* ---- node_write.c ---- */

/* Brings the API to what is true of an entry: binding, status, deletion, whichever is next. */
void entry_write(struct entry *e);
/* It was told to be ours: by the answer or by the watch, whichever comes first. */
void entry_is_bound(struct entry *e);
/* The next token of its service account that is asked for. */
void entry_ask_token(struct entry *e);
void node_register(struct node *n);
/* What happened to a pod; field: to which part of it, or NULL. */
void node_event(struct node *n, struct json pod, const char *field, bool warning,
    const char *reason, const char *note);

/* ---- node_logs.c ---- */

void node_logs_init(struct node *n);
/* A container of this pod may have ended, or the pod is gone. */
void node_logs_wake(struct node *n, const char *uid);

/* ---- node_sessions.c ---- */

void node_sessions_init(struct node *n);
/* A container of this pod may have ended: its commands go with it. */
void node_sessions_wake(struct node *n, const char *uid);

/* ---- node.c ---- */

struct entry *node_entry(const struct node *n, const char *uid);
/* Tells who waits in node_stop(), once all pods have ended and the API knows it. */
void node_look_whether_stopped(struct node *n);
/* Of a pod that is not gone. */
struct entry *node_entry_named(struct node *n, const char *ns, const char *name);

/* NULL: it may be bound to us; else why not. look_again: nobody will tell when that changes. */
const char *entry_unfit(struct arena *a, const struct entry *e, bool *ret_look_again);
