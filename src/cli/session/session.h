#pragma once

/* A client's connection to a pod through the API server: pods/exec, attach and portforward, from
 * the 101 on. Clients speak WebSocket with channels (the first byte of a message), or SPDY, for
 * port-forward also inside a WebSocket; behind it is who runs the pods (kube/pod_session.h).
 *
 *   http exchange ──bytes──> session ──messages──> session_exec.c     a command, or its output
 *                                                  session_forward.c  connections to ports
 *
 * Nothing is read that the other side does not take. A session that is idle for four hours ends. */

#include "base/arena.h"
#include "base/str.h"
#include "http/message.h"
#include "http/websocket.h"
#include "kube/pod_session.h"

struct api_answer;
struct http_exchange;
struct loop;
struct session;

/* What all sessions of a server share. */
struct session_host {
    struct loop *loop;
    const struct pod_session_source *source; /* NULL: there are none */
    size_t count;                            /* that are open */
};

/* What a request offers to become; its texts are in the arena of the request. */
struct session_offer {
    const char *upgrade;   /* "websocket", "SPDY/3.1"; NULL: it asks for no upgrade */
    const char *key;       /* of WebSocket */
    const char *version;   /* of WebSocket */
    const char *origin;    /* NULL: none */
    const char *protocols; /* each with a comma before it */
};
struct session_offer session_offer_read(struct arena *a, struct http_headers headers);

/* Answers 101 and goes on, or NULL: *ret_answer, in a, says why not. */
struct session *session_new(struct session_host *host, struct http_exchange *http,
    const struct session_offer *offer, const struct pod_session_request *request, struct arena *a,
    struct api_answer *ret_answer) must_check;
/* When the exchange was closed. NULL is fine. */
void session_free(struct session *s);
/* What the exchange's handlers say. */
void session_feed(struct session *s, struct str bytes);
void session_drained(struct session *s);
/* Ends it: says goodbye and finishes the exchange, which is closed soon. */
void session_finish(struct session *s, enum websocket_code code);

/* ---- for session_exec.c and session_forward.c ---- */

struct session_body {
    /* Before the 101. False: err is the kubelet's word, ERR_INVALID of a request. */
    bool (*open)(struct session *s, const struct pod_session_request *request, struct error *err);
    void (*begin)(void *body); /* after it */
    /* A message in pieces, see http/websocket.h; without WebSocket, bytes. */
    void (*data)(void *body, struct str bytes, bool first, bool last);
    void (*drained)(void *body);
    void (*ping)(void *body); /* without WebSocket, which has its own */
    void (*close)(void *body);
};

extern const struct session_body session_exec, session_forward;

void session_set_body(struct session *s, void *body);
struct session_host *session_host(const struct session *s);
/* One message, its payload in two parts. False: enough for now, drained() comes. */
bool session_send(struct session *s, struct str first, struct str second);
/* Bytes of a command or of a connection have moved: it is not idle. */
void session_touch(struct session *s);
/* Whether to read on from the client. */
void session_set_reading(struct session *s, bool on);
/* What the protocol can do: */
bool session_has_spdy(const struct session *s);  /* streams are SPDY's, not channels */
bool session_has_close(const struct session *s); /* channels can be closed, one by one */
