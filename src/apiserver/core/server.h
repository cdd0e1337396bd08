#pragma once

/* A Kubernetes API server as a library: it takes requests, and produces responses and streams of
 * events. No sockets, no threads; clock, randomness and storage are passed in.
 *
 *   open ──> head ──> data* ──> end
 *
 * No callback runs inside apiserver_open(). Responses are sent by apiserver_flush(), which the host
 * calls after it has passed in all requests (at the end of a turn of its event loop). It commits
 * the store once for all writes of the turn, then sends their responses and the watch events. After
 * end() or cancel() the call is freed. */

#include "apiserver/core/registry.h"
#include "base/str.h"
#include "base/timer.h"

struct api_call;
struct auth;
struct pod_log_source;
struct pod_session_request;
struct store;

struct api_header {
    const char *name, *value;
};

struct api_request {
    const char *method;        /* GET POST PUT PATCH DELETE */
    struct str path;           /* as in the request line: still encoded, without the query */
    struct str query;          /* after '?'; .ptr NULL: none */
    const char *content_type;  /* NULL: none */
    const char *accept;        /* NULL: application/json */
    const char *user_agent;    /* default for the field manager; NULL: none */
    const char *if_none_match; /* for documents; NULL: none */
    bool upgrade;              /* the connection can switch to another protocol */
    struct str body;
    const struct api_user *user; /* already authenticated; see auth.h */
    const void *connection;      /* identifies the connection of the request; NULL: none */
    /* Impersonate-… headers, terminated by one without a name; NULL: none. */
    const struct api_header *impersonate;
};

struct api_head {
    int status;
    const char *content_type;
    const char *const *warnings; /* texts of Warning headers (299 - "…"); NULL-terminated */
    int64_t retry_after_s;       /* 0: none */
    int64_t body_bytes;          /* -1: unknown */
    bool live;                   /* data is sent immediately: a watch, a log */
    bool watch;                  /* each event ends with a newline */
    const char *etag;            /* NULL: none */
    /* With status 101: allowed and validated; the host opens it where pods run. There is no
     * data. */
    const struct pod_session_request *session;
};

/* Arguments are valid only during the callback. */
struct api_handlers {
    void (*head)(void *ctx, const struct api_head *head);
    /* Returns false if there is no more room; then wait for apiserver_resume(). A stream that falls
     * too far behind is ended. */
    bool (*data)(void *ctx, struct str bytes);
    void (*end)(void *ctx);
};

/* Zero means the default at the end of each comment. */
struct apiserver_options {
    const struct env *env;
    struct store *store;               /* borrowed */
    bool (*kinds)(struct registry *r); /* registers the kinds; NULL: the built-in ones */
    struct str token_key;              /* signs ServiceAccount tokens; at least 32 bytes */
    struct str root_ca;        /* PEM, for kube-root-ca.crt in every namespace; .ptr NULL: none */
    const char *service_cidr;  /* "10.96.0.0/16" */
    int64_t bookmark_ms;       /* 60 s */
    size_t watchers_max;       /* 10,000; then 429 */
    size_t body_bytes_max;     /* 3 MiB */
    size_t watch_behind_bytes; /* how far a watcher may lag; 16 MiB */
    int64_t watch_pace_ms;     /* events within this time are sent together; 0: each at once */
    bool allow_all;            /* no RBAC: all users may do everything */
    /* Endpoints may be in 127.0.0.0/8, for a cluster on a single machine. */
    bool loopback_endpoints;
    /* The source of container logs, borrowed; NULL: none, as if no kubelet were reachable. */
    const struct pod_log_source *logs;
    bool sessions; /* the host can open api_head.session; false: as if no kubelet were reachable */
};

/* Creates the objects that every cluster has (namespaces, the system's roles and bindings, the
 * kinds of stored CRDs) if they do not exist. */
struct apiserver *apiserver_new(
    const struct apiserver_options *options, struct error *err) must_check;
void apiserver_free(struct apiserver *s); /* cancels open calls */

/* Whether the request would be refused with any body, because of its path, method or user. Then the
 * body need not be read: apiserver_open() without it sends the response. */
bool apiserver_refuses_head(struct apiserver *s, const struct api_request *request);
struct api_call *apiserver_open(struct apiserver *s, const struct api_request *request,
    const struct api_handlers *handlers, void *ctx);
void apiserver_cancel(struct apiserver *s, struct api_call *call);
void apiserver_resume(struct apiserver *s, struct api_call *call);
/* Whether a flush would do anything. */
bool apiserver_is_pending(const struct apiserver *s);
void apiserver_flush(struct apiserver *s);

/* The server's own address: the endpoints of the Service `kubernetes`. */
void apiserver_set_endpoint(struct apiserver *s, const char *address, uint16_t port);
const char *apiserver_endpoint(const struct apiserver *s); /* ADDRESS:PORT; NULL: not set */

/* Called when a timer of the server requires a flush; the callback must not flush itself. */
void apiserver_set_wake(struct apiserver *s, void (*wake)(void *ctx), void *ctx);

/* ---- for the parts of the server ---- */

struct store *apiserver_store(struct apiserver *s);
struct registry *apiserver_registry(struct apiserver *s);
const struct env *apiserver_env(const struct apiserver *s);
struct auth *apiserver_auth(struct apiserver *s);
/* Whether this user may use endpoints in 127.0.0.0/8: the server itself always may. */
bool apiserver_allows_loopback(const struct apiserver *s, const struct api_user *user);
/* An object in the storage version; absent: it does not exist. */
struct json apiserver_read(struct apiserver *s, struct arena *a, const struct api_kind *k,
    const char *ns, const char *name);
