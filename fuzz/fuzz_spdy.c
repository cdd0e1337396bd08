#include "fuzz/fuzz.h"
#include "http/spdy.h"

/* What comes out does not depend on the pieces that the bytes come in; streams are answered, or
 * opened where we are the client. */
struct heard {
    struct spdy *spdy;
    uint64_t sum;
};

static void add(struct heard *h, struct str bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        h->sum = h->sum * 31 + (unsigned char)bytes.ptr[i];
}

static void on_opened(void *ctx, uint32_t id, struct http_headers headers)
{
    struct heard *h = ctx;
    h->sum = h->sum * 31 + id;
    for (size_t i = 0; i < headers.count; i++) {
        add(h, headers.list[i].name);
        add(h, headers.list[i].value);
    }
    if (headers.count)
        spdy_reply(h->spdy, id);
    else
        spdy_reset(h->spdy, id, SPDY_PROTOCOL_ERROR);
}

static void on_data(void *ctx, uint32_t id, struct str bytes, bool last)
{
    struct heard *h = ctx;
    add(h, bytes); /* of which stream is told at its end: pieces are many */
    if (last)
        spdy_send(h->spdy, id, STR("x"), true);
}

static void on_reset(void *ctx, uint32_t id)
{
    struct heard *h = ctx;
    h->sum = h->sum * 31 + id + 7;
}

static void on_replied(void *ctx, uint32_t id)
{
    struct heard *h = ctx;
    h->sum = h->sum * 31 + id + 9;
    spdy_send(h->spdy, id, STR("y"), false);
}

static void on_send(void *ctx, struct str first, struct str second)
{
    add(ctx, first);
    add(ctx, second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t pieces[] = { 1, 2, 7, 64 };
    static const struct spdy_handlers handlers = {
        on_opened, on_data, on_reset, on_send, on_replied
    };
    uint64_t sums[2] = { 0 };
    for (int i = 0; size && i < 2; i++) {
        struct heard h = { 0 };
        struct error err = { 0 };
        bool ok = true;
        size_t piece = i ? pieces[data[0] % 4] : SIZE_MAX;
        bool is_client = data[0] & 0x80;
        h.spdy = is_client ? spdy_new_client(&handlers, &h) : spdy_new(&handlers, &h);
        struct http_header stream = { STR("streamtype"), STR("error") };
        if (is_client)
            h.sum += spdy_open(h.spdy, (struct http_headers){ &stream, 1 });
        for (size_t at = 1; ok && at < size;) {
            size_t count = size - at < piece ? size - at : piece;
            ok = spdy_feed(h.spdy, (struct str){ (const char *)data + at, count }, &err);
            at += count;
        }
        sums[i] = h.sum * 31 + (uint64_t)err.code;
        spdy_free(h.spdy);
    }
    assert(sums[0] == sums[1]);
    return 0;
}
