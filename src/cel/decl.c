#include "cel/decl.h"

#include "base/base64.h"
#include "base/buf.h"
#include "cel/lib.h"

/* ---- names ---- */

static const char *const reserved[] = { "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while" };

bool cel_name_is_reserved(struct str name)
{
    for (size_t i = 0; i < lengthof(reserved); i++)
        if (str_eq(name, str_of(reserved[i])))
            return true;
    return false;
}

static const struct {
    const char *plain, *escaped;
} escapes[] = {
    { "__", "__underscores__" },
    { ".", "__dot__" },
    { "-", "__dash__" },
    { "/", "__slash__" },
};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

const char *cel_name_escape(struct arena *a, const char *key)
{
    if (!*key || (*key >= '0' && *key <= '9'))
        return NULL;
    if (cel_name_is_reserved(str_of(key)))
        return arena_printf(a, "__%s__", key);
    size_t plain = 0;
    while (is_word(key[plain]) && !text_starts(key + plain, "__"))
        plain++;
    if (!key[plain])
        return key;
    cleanup(buf_done) struct buf b = BUF_INIT(strlen(key) * 15 + 1);
    while (*key) {
        size_t i = 0;
        while (i < lengthof(escapes) && !text_starts(key, escapes[i].plain))
            i++;
        if (i < lengthof(escapes)) {
            buf_add_text(&b, escapes[i].escaped);
            key += strlen(escapes[i].plain);
        } else if (is_word(*key)) {
            buf_add_char(&b, *key++);
        } else {
            return NULL;
        }
    }
    return arena_strdup(a, buf_text(&b));
}

/* The length of an escape (`__dot__`) at the beginning, with a non-empty word without underscores;
 * 0 if there is none. */
static size_t escape_length(struct str s)
{
    if (!str_starts(s, STR("__")))
        return 0;
    size_t i = 2;
    while (i < s.len && s.ptr[i] != '_')
        i++;
    return i > 2 && i + 1 < s.len && s.ptr[i + 1] == '_' ? i + 2 : 0;
}

const char *cel_name_unescape(struct arena *a, struct str name)
{
    cleanup(buf_done) struct buf b = BUF_INIT(name.len + 1);
    for (size_t i = 0; i < name.len;) {
        struct str rest = { name.ptr + i, name.len - i };
        size_t length = escape_length(rest);
        if (!length) {
            buf_add_char(&b, name.ptr[i++]);
            continue;
        }
        struct str escape = { rest.ptr, length }, word = { rest.ptr + 2, length - 4 };
        size_t n = 0;
        while (n < lengthof(escapes) && !str_eq(escape, str_of(escapes[n].escaped)))
            n++;
        if (n < lengthof(escapes))
            buf_add_text(&b, escapes[n].plain);
        else if (cel_name_is_reserved(word) && length == name.len)
            buf_add(&b, word.ptr, word.len);
        else
            return NULL;
        i += length;
    }
    return arena_strdup(a, buf_text(&b));
}

/* ---- schemas ---- */

const struct cel_field *cel_decl_field(const struct cel_decl *d, const char *key)
{
    size_t low = 0, high = d->field_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(key, d->fields[middle].key);
        if (order == 0)
            return &d->fields[middle];
        *(order < 0 ? &high : &low) = order < 0 ? middle : middle + 1;
    }
    return NULL;
}

const struct cel_field *cel_decl_field_named(const struct cel_decl *d, struct str name)
{
    for (size_t i = 0; i < d->field_count; i++) {
        const struct cel_field *f = &d->fields[i];
        /* After a dot, reserved words need no escape. */
        bool same = f->name && (str_eq(name, str_of(f->name)) ||
                                   (cel_name_is_reserved(name) && str_eq(name, str_of(f->key))));
        if (same)
            return f->decl->type ? f : NULL;
    }
    return NULL;
}

static struct cel_decl *new_decl(struct arena *a, struct json schema, bool root, int depth);

static int64_t limit_of(struct json schema, const char *key, int64_t otherwise)
{
    int64_t n = json_get_int(schema, key, otherwise);
    return n < 0 ? 0 : n;
}

static int64_t longest_enum(struct json values)
{
    int64_t longest = 0;
    json_each (v, values)
        if (json_is(*v, JSON_STR) && v->count > longest)
            longest = v->count;
    return longest;
}

static const struct {
    enum cel_schema_format format;
    const char *name;
    enum cel_kind kind;
    int64_t bytes_min, elements_max; /* elements_max 0: the same as for a string */
} formats[] = {
    { CEL_FORMAT_BYTE, "byte", CEL_BYTES, 2, 0 },
    { CEL_FORMAT_DURATION, "duration", CEL_DURATION, 3, 32 },
    { CEL_FORMAT_DATE, "date", CEL_TIMESTAMP, 12, 12 },
    { CEL_FORMAT_DATE_TIME, "date-time", CEL_TIMESTAMP, 21, 32 },
};

static void declare_string(struct cel_decl *d)
{
    const char *format = json_get_text(d->schema, "format");
    bool has_limit = json_present(json_member(d->schema, "maxLength"));
    struct json values = json_member(d->schema, "enum");
    d->type = cel_type_of(CEL_STRING);
    d->bytes_min = 2;
    d->elements_max = CEL_REQUEST_BYTES_MAX - 2;
    for (size_t i = 0; i < lengthof(formats); i++)
        if (text_eq(format, formats[i].name)) {
            d->format = formats[i].format;
            d->type = cel_type_of(formats[i].kind);
            d->bytes_min = formats[i].bytes_min;
            if (formats[i].elements_max)
                d->elements_max = formats[i].elements_max;
            else if (has_limit)
                d->elements_max = limit_of(d->schema, "maxLength", 0);
            return;
        }
    /* A character has up to four bytes. */
    if (has_limit)
        d->elements_max = limit_of(d->schema, "maxLength", 0) * 4;
    else if (values.count)
        d->elements_max = longest_enum(values);
}

static void declare_items(struct arena *a, struct cel_decl *d, struct json schema,
    const char *limit, int64_t overhead, int depth)
{
    struct cel_decl *items = new_decl(
        a, schema, json_get_bool(schema, "x-kubernetes-embedded-resource", false), depth + 1);
    bool is_list = d->schema_type == CEL_SCHEMA_ARRAY;
    items->parent = d;
    items->step = is_list ? "@idx" : "@elem";
    d->items = items;
    d->bytes_min = 2;
    d->elements_max = json_present(json_member(d->schema, limit))
                          ? limit_of(d->schema, limit, 0)
                          : (CEL_REQUEST_BYTES_MAX - 2) / (items->bytes_min + overhead);
    if (items->type)
        d->type = is_list ? cel_type_new(a, CEL_LIST, items->type, NULL)
                          : cel_type_new(a, CEL_MAP, cel_type_of(CEL_STRING), items->type);
}

/* Fields that every resource has, even if its schema does not declare them. */
static struct json with_object_meta(struct arena *a, struct json properties)
{
    struct json text = json_map(a, { "type", json_str("string") });
    struct json meta = json_get(properties, "metadata.properties");
    bool complete = text_eq(json_get_text(properties, "kind.type"), "string") &&
                    text_eq(json_get_text(properties, "apiVersion.type"), "string") &&
                    text_eq(json_get_text(properties, "metadata.type"), "object") &&
                    text_eq(json_get_text(meta, "name.type"), "string") &&
                    text_eq(json_get_text(meta, "generateName.type"), "string");
    if (complete)
        return properties;
    return json_overlay(a,
        properties,
        json_fields(a,
            { "kind", text },
            { "apiVersion", text },
            { "metadata.type", json_str("object") },
            { "metadata.properties.name", text },
            { "metadata.properties.generateName", text }));
}

static void declare_object(struct arena *a, struct cel_decl *d, struct json properties, int depth)
{
    struct json required = json_member(d->schema, "required");
    struct cel_field *fields = arena_array(a, properties.count + 1, sizeof(*fields));
    struct cel_type *type = arena_new(a, struct cel_type);
    *type = (struct cel_type){ .kind = CEL_OBJECT, .decl = d };
    d->type = type;
    d->fields = fields;
    d->bytes_min = 2;
    json_each_member (m, properties) {
        bool embedded = json_get_bool(m->value, "x-kubernetes-embedded-resource", false);
        struct cel_decl *below = new_decl(a, m->value, embedded, depth + 1);
        struct cel_field *f = &fields[d->field_count++];
        *f = (struct cel_field){ m->key, cel_name_escape(a, m->key), below };
        below->parent = d;
        below->step = f->name;
        struct json value = json_member(m->value, "default");
        if (below->type && json_list_has(required, m->key) &&
            (!json_present(value) || json_is(value, JSON_NULL)))
            d->bytes_min += (int64_t)strlen(m->key) + below->bytes_min + 4;
    }
}

static const struct {
    const char *name;
    enum cel_schema_type type;
} schema_types[] = {
    { "object", CEL_SCHEMA_OBJECT },
    { "array", CEL_SCHEMA_ARRAY },
    { "string", CEL_SCHEMA_STRING },
    { "number", CEL_SCHEMA_NUMBER },
    { "integer", CEL_SCHEMA_INTEGER },
    { "boolean", CEL_SCHEMA_BOOLEAN },
};

static void declare_scalar(struct cel_decl *d, enum cel_kind kind, int64_t bytes_min)
{
    d->type = cel_type_of(kind);
    d->bytes_min = bytes_min;
}

static void declare(struct arena *a, struct cel_decl *d, bool root, int depth)
{
    struct json properties = json_member(d->schema, "properties");
    struct json values = json_member(d->schema, "additionalProperties");
    struct json items = json_member(d->schema, "items");
    if (d->int_or_string) {
        declare_scalar(d, CEL_DYN, 1);
        d->elements_max = json_present(json_member(d->schema, "maxLength"))
                              ? limit_of(d->schema, "maxLength", 0) * 4
                              : CEL_REQUEST_BYTES_MAX - 2;
        return;
    }
    if (depth >= CEL_SCHEMA_DEPTH_MAX)
        return;
    if (root)
        properties = with_object_meta(a, properties);
    d->is_object = json_is(properties, JSON_MAP);
    switch (d->schema_type) {
    case CEL_SCHEMA_ARRAY:
        if (json_is(items, JSON_MAP))
            declare_items(a, d, items, "maxItems", 1, depth);
        break;
    case CEL_SCHEMA_OBJECT:
        if (json_is(values, JSON_MAP) && !d->is_object)
            declare_items(a, d, values, "maxProperties", 6, depth);
        else
            declare_object(a, d, properties, depth);
        break;
    case CEL_SCHEMA_STRING:
        declare_string(d);
        break;
    case CEL_SCHEMA_BOOLEAN:
        declare_scalar(d, CEL_BOOL, 4);
        break;
    case CEL_SCHEMA_NUMBER:
        declare_scalar(d, CEL_DOUBLE, 1);
        break;
    case CEL_SCHEMA_INTEGER:
        declare_scalar(d, CEL_INT, 1);
        break;
    case CEL_SCHEMA_NONE:
        break;
    }
}

static struct cel_decl *new_decl(struct arena *a, struct json schema, bool root, int depth)
{
    struct cel_decl *d = arena_new(a, struct cel_decl);
    const char *type = json_get_text(schema, "type");
    const char *list_type = json_get_text(schema, "x-kubernetes-list-type");
    *d = (struct cel_decl){
        .schema = schema,
        .type_text = type ? type : "",
        .int_or_string = json_get_bool(schema, "x-kubernetes-int-or-string", false),
        .preserves_unknown = json_get_bool(schema, "x-kubernetes-preserve-unknown-fields", false),
        .nullable = json_get_bool(schema, "nullable", false),
        .list_type = text_eq(list_type, "set")   ? CEL_LIST_SET
                     : text_eq(list_type, "map") ? CEL_LIST_MAP
                                                 : CEL_LIST_ATOMIC,
    };
    for (size_t i = 0; i < lengthof(schema_types); i++)
        if (text_eq(type, schema_types[i].name))
            d->schema_type = schema_types[i].type;
    declare(a, d, root, depth);
    return d;
}

const struct cel_decl *cel_decl_new(struct arena *a, struct json schema, bool root)
{
    return new_decl(a, schema, root, 0);
}

/* ---- values ---- */

static struct cel_value misfit(struct arena *a, const char *text)
{
    return (struct cel_value){ .kind = CEL_ERROR, .text = str_of(arena_strdup(a, text)) };
}

static const char *go_type(struct json v)
{
    static const char *const names[] = { [JSON_BOOL] = "bool",
        [JSON_INT] = "int64",
        [JSON_REAL] = "float64",
        [JSON_STR] = "string",
        [JSON_LIST] = "[]interface {}",
        [JSON_MAP] = "map[string]interface {}" };
    return names[v.type] ? names[v.type] : "<nil>";
}

static struct cel_value string_value(struct arena *a, struct json v, const struct cel_decl *d)
{
    struct str text = { v.string, v.count };
    struct cel_instant t;
    struct str bytes;
    int64_t ns;
    switch (d->format) {
    case CEL_FORMAT_NONE:
        return cel_string(text);
    case CEL_FORMAT_BYTE:
        if (base64_decode(a, text, &bytes))
            return cel_bytes(bytes);
        break;
    case CEL_FORMAT_DURATION:
        if (cel_duration_parse_loose(text, &ns))
            return cel_duration(ns);
        break;
    case CEL_FORMAT_DATE:
        if (cel_date_parse(text, &t))
            return cel_timestamp(t);
        break;
    case CEL_FORMAT_DATE_TIME:
        if (cel_time_parse(text, &t))
            return cel_timestamp(t);
        break;
    }
    return misfit(a,
        arena_printf(
            a, "Invalid %s formatted string %s", json_get_text(d->schema, "format"), v.string));
}

static struct cel_value container_value(struct arena *a, struct json v, const struct cel_decl *d)
{
    if (d->schema_type == CEL_SCHEMA_ARRAY) {
        if (!json_is(v, JSON_LIST))
            return misfit(
                a, "invalid data, expected an array for the provided schema with type=array");
        if (!d->items)
            return misfit(a, "invalid array type, expected Items with a non-empty Schema");
        struct cel_list *l = arena_new(a, struct cel_list);
        *l = (struct cel_list){ .count = v.count, .json = v, .decl = d };
        return (struct cel_value){ .kind = CEL_LIST, .list = l };
    }
    if (!json_is(v, JSON_MAP))
        return misfit(a, "invalid data, expected a map for the provided schema with type=object");
    struct cel_map *m = arena_new(a, struct cel_map);
    *m = (struct cel_map){ .count = v.count, .json = v, .decl = d };
    return (struct cel_value){ .kind = CEL_MAP, .map = m };
}

static struct cel_value scalar_value(struct arena *a, struct json v, const struct cel_decl *d)
{
    switch (d->schema_type) {
    case CEL_SCHEMA_STRING:
        if (json_is(v, JSON_STR))
            return string_value(a, v, d);
        break;
    case CEL_SCHEMA_NUMBER:
        if (json_is(v, JSON_INT) || json_is(v, JSON_REAL))
            return cel_double(json_is(v, JSON_INT) ? (double)v.integer : v.real);
        break;
    case CEL_SCHEMA_INTEGER:
        if (json_is(v, JSON_INT))
            return cel_int(v.integer);
        break;
    default:
        if (json_is(v, JSON_BOOL))
            return cel_bool(v.boolean);
        break;
    }
    static const char *const wanted[] = { [CEL_SCHEMA_STRING] = "string",
        [CEL_SCHEMA_NUMBER] = "float",
        [CEL_SCHEMA_INTEGER] = "int",
        [CEL_SCHEMA_BOOLEAN] = "bool" };
    return misfit(a,
        arena_printf(a, "invalid data, expected %s, got %s", wanted[d->schema_type], go_type(v)));
}

struct cel_value cel_value_of_json(struct arena *a, struct json v, const struct cel_decl *d)
{
    if (json_is(v, JSON_NULL) || !json_present(v))
        return d->nullable ? cel_null()
                           : misfit(a, "invalid data, got null for schema with nullable=false");
    if (d->int_or_string) {
        if (json_is(v, JSON_INT))
            return cel_int(v.integer);
        if (json_is(v, JSON_STR))
            return cel_string((struct str){ v.string, v.count });
        return misfit(
            a, "invalid data, expected XIntOrString value to be either a string or integer");
    }
    switch (d->schema_type) {
    case CEL_SCHEMA_OBJECT:
    case CEL_SCHEMA_ARRAY:
        return container_value(a, v, d);
    case CEL_SCHEMA_NONE:
        break;
    default:
        return scalar_value(a, v, d);
    }
    if (!d->preserves_unknown)
        return misfit(a,
            "invalid type, expected object, array, number, integer, boolean or "
            "string, or no type with x-kubernetes-int-or-string or "
            "x-kubernetes-preserve-unknown-fields is true, got ");
    struct json *copy = arena_new(a, struct json);
    *copy = v;
    return (struct cel_value){ .kind = CEL_UNKNOWN, .json = copy };
}
