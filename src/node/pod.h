#pragma once

/* One pod on this machine: brings what runs to what its object asks for, as the kubelet does, and
 * says in a status how far it is.
 *
 *   init containers in order ─> sidecars among them stay ─> containers ─> end, by restart policy
 *
 * Everything lies in DIRECTORY/pods/UID:
 *   volumes/NAME                 see volumes.h
 *   containers/NAME/N            run N of a container: `task`, `exit`, `log`
 * so that a later process of ours finds what this one started, and goes on with it. */

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

/* What pods need of their node; outlives them. */
struct pod_host {
    struct loop *loop;
    struct http_client *http;
    struct tls_context *tls; /* for probes; takes any certificate */
    const struct node_runtime *runtime;
    struct cgroups *cgroups; /* NULL: there are none, and why */
    const char *no_cgroups;
    const struct objects *objects;
    const struct image_map *images;
    const char *node_name, *host_ip;
    const char *path;        /* where programs are looked for */
    const char *leeboard;    /* see node.h */
    const char *own_address; /* own_address_install(); NULL: programs listen where they like */
    const char *directory;   /* absolute */
    const struct gpus *gpus; /* of the machine */
    struct json allocatable; /* resource to quantity */
    bool host_ports;         /* somebody forwards them */
    int64_t back_off_ms;     /* after the second failure, doubling up to 30 times that; 0: 10 s */
    /* Whether somebody waits for an answer from this address; NULL: nobody knows. */
    bool (*in_use)(void *ctx, const char *ip);
    void *in_use_ctx;
    /* What happened to it, for people; field: to which part of it, or NULL. */
    void (*event)(void *ctx, const struct pod *p, const char *field, bool warning,
        const char *reason, const char *note);
    /* Its status may differ, or it is over. */
    void (*changed)(void *ctx, struct pod *p);
    /* It needs a token of its service account: pod_token(). May come again until it is there. */
    void (*token)(void *ctx, struct pod *p, const char *audience);
    void *ctx;
};

/* ip: an address of its own; gpus: list of the numbers of its devices. Finds what runs already. */
struct pod *pod_new(
    const struct pod_host *host, struct json object, const char *ip, struct json gpus) must_check;
/* Forgets it; what runs goes on. */
void pod_free(struct pod *p);
/* A newer version of its object; a deletionTimestamp in it stops the pod, after it has left the
 * Services that lead to it. */
void pod_set(struct pod *p, struct json object);
struct json pod_object(const struct pod *p);
void pod_token(struct pod *p, const char *audience, const char *token);
/* Something that it refers to has changed. */
void pod_wake(struct pod *p);
/* Names or addresses of Services have. */
void pod_names_changed(struct pod *p);
/* Ends it at once: the grace period counts from now, a shorter one than before wins. */
void pod_stop(struct pod *p, int64_t grace_ms);
/* It was to stop, and nothing of it runs any more. */
bool pod_stopped(const struct pod *p);
/* status as the API has it. */
struct json pod_status(struct arena *a, const struct pod *p);
const char *pod_directory(const struct pod *p);
const char *pod_ip(const struct pod *p);
struct json pod_gpus(const struct pod *p);

/* A run of a container, for its log: the last one, or the one before it. NULL: there is none, and
 * err says so in the kubelet's words. */
const char *pod_log(struct arena *a, const struct pod *p, const char *container, bool previous,
    int *ret_run, struct error *err);
/* Where commands run in a container, and in which run of it; the place is good until the next turn
 * of the loop. False: it does not run, in the kubelet's words. */
bool pod_place(struct arena *a, const struct pod *p, const char *container,
    struct action_place *ret, int *ret_run, struct error *err) must_check;
/* What is written to *ret_fd its program reads; -1: it has no input, or (stdinOnce) had somebody's.
 * The descriptor is the caller's, who says pod_end_input() when no more comes from there. */
bool pod_input(
    const struct pod *p, const char *container, int *ret_fd, struct error *err) must_check;
void pod_end_input(const struct pod *p, const char *container, int run);
/* Whether that run goes on, so that its log may grow. */
bool pod_runs(const struct pod *p, const char *container, int run);
