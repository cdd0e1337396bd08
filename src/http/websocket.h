#pragma once

/* WebSocket (RFC 6455) for servers and clients, without the connection: bytes are fed in, and
 * messages are delivered in parts as they arrive. Messages are not stored, so their length is not
 * limited.
 *
 *   websocket_feed ──> data()*                 a ping is answered through send()
 *                      closed()                once: the peer closed, or violated the protocol
 *
 * Text and binary messages are treated alike; text is not checked to be UTF-8. */

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

#define WEBSOCKET_CONTROL_MAX 125

enum websocket_code {
    WEBSOCKET_NORMAL = 1000,
    WEBSOCKET_GOING_AWAY = 1001,
    WEBSOCKET_PROTOCOL_ERROR = 1002,
    WEBSOCKET_TOO_LARGE = 1009,
    WEBSOCKET_INTERNAL_ERROR = 1011,
};

struct websocket_handlers {
    /* May be empty. first and last: whether it begins or ends a message. */
    void (*data)(void *ctx, struct str bytes, bool first, bool last);
    /* Sends a frame. */
    void (*send)(void *ctx, struct str frame);
    /* The reply to a close, or our own close, has been sent: input after this is discarded. */
    void (*closed)(void *ctx);
};

struct websocket {
    const struct websocket_handlers *on;
    void *ctx;
    unsigned char head[14]; /* of the incoming frame */
    size_t head_bytes;
    bool in_frame; /* the head is complete */
    unsigned char opcode;
    bool is_last;         /* last frame of its message */
    uint64_t left, taken; /* of its payload */
    char control[WEBSOCKET_CONTROL_MAX];
    bool in_message; /* a frame of the message arrived that was not its last */
    bool begun;      /* and a part of it was delivered */
    bool is_closed;
    bool is_client; /* incoming frames have no mask, outgoing ones do */
};

void websocket_init(struct websocket *w, const struct websocket_handlers *handlers, void *ctx);
/* The peer is a server. */
void websocket_init_client(
    struct websocket *w, const struct websocket_handlers *handlers, void *ctx);
/* data() and send() may call everything but websocket_feed(). */
void websocket_feed(struct websocket *w, struct str bytes);

/* A binary message of one frame, its payload in two parts. */
void websocket_add_message(struct buf *out, struct str first, struct str second);
/* The same, from a client. mask: four random bytes. */
void websocket_add_masked(struct buf *out, uint32_t mask, struct str first, struct str second);
/* A text message of one frame. */
void websocket_add_text(struct buf *out, struct str text);
/* A ping without a payload. */
void websocket_add_ping(struct buf *out);
void websocket_add_masked_ping(struct buf *out);
void websocket_add_close(struct buf *out, enum websocket_code code);

/* The value of Sec-WebSocket-Accept. */
const char *websocket_accept(struct arena *a, struct str key);
