/* Reads user input as Go reads it into its structs. The API server has checked most of it, but not
 * values below fields without a schema. */

#include "kinds/toolhive/document.h"

#include "base/time.h"

struct reader {
    struct arena *a;
    struct error *err;
};

static bool read_struct(struct reader *r, const struct document_field *fields, struct json given,
    const char *path, struct json *ret);

static bool wrong_type(struct reader *r, const char *path, const char *wanted, struct json v)
{
    return fail(r->err, ERR_INVALID, "%s: expected %s, got %s", path, wanted, json_type_name(v));
}

/* Go reads numbers of untyped values as floats. */
static struct json as_floats(struct arena *a, struct json v)
{
    struct json_builder b;
    json_builder_init(&b, a);
    switch (v.type) {
    case JSON_INT:
        return json_real((double)v.integer);
    case JSON_LIST:
        json_each (item, v)
            json_push(&b, as_floats(a, *item));
        return json_list_end(&b);
    case JSON_MAP:
        json_each_member (m, v)
            json_put(&b, m->key, as_floats(a, m->value));
        return json_map_end(&b);
    default:
        return v;
    }
}

static bool read_duration(struct reader *r, struct json v, const char *path, struct json *ret)
{
    int64_t ns;
    if (!json_is(v, JSON_STR))
        return wrong_type(r, path, "string", v);
    if (!*v.string) {
        *ret = v;
        return true;
    }
    if (!time_duration_parse(v.string, &ns))
        return fail(r->err,
            ERR_INVALID,
            "%s: \"%s\" is not a duration. Use a form such as 1m30s.",
            path,
            v.string);
    *ret = json_str(ns ? time_duration_format(r->a, ns) : "");
    return true;
}

static bool read_one(struct reader *r, const struct document_field *f, struct json v,
    const char *path, struct json *ret)
{
    *ret = v;
    switch (f->kind) {
    case DOCUMENT_TEXT:
        return json_is(v, JSON_STR) || wrong_type(r, path, "string", v);
    case DOCUMENT_DURATION:
        return read_duration(r, v, path, ret);
    case DOCUMENT_INT:
        return json_is(v, JSON_INT) || wrong_type(r, path, "integer", v);
    case DOCUMENT_BOOL:
        return json_is(v, JSON_BOOL) || wrong_type(r, path, "boolean", v);
    case DOCUMENT_STRUCT:
    case DOCUMENT_POINTER:
        return read_struct(r, f->of, v, path, ret);
    case DOCUMENT_RAW:
        if (json_is(v, JSON_MAP) || json_is(v, JSON_LIST))
            *ret = as_floats(r->a, v);
        return true;
    case DOCUMENT_MARK:
        break;
    }
    return true;
}

static bool read_list(struct reader *r, const struct document_field *f, struct json v,
    const char *path, struct json *ret)
{
    struct json_builder list;
    size_t i = 0;
    if (!json_is(v, JSON_LIST))
        return wrong_type(r, path, "array", v);
    json_builder_init(&list, r->a);
    json_each (item, v) {
        struct json one;
        if (!read_one(r, f, *item, arena_printf(r->a, "%s[%zu]", path, i++), &one))
            return false;
        json_push(&list, one);
    }
    *ret = json_list_end(&list);
    return true;
}

static bool read_map(struct reader *r, const struct document_field *f, struct json v,
    const char *path, struct json *ret)
{
    struct json_builder map;
    if (!json_is(v, JSON_MAP))
        return wrong_type(r, path, "object", v);
    json_builder_init(&map, r->a);
    json_each_member (m, v) {
        struct json one;
        if (!read_one(r, f, m->value, arena_printf(r->a, "%s.%s", path, m->key), &one))
            return false;
        json_put(&map, m->key, one);
    }
    *ret = json_map_end(&map);
    return true;
}

static bool read_struct(struct reader *r, const struct document_field *fields, struct json given,
    const char *path, struct json *ret)
{
    struct json_builder map;
    if (!json_is(given, JSON_MAP))
        return wrong_type(r, path, "object", given);
    json_builder_init(&map, r->a);
    for (const struct document_field *f = fields; f->name; f++) {
        struct json v = json_member(given, f->name), value;
        if (!json_present(v) || json_is(v, JSON_NULL))
            continue;
        const char *below = arena_printf(r->a, "%s.%s", path, f->name);
        bool ok = f->shape == DOCUMENT_LIST  ? read_list(r, f, v, below, &value)
                  : f->shape == DOCUMENT_MAP ? read_map(r, f, v, below, &value)
                                             : read_one(r, f, v, below, &value);
        if (!ok)
            return false;
        json_put(&map, f->name, value);
    }
    *ret = json_map_end(&map);
    return true;
}

bool document_read(struct arena *a, const struct document_field *fields, struct json given,
    const char *path, struct json *ret, struct error *err)
{
    struct reader r = { a, err };
    return read_struct(&r, fields, given, path, ret);
}
