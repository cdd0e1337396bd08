#include "http/websocket.h"

#include "tests/test.h"

/* What a server hears: messages as [piece piece], answers as <opcode:payload>, the end as |. */
struct heard {
    struct buf text;
};

static void on_data(void *ctx, struct str bytes, bool first, bool last)
{
    struct heard *h = ctx;
    buf_printf(&h->text,
        "%s%.*s%s",
        first ? "[" : "",
        (int)bytes.len,
        bytes.ptr ? bytes.ptr : "",
        last ? "]" : "");
}

static void on_send(void *ctx, struct str frame)
{
    struct heard *h = ctx;
    int opcode = (unsigned char)frame.ptr[0] & 15, length = (unsigned char)frame.ptr[1];
    check_int(length, (int64_t)frame.len - 2);
    if (opcode == 8 && length == 2)
        buf_printf(
            &h->text, "<8:%d>", (unsigned char)frame.ptr[2] << 8 | (unsigned char)frame.ptr[3]);
    else
        buf_printf(&h->text, "<%d:%.*s>", opcode, length, frame.ptr + 2);
}

static void on_closed(void *ctx)
{
    struct heard *h = ctx;
    buf_add_text(&h->text, "|");
}

/* A client's frame: first byte, payload. */
static void add_frame(struct buf *out, unsigned first, const char *payload)
{
    static const char mask[] = "\x11\x92\x03\xf4";
    size_t length = strlen(payload);
    buf_add_char(out, (char)first);
    if (length < 126) {
        buf_add_char(out, (char)(0x80 | length));
    } else {
        buf_add_char(out, (char)(0x80 | 126));
        buf_add_char(out, (char)(length >> 8));
        buf_add_char(out, (char)length);
    }
    buf_add(out, mask, 4);
    for (size_t i = 0; i < length; i++)
        buf_add_char(out, (char)(payload[i] ^ mask[i % 4]));
}

/* In pieces of every size it is the same. */
static const char *hear(struct str bytes)
{
    static const struct websocket_handlers handlers = { on_data, on_send, on_closed };
    const char *first = NULL;
    for (size_t piece = bytes.len; piece; piece--) {
        struct heard h = { .text = BUF_INIT(1 << 20) };
        struct websocket w;
        websocket_init(&w, &handlers, &h);
        for (size_t at = 0; at < bytes.len; at += piece)
            websocket_feed(&w,
                (struct str){ bytes.ptr + at, bytes.len - at < piece ? bytes.len - at : piece });
        const char *got = arena_strdup(test_arena(), buf_text(&h.text));
        first = first ?: got;
        check_text(got, first);
        buf_done(&h.text);
    }
    return first;
}

TEST(websocket_key_is_answered_as_the_standard_says)
{
    check_text(websocket_accept(test_arena(), STR("dGhlIHNhbXBsZSBub25jZQ==")),
        "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(websocket_messages_come_whole_or_in_frames_with_pings_between)
{
    cleanup(buf_done) struct buf in = BUF_INIT(1 << 20);
    char many[301];
    memset(many, 'm', 300);
    many[300] = 0;
    add_frame(&in, 0x82, "one");
    add_frame(&in, 0x01, "be");
    add_frame(&in, 0x89, "there?");
    add_frame(&in, 0x00, "");
    add_frame(&in, 0x8a, "unasked");
    add_frame(&in, 0x80, "gun");
    add_frame(&in, 0x82, "");
    add_frame(&in, 0x82, many);
    add_frame(&in, 0x88, "\x03\xe9 tired");
    add_frame(&in, 0x82, "too late");
    check_text(hear(buf_str(&in)),
        arena_printf(test_arena(), "[one][be<10:there?>gun][][%s]<8:1001>|", many));
}

TEST(websocket_breaks_off_what_is_against_the_rules)
{
    static const struct {
        unsigned first;
        const char *payload, *want;
    } rows[] = {
        { 0xc2, "x", "<8:1002>|" }, /* a reserved bit */
        { 0x83, "x", "<8:1002>|" }, /* no such kind */
        { 0x8b, "x", "<8:1002>|" }, /* nor this one */
        { 0x80, "x", "<8:1002>|" }, /* goes on with nothing */
        { 0x09, "x", "<8:1002>|" }, /* a ping in parts */
        { 0x88, "x", "<8:1002>|" }, /* half a code */
        { 0x88, "", "<8:>|" },      /* that is fine */
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        cleanup(buf_done) struct buf in = BUF_INIT(1 << 20);
        add_frame(&in, rows[i].first, rows[i].payload);
        add_frame(&in, 0x82, "more");
        check_text(hear(buf_str(&in)), rows[i].want);
    }
    cleanup(buf_done) struct buf in = BUF_INIT(1 << 20);
    add_frame(&in, 0x02, "a");
    add_frame(&in, 0x82, "b");
    check_text(hear(buf_str(&in)), "[a<8:1002>|");                 /* a message inside another */
    check_text(hear((struct str){ "\x82\x01x", 3 }), "<8:1002>|"); /* a client masks */
    check_text(hear((struct str){ "\x89\xfe\x00\x7e....", 8 }), "<8:1002>|"); /* a long ping */
    check_text(hear((struct str){ "\x82\xff\x40\0\0\0\0\0\0\0....", 14 }), "<8:1009>|");
}

TEST(websocket_frames_have_the_shortest_length)
{
    static const struct {
        size_t length;
        const char *head;
        size_t head_bytes;
    } rows[] = {
        { 0, "\x82\x00", 2 },
        { 125, "\x82\x7d", 2 },
        { 126, "\x82\x7e\x00\x7e", 4 },
        { 65535, "\x82\x7e\xff\xff", 4 },
        { 65536, "\x82\x7f\0\0\0\0\0\x01\0\0", 10 },
    };
    char *bytes = mem_new(65536);
    for (size_t i = 0; i < lengthof(rows); i++) {
        cleanup(buf_done) struct buf out = BUF_INIT(1 << 20);
        size_t half = rows[i].length / 2;
        websocket_add_message(
            &out, (struct str){ bytes, half }, (struct str){ bytes, rows[i].length - half });
        check_int((int64_t)out.len, (int64_t)(rows[i].head_bytes + rows[i].length));
        check(memcmp(out.ptr, rows[i].head, rows[i].head_bytes) == 0);
    }
    free(bytes);
    cleanup(buf_done) struct buf out = BUF_INIT(100);
    websocket_add_close(&out, WEBSOCKET_NORMAL);
    websocket_add_ping(&out);
    websocket_add_text(&out, STR("a"));
    check(out.len == 9 && memcmp(out.ptr, "\x88\x02\x03\xe8\x89\x00\x81\x01\x61", 9) == 0);
}
