#include "http/spdy.h"

#include "base/buf.h"
#include "tests/test.h"

/* A client that opens a pair of streams as kubectl does, says hello, pings, and goes: its header
 * blocks are those of zlib with the dictionary of the standard. */
static const char client[] =
    "\x80\x03\x00\x01\x01\x00\x00<\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00x\xf9\xe3\xc6\xa7\xc2\x02"
    "%:H\xf9[\x04J\xabL\x16\x06@\x92\xb3\x08\x12[\x99\xa0T\xcch\x00N\x87%E\xa9\x89\xb9\xd0\xa2\x86"
    "\x35\x15\x14\x11\x00\x00\x00\x00\xff\xff"
    "\x80\x03\x00\x01\x00\x00\x00\x16\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x22K+\xa8\x94J\x04"
    "\x00\x00\x00\xff\xff"
    "\x00\x00\x00\x03\x00\x00\x00\x05hello"
    "\x80\x03\x00\x06\x00\x00\x00\x04\x00\x00\x00\x01" /* a ping, */
    "\x80\x03\x00\x06\x00\x00\x00\x04\x00\x00\x00\x02" /* the answer to one of ours, */
    "\x00\x00\x00\x03\x01\x00\x00\x00"                 /* the end of stream 3, */
    "\x80\x03\x00\x04\x00\x00\x00\x04\x00\x00\x00\x00" /* settings, */
    "\x80\x03\x00\x09\x00\x00\x00\x08\x00\x00\x00\x03\x00\x00\x00\x64"
    "\x80\x03\x00\x03\x00\x00\x00\x08\x00\x00\x00\x03\x00\x00\x00\x05"
    "\x80\x03\x00\x07\x00\x00\x00\x08\x00\x00\x00\x03\x00\x00\x00\x00";

struct heard {
    struct spdy *spdy;
    struct buf text, sent;
};

static void on_opened(void *ctx, uint32_t id, struct http_headers headers)
{
    struct heard *h = ctx;
    buf_printf(&h->text, "open %u", id);
    for (size_t i = 0; i < headers.count; i++) {
        struct http_header f = headers.list[i];
        buf_printf(
            &h->text, " %.*s=%.*s", (int)f.name.len, f.name.ptr, (int)f.value.len, f.value.ptr);
    }
    buf_add_text(&h->text, "\n");
    spdy_reply(h->spdy, id);
}

static void on_data(void *ctx, uint32_t id, struct str bytes, bool last)
{
    struct heard *h = ctx;
    for (size_t i = 0; i < bytes.len; i++)
        buf_printf(&h->text, "%u:%c\n", id, bytes.ptr[i]);
    if (last)
        buf_printf(&h->text, "%u ends\n", id);
}

static void on_reset(void *ctx, uint32_t id)
{
    struct heard *h = ctx;
    buf_printf(&h->text, "reset %u\n", id);
}

static void on_send(void *ctx, struct str first, struct str second)
{
    struct heard *h = ctx;
    buf_add(&h->sent, first.ptr, first.len);
    buf_add(&h->sent, second.ptr, second.len);
}

static const struct spdy_handlers handlers = { on_opened, on_data, on_reset, on_send };

static void heard_init(struct heard *h)
{
    *h = (struct heard){ .text = BUF_INIT(1 << 20), .sent = BUF_INIT(1 << 20) };
    h->spdy = spdy_new(&handlers, h);
}

static void heard_done(struct heard *h)
{
    spdy_free(h->spdy);
    buf_done(&h->text);
    buf_done(&h->sent);
}

TEST(spdy_streams_come_whatever_pieces_their_bytes_come_in)
{
    size_t length = sizeof(client) - 1;
    for (size_t piece = length; piece; piece--) {
        struct heard h;
        struct error err = { 0 };
        bool ok = true;
        heard_init(&h);
        for (size_t at = 0; ok && at < length; at += piece)
            ok = spdy_feed(h.spdy,
                (struct str){ client + at, length - at < piece ? length - at : piece },
                &err);
        check(!ok && err.code == ERR_CANCELLED);
        check_text(buf_text(&h.text),
            "open 1 port=80 requestid=0 streamtype=error\n1 ends\n"
            "open 3 port=80 requestid=0 streamtype=data\n"
            "3:h\n3:e\n3:l\n3:l\n3:o\n3 ends\nreset 3\n");
        /* Two replies, each with an empty block; then the ping. */
        static const char ping[] = "\x80\x03\x00\x06\x00\x00\x00\x04\x00\x00\x00\x01";
        check(memcmp(h.sent.ptr, "\x80\x03\x00\x02\x00\x00\x00", 7) == 0);
        check(memcmp(h.sent.ptr + 8, "\x00\x00\x00\x01", 4) == 0);
        check(memcmp(h.sent.ptr + h.sent.len - 12, ping, 12) == 0);
        heard_done(&h);
    }
}

TEST(spdy_data_and_resets_are_framed)
{
    static const char want[] = "\x00\x00\x00\x07\x00\x00\x00\x02hi"
                               "\x00\x00\x00\x07\x01\x00\x00\x00"
                               "\x80\x03\x00\x03\x00\x00\x00\x08\x00\x00\x00\x09\x00\x00\x00\x03"
                               "\x80\x03\x00\x06\x00\x00\x00\x04\x00\x00\x00\x02";
    struct heard h;
    heard_init(&h);
    spdy_send(h.spdy, 7, STR("hi"), false);
    spdy_send(h.spdy, 7, STR(""), true);
    spdy_reset(h.spdy, 9, SPDY_REFUSED_STREAM);
    spdy_ping(h.spdy);
    check(h.sent.len == sizeof(want) - 1 && memcmp(h.sent.ptr, want, h.sent.len) == 0);
    heard_done(&h);
}

TEST(spdy_refuses_what_is_none)
{
    static const struct {
        const char *bytes;
        size_t length;
        enum error_code code;
    } rows[] = {
        { "\x80\x02\x00\x06\x00\x00\x00\x04\x00\x00\x00\x01", 12, ERR_INVALID }, /* version 2 */
        { "\x80\x03\x00\x01\x00\xff\xff\xff", 8, ERR_TOO_LARGE },
        { "\x80\x03\x00\x03\x00\x00\x00\x04\x00\x00\x00\x01", 12, ERR_INVALID }, /* half a reset */
        { "\x80\x03\x00\x01\x00\x00\x00\x00", 8, ERR_INVALID },                  /* empty */
        { "\x80\x03\x00\x08\x00\x00\x00\x06\x00\x00\x00\x01zz", 14, ERR_INVALID }, /* not packed */
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct heard h;
        struct error err = { 0 };
        heard_init(&h);
        check(!spdy_feed(h.spdy, (struct str){ rows[i].bytes, rows[i].length }, &err));
        check_int(err.code, rows[i].code);
        heard_done(&h);
    }
}

/* ---- a client of ours, and our server ---- */

struct side {
    struct spdy *spdy;
    struct buf text, sent;
};

static void side_opened(void *ctx, uint32_t id, struct http_headers headers)
{
    struct side *s = ctx;
    for (size_t i = 0; i < headers.count; i++)
        buf_printf(&s->text,
            "%u %.*s=%.*s\n",
            id,
            (int)headers.list[i].name.len,
            headers.list[i].name.ptr,
            (int)headers.list[i].value.len,
            headers.list[i].value.ptr);
    if (id == 5)
        spdy_reset(s->spdy, id, SPDY_REFUSED_STREAM);
    else
        spdy_reply(s->spdy, id);
}

static void side_data(void *ctx, uint32_t id, struct str bytes, bool last)
{
    struct side *s = ctx;
    buf_printf(&s->text, "%u: %.*s%s\n", id, (int)bytes.len, bytes.ptr, last ? "." : "");
}

static void side_reset(void *ctx, uint32_t id)
{
    buf_printf(&((struct side *)ctx)->text, "%u reset\n", id);
}

static void side_replied(void *ctx, uint32_t id)
{
    buf_printf(&((struct side *)ctx)->text, "%u taken\n", id);
}

static void side_send(void *ctx, struct str first, struct str second)
{
    struct side *s = ctx;
    buf_add(&s->sent, first.ptr, first.len);
    buf_add(&s->sent, second.ptr, second.len);
}

/* Until neither has anything to say. */
static void let_them_talk(struct side sides[2])
{
    for (int i = 0; sides[0].sent.len || sides[1].sent.len; i = !i) {
        struct error err;
        struct buf said = sides[i].sent;
        sides[i].sent = (struct buf)BUF_INIT(1 << 20);
        check(spdy_feed(sides[!i].spdy, buf_str(&said), &err));
        buf_done(&said);
    }
}

TEST(spdy_a_client_opens_streams_and_hears_of_each)
{
    static const struct spdy_handlers on = {
        side_opened, side_data, side_reset, side_send, side_replied
    };
    struct side sides[2] = { 0 };
    static const char *const names[] = { "error", "stdin", "stdout" };
    for (int i = 0; i < 2; i++) {
        sides[i] = (struct side){ .text = BUF_INIT(1 << 20), .sent = BUF_INIT(1 << 20) };
        sides[i].spdy = i ? spdy_new(&on, &sides[i]) : spdy_new_client(&on, &sides[i]);
    }
    for (unsigned i = 0; i < lengthof(names); i++) {
        struct http_header type = { STR("streamtype"), str_of(names[i]) };
        check_int(spdy_open(sides[0].spdy, (struct http_headers){ &type, 1 }), 2 * i + 1);
    }
    let_them_talk(sides);
    spdy_send(sides[0].spdy, 3, STR("to"), false);
    spdy_send(sides[1].spdy, 3, STR("back"), true);
    spdy_ping(sides[0].spdy);
    spdy_ping(sides[1].spdy);
    let_them_talk(sides);
    check_text(buf_text(&sides[1].text),
        "1 streamtype=error\n3 streamtype=stdin\n5 streamtype=stdout\n3: to\n");
    check_text(buf_text(&sides[0].text), "1 taken\n3 taken\n5 reset\n3: back.\n");
    for (int i = 0; i < 2; i++) {
        spdy_free(sides[i].spdy);
        buf_done(&sides[i].text);
        buf_done(&sides[i].sent);
    }
}
