#pragma once

/* Commands in containers, their output, and connections to pods, as the API's pods/exec,
 * pods/attach and pods/portforward offer them: the seam between the built-in API server, which is
 * asked, and the node, which runs the pods.
 *
 *   open ──> output()*, room()* … ended() ──> close
 *            write, end_input, resize
 *
 * Both directions have back-pressure. Handlers come from the loop, never from within a call. */

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
    const char *const *command; /* exec; ended by NULL */
    bool in, out, err;          /* which streams are wanted */
    bool terminal;              /* one for all of them; then there is no err */
    /* Port-forward over channels; over SPDY the client names them later: */
    uint16_t ports[POD_SESSION_PORTS_MAX];
    size_t port_count;
    /* NULL: there is a node. Otherwise how its kubelet was not reached, and where it would be: */
    const char *unreachable, *url;
};

enum pod_session_stream { POD_STDOUT = 1, POD_STDERR = 2 };

struct pod_session_handlers {
    /* False: no room for more now; nothing comes until resume(). */
    bool (*output)(void *ctx, enum pod_session_stream stream, struct str bytes);
    /* Input is taken again. */
    void (*room)(void *ctx);
    /* Once, after all output. */
    void (*ended)(void *ctx, int exit_code);
};

struct pod_session_source {
    /* Of exec or attach. NULL: err says why, ERR_NOT_FOUND if the container does not run. */
    struct pod_session *(*open)(void *self, const struct pod_session_request *request,
        const struct pod_session_handlers *handlers, void *ctx, struct error *err);
    /* Takes all bytes; false: enough for now, wait for room(). */
    bool (*write)(void *self, struct pod_session *s, struct str bytes);
    void (*end_input)(void *self, struct pod_session *s);
    void (*resize)(void *self, struct pod_session *s, uint16_t columns, uint16_t rows);
    void (*resume)(void *self, struct pod_session *s);
    /* Kills the command if it still runs. */
    void (*close)(void *self, struct pod_session *s);
    /* Where the pod's ports are, a numeric address that stays for as long as the pod; NULL: err. */
    const char *(*address)(
        void *self, const struct pod_session_request *request, struct error *err);
    void *self;
};
