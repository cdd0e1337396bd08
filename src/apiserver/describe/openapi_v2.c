#include "apiserver/describe/openapi_v2.h"

/* The binary form of a JSON member. A "named" message is { name = 1, value = 2 }; an "any" is YAML
 * text in field 2, and JSON is YAML. */
enum form {
    FORM_TEXT,
    FORM_BOOL,
    FORM_INT,
    FORM_REAL,
    FORM_ANY,
    FORM_MESSAGE,
    FORM_TEXTS,      /* repeated: one for each list item */
    FORM_ANYS,       /* … */
    FORM_NAMED,      /* a message with repeated field 1, one named message per member */
    FORM_WRAPPED,    /* a message whose field 1 is the text or message, … */
    FORM_BOOL_OR_IT, /* … or whose field 2 is a bool */
};

struct message;
struct field {
    const char *key;
    uint32_t number;
    enum form form;
    const struct message *of; /* of the value, items or members; NULL: text */
};
struct message {
    const struct field *fields; /* terminated by one without a key */
    uint32_t extensions;        /* field of the members "x-…", repeated named any; 0: none */
};

static const struct message schema;
static const struct field schema_fields[] = {
    { "$ref", 1, FORM_TEXT, NULL },
    { "format", 2, FORM_TEXT, NULL },
    { "title", 3, FORM_TEXT, NULL },
    { "description", 4, FORM_TEXT, NULL },
    { "default", 5, FORM_ANY, NULL },
    { "multipleOf", 6, FORM_REAL, NULL },
    { "maximum", 7, FORM_REAL, NULL },
    { "exclusiveMaximum", 8, FORM_BOOL, NULL },
    { "minimum", 9, FORM_REAL, NULL },
    { "exclusiveMinimum", 10, FORM_BOOL, NULL },
    { "maxLength", 11, FORM_INT, NULL },
    { "minLength", 12, FORM_INT, NULL },
    { "pattern", 13, FORM_TEXT, NULL },
    { "maxItems", 14, FORM_INT, NULL },
    { "minItems", 15, FORM_INT, NULL },
    { "uniqueItems", 16, FORM_BOOL, NULL },
    { "maxProperties", 17, FORM_INT, NULL },
    { "minProperties", 18, FORM_INT, NULL },
    { "required", 19, FORM_TEXTS, NULL },
    { "enum", 20, FORM_ANYS, NULL },
    { "additionalProperties", 21, FORM_BOOL_OR_IT, &schema },
    { "type", 22, FORM_WRAPPED, NULL },
    { "items", 23, FORM_WRAPPED, &schema },
    { "properties", 25, FORM_NAMED, &schema },
    { 0 },
};
static const struct message schema = { schema_fields, 31 };

static const struct field info_fields[] = {
    { "title", 1, FORM_TEXT, NULL },
    { "version", 2, FORM_TEXT, NULL },
    { 0 },
};
static const struct message info = { info_fields, 0 };

/* Our document has no paths. */
static const struct field no_fields[] = { { 0 } };
static const struct message nothing = { no_fields, 0 };

static const struct field document_fields[] = {
    { "swagger", 1, FORM_TEXT, NULL },
    { "info", 2, FORM_MESSAGE, &info },
    { "paths", 8, FORM_MESSAGE, &nothing },
    { "definitions", 9, FORM_NAMED, &schema },
    { 0 },
};
static const struct message document = { document_fields, 0 };

static const struct field *find(const struct message *m, const char *key)
{
    for (const struct field *f = m->fields; f->key; f++)
        if (text_eq(f->key, key))
            return f;
    return NULL;
}

/* ---- conversion to v2 ---- */

static bool says(struct json v, const char *key)
{
    return json_get_bool(v, key, false);
}

static struct json schemas_of(struct arena *a, struct json map)
{
    struct json_builder b;
    json_builder_init_for(&b, a, map.count);
    json_each_member (m, map)
        json_put(&b, m->key, openapi_v2_schema(a, m->value));
    return json_map_end(&b);
}

/* Nullable fields are not required. */
static struct json required_of(struct arena *a, struct json v)
{
    if (says(json_member(v, "additionalProperties"), "nullable"))
        return json_none;
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (name, json_member(v, "required"))
        if (!says(json_member(json_member(v, "properties"), json_text(*name)), "nullable"))
            json_push(&b, *name);
    return json_or_absent(json_list_end(&b));
}

struct json openapi_v2_schema(struct arena *a, struct json v)
{
    bool nullable = says(v, "nullable"), any = says(v, "x-kubernetes-preserve-unknown-fields");
    const char *type = json_get_text(v, "type");
    bool typed = !nullable && !(any && (text_eq(type, "object") || text_eq(type, "array")));
    struct json_builder b;
    json_builder_init_for(&b, a, v.count);
    json_each_member (m, v) {
        struct json value = m->value;
        if (text_eq(m->key, "items") || text_eq(m->key, "properties")) {
            bool inside = !nullable && !any;
            value = !inside                    ? json_none
                    : text_eq(m->key, "items") ? openapi_v2_schema(a, value)
                                               : schemas_of(a, value);
        } else if (text_eq(m->key, "additionalProperties") && json_is(value, JSON_MAP)) {
            value = openapi_v2_schema(a, value);
        } else if (text_eq(m->key, "required")) {
            value = required_of(a, v);
        } else if (text_eq(m->key, "default") || (text_eq(m->key, "type") && !typed)) {
            continue;
        }
        if (text_starts(m->key, "x-") || find(&schema, m->key))
            json_put(&b, m->key, value);
    }
    return json_map_end(&b);
}

/* ---- the binary form ---- */

static void put_varint(struct buf *b, uint64_t v)
{
    for (; v > 0x7f; v >>= 7)
        buf_add_char(b, (char)(v | 0x80));
    buf_add_char(b, (char)v);
}

static void put_number(struct buf *b, uint32_t field, uint64_t v)
{
    if (!v)
        return; /* proto3 omits zero values */
    put_varint(b, (uint64_t)field << 3);
    put_varint(b, v);
}

static void put_real(struct buf *b, uint32_t field, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    if (!bits)
        return;
    put_varint(b, (uint64_t)field << 3 | 1);
    for (unsigned i = 0; i < sizeof(bits); i++)
        buf_add_char(b, (char)(bits >> (8 * i)));
}

/* begin() and end() write the length before their content, in as few bytes as possible. */
static size_t begin(struct buf *b, uint32_t field)
{
    put_varint(b, (uint64_t)field << 3 | 2);
    buf_add_char(b, 0);
    return b->len;
}

static void end(struct buf *b, size_t start)
{
    if (buf_overflowed(b))
        return;
    size_t length = b->len - start, more = 0;
    for (size_t rest = length; rest > 0x7f; rest >>= 7)
        more++;
    for (size_t i = 0; i < more; i++)
        buf_add_char(b, 0);
    if (buf_overflowed(b))
        return;
    memmove(b->ptr + start + more, b->ptr + start, length);
    char *at = b->ptr + start - 1; /* not buf_add_char(), which adds a NUL */
    for (size_t rest = length; rest > 0x7f; rest >>= 7)
        *at++ = (char)(rest | 0x80);
    *at = (char)(length >> (7 * more));
}

static void put_text(struct buf *b, uint32_t field, const char *text)
{
    size_t start = begin(b, field);
    buf_add_text(b, text ? text : "");
    end(b, start);
}

static void put_any(struct buf *b, uint32_t field, struct json v)
{
    size_t start = begin(b, field), text = begin(b, 2);
    json_print(b, v);
    end(b, text);
    end(b, start);
}

static void put_message(struct buf *b, const struct message *m, struct json v);

static void put_value(struct buf *b, uint32_t field, const struct message *of, struct json v)
{
    if (!of) {
        put_text(b, field, json_text(v));
        return;
    }
    size_t start = begin(b, field);
    put_message(b, of, v);
    end(b, start);
}

static void put_named(struct buf *b, uint32_t field, const struct message *of, struct json map)
{
    size_t start = begin(b, field);
    json_each_member (m, map) {
        size_t named = begin(b, 1);
        put_text(b, 1, m->key);
        put_value(b, 2, of, m->value);
        end(b, named);
    }
    end(b, start);
}

static double real_of(struct json v)
{
    return json_is(v, JSON_INT) ? (double)v.integer : json_is(v, JSON_REAL) ? v.real : 0;
}

static void put_field(struct buf *b, const struct field *f, struct json v)
{
    size_t start;
    switch (f->form) {
    case FORM_TEXT:
    case FORM_MESSAGE:
        put_value(b, f->number, f->of, v);
        return;
    case FORM_BOOL:
        put_number(b, f->number, json_is(v, JSON_BOOL) && v.boolean);
        return;
    case FORM_INT:
        put_number(b, f->number, (uint64_t)real_of(v));
        return;
    case FORM_REAL:
        put_real(b, f->number, real_of(v));
        return;
    case FORM_ANY:
        put_any(b, f->number, v);
        return;
    case FORM_TEXTS:
        json_each (item, v)
            put_text(b, f->number, json_text(*item));
        return;
    case FORM_ANYS:
        json_each (item, v)
            put_any(b, f->number, *item);
        return;
    case FORM_NAMED:
        put_named(b, f->number, f->of, v);
        return;
    case FORM_WRAPPED:
        start = begin(b, f->number);
        put_value(b, 1, f->of, v);
        end(b, start);
        return;
    case FORM_BOOL_OR_IT:
        start = begin(b, f->number);
        if (json_is(v, JSON_BOOL)) {
            put_varint(b, 2 << 3); /* a oneof, so false is written, too */
            put_varint(b, v.boolean);
        } else {
            put_value(b, 1, f->of, v);
        }
        end(b, start);
        return;
    }
}

static void put_message(struct buf *b, const struct message *m, struct json v)
{
    for (const struct field *f = m->fields; f->key; f++) {
        struct json value = json_member(v, f->key);
        if (json_present(value))
            put_field(b, f, value);
    }
    json_each_member (x, v) {
        if (!m->extensions || !text_starts(x->key, "x-"))
            continue;
        size_t start = begin(b, m->extensions);
        put_text(b, 1, x->key);
        put_any(b, 2, x->value);
        end(b, start);
    }
}

void openapi_v2_encode(struct buf *b, struct json v)
{
    put_message(b, &document, v);
}
