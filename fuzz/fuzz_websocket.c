#include "fuzz/fuzz.h"
#include "http/websocket.h"

/* What comes out does not depend on the pieces that the bytes come in. */
struct heard {
    uint64_t sum;
    size_t frames, closed;
};

static void add(struct heard *h, struct str bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        h->sum = h->sum * 31 + (unsigned char)bytes.ptr[i];
}

static void on_data(void *ctx, struct str bytes, bool first, bool last)
{
    struct heard *h = ctx;
    assert(!h->closed);
    if (first)
        h->sum = h->sum * 31 + 1000;
    add(h, bytes);
    if (last)
        h->sum = h->sum * 31 + 2000;
}

static void on_send(void *ctx, struct str frame)
{
    struct heard *h = ctx;
    assert(!h->closed && frame.len >= 2 && frame.len <= 6 + WEBSOCKET_CONTROL_MAX);
    h->frames++;
    add(h, frame);
}

static void on_closed(void *ctx)
{
    struct heard *h = ctx;
    assert(h->frames && !h->closed++);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t pieces[] = { 1, 2, 7, 64 };
    static const struct websocket_handlers handlers = { on_data, on_send, on_closed };
    struct heard heard[2] = { 0 };
    for (int i = 0; size && i < 2; i++) {
        struct websocket w;
        size_t piece = i ? pieces[data[0] % 4] : SIZE_MAX;
        if (data[0] & 0x80)
            websocket_init_client(&w, &handlers, &heard[i]);
        else
            websocket_init(&w, &handlers, &heard[i]);
        for (size_t at = 1; at < size;) {
            size_t count = size - at < piece ? size - at : piece;
            websocket_feed(&w, (struct str){ (const char *)data + at, count });
            at += count;
        }
    }
    assert(heard[0].sum == heard[1].sum && heard[0].frames == heard[1].frames &&
           heard[0].closed == heard[1].closed);
    return 0;
}
