#include "base/sigv4.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/time.h"
#include "base/url.h"

#define CANONICAL_BYTES_MAX ((size_t)1 << 20)

/* ---- path ---- */

static void drop_last_segment(struct buf *b)
{
    while (b->len && b->ptr[b->len - 1] != '/')
        b->len--;
    if (b->len)
        b->len--;
}

/* Removes `.`, `..` and empty segments (RFC 3986); keeps a slash at the end. */
static const char *normal_path(struct arena *a, const char *path)
{
    cleanup(buf_done) struct buf b = BUF_INIT(CANONICAL_BYTES_MAX);
    struct str rest = str_of(path), last = STR("");
    while (rest.ptr) {
        last = str_cut(&rest, '/');
        if (str_eq(last, STR("..")))
            drop_last_segment(&b);
        else if (last.len && !str_eq(last, STR(".")))
            buf_printf(&b, "/%.*s", (int)last.len, last.ptr);
    }
    bool directory = last.len == 0 || str_eq(last, STR(".")) || str_eq(last, STR(".."));
    if (directory || b.len == 0)
        buf_add_char(&b, '/');
    return arena_strndup(a, b.ptr, b.len);
}

static const char *canonical_path(struct arena *a, const struct sigv4_request *q)
{
    if (text_empty(q->path))
        return "/";
    return q->is_s3 ? q->path : url_encode_path(a, str_of(normal_path(a, q->path)));
}

/* ---- query ---- */

struct pair {
    const char *name, *value;
};

static int compare_pairs(const void *left, const void *right)
{
    const struct pair *l = left, *r = right;
    int by_name = strcmp(l->name, r->name);
    return by_name ? by_name : strcmp(l->value, r->value);
}

/* Decodes and encodes again, so that the result is the spelling that the service computes. */
static const char *same_spelling(struct arena *a, struct str s)
{
    const char *plain;
    return url_encode(a, url_decode(a, s, &plain) ? str_of(plain) : s);
}

static void add_query(struct buf *to, struct arena *a, const char *query)
{
    size_t count = 0, capacity = 1;
    for (const char *p = query; p && *p; p++)
        capacity += *p == '&';
    struct pair *pairs = arena_array(a, capacity, sizeof(*pairs));
    struct str rest = str_of(query);
    while (rest.ptr) {
        struct str value = str_cut(&rest, '&');
        if (value.len == 0)
            continue;
        struct str name = str_cut(&value, '=');
        pairs[count++] =
            (struct pair){ same_spelling(a, name), value.ptr ? same_spelling(a, value) : "" };
    }
    qsort(pairs, count, sizeof(*pairs), compare_pairs);
    for (size_t i = 0; i < count; i++)
        buf_printf(to, "%s%s=%s", i ? "&" : "", pairs[i].name, pairs[i].value);
}

/* ---- headers ---- */

struct field {
    const char *name, *value;
    size_t at; /* fields with the same name keep their order */
};

static int compare_fields(const void *left, const void *right)
{
    const struct field *l = left, *r = right;
    int by_name = strcmp(l->name, r->name);
    return by_name ? by_name : (l->at > r->at) - (l->at < r->at);
}

static const char *lower(struct arena *a, const char *name)
{
    char *text = arena_strdup(a, name);
    for (char *p = text; *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
    return text;
}

/* Replaces runs of spaces with one space. */
static const char *squeezed(struct arena *a, struct str value)
{
    struct str v = str_trim(value);
    char *text = arena_alloc(a, v.len + 1), *to = text;
    for (size_t i = 0; i < v.len; i++)
        if (v.ptr[i] != ' ' || v.ptr[i - 1] != ' ')
            *to++ = v.ptr[i];
    return text;
}

static size_t gather_fields(struct arena *a, const struct sigv4_keys *keys,
    const struct sigv4_request *q, const char *date, struct field **ret)
{
    size_t count = 0;
    struct field *list = *ret = arena_array(a, q->header_count + 3, sizeof(*list));
    for (; count < q->header_count; count++)
        list[count] = (struct field){
            lower(a, q->headers[count].name), squeezed(a, q->headers[count].value), count
        };
    list[count++] = (struct field){ "x-amz-date", date, 0 };
    if (q->sends_body_sha256)
        list[count++] = (struct field){ "x-amz-content-sha256", q->body_sha256, 0 };
    if (!text_empty(keys->token))
        list[count++] = (struct field){ "x-amz-security-token", keys->token, 0 };
    qsort(list, count, sizeof(*list), compare_fields);
    return count;
}

/* `name:value` lines, and the list of names for the header. Values of the same name are joined. */
static const char *add_headers(
    struct buf *to, struct arena *a, const struct field *list, size_t count)
{
    cleanup(buf_done) struct buf names = BUF_INIT(CANONICAL_BYTES_MAX);
    for (size_t i = 0; i < count; i++) {
        bool again = i > 0 && text_eq(list[i].name, list[i - 1].name);
        if (again) {
            buf_printf(to, ",%s", list[i].value);
            continue;
        }
        buf_printf(to, "%s%s:%s", i ? "\n" : "", list[i].name, list[i].value);
        buf_printf(&names, "%s%s", i ? ";" : "", list[i].name);
    }
    buf_add_char(to, '\n');
    return arena_strndup(a, names.ptr, names.len);
}

/* ---- the signature ---- */

/* "2015-08-30T12:36:00Z" becomes "20150830T123600Z". */
static const char *basic_date(struct arena *a, int64_t now_ms)
{
    const char *from = time_format(a, now_ms);
    char *text = arena_alloc(a, strlen(from) + 1), *to = text;
    for (; *from; from++)
        if (*from != '-' && *from != ':')
            *to++ = *from;
    return text;
}

static const char *sign(struct arena *a, const struct sigv4_keys *keys,
    const struct sigv4_request *q, const char *day, const char *text)
{
    uint8_t key[SHA256_BYTES];
    hmac_sha256(str_of(arena_printf(a, "AWS4%s", keys->secret)), str_of(day), key);
    const char *const parts[] = { q->region, q->service, "aws4_request", text };
    for (size_t i = 0; i < lengthof(parts); i++) {
        uint8_t next[SHA256_BYTES];
        hmac_sha256((struct str){ (const char *)key, sizeof(key) }, str_of(parts[i]), next);
        memcpy(key, next, sizeof(key));
    }
    return hex_encode(a, (struct str){ (const char *)key, sizeof(key) });
}

struct sigv4_signature sigv4_sign(
    struct arena *a, const struct sigv4_keys *keys, const struct sigv4_request *q)
{
    struct sigv4_signature ret = { .date = basic_date(a, q->now_ms) };
    const char *day = arena_strndup(a, ret.date, 8);
    struct field *fields;
    size_t count = gather_fields(a, keys, q, ret.date, &fields);

    cleanup(buf_done) struct buf b = BUF_INIT(CANONICAL_BYTES_MAX);
    buf_printf(&b, "%s\n%s\n", q->method, canonical_path(a, q));
    add_query(&b, a, q->query);
    buf_add_char(&b, '\n');
    const char *names = add_headers(&b, a, fields, count);
    buf_printf(&b, "\n%s\n%s", names, q->body_sha256);
    ret.canonical = arena_strndup(a, b.ptr, b.len);

    const char *scope = arena_printf(a, "%s/%s/%s/aws4_request", day, q->region, q->service);
    const char *text = arena_printf(
        a, "AWS4-HMAC-SHA256\n%s\n%s\n%s", ret.date, scope, sha256_hex(a, str_of(ret.canonical)));
    ret.authorization = arena_printf(a,
        "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s",
        keys->id,
        scope,
        names,
        sign(a, keys, q, day, text));
    return ret;
}
