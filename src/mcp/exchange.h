#pragma once

/* One request of an MCP client on its way through the chain; the private part of mcp/middleware.h.
 * Only files of this folder include it.
 *
 *   chain.c      runs the steps: head, body, message, backend
 *   exchange.c   what steps may read and change
 *   answer.c     the response: bytes or messages of the backend, through answer() of the steps
 *   proxy.c      the listener, /health, sessions, and which backend gets it
 *
 * It ends when the HTTP exchange closes: end() of every step is called, then it is freed. */

#include "base/buf.h"
#include "http/sse.h"
#include "mcp/middleware.h"

struct http_call;
struct http_exchange;
struct http_request_head;
struct mcp_backend;
struct mcp_proxy;
struct mcp_session;
struct outlet;

enum mcp_stage { STAGE_HEAD, STAGE_BODY, STAGE_MESSAGE, STAGE_BACKEND, STAGE_DONE };

/* The process-wide state of a step. */
struct mcp_link {
    const struct mcp_step *step;
    void *state;
};

struct mcp_chain {
    struct mcp_link *links;
    size_t count;
};

struct header_change {
    const char *name, *value; /* value NULL: dropped */
    struct header_change *next;
};

struct mcp_exchange {
    struct mcp_proxy *proxy;
    struct http_exchange *http; /* NULL: closed */
    struct mcp_exchange *next, **link;
    struct arena arena;
    /* the request */
    struct str method, path, query, authority;
    struct http_headers headers;
    bool tls;
    char remote[46];
    uint16_t remote_port;
    int64_t started_ms, started_wall_ms;
    int64_t body_bytes, body_limit;
    size_t body_counted; /* its share of the request bytes that the proxy holds */
    struct buf body;
    bool body_ended;
    struct mcp_message request;
    struct mcp_identity identity;
    struct str session_id; /* as the client sent it */
    struct mcp_session *session;
    struct header_change *changes;
    /* the chain */
    enum mcp_stage stage;
    size_t step;   /* whose hook is next */
    void **slots;  /* one per step */
    bool waiting;  /* for mcp_step_continue() */
    bool deferred; /* the answer is set, but the end of the body is awaited */
    bool denied;
    bool is_signed;          /* mcp_set_signed() */
    int64_t request_capture; /* mcp_capture_request() */
    bool *wants;             /* per step: answer() */
    bool wants_any;
    /* an answer instead of the backend's */
    bool answered;
    int answer_status;
    const char *answer_type;
    struct str answer_body;
    struct http_header answer_headers[16];
    size_t answer_header_count;
    struct str answer_error; /* from answer(): replaces the message */
    /* the backend's answer */
    struct mcp_backend *backend; /* NULL: not sent, or ended */
    void *call;                  /* private to the backend */
    int status;
    int64_t answer_bytes;
    bool responded, finished, is_stream, reading, backend_ended, backend_failed;
    bool in_messages; /* answer() runs, or is deferred */
    struct buf held;  /* part of the answer: a JSON body, or what follows the current message */
    struct sse_reader sse;
    struct sse_event event; /* the event of the current message */
    int held_status;        /* status of an answer that is read completely before it is passed on */
    struct http_headers held_headers;
    struct mcp_message reply;
    struct arena message; /* on a stream: memory of the current message */
    void **kept_slots;    /* the values of slots before the message */
    struct buf captured;
    size_t capture_max;
    /* for the hub */
    struct outlet *stream; /* it carries notifications; see mcp/hub_internal.h */
    int message_status;    /* of an answer that is one message; 0: 200 */
    bool behind;           /* the client does not read */
    size_t behind_bytes;   /* bytes written since then */
    /* HTTP+SSE: the request was answered with 202, and its messages are sent on `sink`. The
     * exchange lives until the last message, without a connection. */
    bool is_detached;
    struct mcp_exchange *sink; /* NULL: that stream has ended */
    bool is_sink;              /* it has been another exchange's sink */
};

/* ---- chain.c ---- */

/* Opens the steps of the list. */
bool chain_open(
    struct mcp_chain *c, const struct mcp_open *o, struct json list, struct error *err) must_check;
void chain_close(struct mcp_chain *c);
void chain_begin(struct mcp_exchange *x);
/* The body is complete, or the step has decided: runs the chain as far as possible. */
void chain_run(struct mcp_exchange *x);
void chain_end(struct mcp_exchange *x);
/* x->status is set and is sent now. */
void chain_begun(struct mcp_exchange *x);
/* Sends the answer that mcp_answer() set. */
void chain_send_answer(struct mcp_exchange *x);

/* ---- proxy.c ---- */

const struct mcp_chain *proxy_chain(const struct mcp_proxy *p);
/* All steps have passed it: session, then backend. */
void proxy_dispatch(struct mcp_exchange *x);
/* Sends a plain answer of the proxy, "text\n", with nosniff. */
void proxy_answer_text(struct mcp_exchange *x, int status, const char *text);
const char *proxy_backend_url(const struct mcp_exchange *x);
/* Frees a detached exchange. */
void proxy_release(struct mcp_exchange *x);
/* The answer to an initialize assigned this session id. */
void proxy_session_begun(struct mcp_exchange *x, struct str id);

/* ---- answer.c: for backends ---- */

/* Starts an answer that is passed on. */
void answer_head(
    struct mcp_exchange *x, int status, struct http_headers headers, int64_t body_bytes);
void answer_data(struct mcp_exchange *x, struct str bytes);
/* err: the backend failed; before the answer's start that is a 502, after it the answer is cut
 * off. */
void answer_end(struct mcp_exchange *x, const struct error *err);
/* The answer as messages: any number, then the last one. The client gets events, or the last
 * message as JSON if it does not accept events. answer_head() must not have been called. */
void answer_message(struct mcp_exchange *x, struct str message, bool last);
/* Starts an event stream before the first message. */
void answer_begin_events(struct mcp_exchange *x);
/* Answers 202 now; the messages are sent on another exchange. */
void answer_detach(struct mcp_exchange *x, struct mcp_exchange *sink);
/* Sends an event that is not a message. */
void answer_event(struct mcp_exchange *x, const char *type, const char *data);
/* Closes the client's connection. */
void answer_cut(struct mcp_exchange *x);
/* The client reads again. */
void answer_drained(struct mcp_exchange *x);
void answer_continue(struct mcp_exchange *x, enum mcp_verdict verdict);
bool answer_takes_events(const struct mcp_exchange *x);
