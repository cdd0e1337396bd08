#include "apiserver/rules/decode.h"

#include <math.h>

#include "base/base64.h"
#include "base/quantity.h"
#include "base/time.h"
#include "merge/canonical.h"

/* The position of the current value. */
struct place {
    const struct place *up;
    const char *field; /* for a struct; NULL: an item of a list or a map */
    const char *via;   /* the embedded struct that contains the field; "" if none */
    const char *owner; /* Go's name for the struct */
    const char *key;   /* for a map */
    size_t index;      /* for a list, if key is NULL */
};

struct decoder {
    struct arena *arena;
    const struct schema *schema;
    struct field_errors *errors;
    bool failed; /* Go reports only the first error */
    bool ended;  /* nor does it continue after the error of a type with its own decoder */
    bool stored; /* the form that is read back from the store */
};

static struct json read_value(
    struct decoder *d, uint16_t type, const char *go, struct json v, const struct place *at);

/* ---- errors ---- */

static const char *path_of(struct arena *a, const struct place *at)
{
    if (!at)
        return "";
    const char *up = path_of(a, at->up);
    if (at->field)
        return field_child(a, up, at->field);
    return at->key ? field_key(a, up, at->key) : field_index(a, up, at->index);
}

/* Go's path has no indexes and no keys, but includes embedded structs. */
static const char *go_path_of(struct arena *a, const struct place *at)
{
    if (!at)
        return "";
    const char *up = go_path_of(a, at->up);
    if (!at->field)
        return up;
    return field_child(a, *at->via ? field_child(a, up, at->via) : up, at->field);
}

static void fail_text(struct decoder *d, const struct place *at, const char *text)
{
    if (d->failed)
        return;
    d->failed = true;
    field_error_add(d->errors, FIELD_TYPE_INVALID, path_of(d->arena, at), json_none, NULL);
    d->errors->items[d->errors->count - 1].message = text;
}

/* The same for a type with its own decoder: Go drops earlier errors. */
static void end_text(struct decoder *d, const struct place *at, const char *text)
{
    for (size_t i = 0; d->failed && !d->ended && i < d->errors->count; i++)
        if (d->errors->items[i].type == FIELD_TYPE_INVALID)
            d->errors->items[i].message = text;
    fail_text(d, at, text);
    d->ended = true;
}

static const char *go_kind(struct arena *a, struct json v, bool number_shown)
{
    switch (v.type) {
    case JSON_BOOL:
        return "bool";
    case JSON_STR:
        return "string";
    case JSON_LIST:
        return "array";
    case JSON_MAP:
        return "object";
    default:
        return number_shown ? arena_printf(a, "number %s", json_to_text(a, v)) : "number";
    }
}

static const char *type_text(
    struct decoder *d, const struct place *at, struct json v, const char *go, bool number_shown)
{
    const struct place *owner = at;
    while (owner && !owner->field)
        owner = owner->up;
    return arena_printf(d->arena,
        "json: cannot unmarshal %s into Go %s%s%s%s of type %s",
        go_kind(d->arena, v, number_shown),
        owner ? "struct field " : "value",
        owner ? owner->owner : "",
        owner ? "." : "",
        go_path_of(d->arena, at),
        go);
}

static struct json fail_type(
    struct decoder *d, const struct place *at, struct json v, const char *go, bool number_shown)
{
    fail_text(d, at, type_text(d, at, v, go, number_shown));
    return json_none;
}

/* ---- scalars ---- */

const char *decode_time_trouble(struct arena *a, const char *text)
{
    return arena_printf(a, "\"%s\" is not a time such as 2026-01-02T03:04:05Z", text);
}

static struct json read_quantity(
    struct decoder *d, bool resource, struct json v, const struct place *at)
{
    const char *text = v.type == JSON_STR                          ? v.string
                       : v.type == JSON_INT || v.type == JSON_REAL ? json_to_text(d->arena, v)
                                                                   : "";
    const char *canonical = NULL;
    if (*text)
        canonical = resource ? quantity_canonical_resource(d->arena, text)
                             : quantity_canonical(d->arena, text);
    if (!canonical)
        end_text(d,
            at,
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
    return json_str(canonical ? canonical : "0");
}

static struct json read_time(struct decoder *d, bool micro, struct json v, const struct place *at)
{
    if (v.type != JSON_STR) {
        end_text(d, at, type_text(d, at, v, "string", false));
        return json_none;
    }
    int64_t value;
    bool exact =
        !micro || (v.count > 26 && v.string[19] == '.' && strspn(v.string + 20, "0123456789") == 6);
    if (micro && exact && time_parse_micro(v.string, &value))
        return json_str(time_format_micro(d->arena, value));
    if (!micro && time_parse(v.string, &value))
        return json_str(time_format(d->arena, value));
    end_text(d, at, decode_time_trouble(d->arena, v.string));
    return json_null();
}

static struct json read_duration(struct decoder *d, struct json v, const struct place *at)
{
    int64_t ns;
    if (v.type != JSON_STR) {
        end_text(d, at, type_text(d, at, v, "string", false));
        return json_none;
    }
    if (time_duration_parse(v.string, &ns))
        return json_str(time_duration_format(d->arena, ns));
    end_text(d, at, arena_printf(d->arena, "time: invalid duration %s", json_to_text(d->arena, v)));
    return json_str("0s");
}

/* Go accepts numbers as bytes, too. */
static struct json read_byte_list(struct decoder *d, struct json v, const struct place *at)
{
    char *bytes = arena_alloc(d->arena, (size_t)v.count + 1);
    for (uint32_t i = 0; i < v.count; i++) {
        struct json byte = v.items[i].type == JSON_NULL ? json_int(0) : v.items[i];
        struct place here = { .up = at, .index = i };
        bool number = byte.type == JSON_INT || byte.type == JSON_REAL;
        if (byte.type != JSON_INT || byte.integer < 0 || byte.integer > UINT8_MAX)
            return fail_type(d, &here, byte, "uint8", number);
        bytes[i] = (char)byte.integer;
    }
    return json_str(base64_encode(d->arena, (struct str){ bytes, v.count }));
}

static struct json read_bytes(struct decoder *d, struct json v, const struct place *at)
{
    struct str bytes;
    if (v.type == JSON_LIST)
        return read_byte_list(d, v, at);
    if (v.type != JSON_STR)
        return fail_type(d, at, v, "[]uint8", false);
    /* Line ends are ignored, because users paste the output of base64(1). */
    char *text = arena_alloc(d->arena, (size_t)v.count + 1);
    size_t length = 0;
    for (uint32_t i = 0; i < v.count; i++)
        if (v.string[i] != '\n' && v.string[i] != '\r')
            text[length++] = v.string[i];
    if (base64_decode(d->arena, (struct str){ text, length }, &bytes))
        return json_str(text);
    fail_text(d, at, "the value is not base64");
    return json_str("");
}

static struct json read_number(
    struct decoder *d, const char *go, struct json v, const struct place *at)
{
    bool real = text_starts(go, "float"), small = text_eq(go, "int32");
    if (v.type != JSON_INT && v.type != JSON_REAL)
        return fail_type(d, at, v, go, false);
    if (!real && (v.type == JSON_REAL || (small && v.integer != (int32_t)v.integer)))
        return fail_type(d, at, v, go, true);
    return v;
}

static struct json read_scalar(struct decoder *d, const struct schema_type *t, const char *go,
    struct json v, const struct place *at)
{
    switch ((enum schema_format)t->format) {
    case FORMAT_QUANTITY:
        return read_quantity(d, text_eq(go, "resource"), v, at);
    case FORMAT_INT_OR_STRING:
        return v.type == JSON_STR ? v : read_number(d, "int32", v, at);
    case FORMAT_TIME:
        return read_time(d, false, v, at);
    case FORMAT_MICRO_TIME:
        return read_time(d, true, v, at);
    case FORMAT_DURATION:
        return read_duration(d, v, at);
    case FORMAT_BYTES:
        return read_bytes(d, v, at);
    case FORMAT_PLAIN:
        break;
    }
    if (t->scalar == SCALAR_NUMBER)
        return read_number(d, go, v, at);
    if (t->scalar == SCALAR_BOOL)
        return v.type == JSON_BOOL ? v : fail_type(d, at, v, go, false);
    return v.type == JSON_STR ? v : fail_type(d, at, v, go, false);
}

/* ---- containers ---- */

/* A type without restrictions. */
static bool is_free(const struct schema_type *t)
{
    return t->map != MAP_NONE && (t->scalar == SCALAR_ANY || t->member == SCHEMA_TYPE_DEDUCED);
}

static bool is_struct(const struct schema_type *t)
{
    return t->map != MAP_NONE && t->member == SCHEMA_NO_TYPE;
}

/* The value for an item that is null. */
static struct json zero_of(struct decoder *d, uint16_t type, const char *go, const struct place *at)
{
    const struct schema_type *t = schema_type(d->schema, type);
    if (is_free(t) || t->list != LIST_NONE || (t->map != MAP_NONE && !is_struct(t)))
        return json_null();
    if (is_struct(t))
        return read_value(d, type, go, json_empty_map(), at);
    switch ((enum schema_format)t->format) {
    case FORMAT_QUANTITY:
        return json_str("0");
    case FORMAT_INT_OR_STRING:
        return json_int(0);
    case FORMAT_TIME:
    case FORMAT_MICRO_TIME:
        return json_null();
    case FORMAT_DURATION:
        return json_str("0s");
    case FORMAT_BYTES:
    case FORMAT_PLAIN:
        break;
    }
    return t->scalar == SCALAR_NUMBER ? json_int(0)
           : t->scalar == SCALAR_BOOL ? json_bool(false)
                                      : json_str("");
}

/* The item type of "[]v1.Container" is v1.Container, of map[string]string string. A resource list
 * rounds. */
static const char *go_item(const char *go)
{
    if (text_eq(go, "v1.ResourceList"))
        return "resource";
    const char *end = strchr(go, ']');
    const char *item = end ? end + 1 : go;
    return *item == '*' ? item + 1 : item;
}

static struct json read_list(struct decoder *d, const struct schema_type *t, const char *go,
    struct json v, const struct place *at)
{
    if (v.type != JSON_LIST)
        return fail_type(d, at, v, go, false);
    const char *item_go = go_item(go);
    struct json_builder b;
    json_builder_init(&b, d->arena);
    for (size_t i = 0; i < v.count; i++) {
        struct place here = { .up = at, .index = i };
        bool null = v.items[i].type == JSON_NULL;
        json_push(&b,
            null ? zero_of(d, t->item, item_go, &here)
                 : read_value(d, t->item, item_go, v.items[i], &here));
    }
    return json_list_end(&b);
}

static struct json read_map(struct decoder *d, const struct schema_type *t, const char *go,
    struct json v, const struct place *at)
{
    if (v.type != JSON_MAP)
        return fail_type(d, at, v, go, false);
    const char *item_go = go_item(go);
    struct json_builder b;
    json_builder_init(&b, d->arena);
    json_each_member (m, v) {
        struct place here = { .up = at, .key = m->key };
        bool null = m->value.type == JSON_NULL;
        json_put(&b,
            m->key,
            null ? zero_of(d, t->member, item_go, &here)
                 : read_value(d, t->member, item_go, m->value, &here));
    }
    return json_map_end(&b);
}

static struct json read_field(struct decoder *d, const struct schema_type *t,
    const struct schema_field *f, struct json v, const struct place *at)
{
    const struct schema *s = d->schema;
    const char *go = schema_name(s, f->go), *colon = strchr(go, ':');
    struct place here = {
        .up = at,
        .field = schema_name(s, f->name),
        .via = colon ? arena_strndup(d->arena, go, (size_t)(colon - go)) : "",
        .owner = schema_name(s, t->go),
    };
    go = colon ? colon + 1 : go;
    if (v.type == JSON_ABSENT || v.type == JSON_NULL) {
        if (f->filled == FILLED_NOT || f->flags & SCHEMA_OMIT)
            return json_none;
        return f->filled == FILLED_NULL ? json_null() : zero_of(d, f->type, go, &here);
    }
    struct json read = read_value(d, f->type, go, v, &here);
    if (json_is(read, JSON_NULL) && schema_type(s, f->type)->format == FORMAT_TIME)
        return f->flags & SCHEMA_OMIT ? json_none : read;
    if (!canonical_is_zero(read))
        return read;
    /* A list or map that is always present is null if it is empty; a list only when it is
     * stored. */
    if (f->filled == FILLED_NULL && !is_struct(schema_type(s, f->type)) &&
        ((read.type == JSON_LIST && d->stored) || read.type == JSON_MAP))
        return json_null();
    return f->flags & SCHEMA_OMIT ? json_none : read;
}

static struct json read_struct(struct decoder *d, const struct schema_type *t, const char *go,
    struct json v, const struct place *at)
{
    if (v.type != JSON_MAP)
        return fail_type(d, at, v, go, false);
    struct json_builder b;
    json_builder_init(&b, d->arena);
    for (uint32_t i = 0; i < t->field_count; i++) {
        const struct schema_field *f = &d->schema->table.fields[t->fields + i];
        const char *name = schema_name(d->schema, f->name);
        json_put(&b, name, read_field(d, t, f, json_member(v, name), at));
    }
    json_each_member (m, v) {
        struct place here = { .up = at, .field = m->key };
        if (!schema_field(d->schema, t, m->key))
            field_invalid(d->errors, path_of(d->arena, &here), json_none, NULL);
    }
    return json_map_end(&b);
}

static struct json read_value(
    struct decoder *d, uint16_t type, const char *go, struct json v, const struct place *at)
{
    const struct schema_type *t = schema_type(d->schema, type);
    if (text_eq(go, "intstr.IntOrString"))
        return v.type == JSON_STR ? v : read_number(d, "int32", v, at);
    if (is_free(t))
        return v;
    if (t->list != LIST_NONE)
        return read_list(d, t, go, v, at);
    if (t->map == MAP_NONE)
        return read_scalar(d, t, go, v, at);
    return is_struct(t) ? read_struct(d, t, go, v, at) : read_map(d, t, go, v, at);
}

static bool has_empty_list(struct json v)
{
    if (v.type == JSON_LIST) {
        for (size_t i = 0; i < v.count; i++)
            if (has_empty_list(v.items[i]))
                return true;
        return !v.count;
    }
    if (v.type == JSON_MAP)
        json_each_member (m, v)
            if (has_empty_list(m->value))
                return true;
    return false;
}

struct json decode_for_store(struct arena *a, const struct schema *s, struct json object)
{
    struct field_errors ignored;
    if (!has_empty_list(object))
        return object;
    field_errors_init(&ignored, a);
    struct decoder d = { .arena = a, .schema = s, .errors = &ignored, .stored = true };
    struct json metadata = json_member(object, "metadata");
    object = read_value(&d, s->root, schema_name(s, schema_type(s, s->root)->go), object, NULL);
    return json_with_member(a, object, "metadata", metadata);
}

/* ---- integer overflow ---- */

static struct json wrapped(const char *go, struct json v)
{
    bool small = text_eq(go, "int32");
    if (!small && !text_eq(go, "int64"))
        return v;
    if (v.type == JSON_REAL) {
        bool fits = v.real >= -0x1p63 && v.real < 0x1p63;
        if (fits && (double)(int64_t)v.real != v.real)
            return v; /* not a whole number, which is an error elsewhere */
        v = json_int(fits ? (int64_t)v.real : INT64_MIN);
    }
    return v.type == JSON_INT && small ? json_int((int32_t)(uint32_t)(uint64_t)v.integer) : v;
}

static struct json wrap(
    struct arena *a, const struct schema *s, uint16_t type, const char *go, struct json v)
{
    const struct schema_type *t = schema_type(s, type);
    struct json_builder b;
    if (text_eq(go, "intstr.IntOrString") && v.type == JSON_REAL && fabs(v.real) < 0x1p31 &&
        v.real == (int32_t)v.real)
        return json_int((int32_t)v.real); /* it is encoded as an integer on the way */
    if (is_free(t) || (v.type != JSON_LIST && v.type != JSON_MAP))
        return t->format == FORMAT_PLAIN && !is_free(t) ? wrapped(go, v) : v;
    json_builder_init(&b, a);
    if (v.type == JSON_LIST) {
        json_each (item, v)
            json_push(&b, t->list == LIST_NONE ? *item : wrap(a, s, t->item, go_item(go), *item));
        return json_list_end(&b);
    }
    json_each_member (m, v) {
        const struct schema_field *f = is_struct(t) ? schema_field(s, t, m->key) : NULL;
        const char *name = f ? schema_name(s, f->go) : go_item(go), *colon = strchr(name, ':');
        uint16_t below = f ? f->type : t->member;
        bool known = f || (t->map != MAP_NONE && !is_struct(t));
        json_put(
            &b, m->key, known ? wrap(a, s, below, colon ? colon + 1 : name, m->value) : m->value);
    }
    return json_map_end(&b);
}

struct json decode_wrap_numbers(struct arena *a, const struct schema *s, struct json object)
{
    return wrap(a, s, s->root, "", object);
}

struct json decode_object(
    struct arena *a, const struct schema *s, struct json object, struct field_errors *unknown)
{
    struct decoder d = { .arena = a, .schema = s, .errors = unknown };
    return read_value(&d, s->root, schema_name(s, schema_type(s, s->root)->go), object, NULL);
}
