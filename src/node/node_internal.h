#pragma once

/* Shared by the files that implement node.h. */

#include "base/table.h"
#include "base/timer.h"
#include "kube/client.h"
#include "kube/pod_log.h"
#include "kube/pod_session.h"
#include "node/capacity.h"
#include "node/node.h"
#include "node/pod.h"

#define NODE_MANAGER "leeboard-node" /* in managedFields, and reporter of events */

/* A pod of this node, or a pod that may be bound to it. */
struct entry {
    struct table_node hash;
    struct node *node;
    char *uid, *ns, *name;
    struct pod *pod; /* NULL: not bound to this node yet */
    struct capacity wanted;
    bool ended; /* Succeeded or Failed: uses no resources any more */
    bool gone;  /* the object is deleted */
    bool binding;
    struct arena unfit_arena;
    struct json unbound; /* the object, until it is bound to this node */

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
    struct arena arena; /* of strings in options and host */
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
    char *names; /* of Services, as last sent to the pods */
    struct timer names_look;
    struct event_recorder *events;
    struct pod_log_source logs;
    struct pod_log_stream *log_streams;
    struct pod_session_source sessions;
    struct pod_session *open_sessions;
};

/* ---- node_write.c ---- */

/* Sends the next request that the entry needs: binding, status or deletion. */
void entry_write(struct entry *e);
/* The pod was bound to this node, according to the response or the watch, whichever comes first. */
void entry_is_bound(struct entry *e);
/* Requests the next token of its service account that is needed. */
void entry_ask_token(struct entry *e);
void node_register(struct node *n);
/* Records an event about a pod; field: the part of the pod, or NULL. */
void node_event(struct node *n, struct json pod, const char *field, bool warning,
    const char *reason, const char *note);

/* ---- node_logs.c ---- */

void node_logs_init(struct node *n);
/* A container of this pod may have ended, or the pod was deleted. */
void node_logs_wake(struct node *n, const char *uid);

/* ---- node_sessions.c ---- */

void node_sessions_init(struct node *n);
/* A container of this pod may have ended, which ends its commands. */
void node_sessions_wake(struct node *n, const char *uid);

/* ---- node.c ---- */

struct entry *node_entry(const struct node *n, const char *uid);
/* Completes node_stop() once all pods have ended and the API server has their status. */
void node_look_whether_stopped(struct node *n);
/* Finds a pod that is not deleted. */
struct entry *node_entry_named(struct node *n, const char *ns, const char *name);

/* NULL: the pod may be bound to this node; otherwise why not. *ret_look_again: no event will report
 * a change of that, so poll. */
const char *entry_unfit(struct arena *a, const struct entry *e, bool *ret_look_again);
