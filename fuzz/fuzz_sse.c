/* Server-sent events: pieces of any size give the same events as the whole, and what is written is
 * read back. */

#include "base/buf.h"
#include "fuzz/fuzz.h"
#include "http/sse.h"

#define EVENT_MAX ((size_t)4096)

static void add(struct buf *to, char tag, struct str text)
{
    buf_printf(to, "%c%zu:", tag, text.len);
    buf_add(to, text.ptr, text.len);
}

static void read_all(struct str text, size_t piece, struct buf *to)
{
    struct sse_reader r;
    struct sse_event event;
    sse_reader_init(&r, EVENT_MAX);
    while (text.len && !sse_failed(&r)) {
        struct str part = { text.ptr, text.len < piece ? text.len : piece };
        text = (struct str){ text.ptr + part.len, text.len - part.len };
        while (!sse_failed(&r) && sse_read(&r, &part, &event)) {
            add(to, 't', event.type);
            add(to, 'd', event.data);
            add(to, 'i', event.id);
        }
    }
    if (sse_failed(&r))
        buf_add_text(to, "failed");
    sse_reader_done(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size };
    struct buf whole = BUF_INIT((size_t)4 << 20);
    static const size_t pieces[] = { 1, 3, 7 };
    read_all(text, SIZE_MAX, &whole);
    for (size_t i = 0; i < lengthof(pieces); i++) {
        struct buf parts = BUF_INIT((size_t)4 << 20);
        read_all(text, pieces[i], &parts);
        assert(str_eq(buf_str(&whole), buf_str(&parts)));
        buf_done(&parts);
    }
    buf_done(&whole);
    return 0;
}
