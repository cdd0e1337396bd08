#pragma once

/* The node agent of one machine. It binds unscheduled pods to itself, runs its pods (pod.h) and
 * reports their status. Pods keep running while the process restarts: the next process adopts them.
 *
 *   node_new ─> node_start ─> …                 ─> node_free       pods keep running
 *                             node_stop ─> done ─> node_free       pods have ended */

#include "base/json.h"

struct image_map;
struct kube_transport;
struct loop;
struct node;
struct node_runtime;
struct pod_log_source;
struct pod_session_source;

struct node_options {
    struct loop *loop;
    const struct kube_transport *transport;
    const struct node_runtime *runtime;
    const struct image_map *images;
    const char *name;      /* of the Node object */
    const char *directory; /* absolute; created if missing */
    const char *path;      /* where to look for programs, like $PATH */
    const char *leeboard;  /* path of the program `leeboard`; NULL: the one in path */
    int64_t back_off_ms;   /* 0: the kubelet's 10 s */
    bool host_ports;       /* a proxy forwards host ports to pods */
    const char *cgroups;   /* where cgroups are mounted; NULL: /sys/fs/cgroup */
    /* Whether a client waits for a response from a pod's address. A deleted pod is stopped after it
     * has left the Services and no client waits, or after half of its grace period. NULL: assume
     * that no client waits. */
    bool (*in_use)(void *ctx, const char *ip);
    void *in_use_ctx;
};

/* Everything in options except the strings must outlive the node. */
struct node *node_new(const struct node_options *options, struct error *err) must_check;
/* All streams of node_logs() and sessions of node_sessions() must be closed first. */
void node_free(struct node *n);
void node_start(struct node *n);
/* Stops all pods within their grace periods and reports that in their status, but keeps the
 * objects: the next process starts them again. done() may free the node. */
void node_stop(struct node *n, void (*done)(void *ctx), void *ctx);
/* After node_stop(): ends all grace periods now. */
void node_kill(struct node *n);
/* The logs of its containers (kube/pod_log.h); valid as long as the node. */
const struct pod_log_source *node_logs(struct node *n);
/* Commands in its containers, and connections to its pods (kube/pod_session.h); valid as long as
 * the node. */
const struct pod_session_source *node_sessions(struct node *n);
