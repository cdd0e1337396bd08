#pragma once

/* A node of one machine: takes pods that nobody has taken, and those that are given to it, runs
 * them (pod.h) and keeps their status in the API true. What an earlier process of ours started goes
 * on running under the next one.
 *
 *   node_new ─> node_start ─> …                 ─> node_free       pods go on
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
    const char *directory; /* absolute; made if it is not there */
    const char *path;      /* where programs are looked for, like $PATH */
    const char *leeboard;  /* the file of the program `leeboard`; NULL: the one in path */
    int64_t back_off_ms;   /* 0: the kubelet's 10 s */
    bool host_ports;       /* somebody leads connections from host ports to pods: a proxy */
    const char *cgroups;   /* where control groups are; NULL: /sys/fs/cgroup */
    /* Whether somebody waits for an answer from a pod's address: one that is deleted is stopped
     * once it has left the Services and nobody does, or half its grace period is over. NULL: nobody
     * is asked. */
    bool (*in_use)(void *ctx, const char *ip);
    void *in_use_ctx;
};

/* Everything in options but the texts outlives it. */
struct node *node_new(const struct node_options *options, struct error *err) must_check;
/* Every stream of node_logs() and session of node_sessions() must have been closed. */
void node_free(struct node *n);
void node_start(struct node *n);
/* Ends all pods, each within its grace period, tells that in their status and leaves their objects:
 * the next process starts them again. done() may free the node. */
void node_stop(struct node *n, void (*done)(void *ctx), void *ctx);
/* After node_stop(): no more grace for anybody. */
void node_kill(struct node *n);
/* The logs of its containers (kube/pod_log.h); lives as long as the node. */
const struct pod_log_source *node_logs(struct node *n);
/* Commands in its containers, and ways to its pods (kube/pod_session.h); lives as long. */
const struct pod_session_source *node_sessions(struct node *n);
