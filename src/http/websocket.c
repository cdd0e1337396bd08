#include "http/websocket.h"

#include "base/base64.h"
#include "base/hash.h"

/* Per frame: no client sends larger ones, and a length of 2^63 is an error. */
#define FRAME_BYTES_MAX ((uint64_t)64 << 20)
#define PIECE_BYTES ((size_t)16 << 10)

enum { CONTINUATION = 0, TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10 };
enum { FINAL_BIT = 0x80, RESERVED_BITS = 0x70, OPCODE_BITS = 0x0f, MASK_BIT = 0x80 };

void websocket_init(struct websocket *w, const struct websocket_handlers *handlers, void *ctx)
{
    *w = (struct websocket){ .on = handlers, .ctx = ctx };
}

void websocket_init_client(
    struct websocket *w, const struct websocket_handlers *handlers, void *ctx)
{
    websocket_init(w, handlers, ctx);
    w->is_client = true;
}

/* ---- out ---- */

static void add_head_masked(struct buf *out, unsigned char opcode, size_t length, bool masked)
{
    unsigned char head[10] = { (unsigned char)(FINAL_BIT | opcode) };
    size_t bytes = length < 126 ? 0 : length < 65536 ? 2 : 8;
    head[1] = (unsigned char)(bytes == 0 ? length : bytes == 2 ? 126 : 127);
    head[1] |= masked ? MASK_BIT : 0;
    for (size_t i = 0; i < bytes; i++)
        head[2 + i] = (unsigned char)((uint64_t)length >> 8 * (bytes - 1 - i));
    buf_add(out, head, 2 + bytes);
}

static void add_head(struct buf *out, unsigned char opcode, size_t length)
{
    add_head_masked(out, opcode, length, false);
}

static void add_masked(struct buf *out, const unsigned char mask[4], struct str bytes, size_t from)
{
    char piece[1024];
    for (size_t at = 0; at < bytes.len;) {
        size_t count = bytes.len - at < sizeof(piece) ? bytes.len - at : sizeof(piece);
        for (size_t i = 0; i < count; i++)
            piece[i] = (char)((unsigned char)bytes.ptr[at + i] ^ mask[(from + at + i) % 4]);
        buf_add(out, piece, count);
        at += count;
    }
}

void websocket_add_masked(struct buf *out, uint32_t mask, struct str first, struct str second)
{
    unsigned char bytes[4];
    memcpy(bytes, &mask, sizeof(bytes));
    add_head_masked(out, BINARY, first.len + second.len, true);
    buf_add(out, bytes, sizeof(bytes));
    add_masked(out, bytes, first, 0);
    add_masked(out, bytes, second, first.len);
}

void websocket_add_message(struct buf *out, struct str first, struct str second)
{
    add_head(out, BINARY, first.len + second.len);
    buf_add(out, first.ptr, first.len);
    buf_add(out, second.ptr, second.len);
}

void websocket_add_text(struct buf *out, struct str text)
{
    add_head(out, TEXT, text.len);
    buf_add(out, text.ptr, text.len);
}

void websocket_add_ping(struct buf *out)
{
    add_head(out, PING, 0);
}

void websocket_add_masked_ping(struct buf *out)
{
    add_head_masked(out, PING, 0, true);
    buf_add(out, "\0\0\0", 4);
}

void websocket_add_close(struct buf *out, enum websocket_code code)
{
    char bytes[2] = { (char)(code >> 8), (char)(code & 0xff) };
    add_head(out, CLOSE, sizeof(bytes));
    buf_add(out, bytes, sizeof(bytes));
}

static void answer(struct websocket *w, unsigned char opcode, struct str payload)
{
    cleanup(buf_done) struct buf frame = BUF_INIT(6 + WEBSOCKET_CONTROL_MAX);
    add_head_masked(&frame, opcode, payload.len, w->is_client);
    /* The payload repeats what the peer sent, so a mask of zeros reveals nothing. */
    if (w->is_client)
        buf_add(&frame, "\0\0\0", 4);
    buf_add(&frame, payload.ptr, payload.len);
    w->on->send(w->ctx, buf_str(&frame));
}

const char *websocket_accept(struct arena *a, struct str key)
{
    uint8_t digest[SHA1_BYTES];
    const char *text =
        arena_printf(a, "%.*s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", (int)key.len, key.ptr);
    sha1_of(str_of(text), digest);
    return base64_encode(a, (struct str){ (const char *)digest, sizeof(digest) });
}

/* ---- in ---- */

static void break_off(struct websocket *w, enum websocket_code code)
{
    char bytes[2] = { (char)(code >> 8), (char)(code & 0xff) };
    w->is_closed = true;
    answer(w, CLOSE, (struct str){ bytes, sizeof(bytes) });
    w->on->closed(w->ctx);
}

static bool is_control(const struct websocket *w)
{
    return w->opcode & 8;
}

static size_t length_bytes(const struct websocket *w)
{
    size_t length = w->head[1] & ~MASK_BIT;
    return length == 126 ? 2 : length == 127 ? 8 : 0;
}

/* The mask is at the end of the head. */
static const unsigned char *mask_of(const struct websocket *w)
{
    return w->head + 2 + length_bytes(w);
}

/* The head is complete: checks whether the frame is allowed. */
static void begin_frame(struct websocket *w)
{
    size_t wide = length_bytes(w);
    w->opcode = w->head[0] & OPCODE_BITS;
    w->is_last = w->head[0] & FINAL_BIT;
    w->left = wide ? 0 : w->head[1] & ~MASK_BIT;
    for (size_t i = 0; i < wide; i++)
        w->left = w->left << 8 | w->head[2 + i];
    w->taken = 0;
    w->in_frame = true;
    bool known = w->opcode <= BINARY || (w->opcode >= CLOSE && w->opcode <= PONG);
    bool in_order = is_control(w) ? w->is_last && w->left <= WEBSOCKET_CONTROL_MAX
                                  : (w->opcode == CONTINUATION) == w->in_message;
    if ((w->head[0] & RESERVED_BITS) || !known || !in_order)
        break_off(w, WEBSOCKET_PROTOCOL_ERROR);
    else if (w->left > FRAME_BYTES_MAX)
        break_off(w, WEBSOCKET_TOO_LARGE);
}

/* One more byte of the head; a client masks, a server does not. */
static void take_head(struct websocket *w, struct str *bytes)
{
    w->head[w->head_bytes++] = (unsigned char)*bytes->ptr;
    *bytes = (struct str){ bytes->ptr + 1, bytes->len - 1 };
    if (w->head_bytes < 2)
        return;
    bool masked = w->head[1] & MASK_BIT;
    if (masked == w->is_client)
        break_off(w, WEBSOCKET_PROTOCOL_ERROR);
    else if (w->head_bytes == 2 + length_bytes(w) + (masked ? 4 : 0))
        begin_frame(w);
}

static void end_control(struct websocket *w)
{
    struct str payload = { w->control, (size_t)w->taken };
    if (w->opcode == PING)
        answer(w, PONG, payload);
    if (w->opcode != CLOSE)
        return;
    if (payload.len == 1) {
        break_off(w, WEBSOCKET_PROTOCOL_ERROR);
        return;
    }
    w->is_closed = true;
    answer(w, CLOSE, (struct str){ payload.ptr, payload.len < 2 ? payload.len : 2 });
    w->on->closed(w->ctx);
}

static void end_frame(struct websocket *w)
{
    w->in_frame = false;
    w->head_bytes = 0;
    if (is_control(w)) {
        end_control(w);
        return;
    }
    w->in_message = !w->is_last;
    w->begun = w->begun && w->in_message;
}

static void take_payload(struct websocket *w, struct str *bytes)
{
    char piece[PIECE_BYTES];
    size_t count = bytes->len < sizeof(piece) ? bytes->len : sizeof(piece);
    static const unsigned char none[4];
    const unsigned char *mask = w->is_client ? none : mask_of(w);
    if (count > w->left)
        count = (size_t)w->left;
    for (size_t i = 0; i < count; i++)
        piece[i] = (char)((unsigned char)bytes->ptr[i] ^ mask[(w->taken + i) % 4]);
    *bytes = (struct str){ bytes->ptr + count, bytes->len - count };
    if (is_control(w))
        memcpy(w->control + w->taken, piece, count);
    w->taken += count;
    w->left -= count;
    if (!is_control(w)) {
        bool first = !w->begun;
        w->begun = true;
        w->on->data(w->ctx, (struct str){ piece, count }, first, w->is_last && !w->left);
    }
    if (!w->left)
        end_frame(w);
}

void websocket_feed(struct websocket *w, struct str bytes)
{
    while (!w->is_closed && (bytes.len || (w->in_frame && !w->left))) {
        if (w->in_frame)
            take_payload(w, &bytes);
        else
            take_head(w, &bytes);
    }
}
