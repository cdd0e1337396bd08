#include "tests/http/rig.h"

static const struct {
    const char *name;
    int flags;
} kinds[] = {
    { "HTTP/1.1", RIG_H1 },
    { "HTTP/2", RIG_H2 },
    { "HTTP/1.1 with TLS", RIG_H1 | RIG_TLS },
    { "HTTP/2 with TLS", RIG_H2 | RIG_TLS },
};

TEST(call_gets_status_header_and_body)
{
    for (size_t i = 0; i < lengthof(kinds); i++) {
        struct rig r;
        struct seen got = { 0 };
        rig_open(&r, kinds[i].flags);
        rig_get(&r, "/hello", &got);
        check(!got.ended && got.heads == 0); /* nothing from inside open */
        await(&r, got.ended);
        check_text(got.err.text, "");
        check_int(got.status, 200);
        check_text(buf_text(&got.body), "hello");
        check_text(got.header, "yes");
        check_int(got.body_bytes, 5);
        check_int(got.heads, 1);
        check_int(got.http2, kinds[i].flags & RIG_H2);
        await(&r, r.closed == 1);
        check_int(r.failed, 0);
        seen_done(&got);
        rig_close(&r);
    }
}
