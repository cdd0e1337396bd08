#pragma once

/* What the files of the server share with one another and nobody else uses. */

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

/* Work that a controller does at the flushes, unless the disk refuses writes. */
struct server_hook {
    void *ctx;
    bool (*is_pending)(const void *ctx);
    void (*before_flush)(void *ctx); /* its writes are in this flush; NULL: nothing */
    void (*after_flush)(void *ctx);  /* after the answers of a turn are out; NULL: nothing */
};
#define SERVER_HOOKS_MAX 8

struct apiserver {
    struct apiserver_options options;
    const struct env *env;
    struct store *store;
    struct registry *registry;
    struct api_call *calls;              /* all that are open */
    struct api_call *ready, **ready_end; /* have something to send with this flush */
    const void *writers[64]; /* connections that asked for a change since the last flush */
    size_t writer_count;
    uint64_t last_steps; /* of the budget of the request that was opened last */
    struct buf scratch;  /* a text on its way into the store */
    struct watch_batch { /* the last events as text, for all who watch them */
        struct buf text;
        const struct api_kind *kind;
        size_t count; /* 0: nobody else can have them */
        struct {
            const struct store_object *object; /* held */
            int type;
        } items[WATCH_BATCH_MAX];
    } batch;
    struct arena spare[8]; /* arenas of ended calls, with their memory */
    size_t spare_count;
    size_t watcher_count;
    struct watch_stream *watches; /* all that are open */
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
    struct builtin *builtin; /* NULL: the kinds are the host's */
    char *endpoint;          /* ADDRESS:PORT; NULL: nobody said it */
};

/* ---- server.c ---- */

/* The call has something to send; it does so at the end of the flush. */
void server_ready(struct apiserver *s, struct api_call *c);
void server_add_hook(struct apiserver *s, const struct server_hook *hook);
/* From a timer: the host must flush. */
void server_wake(struct apiserver *s);
/* An object with apiVersion and kind, created if it is not there. */
void server_create(struct apiserver *s, struct json object);
/* A request of the server itself, whose answer nothing reads; its user is filled in. */
void server_ask(struct apiserver *s, struct api_request *request);
/* Sends bytes; false: stop for now, or for good. */
bool api_call_send(struct api_call *c, struct str bytes);
void api_call_end(struct api_call *c);

/* ---- request.c ---- */

/* Reads path and query, asks whether it is allowed, and hands it to its verb: always answers. */
void request_handle(struct api_call *c);
/* The kind with its schema, which those that nobody stores come without. */
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
/* Whether it is a patch of a form that there is; false: answered. */
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
/* The pod of the call, and into *container the one that is asked for (NULL or "": the pod's only
 * one; container NULL: none is meant). False: answered. */
bool pod_find(struct api_call *c, const char **container, struct json *ret);
/* Where a kubelet of that node would be; false: answered. */
bool pod_kubelet_find(struct api_call *c, const char *node, struct pod_kubelet *ret);
/* How it is not reached there. */
const char *pod_kubelet_refuses(struct arena *a, const struct pod_kubelet *k);

/* What a POST does to a pod: pod_actions.c. */
void rest_bind(struct api_call *c);
void rest_create_binding(struct api_call *c);
void rest_evict(struct api_call *c);

/* The scale subresource: rest_scale.c. */
void rest_get_scale(struct api_call *c, const struct store_object *parent);
void rest_update_scale(struct api_call *c);

/* ---- streams ---- */

/* Sends what there is room for; true: all of it is sent. */
bool list_stream_send(struct api_call *c);
int64_t list_stream_bytes(const struct list_stream *l); /* of the answer; -1: not known */
void list_stream_free(struct list_stream *l);
void watch_stream_send(struct api_call *c);
void watch_stream_free(struct api_call *c);
/* Too many streams are open. */
bool watch_refuse(struct api_call *c);
void log_stream_send(struct api_call *c);
void log_stream_free(struct api_call *c);
/* Lets go of the events that were sent last. */
void watch_batch_forget(struct watch_batch *b);
/* Whether somebody on this connection waits for the answer to a change. */
bool server_is_writer(const struct apiserver *s, const void *connection);
/* What waited for the pace goes out with the next flush. */
void watch_release_held(struct apiserver *s);
/* Those who asked for bookmarks get one. */
void watch_send_bookmarks(struct apiserver *s);
/* The kind is no longer served as it was: watches of it end. */
void watch_end_kind(struct apiserver *s, const struct api_kind *k);
