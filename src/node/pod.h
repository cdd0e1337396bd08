#pragma once

/* One pod on this machine. It reconciles the running processes with the pod's object, as the
 * kubelet does, and computes its status.
 *
 *   init containers in order ─> sidecars keep running ─> containers ─> end, by restart policy
 *
 * All files are in DIRECTORY/pods/UID:
 *   volumes/NAME                 see volumes.h
 *   containers/NAME/N            run N of a container: `task`, `exit`, `log`
 * A later process finds there what this one started, and adopts it. */

#include "base/json.h"

struct action_place;
struct cgroups;
struct http_client;
struct gpus;
struct image_map;
struct loop;
struct node_runtime;
struct objects;
struct pod;
struct tls_context;

/* What pods use of their node; must outlive them. */
struct pod_host {
    struct loop *loop;
    struct http_client *http;
    struct tls_context *tls; /* for probes; accepts any certificate */
    const struct node_runtime *runtime;
    struct cgroups *cgroups; /* NULL: not available */
    const char *no_cgroups;
    const struct objects *objects;
    const struct image_map *images;
    const char *node_name, *host_ip;
    const char *path;        /* where to look for programs */
    const char *leeboard;    /* see node.h */
    const char *own_address; /* own_address_install(); NULL: programs listen on any address */
    const char *directory;   /* absolute */
    const struct gpus *gpus; /* of the machine */
    struct json allocatable; /* resource to quantity */
    bool host_ports;         /* a proxy forwards them */
    int64_t back_off_ms;     /* after the second failure, doubling up to 30 times that; 0: 10 s */
    /* Whether a client waits for a response from this address; NULL: unknown. */
    bool (*in_use)(void *ctx, const char *ip);
    void *in_use_ctx;
    /* Records an event about the pod; field: the part of the pod, or NULL. */
    void (*event)(void *ctx, const struct pod *p, const char *field, bool warning,
        const char *reason, const char *note);
    /* Its status may have changed, or it has ended. */
    void (*changed)(void *ctx, struct pod *p);
    /* It needs a token of its service account: pod_token(). May be called again until it has
     * one. */
    void (*token)(void *ctx, struct pod *p, const char *audience);
    void *ctx;
};

/* ip: its own address; gpus: the numbers of its devices. Adopts containers that already run. */
struct pod *pod_new(
    const struct pod_host *host, struct json object, const char *ip, struct json gpus) must_check;
/* Frees the pod; its containers keep running. */
void pod_free(struct pod *p);
/* Sets a newer version of the object. A deletionTimestamp stops the pod after it has left the
 * endpoints of its Services. */
void pod_set(struct pod *p, struct json object);
struct json pod_object(const struct pod *p);
void pod_token(struct pod *p, const char *audience, const char *token);
/* An object that it refers to has changed. */
void pod_wake(struct pod *p);
/* Names or addresses of Services have changed. */
void pod_names_changed(struct pod *p);
/* Stops it now. The grace period starts now; it can shorten an earlier one but not extend it. */
void pod_stop(struct pod *p, int64_t grace_ms);
/* Whether it was stopped and none of its processes run any more. */
bool pod_stopped(const struct pod *p);
/* status as the API has it. */
struct json pod_status(struct arena *a, const struct pod *p);
const char *pod_directory(const struct pod *p);
const char *pod_ip(const struct pod *p);
struct json pod_gpus(const struct pod *p);

/* The log of a run of a container: the current or the previous one. NULL: there is none, and err
 * has the kubelet's message. */
const char *pod_log(struct arena *a, const struct pod *p, const char *container, bool previous,
    int *ret_run, struct error *err);
/* Where commands run in a container, and in which run of it. The place is valid until the next turn
 * of the loop. False: the container does not run, and err has the kubelet's message. */
bool pod_place(struct arena *a, const struct pod *p, const char *container,
    struct action_place *ret, int *ret_run, struct error *err) must_check;
/* The program reads what is written to *ret_fd. -1: it has no input, or another client had it
 * (stdinOnce). The caller owns the descriptor and calls pod_end_input() at the end of its input. */
bool pod_input(
    const struct pod *p, const char *container, int *ret_fd, struct error *err) must_check;
void pod_end_input(const struct pod *p, const char *container, int run);
/* Whether that run is still going on, so that its log may grow. */
bool pod_runs(const struct pod *p, const char *container, int run);
