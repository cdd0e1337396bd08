#include "apiserver/custom/crd_parts.h"

#include <string.h>

#include "apiserver/custom/crd_check.h"
#include "apiserver/custom/crd_schema.h"

struct checker {
    struct arena *arena;
    struct field_errors *errors;
};

struct scale_path {
    const char *field;
    bool needed;
    const char *under, *other; /* prefixes */
    const char *fault;
};

static void check_scale(struct checker *c, struct json scale, const char *at)
{
    static const struct scale_path paths[] = {
        { "specReplicasPath", true, ".spec.", NULL, "should be a json path under .spec" },
        { "statusReplicasPath", true, ".status.", NULL, "should be a json path under .status" },
        { "labelSelectorPath",
            false,
            ".spec.",
            ".status.",
            "should be a json path under either .spec or .status" },
    };
    for (size_t i = 0; i < lengthof(paths); i++) {
        const struct scale_path *p = &paths[i];
        struct json v = json_member(scale, p->field);
        const char *text = json_is(v, JSON_STR) ? v.string : "";
        const char *path = field_child(c->arena, at, p->field);
        if (!*text && p->needed)
            field_required(c->errors, path, "");
        else if (*text && *text != '.')
            field_invalid(c->errors, path, v, "must be a simple json path starting with .");
        else if (*text && !text_starts(text, p->under) &&
                 !(p->other && text_starts(text, p->other)))
            field_invalid(c->errors, path, v, p->fault);
    }
}

static void check_columns(struct checker *c, struct json columns, const char *at)
{
    static const char types[] = "boolean,date,integer,number,string";
    static const char formats[] = "byte,date,date-time,double,float,int32,int64,password";
    size_t i = 0;
    json_each (column, columns) {
        struct arena *a = c->arena;
        const char *path = field_index(a, at, i++);
        struct json type = json_member(*column, "type"), format = json_member(*column, "format");
        struct json json_path = json_member(*column, "jsonPath");
        if (!*schema_text(*column, "name"))
            field_required(c->errors, field_child(a, path, "name"), "");
        const char *one_of = arena_printf(a, "must be one of %s", types);
        if (!type.count)
            field_required(c->errors, field_child(a, path, "type"), one_of);
        else if (!strstr(arena_printf(a, ",%s,", types), arena_printf(a, ",%s,", type.string)))
            field_invalid(c->errors, field_child(a, path, "type"), type, one_of);
        if (format.count &&
            !strstr(arena_printf(a, ",%s,", formats), arena_printf(a, ",%s,", format.string)))
            field_invalid(c->errors,
                field_child(a, path, "format"),
                format,
                arena_printf(a, "must be one of %s", formats));
        if (!json_path.count)
            field_required(c->errors, field_child(a, path, "JSONPath"), "");
        else if (json_path.string[0] != '.')
            field_invalid(c->errors,
                field_child(a, path, "JSONPath"),
                json_path,
                "must be a simple json path starting with .");
    }
}

/* The error of the path to a selectable field, or NULL; and the schema of the field. */
static const char *path_fault(struct checker *c, const char *path, struct json *schema)
{
    while (*path == '.') {
        size_t length = strcspn(path + 1, ".[]");
        if (!path[1])
            return "unexpected end of JSON path";
        struct str name = { path + 1, length ? length : 1 }; /* a mark counts as a name */
        struct json fields = json_member(*schema, "properties");
        *schema = json_present(fields) ? json_member_n(fields, name)
                                       : json_member(*schema, "additionalProperties");
        if (!json_is(*schema, JSON_MAP))
            return "does not refer to a valid field";
        path = name.ptr + name.len;
    }
    if (*path == '[')
        return "array notation is not allowed";
    return *path ? arena_printf(c->arena,
                       "expected [ or . but got: %.*s",
                       *path == ']' ? 1 : (int)strcspn(path, ".[]"),
                       path)
                 : NULL;
}

#define SELECTABLE_MAX 8

/* Returns whether the path of the field is valid. */
static bool check_selectable(struct checker *c, struct json v, struct json schema, const char *path)
{
    const char *text = json_text(v) ? json_text(v) : "";
    if (!*text) {
        field_required(c->errors, path, "");
        return false;
    }
    const char *fault = path_fault(c, text, &schema);
    if (fault) {
        field_invalid(c->errors, path, v, arena_printf(c->arena, "is an invalid path: %s", fault));
        return false;
    }
    if (text_starts(text, ".metadata") && (!text[9] || text[9] == '.'))
        field_invalid(c->errors, path, v, "must not point to fields in metadata");
    const char *type = schema_text(schema, "type");
    if (!text_eq(type, "string") && !text_eq(type, "boolean") && !text_eq(type, "integer"))
        field_invalid(c->errors,
            path,
            v,
            "must point to a field of type string, boolean or integer. Enum string fields and "
            "strings with formats are allowed.");
    return true;
}

static void check_paths(struct checker *c, struct json fields, struct json schema, const char *at)
{
    struct json *seen = arena_array(c->arena, fields.count + 1, sizeof(*seen));
    size_t count = 0;
    for (uint32_t i = 0; i < fields.count; i++) {
        struct json v = json_member(fields.items[i], "jsonPath");
        const char *path = field_child(c->arena, field_index(c->arena, at, i), "jsonPath");
        bool again = false;
        if (!check_selectable(c, v, schema, path))
            continue;
        for (size_t j = 0; j < count; j++)
            again |= json_equal(v, seen[j]);
        if (again)
            field_duplicate(c->errors, path, v);
        else
            seen[count++] = v;
    }
    if (count > SELECTABLE_MAX)
        field_error_add(
            c->errors, FIELD_TOO_MANY, at, json_int((int64_t)count), "must have at most 8 items");
}

static void check_selectables(struct checker *c, const struct crd_level *l, struct json schema)
{
    struct json fields = json_member(l->parts, "selectableFields");
    const char *at = field_child(c->arena, l->at, "selectableFields");
    const char *strange = crd_form_strangeness(c->arena, schema);
    if (!fields.count)
        return;
    if (!json_present(schema)) {
        field_invalid(c->errors, at, json_str(""), l->without);
        return;
    }
    if (strange)
        field_invalid(c->errors,
            field_child(c->arena, l->at, "schema.openAPIV3Schema"),
            json_str(""),
            strange);
    check_paths(c, fields, schema, at);
}

static void check_schema(struct checker *c, const struct crd_level *l, struct json schema)
{
    static const char field[] = "openAPIV3Schema";
    struct arena *a = c->arena;
    struct crd_schema_options options = {
        .at = field_child(a, field_child(a, l->at, l->schema), field),
        .has_status = l->has_status,
        .unchanged = l->unchanged,
        .given = json_member(field_given(c->errors, field_child(a, l->given_at, "schema")), field),
    };
    if (json_present(schema))
        crd_check_schema(a, schema, &options, c->errors);
}

void crd_parts_check(struct arena *a, const struct crd_level *l, struct field_errors *errors)
{
    struct checker c = { a, errors };
    struct json schema = json_get(l->parts, "schema.openAPIV3Schema");
    struct json scale = json_get(l->parts, "subresources.scale");
    struct json columns = json_member(l->parts, "additionalPrinterColumns");
    check_schema(&c, l, schema);
    if (json_present(scale))
        check_scale(&c, scale, field_child(a, l->at, "subresources.scale"));
    check_columns(&c, columns, field_child(a, l->at, "additionalPrinterColumns"));
    check_selectables(&c, l, schema);
}
