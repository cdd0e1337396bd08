#include "base/json_bind.h"

static const struct {
    const char *wanted;
    enum json_type type;
} fits[] = {
    [JSON_BIND_STR] = { "string", JSON_STR },
    [JSON_BIND_INT] = { "integer", JSON_INT },
    [JSON_BIND_REAL] = { "number", JSON_REAL },
    [JSON_BIND_BOOL] = { "boolean", JSON_BOOL },
    [JSON_BIND_ANY] = { "anything", JSON_ABSENT },
    [JSON_BIND_OPT_INT] = { "integer", JSON_INT },
    [JSON_BIND_OPT_REAL] = { "number", JSON_REAL },
    [JSON_BIND_OPT_BOOL] = { "boolean", JSON_BOOL },
};

/* To the API server, 5.0 is an integer, and 5 is a number. */
static struct json as_wanted(struct json v, enum json_type wanted)
{
    if (wanted == JSON_REAL && v.type == JSON_INT)
        return json_real((double)v.integer);
    bool whole = v.type == JSON_REAL && v.real >= -9e15 && v.real <= 9e15 &&
                 v.real == (double)(int64_t)v.real;
    if (wanted == JSON_INT && whole)
        return json_int((int64_t)v.real);
    return v;
}

static bool fail_at(struct error *err, const char *at, const struct json_bind *row,
    const char *what, const char *detail)
{
    return fail(err, ERR_INVALID, "%s%s%s: %s%s", at, *at ? "." : "", row->path, what, detail);
}

static void store(struct arena *a, enum json_bind_type type, struct json v, void *to)
{
    switch (type) {
    case JSON_BIND_STR:
        *(const char **)to = v.string;
        break;
    case JSON_BIND_INT:
        *(int64_t *)to = v.integer;
        break;
    case JSON_BIND_REAL:
        *(double *)to = v.real;
        break;
    case JSON_BIND_BOOL:
        *(bool *)to = v.boolean;
        break;
    case JSON_BIND_ANY:
        *(struct json *)to = v;
        break;
    case JSON_BIND_OPT_INT: {
        int64_t *value = arena_new(a, int64_t);
        *value = v.integer;
        *(const int64_t **)to = value;
        break;
    }
    case JSON_BIND_OPT_REAL: {
        double *value = arena_new(a, double);
        *value = v.real;
        *(const double **)to = value;
        break;
    }
    case JSON_BIND_OPT_BOOL: {
        bool *value = arena_new(a, bool);
        *value = v.boolean;
        *(const bool **)to = value;
        break;
    }
    case JSON_BIND_END:
        assert(!"a table row without a type");
    }
}

static bool bind_row(struct arena *a, struct json object, const char *at,
    const struct json_bind *row, void *into, struct error *err)
{
    struct json v = json_get(object, row->path);
    if (v.type == JSON_ABSENT || v.type == JSON_NULL)
        return !row->required || fail_at(err, at, row, "required", "");
    enum json_type wanted = fits[row->type].type;
    v = as_wanted(v, wanted);
    if (wanted != JSON_ABSENT && v.type != wanted) {
        char detail[64];
        snprintf(detail, sizeof(detail), "%s, got %s", fits[row->type].wanted, json_type_name(v));
        return fail_at(err, at, row, "expected ", detail);
    }
    bool bounded = row->min != 0 || row->max != 0;
    if (v.type == JSON_INT && bounded && (v.integer < row->min || v.integer > row->max)) {
        char detail[96];
        snprintf(detail,
            sizeof(detail),
            "%lld and %lld, got %lld",
            (long long)row->min,
            (long long)row->max,
            (long long)v.integer);
        return fail_at(err, at, row, "must be between ", detail);
    }
    store(a, row->type, v, (char *)into + row->offset);
    return true;
}

bool json_bind(struct arena *a, struct json object, const char *at, const struct json_bind *table,
    void *into, struct error *err)
{
    if (object.type != JSON_MAP && object.type != JSON_ABSENT && object.type != JSON_NULL)
        return fail(err, ERR_INVALID, "%s: expected object, got %s", at, json_type_name(object));
    for (const struct json_bind *row = table; row->path; row++)
        if (!bind_row(a, object, at, row, into, err))
            return false;
    return true;
}
