#pragma once

/* A Kubernetes API server as a library: a request goes in, an answer or a stream of events comes
 * out. No sockets, no threads; clock, chance and storage are passed in.
 *
 *   open ──> head ──> data* ──> end
 *
 * No callback runs inside apiserver_open(). Answers come out of apiserver_flush(), which the host
 * calls when it has handed in what there was to hand in (at the end of a turn of its event loop):
 * it commits the store once for all writes of the turn, then lets their answers and the events of
 * watchers go. After end() or cancel() the call is gone. */

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
    struct str path;           /* as in the request line, still encoded, without the query */
    struct str query;          /* after '?'; .ptr NULL: none */
    const char *content_type;  /* NULL: none */
    const char *accept;        /* NULL: application/json */
    const char *user_agent;    /* names the field manager where the client does not; NULL: none */
    const char *if_none_match; /* for documents; NULL: none */
    bool upgrade;              /* the connection can become another protocol's */
    struct str body;
    const struct api_user *user; /* authenticated already; see auth.h */
    const void *connection;      /* the same for all that is asked on it; NULL: none */
    /* Impersonate-… headers, then one without a name; NULL: none. */
    const struct api_header *impersonate;
};

struct api_head {
    int status;
    const char *content_type;
    const char *const *warnings; /* whole texts of Warning headers (299 - "…"); NULL-terminated */
    int64_t retry_after_s;       /* 0: none */
    int64_t body_bytes;          /* -1: not known */
    bool live;                   /* what comes goes out at once: a watch, a log */
    bool watch;                  /* whole events come, each with a newline at its end */
    const char *etag;            /* NULL: none */
    /* With status 101: allowed, checked, and for the host to open where pods run. No data comes. */
    const struct pod_session_request *session;
};

/* What is passed is valid during the callback. */
struct api_handlers {
    void (*head)(void *ctx, const struct api_head *head);
    /* False: no room for more now; nothing comes until apiserver_resume(). A stream that is more
     * than a limit behind is ended. */
    bool (*data)(void *ctx, struct str bytes);
    void (*end)(void *ctx);
};

/* Zero means the default that is beside. */
struct apiserver_options {
    const struct env *env;
    struct store *store;               /* borrowed */
    bool (*kinds)(struct registry *r); /* which kinds there are; NULL: the built-in ones */
    struct str token_key;              /* signs ServiceAccount tokens; at least 32 bytes */
    struct str root_ca;        /* PEM, for kube-root-ca.crt in every namespace; .ptr NULL: none */
    const char *service_cidr;  /* "10.96.0.0/16" */
    int64_t bookmark_ms;       /* 60 s */
    size_t watchers_max;       /* 10,000; then 429 */
    size_t body_bytes_max;     /* 3 MiB */
    size_t watch_behind_bytes; /* a watcher may lag by; 16 MiB */
    int64_t watch_pace_ms;     /* events that come faster go out together; 0: each at once */
    bool allow_all;            /* no RBAC: everybody may do everything */
    /* Endpoints may be in 127.0.0.0/8, as on a machine that is all of its cluster. */
    bool loopback_endpoints;
    /* Who has the logs of containers, borrowed; NULL: nobody, as if no kubelet could be reached. */
    const struct pod_log_source *logs;
    bool sessions; /* the host can open what api_head.session asks for; false: likewise */
};

/* Creates what every cluster has (namespaces, the roles and bindings of the system, the kinds of
 * stored CRDs) if it is not there. */
struct apiserver *apiserver_new(
    const struct apiserver_options *options, struct error *err) must_check;
void apiserver_free(struct apiserver *s); /* cancels what is open */

/* Whether the request would be refused whatever its body is: for its path, its method, or its
 * user's rights. Then the body need not be awaited: apiserver_open() without it answers. */
bool apiserver_refuses_head(struct apiserver *s, const struct api_request *request);
struct api_call *apiserver_open(struct apiserver *s, const struct api_request *request,
    const struct api_handlers *handlers, void *ctx);
void apiserver_cancel(struct apiserver *s, struct api_call *call);
void apiserver_resume(struct apiserver *s, struct api_call *call);
/* Whether a flush has anything to do. */
bool apiserver_is_pending(const struct apiserver *s);
void apiserver_flush(struct apiserver *s);

/* Where the server itself is reached: the Service `kubernetes` leads there. */
void apiserver_set_endpoint(struct apiserver *s, const char *address, uint16_t port);
const char *apiserver_endpoint(const struct apiserver *s); /* ADDRESS:PORT; NULL: not set */

/* Called when a timer of the server makes a flush necessary; it must not flush itself. */
void apiserver_set_wake(struct apiserver *s, void (*wake)(void *ctx), void *ctx);

/* ---- for the parts of the server ---- */

struct store *apiserver_store(struct apiserver *s);
struct registry *apiserver_registry(struct apiserver *s);
const struct env *apiserver_env(const struct apiserver *s);
struct auth *apiserver_auth(struct apiserver *s);
/* Whether this user may name endpoints in 127.0.0.0/8: the server itself always may. */
bool apiserver_allows_loopback(const struct apiserver *s, const struct api_user *user);
/* An object as stored, in the storage version; absent: not there. */
struct json apiserver_read(struct apiserver *s, struct arena *a, const struct api_kind *k,
    const char *ns, const char *name);
