#include "http/spdy.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/buf.h"

#define VERSION 3
#define FRAME_HEAD_BYTES 8
#define DATA_BYTES_MAX (((size_t)1 << 24) - 1)
#define CONTROL_BYTES_MAX ((size_t)16 << 10)
#define HEADERS_BYTES_MAX ((size_t)32 << 10) /* per block, unpacked */
#define HEADERS_MAX 32
/* Our blocks are empty or short: they need no more memory than this. */
#define DEFLATE_WINDOW_BITS 11
#define DEFLATE_MEMORY 1

enum { SYN_STREAM = 1, SYN_REPLY = 2, RST_STREAM = 3, PING = 6, GOAWAY = 7, HEADERS = 8 };
enum { FLAG_FIN = 1 };

struct spdy {
    const struct spdy_handlers *on;
    void *ctx;
    z_stream unpack, pack;
    unsigned char dictionary[2048];
    size_t dictionary_bytes;
    unsigned char head[FRAME_HEAD_BYTES];
    size_t head_bytes;
    uint32_t left; /* remaining payload of the frame whose head was read */
    bool is_client;
    uint32_t next_id; /* for streams opened by a client */
    struct buf control;
    char unpacked[HEADERS_BYTES_MAX];
};

/* ---- the dictionary of header blocks: words with their lengths, then a text ---- */

static const char *const dictionary_words[] = {
    "options",
    "head",
    "post",
    "put",
    "delete",
    "trace",
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "accept-ranges",
    "age",
    "allow",
    "authorization",
    "cache-control",
    "connection",
    "content-base",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-md5",
    "content-range",
    "content-type",
    "date",
    "etag",
    "expect",
    "expires",
    "from",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "last-modified",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "range",
    "referer",
    "retry-after",
    "server",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "vary",
    "via",
    "warning",
    "www-authenticate",
    "method",
    "get",
    "status",
    "200 OK",
    "version",
    "HTTP/1.1",
    "url",
    "public",
    "set-cookie",
    "keep-alive",
    "origin",
};
static const char dictionary_rest[] =
    "1001012012022052063003023033043053063074024054064074084094104114124134144154164175025045"
    "05203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401"
    " Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 S"
    "ervice UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, We"
    "d, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xm"
    "l,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdc"
    "hcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";

static void put32(unsigned char *to, uint32_t n)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(n >> 8 * (3 - i));
}

static uint32_t get32(const void *from)
{
    const unsigned char *bytes = from;
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void make_dictionary(struct spdy *s)
{
    unsigned char *to = s->dictionary;
    for (size_t i = 0; i < lengthof(dictionary_words); i++) {
        size_t length = strlen(dictionary_words[i]);
        put32(to, (uint32_t)length);
        memcpy(to + 4, dictionary_words[i], length);
        to += 4 + length;
    }
    memcpy(to, dictionary_rest, sizeof(dictionary_rest) - 1);
    s->dictionary_bytes = (size_t)(to - s->dictionary) + sizeof(dictionary_rest) - 1;
}

/* ---- init and free ---- */

struct spdy *spdy_new(const struct spdy_handlers *handlers, void *ctx)
{
    struct spdy *s = mem_new_of(struct spdy);
    s->on = handlers;
    s->ctx = ctx;
    buf_init(&s->control, CONTROL_BYTES_MAX);
    make_dictionary(s);
    int rc = inflateInit(&s->unpack);
    assert(rc == Z_OK);
    rc = deflateInit2(&s->pack,
        Z_BEST_SPEED,
        Z_DEFLATED,
        DEFLATE_WINDOW_BITS,
        DEFLATE_MEMORY,
        Z_DEFAULT_STRATEGY);
    assert(rc == Z_OK);
    rc = deflateSetDictionary(&s->pack, s->dictionary, (unsigned)s->dictionary_bytes);
    assert(rc == Z_OK);
    return s;
}

struct spdy *spdy_new_client(const struct spdy_handlers *handlers, void *ctx)
{
    struct spdy *s = spdy_new(handlers, ctx);
    s->is_client = true;
    s->next_id = 1;
    return s;
}

void spdy_free(struct spdy *s)
{
    if (!s)
        return;
    inflateEnd(&s->unpack);
    deflateEnd(&s->pack);
    buf_done(&s->control);
    free(s);
}

/* ---- out ---- */

/* Sends a control frame: a few words, and the data after them. */
static void send_control(
    struct spdy *s, unsigned type, const uint32_t *words, size_t count, struct str rest)
{
    cleanup(buf_done) struct buf frame = BUF_INIT(CONTROL_BYTES_MAX);
    unsigned char word[4];
    put32(word, 0x80000000U | VERSION << 16 | type);
    buf_add(&frame, word, 4);
    put32(word, (uint32_t)(4 * count + rest.len));
    buf_add(&frame, word, 4);
    for (size_t i = 0; i < count; i++) {
        put32(word, words[i]);
        buf_add(&frame, word, 4);
    }
    buf_add(&frame, rest.ptr, rest.len);
    s->on->send(s->ctx, buf_str(&frame), STR(""));
}

/* The next part of the stream that all our header blocks form. */
static struct str pack(struct spdy *s, struct str block, unsigned char *to, size_t room)
{
    s->pack.next_in = (unsigned char *)(uintptr_t)block.ptr;
    s->pack.avail_in = (unsigned)block.len;
    s->pack.next_out = to;
    s->pack.avail_out = (unsigned)room;
    int rc = deflate(&s->pack, Z_SYNC_FLUSH);
    assert(rc == Z_OK && !s->pack.avail_in && s->pack.avail_out);
    return (struct str){ (char *)to, room - s->pack.avail_out };
}

void spdy_reply(struct spdy *s, uint32_t id)
{
    static const char none[4];
    unsigned char packed[256];
    struct str block = pack(s, (struct str){ none, sizeof(none) }, packed, sizeof(packed));
    send_control(s, SYN_REPLY, &id, 1, block);
}

static void add_text(struct buf *to, struct str text)
{
    unsigned char length[4];
    put32(length, (uint32_t)text.len);
    buf_add(to, length, 4);
    buf_add(to, text.ptr, text.len);
}

uint32_t spdy_open(struct spdy *s, struct http_headers headers)
{
    cleanup(buf_done) struct buf block = BUF_INIT(SPDY_OPEN_MAX);
    unsigned char packed[SPDY_OPEN_MAX + 256], word[4];
    uint32_t id = s->next_id;
    assert(s->is_client);
    s->next_id += 2;
    put32(word, (uint32_t)headers.count);
    buf_add(&block, word, 4);
    for (size_t i = 0; i < headers.count; i++) {
        add_text(&block, headers.list[i].name);
        add_text(&block, headers.list[i].value);
    }
    assert(!buf_overflowed(&block));
    struct str text = pack(s, buf_str(&block), packed, sizeof(packed));
    /* No associated stream, and the highest priority: two and a half words. */
    cleanup(buf_done) struct buf rest = BUF_INIT(CONTROL_BYTES_MAX);
    buf_add(&rest, "\0\0", 2);
    buf_add(&rest, text.ptr, text.len);
    send_control(s, SYN_STREAM, (uint32_t[]){ id, 0 }, 2, buf_str(&rest));
    return id;
}

void spdy_send(struct spdy *s, uint32_t id, struct str bytes, bool last)
{
    assert(bytes.len <= DATA_BYTES_MAX);
    unsigned char head[FRAME_HEAD_BYTES];
    put32(head, id);
    put32(head + 4, (last ? (uint32_t)FLAG_FIN << 24 : 0) | (uint32_t)bytes.len);
    s->on->send(s->ctx, (struct str){ (char *)head, sizeof(head) }, bytes);
}

void spdy_reset(struct spdy *s, uint32_t id, enum spdy_reset why)
{
    send_control(s, RST_STREAM, (uint32_t[]){ id, why }, 2, STR(""));
}

void spdy_ping(struct spdy *s)
{
    uint32_t id = s->is_client ? 1 : 2; /* a server's are even */
    send_control(s, PING, &id, 1, STR(""));
}

/* ---- in ---- */

/* A header block, which is one part of a stream that lasts as long as the connection. */
static bool unpack(struct spdy *s, struct str block, struct str *ret, struct error *err)
{
    s->unpack.next_in = (unsigned char *)(uintptr_t)block.ptr;
    s->unpack.avail_in = (unsigned)block.len;
    s->unpack.next_out = (unsigned char *)s->unpacked;
    s->unpack.avail_out = sizeof(s->unpacked);
    int rc = inflate(&s->unpack, Z_SYNC_FLUSH);
    if (rc == Z_NEED_DICT) {
        rc = inflateSetDictionary(&s->unpack, s->dictionary, (unsigned)s->dictionary_bytes);
        if (rc == Z_OK)
            rc = inflate(&s->unpack, Z_SYNC_FLUSH);
    }
    if (rc != Z_OK || s->unpack.avail_in || !s->unpack.avail_out)
        return fail(err, ERR_INVALID, "SPDY: a header block is broken or too large");
    *ret = (struct str){ s->unpacked, sizeof(s->unpacked) - s->unpack.avail_out };
    return true;
}

static bool take_text(struct str *from, struct str *ret)
{
    uint32_t length = from->len >= 4 ? get32(from->ptr) : 0;
    if (from->len < 4 || length > from->len - 4)
        return false;
    *ret = (struct str){ from->ptr + 4, length };
    *from = (struct str){ from->ptr + 4 + length, from->len - 4 - length };
    return true;
}

static bool take_headers(struct spdy *s, struct str block, struct http_header *list,
    size_t *ret_count, struct error *err)
{
    struct str rest = { 0 };
    if (!unpack(s, block, &rest, err))
        return false;
    *ret_count = rest.len >= 4 ? get32(rest.ptr) : 0;
    bool fine = rest.len >= 4 && *ret_count <= HEADERS_MAX;
    rest = (struct str){ rest.ptr + 4, fine ? rest.len - 4 : 0 };
    for (size_t i = 0; fine && i < *ret_count; i++)
        fine = take_text(&rest, &list[i].name) && take_text(&rest, &list[i].value);
    return fine || fail(err, ERR_INVALID, "SPDY: a header block makes no sense");
}

/* Number of words of a control frame before its header block. */
static const struct {
    unsigned type, bytes;
} sizes[] = {
    { SYN_STREAM, 10 },
    { SYN_REPLY, 4 },
    { RST_STREAM, 8 },
    { PING, 4 },
    { GOAWAY, 8 },
    { HEADERS, 4 },
};

static bool end_control(struct spdy *s, struct error *err)
{
    unsigned type = get32(s->head) & 0xffff, fixed = 0;
    struct str payload = buf_str(&s->control);
    struct http_header list[HEADERS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < lengthof(sizes); i++)
        if (sizes[i].type == type)
            fixed = sizes[i].bytes;
    if (payload.len < fixed)
        return fail(err, ERR_INVALID, "SPDY: a frame of type %u is too short", type);
    uint32_t id = fixed ? get32(payload.ptr) & 0x7fffffff : 0;
    struct str block = { payload.ptr + fixed, payload.len - fixed };
    bool has_headers = type == SYN_STREAM || type == SYN_REPLY || type == HEADERS;
    if (has_headers && !take_headers(s, block, list, &count, err))
        return false;
    if (type == SYN_STREAM)
        s->on->opened(s->ctx, id, (struct http_headers){ list, count });
    if (type == SYN_REPLY && s->is_client)
        s->on->replied(s->ctx, id);
    if (has_headers && s->head[4] & FLAG_FIN)
        s->on->data(s->ctx, id, STR(""), true);
    if (type == RST_STREAM)
        s->on->reset(s->ctx, id);
    if (type == PING && id % 2 == !s->is_client)
        send_control(s, PING, &id, 1, STR("")); /* a client's ids are odd; others are replies */
    if (type == GOAWAY)
        return fail(err, ERR_CANCELLED, "SPDY: the other side says goodbye");
    return true;
}

static bool is_control(const struct spdy *s)
{
    return s->head[0] & 0x80;
}

static bool begin_frame(struct spdy *s, struct error *err)
{
    s->left = get32(s->head + 4) & 0xffffff;
    buf_reset(&s->control);
    if (is_control(s) && (get32(s->head) >> 16 & 0x7fff) != VERSION)
        return fail(err, ERR_INVALID, "SPDY: not version %d", VERSION);
    if (is_control(s) && s->left > CONTROL_BYTES_MAX)
        return fail(err, ERR_TOO_LARGE, "SPDY: a control frame of %u bytes", s->left);
    return true;
}

/* Takes some of the payload; the frame ends when nothing is left. */
static bool take_payload(struct spdy *s, struct str *bytes, struct error *err)
{
    size_t count = bytes->len < s->left ? bytes->len : s->left;
    struct str piece = { bytes->ptr, count };
    *bytes = (struct str){ bytes->ptr + count, bytes->len - count };
    s->left -= (uint32_t)count;
    if (!s->left)
        s->head_bytes = 0;
    if (!is_control(s)) {
        bool last = !s->left && (s->head[4] & FLAG_FIN);
        s->on->data(s->ctx, get32(s->head), piece, last);
        return true;
    }
    buf_add(&s->control, piece.ptr, piece.len);
    return s->left || end_control(s, err);
}

bool spdy_feed(struct spdy *s, struct str bytes, struct error *err)
{
    while (bytes.len) {
        while (bytes.len && s->head_bytes < sizeof(s->head)) {
            s->head[s->head_bytes++] = (unsigned char)*bytes.ptr;
            bytes = (struct str){ bytes.ptr + 1, bytes.len - 1 };
            if (s->head_bytes == sizeof(s->head) && !begin_frame(s, err))
                return false;
        }
        if (s->head_bytes == sizeof(s->head) && (bytes.len || !s->left) &&
            !take_payload(s, &bytes, err))
            return false;
    }
    return true;
}
