#include "apiserver/core/protobuf.h"

#include <ctype.h>
#include <stdlib.h>

#include "apiserver/core/protobuf_types.h"
#include "base/base64.h"
#include "base/time.h"
#include "base/utf8.h"

#define DEPTH_MAX                                                                                  \
    JSON_DEPTH_MAX /* for messages; only schemas are nested more than twenty levels                \
                    */

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

/* One encoded field. */
struct item {
    uint32_t number;
    enum wire wire;
    uint64_t value;   /* for numbers */
    struct str bytes; /* for WIRE_BYTES */
};

/* Go's decoder error for truncated or malformed bytes. */
static bool malformed(struct error *err)
{
    return fail(err, ERR_INVALID, "unexpected EOF");
}

static bool take_varint(struct str *in, uint64_t *ret)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && in->len; shift += 7) {
        uint8_t byte = (uint8_t)*in->ptr++;
        in->len--;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret = value;
            return true;
        }
    }
    return false;
}

static bool take_bytes(struct str *in, size_t count, struct str *ret)
{
    if (count > in->len)
        return false;
    *ret = (struct str){ in->ptr, count };
    in->ptr += count;
    in->len -= count;
    return true;
}

static bool take_fixed(struct str *in, size_t count, uint64_t *ret)
{
    struct str bytes;
    if (!take_bytes(in, count, &bytes))
        return false;
    *ret = 0;
    for (size_t i = 0; i < count; i++)
        *ret |= (uint64_t)(uint8_t)bytes.ptr[i] << (8 * i);
    return true;
}

static bool take_item(struct str *in, struct item *ret, struct error *err)
{
    uint64_t key = 0, length;
    if (!take_varint(in, &key) || key >> 32)
        return malformed(err);
    *ret = (struct item){ .number = (uint32_t)(key >> 3), .wire = (enum wire)(key & 7) };
    if (!ret->number)
        return fail(err, ERR_INVALID, "proto: illegal tag 0 (wire type %d)", (int)(key & 7));
    bool fine = false;
    if (ret->wire == WIRE_VARINT)
        fine = take_varint(in, &ret->value);
    else if (ret->wire == WIRE_64 || ret->wire == WIRE_32)
        fine = take_fixed(in, ret->wire == WIRE_64 ? 8 : 4, &ret->value);
    else if (ret->wire == WIRE_BYTES)
        fine = take_varint(in, &length) && take_bytes(in, length, &ret->bytes);
    return fine || malformed(err);
}

/* The last items of the field numbers 1 to 4, for the special messages. */
#define FEW 4
static bool take_few(struct str in, struct item few[FEW + 1], struct error *err)
{
    memset(few, 0, (FEW + 1) * sizeof(*few));
    while (in.len) {
        struct item item;
        if (!take_item(&in, &item, err))
            return false;
        if (item.number >= 1 && item.number <= FEW)
            few[item.number] = item;
    }
    return true;
}

static bool text_of(struct arena *a, struct str bytes, struct json *ret, struct error *err)
{
    if (!utf8_valid(bytes) || (bytes.len && memchr(bytes.ptr, 0, bytes.len)))
        return fail(err, ERR_INVALID, "the body has a string that is not UTF-8, or has a NUL");
    *ret = json_strn(a, bytes.ptr, bytes.len);
    return true;
}

/* ---- messages with another form in JSON ---- */

static bool decode_time(struct arena *a, const struct item *few, bool micro, struct json *ret)
{
    int64_t seconds = (int64_t)few[1].value, nanos = (int64_t)few[2].value;
    /* Years 0 to 9999; Go's zero time means no time. */
    if (seconds < -62135596799 || seconds > 253402300799 || nanos < 0 || nanos > 999999999)
        *ret = json_none;
    else if (micro)
        *ret = json_str(time_format_micro(a, seconds * 1000000 + nanos / 1000));
    else
        *ret = json_str(time_format(a, seconds * 1000));
    return true;
}

static bool decode_list(struct arena *a, struct str in, struct json *ret, struct error *err)
{
    struct json_builder list;
    json_builder_init(&list, a);
    while (in.len) {
        struct item item;
        struct json text;
        if (!take_item(&in, &item, err) ||
            (item.number == 1 && !text_of(a, item.bytes, &text, err)))
            return false;
        if (item.number == 1)
            json_push(&list, text);
    }
    *ret = json_list_end(&list);
    return true;
}

static bool decode_special(
    struct arena *a, enum proto_special special, struct str in, struct json *ret, struct error *err)
{
    struct item few[FEW + 1];
    *ret = json_none;
    if (special == PROTO_TEXT_LIST)
        return decode_list(a, in, ret, err);
    if (!take_few(in, few, err))
        return false;
    switch (special) {
    case PROTO_QUANTITY:
        return text_of(a, few[1].bytes, ret, err);
    case PROTO_INT_OR_STRING:
        if (few[1].value == 1)
            return text_of(a, few[3].bytes, ret, err);
        *ret = json_int((int32_t)few[2].value);
        return true;
    case PROTO_TIME:
    case PROTO_MICRO_TIME:
        return in.len == 0 || decode_time(a, few, special == PROTO_MICRO_TIME, ret);
    case PROTO_RAW_JSON:
        return few[1].bytes.len == 0 || json_parse(a, few[1].bytes, ret, err);
    case PROTO_PLAIN:
    case PROTO_TEXT_LIST:
    case PROTO_EITHER:
        break;
    }
    assert(false);
}

/* ---- plain messages ---- */

static bool decode_message(struct arena *a, const struct proto_message *m, struct str in,
    unsigned depth, struct json *ret, struct error *err);

/* Go prints it in JSON without a point or an exponent. */
static bool is_whole(double real)
{
    return real > -1e18 && real < 1e18 && real == (double)(int64_t)real;
}

static bool decode_value(struct arena *a, const struct proto_field *f, const struct item *item,
    unsigned depth, struct json *ret, struct error *err)
{
    double real;
    switch ((enum proto_form)f->form) {
    case PROTO_TEXT:
        return text_of(a, item->bytes, ret, err);
    case PROTO_BYTES:
        *ret = json_str(base64_encode(a, item->bytes));
        return true;
    case PROTO_INT:
        *ret = json_int((int64_t)item->value);
        return true;
    case PROTO_BOOL:
        *ret = json_bool(item->value != 0);
        return true;
    case PROTO_REAL:
        memcpy(&real, &item->value, sizeof(real));
        *ret = is_whole(real) ? json_int((int64_t)real) : json_real(real);
        return true;
    case PROTO_MESSAGE:
        return decode_message(a, &proto_messages[f->message], item->bytes, depth + 1, ret, err);
    }
    assert(false);
}

static bool is_zero(struct json v)
{
    return (json_is(v, JSON_STR) && v.count == 0) || (json_is(v, JSON_INT) && v.integer == 0) ||
           (json_is(v, JSON_BOOL) && !v.boolean) || (json_is(v, JSON_REAL) && v.real == 0);
}

static enum wire wire_of(const struct proto_field *f)
{
    bool number = f->form == PROTO_INT || f->form == PROTO_BOOL;
    return (f->flags & PROTO_MAP)  ? WIRE_BYTES
           : f->form == PROTO_REAL ? WIRE_64
           : number                ? WIRE_VARINT
                                   : WIRE_BYTES;
}

/* A map entry: 1 is the key, 2 the value. */
static bool decode_entry(struct arena *a, const struct proto_field *f, struct str in,
    unsigned depth, struct json_builder *map, struct error *err)
{
    struct item few[FEW + 1];
    struct json key, value;
    if (!take_few(in, few, err) || !text_of(a, few[1].bytes, &key, err) ||
        !decode_value(a, f, &few[2], depth, &value, err))
        return false;
    json_put(map, key.string, value);
    return true;
}

static const struct proto_field *field_of(const struct proto_message *m, uint32_t number)
{
    for (const struct proto_field *f = &proto_fields[m->fields], *end = f + m->count; f < end; f++)
        if (f->number == number)
            return f;
    return NULL;
}

/* A field so far: its items may be spread over the message. */
struct gathered {
    bool seen;
    struct json value;
    struct json_builder many; /* for lists and maps */
};

static bool wrong_wire(const struct proto_field *f, enum wire wire, struct error *err)
{
    const char *name = &proto_names[f->name];
    if (text_eq(name, "metadata"))
        name = "objectMeta";
    return fail(err,
        ERR_INVALID,
        "proto: wrong wireType = %d for field %c%s",
        (int)wire,
        toupper((unsigned char)*name),
        *name ? name + 1 : "");
}

static bool gather(struct arena *a, const struct proto_field *f, const struct item *item,
    unsigned depth, struct gathered *g, struct error *err)
{
    if (item->wire != wire_of(f))
        return wrong_wire(f, item->wire, err);
    if (!g->seen)
        json_builder_init(&g->many, a);
    g->seen = true;
    if (f->flags & PROTO_MAP)
        return decode_entry(a, f, item->bytes, depth, &g->many, err);
    if (!decode_value(a, f, item, depth, &g->value, err))
        return false;
    if (f->flags & PROTO_REPEATED)
        json_push(&g->many, g->value);
    return true;
}

static struct json gathered_end(const struct proto_field *f, struct gathered *g)
{
    return f->flags & PROTO_MAP        ? json_map_end(&g->many)
           : f->flags & PROTO_REPEATED ? json_list_end(&g->many)
                                       : g->value;
}

static void put(struct json_builder *object, const struct proto_field *f, struct gathered *g)
{
    struct json value = gathered_end(f, g);
    if (f->flags & PROTO_INLINE)
        json_put_all(object, value);
    else if (!(f->flags & PROTO_DROPS_ZERO) || !is_zero(value))
        json_put(object, &proto_names[f->name], value);
}

static bool decode_message(struct arena *a, const struct proto_message *m, struct str in,
    unsigned depth, struct json *ret, struct error *err)
{
    if (depth > DEPTH_MAX)
        return fail(err, ERR_TOO_LARGE, "the body is nested too deep");
    if (m->special != PROTO_PLAIN && m->special != PROTO_EITHER)
        return decode_special(a, m->special, in, ret, err);
    const struct proto_field *fields = &proto_fields[m->fields];
    struct gathered *all = arena_array(a, m->count, sizeof(struct gathered));
    while (in.len) {
        struct item item;
        if (!take_item(&in, &item, err))
            return false;
        const struct proto_field *f = field_of(m, item.number);
        if (f && !gather(a, f, &item, depth, &all[f - fields], err))
            return false;
    }
    struct json_builder object;
    json_builder_init(&object, a);
    *ret = json_none;
    for (size_t i = 0; i < m->count; i++)
        if (all[i].seen && m->special == PROTO_EITHER)
            *ret = gathered_end(&fields[i], &all[i]);
        else if (all[i].seen)
            put(&object, &fields[i], &all[i]);
    if (m->special != PROTO_EITHER)
        *ret = json_map_end(&object);
    return true;
}

/* ---- the envelope ---- */

static int compare_kind(const void *key, const void *kind)
{
    return strcmp(key, &proto_names[((const struct proto_kind *)kind)->name]);
}

static const struct proto_kind *kind_of(struct arena *a, const char *api_version, const char *kind)
{
    const char *slash = strchr(api_version, '/') ? "" : "/";
    const char *name = json_text(json_strf(a, "%s%s/%s", slash, api_version, kind));
    if (strcmp(kind, "DeleteOptions") == 0) /* it is the same in all versions */
        name = "/v1/DeleteOptions";
    return bsearch(name, proto_kinds, proto_kind_count, sizeof(struct proto_kind), compare_kind);
}

/* A type missing in the envelope is taken from the request's path. */
static void fill_type(
    const struct protobuf_type *usual, struct json *api_version, struct json *kind)
{
    if (!usual)
        return;
    if (!*json_text(*kind))
        *kind = json_str(usual->kind);
    if (!*json_text(*api_version))
        *api_version = json_str(usual->api_version);
}

bool protobuf_decode(struct arena *a, struct str body, const struct protobuf_type *usual,
    struct json *ret, struct error *err)
{
    static const struct str magic = { "k8s\0", 4 };
    struct item envelope[FEW + 1], type[FEW + 1];
    struct json api_version, kind, object;
    *ret = json_none;
    if (!body.len)
        return fail(err, ERR_INVALID, "empty data");
    if (body.len == magic.len && str_starts(body, magic))
        return fail(err, ERR_INVALID, "empty body");
    if (!str_starts(body, magic))
        return fail(err,
            ERR_INVALID,
            "provided data does not appear to be a protobuf message, "
            "expected prefix [107 56 115 0]");
    body.ptr += magic.len;
    body.len -= magic.len;
    if (!take_few(body, envelope, err) || !take_few(envelope[1].bytes, type, err) ||
        !text_of(a, type[1].bytes, &api_version, err) || !text_of(a, type[2].bytes, &kind, err))
        return false;
    fill_type(usual, &api_version, &kind);
    *ret = json_map(a, { "apiVersion", api_version }, { "kind", kind });
    const struct proto_kind *k = kind_of(a, api_version.string, kind.string);
    if (!k)
        return fail(err,
            ERR_UNSUPPORTED,
            "no kind \"%s\" is registered for version \"%s\" in scheme "
            "\"pkg/runtime/scheme.go:111\"",
            kind.string,
            api_version.string);
    if (!decode_message(a, &proto_messages[k->message], envelope[2].bytes, 0, &object, err))
        return false;
    *ret = json_overlay(a, object, *ret);
    return true;
}
