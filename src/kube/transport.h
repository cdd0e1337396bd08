#pragma once

/* How a request reaches an API server: the one seam between our client and the world.
 *
 * Production plugs in HTTP over sockets (kube/http_transport), the simulator a call into the
 * built-in server with faults in between. A call goes through these states, strictly in this order:
 *
 *   open ──> head ──> data* ──> end            or, when it fails early,    open ──> end
 *
 * After end() or cancel() nothing more is called and the call is gone. No callback runs inside
 * open() itself. Everything in the request is copied by open(). */

#include "base/error.h"
#include "base/str.h"

struct kube_call; /* one request under way; owned by the transport */

struct kube_request {
    const char *method;       /* GET POST PUT PATCH DELETE */
    const char *path;         /* "/api/v1/pods?limit=500": encoded, with its query */
    const char *content_type; /* of the body; NULL without one */
    const char *accept;       /* NULL: application/json */
    struct str body;
    int64_t timeout_ms; /* open to end; 0: none (streams) */
    int64_t idle_ms;    /* longest silence once open; 0: none */
};

struct kube_head {
    int status;
    int64_t retry_after_ms;   /* 0: none given */
    const char *content_type; /* "" if none */
    const char *warning;      /* text of the first Warning header, or NULL */
};

struct kube_handlers {
    void (*head)(void *ctx, const struct kube_head *head);
    void (*data)(void *ctx, struct str bytes);
    /* err is NULL when the answer is complete, whatever its status. sent says that the server may
     * have got (and acted on) the request: with an error, the outcome is then unknown. */
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
