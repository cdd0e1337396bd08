#pragma once

/* Commands in containers, their output, and connections to pods, for the API's pods/exec,
 * pods/attach and pods/portforward: the interface between the built-in API server, which gets the
 * requests, and the node, which runs the pods.
 *
 *   open ──> output()*, room()* … ended() ──> close
 *            write, end_input, resize
 *
 * Both directions have back-pressure. Handlers are called from the loop, never from inside a
 * call. */

#include "base/error.h"
#include "base/str.h"

#define POD_SESSION_PORTS_MAX 64

struct pod_session;

enum pod_session_kind { POD_EXEC, POD_ATTACH, POD_PORT_FORWARD };

struct pod_session_request {
    enum pod_session_kind kind;
    const char *ns, *pod, *uid;
    /* exec and attach: */
    const char *container;
    const char *const *command; /* for exec; NULL-terminated */
    bool in, out, err;          /* the requested streams */
    bool terminal;              /* a terminal; then there is no separate err */
    /* Port-forward over WebSocket channels (over SPDY the client names the ports later): */
    uint16_t ports[POD_SESSION_PORTS_MAX];
    size_t port_count;
    /* NULL if there is a node. Otherwise the message for an unreachable kubelet, and its URL: */
    const char *unreachable, *url;
};

enum pod_session_stream { POD_STDOUT = 1, POD_STDERR = 2 };

struct pod_session_handlers {
    /* Returns false if there is no more room; then wait for resume(). */
    bool (*output)(void *ctx, enum pod_session_stream stream, struct str bytes);
    /* Input is accepted again. */
    void (*room)(void *ctx);
    /* Called once, after all output. */
    void (*ended)(void *ctx, int exit_code);
};

struct pod_session_source {
    /* For exec or attach. Returns NULL with err; ERR_NOT_FOUND if the container is not running. */
    struct pod_session *(*open)(void *self, const struct pod_session_request *request,
        const struct pod_session_handlers *handlers, void *ctx, struct error *err);
    /* Takes all bytes. False means: wait for room() before writing again. */
    bool (*write)(void *self, struct pod_session *s, struct str bytes);
    void (*end_input)(void *self, struct pod_session *s);
    void (*resize)(void *self, struct pod_session *s, uint16_t columns, uint16_t rows);
    void (*resume)(void *self, struct pod_session *s);
    /* Kills the command if it is still running. */
    void (*close)(void *self, struct pod_session *s);
    /* The numeric address of the pod's ports, which stays the same as long as the pod exists; NULL
     * with err. */
    const char *(*address)(
        void *self, const struct pod_session_request *request, struct error *err);
    void *self;
};
