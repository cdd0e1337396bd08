#pragma once

/* A client's connection to a pod through the API server: pods/exec, attach and portforward, after
 * the 101. Clients use WebSocket with channels (the first byte of a message), or SPDY, for
 * port-forward also inside a WebSocket. The runner of the pods is behind kube/pod_session.h.
 *
 *   http exchange ──bytes──> session ──messages──> session_exec.c     a command, or its output
 *                                                  session_forward.c  connections to ports
 *
 * Reading pauses while the other side does not accept data. A session that is idle for four hours
 * ends. */

#include "base/arena.h"
#include "base/str.h"
#include "http/message.h"
#include "http/websocket.h"
#include "kube/pod_session.h"

struct api_answer;
struct http_exchange;
struct loop;
struct session;

/* Shared by all sessions of a server. */
struct session_host {
    struct loop *loop;
    const struct pod_session_source *source; /* NULL: there is no runner of pods */
    size_t count;                            /* number of open sessions */
};

/* The upgrade headers of a request; the strings are in the arena of the request. */
struct session_offer {
    const char *upgrade;   /* "websocket", "SPDY/3.1"; NULL: no upgrade requested */
    const char *key;       /* of WebSocket */
    const char *version;   /* of WebSocket */
    const char *origin;    /* NULL: none */
    const char *protocols; /* each with a leading comma */
};
struct session_offer session_offer_read(struct arena *a, struct http_headers headers);

/* Answers 101 and returns the session, or NULL: *ret_answer, in a, is the refusal. */
struct session *session_new(struct session_host *host, struct http_exchange *http,
    const struct session_offer *offer, const struct pod_session_request *request, struct arena *a,
    struct api_answer *ret_answer) must_check;
/* Called when the exchange was closed. NULL is allowed. */
void session_free(struct session *s);
/* Input from the exchange's handlers. */
void session_feed(struct session *s, struct str bytes);
void session_drained(struct session *s);
/* Ends it: sends a close and finishes the exchange, which is closed soon. */
void session_finish(struct session *s, enum websocket_code code);

/* ---- for session_exec.c and session_forward.c ---- */

struct session_body {
    /* Called before the 101. False: err is the kubelet's message, ERR_INVALID for a request. */
    bool (*open)(struct session *s, const struct pod_session_request *request, struct error *err);
    void (*begin)(void *body); /* called after the 101 */
    /* A message in pieces, see http/websocket.h; without WebSocket, raw bytes. */
    void (*data)(void *body, struct str bytes, bool first, bool last);
    void (*drained)(void *body);
    void (*ping)(void *body); /* without WebSocket, which has its own pings */
    void (*close)(void *body);
};

extern const struct session_body session_exec, session_forward;

void session_set_body(struct session *s, void *body);
struct session_host *session_host(const struct session *s);
/* Sends one message with a payload in two parts. False: the buffer is full, wait for drained(). */
bool session_send(struct session *s, struct str first, struct str second);
/* Data of a command or connection was transferred: the session is not idle. */
void session_touch(struct session *s);
/* Whether to continue reading from the client. */
void session_set_reading(struct session *s, bool on);
/* The features of the protocol: */
bool session_has_spdy(const struct session *s);  /* streams are SPDY's, not channels */
bool session_has_close(const struct session *s); /* channels can be closed individually */
