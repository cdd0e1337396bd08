#include "kinds/toolhive/document.h"

#include "base/buf.h"
#include "merge/gojson.h"

#define DOCUMENT_BYTES_MAX ((size_t)8 << 20)

/* ---- fields ---- */

/* Go's definition of empty: false, 0, "", nil, and lists and maps without items. */
static bool is_empty(struct json v)
{
    switch (v.type) {
    case JSON_ABSENT:
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return !v.boolean;
    case JSON_INT:
        return v.integer == 0;
    case JSON_REAL:
        return v.real == 0;
    case JSON_STR:
    case JSON_LIST:
    case JSON_MAP:
        return v.count == 0;
    default:
        return false;
    }
}

static struct json zero_of(const struct document_field *f)
{
    if (f->shape != DOCUMENT_ONE)
        return json_null();
    switch (f->kind) {
    case DOCUMENT_TEXT:
    case DOCUMENT_DURATION:
        return json_str("");
    case DOCUMENT_INT:
        return json_int(0);
    case DOCUMENT_BOOL:
        return json_bool(false);
    case DOCUMENT_STRUCT:
        return json_empty_map();
    case DOCUMENT_RAW:
    case DOCUMENT_POINTER:
    case DOCUMENT_MARK:
        break;
    }
    return json_null();
}

bool document_field_value(const struct document_field *f, struct json owner, struct json *ret)
{
    if (f->kind == DOCUMENT_MARK)
        return false;
    struct json v = json_member(owner, f->name);
    bool nil = !json_present(v) || json_is(v, JSON_NULL);
    if (f->shape == DOCUMENT_ONE && f->kind == DOCUMENT_STRUCT) {
        *ret = nil ? json_empty_map() : v;
        return true;
    }
    /* A pointer is empty only if it is nil, whatever it points to. */
    bool pointer =
        f->shape == DOCUMENT_ONE && (f->kind == DOCUMENT_POINTER || f->kind == DOCUMENT_RAW);
    if (f->omitempty && (pointer ? nil : is_empty(v)))
        return false;
    *ret = nil ? zero_of(f) : v;
    return true;
}

static const struct document_field *fields_of(const struct document_field *f, struct json owner)
{
    return f->choose ? f->choose(owner) : f->of;
}

/* ---- JSON ---- */

struct writer {
    struct buf *to;
    struct arena *a;
    bool compact;
};

static void line(struct writer *w, int level)
{
    if (w->compact)
        return;
    buf_add_char(w->to, '\n');
    for (int i = 0; i < level; i++)
        buf_add_text(w->to, "  ");
}

static void write_value(
    struct writer *w, const struct document_field *fields, struct json v, int level);

static void write_key(struct writer *w, const char *key, bool first, int level)
{
    if (!first)
        buf_add_char(w->to, ',');
    line(w, level);
    buf_add_text(w->to, gojson_text(w->a, json_str(key)));
    buf_add_text(w->to, w->compact ? ":" : ": ");
}

static void write_items(
    struct writer *w, const struct document_field *fields, struct json list, int level)
{
    bool first = true;
    buf_add_char(w->to, '[');
    json_each (item, list) {
        if (!first)
            buf_add_char(w->to, ',');
        line(w, level + 1);
        write_value(w, fields, *item, level + 1);
        first = false;
    }
    if (!first)
        line(w, level);
    buf_add_char(w->to, ']');
}

static void write_members(
    struct writer *w, const struct document_field *fields, struct json map, int level)
{
    bool first = true;
    buf_add_char(w->to, '{');
    json_each_member (m, map) {
        write_key(w, m->key, first, level + 1);
        write_value(w, fields, m->value, level + 1);
        first = false;
    }
    if (!first)
        line(w, level);
    buf_add_char(w->to, '}');
}

/* Every key of a value must be in its table. */
static void check_keys(const struct document_field *fields, struct json v)
{
    json_each_member (m, v) {
        const struct document_field *f = fields;
        while (f->name && !text_eq(f->name, m->key))
            f++;
        assert(f->name);
    }
}

static void write_struct(
    struct writer *w, const struct document_field *fields, struct json v, int level)
{
    bool first = true;
    check_keys(fields, v);
    buf_add_char(w->to, '{');
    for (const struct document_field *f = fields; f->name; f++) {
        struct json value;
        if (!document_field_value(f, v, &value))
            continue;
        write_key(w, f->name, first, level + 1);
        first = false;
        const struct document_field *of = fields_of(f, v);
        if (json_is(value, JSON_LIST) && f->shape == DOCUMENT_LIST)
            write_items(w, of, value, level + 1);
        else if (json_is(value, JSON_MAP) && f->shape == DOCUMENT_MAP)
            write_members(w, of, value, level + 1);
        else
            write_value(w, of, value, level + 1);
    }
    if (!first)
        line(w, level);
    buf_add_char(w->to, '}');
}

static void write_value(
    struct writer *w, const struct document_field *fields, struct json v, int level)
{
    if (json_is(v, JSON_MAP) && fields)
        write_struct(w, fields, v, level);
    else if (json_is(v, JSON_MAP))
        write_members(w, NULL, v, level);
    else if (json_is(v, JSON_LIST))
        write_items(w, fields, v, level);
    else
        buf_add_text(w->to, gojson_text(w->a, v));
}

static const char *print(
    struct arena *a, const struct document_field *fields, struct json value, bool compact)
{
    struct buf b = BUF_INIT(DOCUMENT_BYTES_MAX);
    struct writer w = { .to = &b, .a = a, .compact = compact };
    write_value(&w, fields, value, 0);
    assert(!buf_overflowed(&b)); /* an object of the API server is smaller */
    const char *text = arena_strndup(a, buf_text(&b), b.len);
    buf_done(&b);
    return text;
}

const char *document_json(struct arena *a, const struct document_field *fields, struct json value)
{
    return print(a, fields, value, false);
}

const char *document_json_compact(
    struct arena *a, const struct document_field *fields, struct json value)
{
    return print(a, fields, value, true);
}
