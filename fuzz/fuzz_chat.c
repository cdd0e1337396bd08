#include <stdio.h>
#include <stdlib.h>

#include "cli/run/line.h"
#include "cli/run/stream.h"
#include "fuzz/fuzz.h"

#define OUTPUT_BYTES_MAX ((size_t)64 << 20)
#define KEYS_MAX 2000 /* each may draw a line of as many characters */

/* The lines that keys make, with how each ended. */
static void type(
    struct line *l, const struct line_look *look, struct str keys, size_t piece, struct buf *ret)
{
    struct buf out = BUF_INIT(OUTPUT_BYTES_MAX);
    line_begin(l, look, &out);
    while (keys.len) {
        struct str part = { keys.ptr, keys.len < piece ? keys.len : piece };
        keys = (struct str){ keys.ptr + part.len, keys.len - part.len };
        while (part.len) {
            enum line_event event = line_feed(l, &part, &out);
            assert(event != LINE_MORE || !part.len);
            if (event == LINE_MORE)
                continue;
            buf_printf(ret, "%d:%s\n", (int)event, line_text(l));
            line_remember(l, line_text(l));
            line_begin(l, look, &out);
        }
        buf_reset(&out);
    }
    buf_add_text(ret, line_text(l));
    buf_done(&out);
}

static void check_line(uint8_t first, struct str keys)
{
    struct line_look look = { 2 + (first >> 3), 1 + (first >> 2 & 1) * 5, first & 2 };
    struct buf made[2] = { BUF_INIT(OUTPUT_BYTES_MAX), BUF_INIT(OUTPUT_BYTES_MAX) };
    keys.len = keys.len < KEYS_MAX ? keys.len : KEYS_MAX;
    for (int i = 0; i < 2; i++) {
        struct line *l = line_new("> ");
        type(l, &look, keys, i ? 1 : SIZE_MAX, &made[i]);
        line_free(l);
    }
    assert(text_eq(buf_text(&made[0]), buf_text(&made[1])));
    buf_done(&made[0]);
    buf_done(&made[1]);
}

static void add_piece(void *ctx, const char *text, bool thought)
{
    buf_printf(ctx, "%d%s\n", thought, text);
}

static void check_stream(struct str bytes)
{
    struct buf got[2] = { BUF_INIT(OUTPUT_BYTES_MAX), BUF_INIT(OUTPUT_BYTES_MAX) };
    bool ok[2] = { true, true };
    for (int i = 0; i < 2; i++) {
        struct stream s;
        struct error err;
        size_t piece = i ? 3 : bytes.len;
        stream_init(&s, add_piece, &got[i]);
        for (size_t at = 0; at < bytes.len && ok[i]; at += piece) {
            size_t left = bytes.len - at;
            ok[i] =
                stream_feed(&s, (struct str){ bytes.ptr + at, left < piece ? left : piece }, &err);
        }
        stream_done(&s);
    }
    assert(ok[0] == ok[1] && text_eq(buf_text(&got[0]), buf_text(&got[1])));
    buf_done(&got[0]);
    buf_done(&got[1]);
}

/* The first byte says whether the others are keys, and how large the window is, or an answer. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    struct str rest = { (const char *)data + 1, size - 1 };
    if (data[0] & 1)
        check_stream(rest);
    else
        check_line(data[0], rest);
    return 0;
}
