#pragma once

/* WebSocket (RFC 6455) as a server speaks it, and as a client does, without the connection: bytes
 * go in, messages come out in pieces, as they come. Nothing of a message is kept, so its length has
 * no limit.
 *
 *   websocket_feed ──> data()*                 a ping is answered by send()
 *                      closed()                once: the other side is through, or broke the rules
 *
 * Text and binary messages are the same here; text is not checked to be UTF-8. */

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
    /* May be empty. first and last: whether it begins and ends a message. */
    void (*data)(void *ctx, struct str bytes, bool first, bool last);
    /* A frame to be sent. */
    void (*send)(void *ctx, struct str frame);
    /* The answer to a close, or the reason for ours, has been sent: what is fed after it is thrown
     * away. */
    void (*closed)(void *ctx);
};

struct websocket {
    const struct websocket_handlers *on;
    void *ctx;
    unsigned char head[14]; /* of the frame that comes */
    size_t head_bytes;
    bool in_frame; /* the head is read */
    unsigned char opcode;
    bool is_last;         /* frame of its message */
    uint64_t left, taken; /* of its payload */
    char control[WEBSOCKET_CONTROL_MAX];
    bool in_message; /* a frame of it came that was not its last */
    bool begun;      /* and a piece of it was handed out */
    bool is_closed;
    bool is_client; /* what comes has no mask, what is sent has one */
};

void websocket_init(struct websocket *w, const struct websocket_handlers *handlers, void *ctx);
/* The other side is a server. */
void websocket_init_client(
    struct websocket *w, const struct websocket_handlers *handlers, void *ctx);
/* data() and send() may do anything but feed. */
void websocket_feed(struct websocket *w, struct str bytes);

/* A binary message of one frame, its payload in two parts. */
void websocket_add_message(struct buf *out, struct str first, struct str second);
/* The same as a client sends it. mask: four bytes by chance. */
void websocket_add_masked(struct buf *out, uint32_t mask, struct str first, struct str second);
/* A text message of one frame. */
void websocket_add_text(struct buf *out, struct str text);
/* A ping without a payload. */
void websocket_add_ping(struct buf *out);
void websocket_add_masked_ping(struct buf *out);
void websocket_add_close(struct buf *out, enum websocket_code code);

/* The value of Sec-WebSocket-Accept. */
const char *websocket_accept(struct arena *a, struct str key);
