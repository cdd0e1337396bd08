#pragma once

/* How a request reaches an API server: the only interface between our client and the outside.
 *
 * Production uses HTTP over sockets (kube/http_transport). The simulator calls the built-in server
 * directly, with injected faults. A call goes through these states, in this order:
 *
 *   open ──> head ──> data* ──> end            or, when it fails early,    open ──> end
 *
 * After end() or cancel() there are no more callbacks, and the call is freed. No callback runs
 * inside open() itself. open() copies the whole request. */

#include "base/error.h"
#include "base/str.h"

struct kube_call; /* one request in progress; owned by the transport */

struct kube_request {
    const char *method;       /* GET POST PUT PATCH DELETE */
    const char *path;         /* "/api/v1/pods?limit=500": encoded, with the query */
    const char *content_type; /* of the body; NULL without one */
    const char *accept;       /* NULL: application/json */
    struct str body;
    int64_t timeout_ms; /* from open to end; 0: none (streams) */
    int64_t idle_ms;    /* longest time without data; 0: no limit */
};

struct kube_head {
    int status;
    int64_t retry_after_ms;   /* 0: not set */
    const char *content_type; /* "" if none */
    const char *warning;      /* text of the first Warning header, or NULL */
};

struct kube_handlers {
    void (*head)(void *ctx, const struct kube_head *head);
    void (*data)(void *ctx, struct str bytes);
    /* err is NULL if the response is complete, whatever its status. sent: the server may have
     * received (and executed) the request. With an error, the result is then unknown. */
    void (*end)(void *ctx, const struct error *err, bool sent);
};

struct kube_transport {
    struct kube_call *(*open)(void *self, const struct kube_request *request,
        const struct kube_handlers *handlers, void *ctx);
    void (*cancel)(void *self, struct kube_call *call);
    void *self;
};

static inline struct kube_call *kube_open(const struct kube_transport *t,
    const struct kube_request *request, const struct kube_handlers *handlers, void *ctx)
{
    return t->open(t->self, request, handlers, ctx);
}
static inline void kube_cancel(const struct kube_transport *t, struct kube_call *call)
{
    t->cancel(t->self, call);
}
