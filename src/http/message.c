#include "http/head.h"

#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES_DEFAULT ((size_t)64 << 10)
#define HEADER_COUNT_DEFAULT ((size_t)128)
#define RETRY_AFTER_MAX_S 3600

struct str http_header_find(struct http_headers headers, const char *name)
{
    for (size_t i = 0; i < headers.count; i++)
        if (str_eq_nocase(headers.list[i].name, str_of(name)))
            return headers.list[i].value;
    return (struct str){ NULL, 0 };
}

bool http_header_has_token(struct http_headers headers, const char *name, const char *token)
{
    for (size_t i = 0; i < headers.count; i++) {
        if (!str_eq_nocase(headers.list[i].name, str_of(name)))
            continue;
        struct str rest = headers.list[i].value;
        while (rest.ptr)
            if (str_eq_nocase(str_trim(str_cut(&rest, ',')), str_of(token)))
                return true;
    }
    return false;
}

int64_t http_retry_after_ms(struct http_headers headers, int64_t wall_ms)
{
    struct str value = str_trim(http_header_find(headers, "retry-after"));
    int64_t seconds;
    if (!str_to_int(value, &seconds)) {
        char text[40] = "";
        struct tm date = { 0 };
        memcpy(text, value.ptr ?: "", value.len < sizeof(text) ? value.len : 0);
        if (!strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &date))
            return 0;
        seconds = timegm(&date) - wall_ms / 1000;
    }
    return seconds <= 0 ? 0 : (seconds < RETRY_AFTER_MAX_S ? seconds : RETRY_AFTER_MAX_S) * 1000;
}

bool head_content_length(struct str value, int64_t *ret)
{
    return value.len && value.ptr[0] != '-' && str_to_int(value, ret);
}

/* ---- incoming ---- */

void head_init(struct head_builder *h, const struct http_limits *limits)
{
    *h = (struct head_builder){ .limits = *limits };
    h->limits.header_bytes_max = h->limits.header_bytes_max ?: HEADER_BYTES_DEFAULT;
    h->limits.header_count_max = h->limits.header_count_max ?: HEADER_COUNT_DEFAULT;
    buf_init(&h->text, h->limits.header_bytes_max);
}

void head_reset(struct head_builder *h)
{
    struct http_limits limits = h->limits;
    head_done(h);
    head_init(h, &limits);
}

void head_done(struct head_builder *h)
{
    buf_done(&h->text);
    free(h->fields);
    free(h->list);
}

void head_forget(struct head_builder *h)
{
    size_t bytes = h->bytes;
    head_reset(h);
    h->bytes = bytes;
}

static void add_text(struct head_builder *h, struct str part, size_t *length)
{
    h->bytes += part.len;
    buf_add(&h->text, part.ptr, part.len);
    h->too_large = h->too_large || buf_overflowed(&h->text);
    if (!h->too_large)
        *length += part.len;
}

void head_add_name(struct head_builder *h, struct str part)
{
    struct head_field *last = h->count ? &h->fields[h->count - 1] : NULL;
    if (!last || last->value_len != SIZE_MAX) {
        if (h->count == h->limits.header_count_max) {
            h->too_large = true;
            return;
        }
        mem_room(h->fields, h->count, h->size);
        last = &h->fields[h->count++];
        *last = (struct head_field){ .value_len = SIZE_MAX };
    }
    add_text(h, part, &last->name_len);
}

void head_add_value(struct head_builder *h, struct str part)
{
    if (h->too_large || h->count == 0) {
        h->bytes += part.len;
        return;
    }
    struct head_field *last = &h->fields[h->count - 1];
    if (last->value_len == SIZE_MAX)
        last->value_len = 0;
    add_text(h, part, &last->value_len);
}

void head_add(struct head_builder *h, struct str name, struct str value)
{
    head_add_name(h, name);
    head_add_value(h, value);
}

struct http_headers head_headers(struct head_builder *h)
{
    assert(!h->too_large);
    h->list = mem_resize(h->list, h->count + 1, sizeof(*h->list));
    const char *at = h->text.ptr;
    for (size_t i = 0; i < h->count; i++) {
        struct head_field *f = &h->fields[i];
        if (f->value_len == SIZE_MAX)
            f->value_len = 0;
        h->list[i].name = (struct str){ at, f->name_len };
        at += f->name_len;
        h->list[i].value = (struct str){ at, f->value_len };
        at += f->value_len;
    }
    return (struct http_headers){ h->list, h->count };
}

/* ---- outgoing ---- */

static bool is_token(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        if (c <= ' ' || c >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", c))
            return false;
    }
    return name.len > 0;
}

bool head_is_sendable(struct http_headers headers)
{
    for (size_t i = 0; i < headers.count; i++) {
        struct str value = headers.list[i].value;
        if (!is_token(headers.list[i].name))
            return false;
        for (size_t k = 0; k < value.len; k++) {
            unsigned char c = (unsigned char)value.ptr[k];
            if ((c < ' ' && c != '\t') || c == 0x7f)
                return false;
        }
    }
    return true;
}

bool head_is_hop_by_hop(struct str name)
{
    static const char *const names[] = {
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-connection",
        "te",
        "transfer-encoding",
        "upgrade",
    };
    for (size_t i = 0; i < lengthof(names); i++)
        if (str_eq_nocase(name, str_of(names[i])))
            return true;
    return false;
}
