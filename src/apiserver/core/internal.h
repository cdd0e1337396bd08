#pragma once

/* What the files of the server share. No other code uses it. */

#include "apiserver/core/call.h"
#include "base/buf.h"

#define LIST_PIECE_BYTES ((size_t)64 << 10)
#define WATCH_BATCH_MAX 32

struct aggregate;
struct auth;
struct builtin;
struct crds;
struct documents;
struct gc;
struct secret_tokens;
struct undone;

/* Work of a controller at each flush, skipped while the disk refuses writes. */
struct server_hook {
    void *ctx;
    bool (*is_pending)(const void *ctx);
    void (*before_flush)(void *ctx); /* its writes are part of this flush; may be NULL */
    void (*after_flush)(void *ctx);  /* after the responses of a turn are sent; may be NULL */
};
#define SERVER_HOOKS_MAX 8

struct apiserver {
    struct apiserver_options options;
    const struct env *env;
    struct store *store;
    struct registry *registry;
    struct api_call *calls;              /* all open calls */
    struct api_call *ready, **ready_end; /* have something to send with this flush */
    const void *writers[64];             /* connections that sent a write since the last flush */
    size_t writer_count;
    uint64_t last_steps; /* of the budget of the last opened request */
    struct buf scratch;  /* a text that is being stored */
    struct watch_batch { /* the last events as text, shared by all watchers */
        struct buf text;
        const struct api_kind *kind;
        size_t count; /* 0: cannot be shared */
        struct {
            const struct store_object *object; /* held */
            int type;
        } items[WATCH_BATCH_MAX];
    } batch;
    struct arena spare[8]; /* arenas of ended calls, with their memory */
    size_t spare_count;
    size_t watcher_count;
    struct watch_stream *watches; /* all open watches */
    bool bookmarks_due;
    void (*wake)(void *ctx);
    void *wake_ctx;
    struct timer bookmarks, pace;
    struct gc *gc;
    struct expiry *expiry;
    struct crds *crds;
    struct auth *auth;
    struct documents *documents;
    struct aggregate *aggregate;
    struct local_services *local_services;
    struct secret_tokens *secret_tokens;
    struct undone *undone;
    struct server_hook hooks[SERVER_HOOKS_MAX]; /* in the order in which they run */
    size_t hook_count;
    struct builtin *builtin; /* NULL: the host registers the kinds */
    char *endpoint;          /* ADDRESS:PORT; NULL: not set */
};

/* ---- server.c ---- */

/* The call has something to send at the end of the flush. */
void server_ready(struct apiserver *s, struct api_call *c);
void server_add_hook(struct apiserver *s, const struct server_hook *hook);
/* Called from a timer: the host must flush. */
void server_wake(struct apiserver *s);
/* Creates an object (with apiVersion and kind) if it does not exist. */
void server_create(struct apiserver *s, struct json object);
/* A request of the server itself, whose response is ignored; the user is filled in. */
void server_ask(struct apiserver *s, struct api_request *request);
/* Sends bytes; false: stop for now, or finally. */
bool api_call_send(struct api_call *c, struct str bytes);
void api_call_end(struct api_call *c);

/* ---- request.c ---- */

/* Parses path and query, checks authorization, and calls the handler of the verb. Always sets an
 * answer. */
void request_handle(struct api_call *c);
/* The kind with its schema, for kinds that are not stored. */
const struct api_kind *request_with_schema(struct arena *a, const struct api_kind *k);
/* api_behaviour.prune of a kind with a schema and no rules. */
struct json request_prune(
    const struct api_kind *k, struct arena *a, struct json object, struct field_errors *unknown);

/* ---- the verbs; each answers ---- */

void rest_get(struct api_call *c);
void rest_list(struct api_call *c);
void rest_watch(struct api_call *c);
void rest_create(struct api_call *c);
void rest_update(struct api_call *c);
void rest_patch(struct api_call *c);
/* Whether the type of the patch is supported; false: answered. */
bool rest_patch_check_form(struct api_call *c) must_check;
void rest_delete(struct api_call *c);
void rest_delete_collection(struct api_call *c);

/* pods/NAME/log: rest_log.c. */
void rest_get_log(struct api_call *c);

/* pods/NAME/exec, attach and portforward: rest_session.c. */
void rest_session(struct api_call *c);

/* What these have in common: pod_kubelet.c. */
struct pod_kubelet {
    const char *host, *ip;
    int port;
};
/* The pod of the call; *container is set to the requested container (NULL or "": the pod's only
 * one; container NULL: no container is needed). False: answered. */
bool pod_find(struct api_call *c, const char **container, struct json *ret);
/* The address of that node's kubelet; false: answered. */
bool pod_kubelet_find(struct api_call *c, const char *node, struct pod_kubelet *ret);
/* The error message for an unreachable kubelet. */
const char *pod_kubelet_refuses(struct arena *a, const struct pod_kubelet *k);

/* POST on a pod: pod_actions.c. */
void rest_bind(struct api_call *c);
void rest_create_binding(struct api_call *c);
void rest_evict(struct api_call *c);

/* The scale subresource: rest_scale.c. */
void rest_get_scale(struct api_call *c, const struct store_object *parent);
void rest_update_scale(struct api_call *c);

/* ---- streams ---- */

/* Sends as much as fits; true: everything is sent. */
bool list_stream_send(struct api_call *c);
int64_t list_stream_bytes(const struct list_stream *l); /* of the response; -1: unknown */
void list_stream_free(struct list_stream *l);
void watch_stream_send(struct api_call *c);
void watch_stream_free(struct api_call *c);
/* Too many streams are open. */
bool watch_refuse(struct api_call *c);
void log_stream_send(struct api_call *c);
void log_stream_free(struct api_call *c);
/* Releases the last events. */
void watch_batch_forget(struct watch_batch *b);
/* Whether a client on this connection waits for the response to a write. */
bool server_is_writer(const struct apiserver *s, const void *connection);
/* Events held back by the pace are sent with the next flush. */
void watch_release_held(struct apiserver *s);
/* Sends a bookmark to watches that requested them. */
void watch_send_bookmarks(struct apiserver *s);
/* The served kind has changed: its watches end. */
void watch_end_kind(struct apiserver *s, const struct api_kind *k);
