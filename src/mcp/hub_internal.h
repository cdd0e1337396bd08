#pragma once

/* Shared by the files of the hub; see hub.h. */

#include "base/table.h"
#include "base/timer.h"
#include "mcp/backend.h"
#include "mcp/exchange.h"
#include "mcp/hub.h"
#include "mcp/rpc.h"
#include "mcp/session.h"
#include "mcp/wire.h"

/* The requests that a client supports. */
enum { CAN_ROOTS = 1, CAN_SAMPLING = 2, CAN_ELICIT = 4 };

#define HUB_ARENA_BYTES ((size_t)512 << 20)
#define HUB_ARENA                                                                                  \
    {                                                                                              \
        .limit = HUB_ARENA_BYTES                                                                   \
    }

struct line;
struct peer;

/* A request from the server to a client. It is allocated in the arena of its call. */
struct ask {
    struct ask *next;
    struct hub_call *call;
    struct str id;       /* as the server wrote it; .ptr NULL: from a modern server, see key */
    const char *key;     /* the id that the client sees */
    const char *name;    /* in a modern server's inputRequests */
    struct json request; /* method and params */
    bool handed_out, answered;
    struct json answer; /* from a legacy client to a modern server */
};

/* A request from a client that is in progress. */
struct hub_call {
    struct table_node by_id, by_token;
    struct hub *hub;
    struct line *line;
    struct hub_call *newer, *older;          /* on the line */
    struct hub_call *peer_next, **peer_link; /* of the same client */
    struct peer *peer;                       /* NULL: no session */
    struct mcp_exchange *x; /* NULL: the client left, or waits on another exchange */
    struct arena arena;
    struct wire_tag tag;
    const char *id;          /* the id at the server: JSON text */
    struct str client_id;    /* as the client wrote it */
    const char *token;       /* the progress token at the server; NULL: none */
    struct str client_token; /* as the client wrote it */
    const char *method, *resource, *subject, *issuer;
    struct str request; /* the client's message */
    struct str state;   /* a modern server's requestState: JSON text */
    unsigned can;       /* CAN_… */
    int log_level;      /* requested by a modern client; -1: none */
    bool sent, modern, cancelled, is_initialize;
    bool endless;    /* subscriptions/listen */
    unsigned rounds; /* rounds of mid-call input */
    struct ask *asks;
    unsigned ask_count;
    /* A modern client's call to a legacy server that waits for input. */
    bool parked;
    const char *secret; /* first part of the requestState that identifies it */
    struct timer patience;
};

/* Receives notifications that belong to no call: the GET of a legacy client, or the
 * subscriptions/listen of a modern one. */
struct outlet {
    struct hub *hub;
    struct outlet *next, **link;
    struct mcp_exchange *x;
    struct peer *peer; /* NULL: of a modern client */
    struct str listen_id;
    struct json filter; /* of a modern client */
    bool is_session;    /* HTTP+SSE: the session ends with this stream */
    struct arena arena;
};

/* A legacy client, attached to its session. */
struct peer {
    struct hub *hub;
    struct mcp_session *session;
    struct outlet *stream; /* receives notifications */
    struct hub_call *calls;
    size_t call_count;
    unsigned can;
    int level; /* minimum level of log messages: 0 debug … 7; -1: never set */
    struct subscription *subscriptions;
    size_t subscription_count;
    char *hello; /* params of its initialize: JSON text */
};

struct subscription {
    struct subscription *next;
    char uri[];
};

enum line_state {
    LINE_DOWN,
    LINE_IDLE,         /* connected; no client has needed it yet */
    LINE_PROBING,      /* server/discover was sent */
    LINE_INITIALIZING, /* initialize was sent */
    LINE_READY,
};

struct line {
    struct hub *hub;
    struct mcp_wire *wire;
    enum line_state state;
    bool modern;           /* the server is of 2026-07-28 */
    bool owes_initialized; /* notifications/initialized has not been sent */
    bool tried_modern, tried_legacy;
    bool wanted; /* make the handshake as soon as the line is connected */
    const char *handshake_id;
    struct arena arena;      /* for this and the following, until the next handshake */
    struct str hello;        /* params of initialize */
    struct str about;        /* the result of initialize or server/discover, as written */
    struct json about_value; /* the same, parsed */
    struct hub_call *newest; /* all calls */
    struct timer patience;
    int level; /* log level at the server; -1: never set */
    /* subscriptions/listen at a modern server, on behalf of all legacy clients. */
    struct wire_tag listen;
    uint64_t listen_number; /* 0: there is none */
};

struct hub {
    struct mcp_backend base;
    struct hub_options o;
    struct table calls, tokens;
    size_t call_count;
    uint64_t numbers;
    struct line line;
    struct outlet *streams;
};

/* ---- hub.c ---- */

struct hub_call *hub_call_new(struct hub *hub, struct mcp_exchange *x, struct peer *peer);
/* Frees it; the server's answer will be discarded. */
void hub_call_free(struct hub_call *c);
/* Expects no answer any more; it may be sent again. */
void hub_call_unsend(struct hub_call *c);
/* Sends the client's message under the call's id once the line is ready. */
void hub_call_begin(struct hub_call *c, struct str raw);
/* Ends it with a JSON-RPC error to its client, with this status if nothing was sent yet. */
void hub_call_fail(struct hub_call *c, int status, int64_t code, const char *text);
void hub_refuse(struct mcp_exchange *x, int status, int64_t code, const char *text);
unsigned hub_read_capabilities(struct json capabilities);
/* Log levels of RFC 5424: 0 debug … 7 emergency; -1 and NULL if unknown. */
int hub_level_of(const char *name);
const char *hub_level_name(int level);
void hub_send(struct line *l, struct str raw);
/* Sends {"jsonrpc":"2.0","method":METHOD,"params":PARAMS}. */
void hub_notify(struct line *l, const char *method, struct json params);

/* ---- hub_line.c ---- */

void line_init(struct line *l, struct hub *hub, struct mcp_wire *wire);
void line_done(struct line *l);
/* Starts the handshake if there was none. params: of a client's initialize, or absent. */
void line_want(struct line *l, bool modern, const char *id, struct json params);
/* Handles the server's answer to the handshake. False: it is another message. */
bool line_take_handshake(struct line *l, const struct mcp_message *m);
void line_flush_initialized(struct line *l);
/* The handshake is complete: sends the waiting calls. */
void line_send_waiting(struct line *l);

/* ---- hub_server.c ---- */

void hub_take_line(struct line *l, struct hub_call *about, struct str text);
/* The response stream of a call ended without an answer. */
void hub_take_end(struct hub_call *c, const struct error *err);
/* Passes the server's answer to its client. */
void hub_deliver(struct hub_call *c, const struct mcp_message *m, struct arena *a);
/* Sends a message to the client of a call before its answer. False: the client cannot be
 * reached. */
bool hub_tell(struct hub_call *c, struct str raw);

/* ---- hub_outlet.c ---- */

struct peer *peer_new(struct hub *hub, struct mcp_session *session, unsigned can);
void peer_free(struct peer *p);
void peer_set_hello(struct peer *p, const char *text);
struct outlet *outlet_new(struct hub *hub, struct mcp_exchange *x, struct peer *peer);
void outlet_open(struct hub *hub, struct mcp_exchange *x, struct peer *peer);
/* GET /sse: starts a session whose messages are all sent on this stream. */
void outlet_open_sse(struct hub *hub, struct mcp_exchange *x);
void outlet_close(struct outlet *s);
void outlet_write(struct outlet *s, struct str raw);
/* Sends to every stream that subscribed to it. */
void outlets_broadcast(struct hub *hub, const struct mcp_message *m, struct arena *a);
bool peer_subscribe(struct peer *p, const char *uri);
void peer_unsubscribe(struct peer *p, const char *uri);
bool peer_is_subscribed(const struct peer *p, const char *uri);
bool hub_anyone_subscribed(struct hub *hub, const char *uri);

/* ---- hub_modern.c ---- */

/* Handles a request from a modern client. */
void modern_request(struct hub *hub, struct mcp_exchange *x);
/* … and converts it for a legacy server. */
struct str modern_request_text(struct hub_call *c, struct str raw, struct arena *a);
void modern_set_level(struct hub_call *c);
bool modern_wants_log(const struct hub_call *c, const char *level);
/* subscriptions/listen in front of a legacy server: the call becomes a stream. */
void modern_listen(struct hub_call *c);
/* Converts a legacy server's answer for a modern client. */
struct str modern_result(struct hub_call *c, const struct mcp_message *m, struct arena *a);
/* A legacy server sends a request during a modern client's call. */
void modern_ask(struct hub_call *c);

/* ---- hub_legacy.c ---- */

/* Subscribes at a modern server to the changes that its legacy clients want. */
void legacy_listen(struct line *l);
/* Converts a legacy client's message for a modern server. */
struct str legacy_request(struct hub_call *c, struct str raw, struct arena *a);
/* Handles a modern server's answer for a legacy client. True: it was a request for input. */
bool legacy_input_required(struct hub_call *c, const struct mcp_message *m);
/* A legacy client has answered a modern server's request for input. */
void legacy_input_given(struct ask *k, const struct mcp_message *m);
/* Converts the result of a modern server's discover to that of initialize. */
struct str legacy_initialize_result(struct line *l, struct arena *a, const char *version);
