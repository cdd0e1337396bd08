#include "apiserver/core/table.h"

#include "apiserver/core/object.h"
#include "apiserver/rules/jsonpath.h"
#include "base/time.h"

bool table_include_parse(const char *text, enum table_include *ret, struct error *err)
{
    static const char *const names[] = {
        [TABLE_METADATA] = "Metadata",
        [TABLE_NONE] = "None",
        [TABLE_OBJECT] = "Object",
    };
    *ret = TABLE_METADATA;
    if (text_empty(text))
        return true;
    for (size_t i = 0; i < lengthof(names); i++)
        if (text_eq(text, names[i])) {
            *ret = (enum table_include)i;
            return true;
        }
    return fail(err,
        ERR_INVALID,
        "Unable to convert to Table as requested: includeObject: Invalid value: \"%s\": must be "
        "'Metadata', 'Object', 'None', or empty",
        text);
}

/* ---- ages ---- */

/* "3d4h": the larger unit, and the rest in the smaller one unless it is 0. */
static const char *two_units(
    struct arena *a, int64_t large, const char *unit, int64_t small, const char *small_unit)
{
    if (small == 0)
        return arena_printf(a, "%lld%s", (long long)large, unit);
    return arena_printf(a, "%lld%s%lld%s", (long long)large, unit, (long long)small, small_unit);
}

const char *table_age(struct arena *a, const char *rfc3339, int64_t wall_ms)
{
    int64_t then_ms;
    if (text_empty(rfc3339))
        return "<unknown>";
    if (!time_parse(rfc3339, &then_ms))
        return "<invalid>";
    int64_t s = (wall_ms - then_ms) / 1000, m = s / 60, h = m / 60, d = h / 24;
    if (s < 0)
        return s < -1 ? "<invalid>" : "0s";
    if (s < 120)
        return two_units(a, s, "s", 0, "");
    if (m < 10)
        return two_units(a, m, "m", s % 60, "s");
    if (h < 3)
        return two_units(a, m, "m", 0, "");
    if (h < 8)
        return two_units(a, h, "h", m % 60, "m");
    if (h < 48)
        return two_units(a, h, "h", 0, "");
    if (d < 8)
        return two_units(a, d, "d", h % 24, "h");
    if (d < 2 * 365)
        return two_units(a, d, "d", 0, "");
    return two_units(a, d / 365, "y", d < 8 * 365 ? d % 365 : 0, "d");
}

/* ---- columns ---- */

/* The first column of custom kinds, and the default if they define no columns. */
static const struct api_column name_column = {
    "Name", "string", "name", "The name of the object.", ".metadata.name", 0
};
static const struct api_column age_column = {
    "Age", "date", "", "The time since the object was created.", ".metadata.creationTimestamp", 0
};

bool table_rows_are_null(const struct api_kind *k)
{
    return !k->custom && k->column_count == 2 && text_eq(k->columns[1].name, "Created At");
}

static bool by_paths(const struct api_kind *k)
{
    return !k->behaviour || !k->behaviour->cells;
}

static const struct api_column *column_at(const struct api_kind *k, size_t i)
{
    bool own_name = k->column_count > 0 && text_eq(k->columns[0].path, ".metadata.name") &&
                    text_eq(k->columns[0].name, "Name");
    if (by_paths(k) && !own_name) {
        if (i == 0)
            return &name_column;
        i--;
        if (k->column_count == 0)
            return i == 0 ? &age_column : NULL;
    }
    return i < k->column_count ? &k->columns[i] : NULL;
}

struct json table_columns(struct arena *a, const struct api_kind *k)
{
    struct json_builder list;
    json_builder_init(&list, a);
    const struct api_column *c;
    for (size_t i = 0; (c = column_at(k, i)); i++)
        json_push(&list,
            json_map(a,
                { "name", json_str(c->name) },
                { "type", json_str(c->type) },
                { "format", json_str(c->format ? c->format : "") },
                { "description", json_str(c->description ? c->description : "") },
                { "priority", json_int(c->priority) }));
    return json_list_end(&list);
}

/* ---- cells ---- */

static const char *value_text(struct arena *a, struct json v)
{
    if (json_is(v, JSON_STR))
        return v.string;
    if (json_is(v, JSON_NULL))
        return "<nil>";
    if (json_is(v, JSON_REAL))
        return arena_printf(a, "%g", v.real);
    return json_to_text(a, v);
}

static struct json cell_of(
    struct arena *a, const struct api_column *c, struct json v, int64_t wall_ms)
{
    if (!json_present(v))
        return json_null();
    if (text_eq(c->type, "string"))
        return json_str(json_is(v, JSON_NULL) ? "<no value>" : value_text(a, v));
    if (text_eq(c->type, "integer") && (json_is(v, JSON_INT) || json_is(v, JSON_REAL)))
        return json_is(v, JSON_INT) ? v : json_int((int64_t)v.real);
    if (text_eq(c->type, "number") && json_is(v, JSON_INT)) {
        double number = (double)v.integer; /* all numbers in such a cell are float64 */
        return number < 0x1p63 ? json_int((int64_t)number) : v;
    }
    if (text_eq(c->type, "number") && json_is(v, JSON_REAL))
        return v;
    if (text_eq(c->type, "boolean") && json_is(v, JSON_BOOL))
        return v;
    if (text_eq(c->type, "date") && json_is(v, JSON_STR))
        return json_str(table_age(a, v.string, wall_ms));
    return json_null();
}

static struct json cells_by_paths(
    struct arena *a, const struct api_kind *k, struct json object, int64_t wall_ms)
{
    struct json_builder cells;
    json_builder_init(&cells, a);
    const struct api_column *c;
    for (size_t i = 0; (c = column_at(k, i)); i++) {
        struct json value = jsonpath_first(a, c->path ? c->path : "", object);
        if (c == &name_column && !json_present(value))
            value = json_str("");
        json_push(&cells, cell_of(a, c, value, wall_ms));
    }
    return json_list_end(&cells);
}

/* ---- tables ---- */

/* Rows and bare metadata of built-in kinds are built from the server's internal form, which is
 * common to all versions. */
static struct json inner_form(struct arena *a, const struct api_kind *k, struct json object)
{
    return k->custom ? object : object_to_storage(k, a, object);
}

struct json partial_of_object(
    struct arena *a, const struct api_kind *k, const struct accept *accept, struct json object)
{
    object = inner_form(a, k, object);
    return json_map(a,
        { "kind", json_str("PartialObjectMetadata") },
        { "apiVersion", json_str(accept->api_version) },
        { "metadata", json_member(object, "metadata") });
}

/* kubectl omits completed objects on request. */
static struct json row_conditions(struct arena *a, const struct api_kind *k, struct json object)
{
    const char *phase = json_get_text(object, "status.phase");
    bool done = text_eq(phase, "Succeeded");
    if (*k->resource.group || !text_eq(k->resource.kind, "Pod") ||
        (!done && !text_eq(phase, "Failed")))
        return json_none;
    return json_list(a,
        json_map(a,
            { "type", json_str("Completed") },
            { "status", json_str("True") },
            { "reason", json_str(phase) },
            { "message",
                json_str(done ? "The pod has completed successfully." : "The pod failed.") }));
}

struct json table_row(struct arena *a, const struct api_kind *k, const struct accept *accept,
    enum table_include include, struct json object, int64_t wall_ms)
{
    struct json cells = by_paths(k) ? cells_by_paths(a, k, object, wall_ms)
                                    : k->behaviour->cells(k, a, inner_form(a, k, object), wall_ms);
    struct json beside = include == TABLE_NONE     ? json_null()
                         : include == TABLE_OBJECT ? object_to_kind(k, a, object)
                                                   : partial_of_object(a, k, accept, object);
    return json_map(a,
        { "cells", cells },
        { "conditions", row_conditions(a, k, object) },
        { "object", beside });
}

static struct json table(struct arena *a, const struct accept *accept, struct json metadata,
    struct json columns, struct json rows)
{
    return json_map(a,
        { "kind", json_str("Table") },
        { "apiVersion", json_str(accept->api_version) },
        { "metadata", metadata },
        { "columnDefinitions", columns },
        { "rows", rows });
}

struct json table_of_object(struct arena *a, const struct api_kind *k, const struct accept *accept,
    enum table_include include, struct json object, bool columns, int64_t wall_ms)
{
    return table(a,
        accept,
        json_fields(a, { "resourceVersion", json_get(object, "metadata.resourceVersion") }),
        columns ? table_columns(a, k) : json_null(),
        json_list(a, table_row(a, k, accept, include, object, wall_ms)));
}
