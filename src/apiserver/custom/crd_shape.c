#include "apiserver/custom/crd_shape.h"

#include <string.h>

#include "base/buf.h"

enum shape_kind {
    SHAPE_TEXT,
    SHAPE_FLAG,
    SHAPE_COUNT,       /* optional integer */
    SHAPE_NUMBER,      /* optional number */
    SHAPE_MAYBE_TEXT,  /* optional text */
    SHAPE_MAYBE_FLAG,  /* false differs from absent */
    SHAPE_WHOLE,       /* integer; 0 counts as absent */
    SHAPE_ANY,         /* any value */
    SHAPE_ANYS,        /* a list of any values */
    SHAPE_TEXTS,       /* a list of texts */
    SHAPE_STRUCT,      /* an optional struct, see below */
    SHAPE_STRUCTS,     /* a list of structs */
    SHAPE_STRUCT_MAP,  /* a map of structs */
    SHAPE_OR_FLAG,     /* a struct or a boolean */
    SHAPE_OR_LIST,     /* a struct or a list of structs */
    SHAPE_DEPENDENCIES /* a map of structs or lists of texts */
};

struct shape_field {
    const char *name;
    uint8_t kind;
    bool always; /* present even if empty */
    const struct shape *below;
    const char *go; /* its name in the internal type */
};

struct shape {
    const char *type; /* Go type: "JSONSchemaProps" */
    const struct shape_field *fields;
    size_t count;
};
#define SHAPE(type_, fields_)                                                                      \
    {                                                                                              \
        .type = (type_), .fields = (fields_), .count = lengthof(fields_)                           \
    }

static const struct shape schema_shape;

static const struct shape_field rule_fields[] = {
    { "rule", SHAPE_TEXT, true, NULL, "Rule" },
    { "message", SHAPE_TEXT, false, NULL, "Message" },
    { "messageExpression", SHAPE_TEXT, false, NULL, "MessageExpression" },
    { "reason", SHAPE_MAYBE_TEXT, false, NULL, "Reason" },
    { "fieldPath", SHAPE_TEXT, false, NULL, "FieldPath" },
    { "optionalOldSelf", SHAPE_MAYBE_FLAG, false, NULL, "OptionalOldSelf" },
};
static const struct shape rule_shape = SHAPE("ValidationRule", rule_fields);

static const struct shape_field docs_fields[] = {
    { "description", SHAPE_TEXT, false, NULL, "Description" },
    { "url", SHAPE_TEXT, false, NULL, "URL" },
};
static const struct shape docs_shape = SHAPE("ExternalDocumentation", docs_fields);

static const struct shape_field schema_fields[] = {
    { "id", SHAPE_TEXT, false, NULL, "ID" },
    { "$schema", SHAPE_TEXT, false, NULL, "Schema" },
    { "$ref", SHAPE_MAYBE_TEXT, false, NULL, "Ref" },
    { "description", SHAPE_TEXT, false, NULL, "Description" },
    { "type", SHAPE_TEXT, false, NULL, "Type" },
    { "nullable", SHAPE_FLAG, false, NULL, "Nullable" },
    { "format", SHAPE_TEXT, false, NULL, "Format" },
    { "title", SHAPE_TEXT, false, NULL, "Title" },
    { "default", SHAPE_ANY, false, NULL, "Default" },
    { "maximum", SHAPE_NUMBER, false, NULL, "Maximum" },
    { "exclusiveMaximum", SHAPE_FLAG, false, NULL, "ExclusiveMaximum" },
    { "minimum", SHAPE_NUMBER, false, NULL, "Minimum" },
    { "exclusiveMinimum", SHAPE_FLAG, false, NULL, "ExclusiveMinimum" },
    { "maxLength", SHAPE_COUNT, false, NULL, "MaxLength" },
    { "minLength", SHAPE_COUNT, false, NULL, "MinLength" },
    { "pattern", SHAPE_TEXT, false, NULL, "Pattern" },
    { "maxItems", SHAPE_COUNT, false, NULL, "MaxItems" },
    { "minItems", SHAPE_COUNT, false, NULL, "MinItems" },
    { "uniqueItems", SHAPE_FLAG, false, NULL, "UniqueItems" },
    { "multipleOf", SHAPE_NUMBER, false, NULL, "MultipleOf" },
    { "enum", SHAPE_ANYS, false, NULL, "Enum" },
    { "maxProperties", SHAPE_COUNT, false, NULL, "MaxProperties" },
    { "minProperties", SHAPE_COUNT, false, NULL, "MinProperties" },
    { "required", SHAPE_TEXTS, false, NULL, "Required" },
    { "items", SHAPE_OR_LIST, false, &schema_shape, "Items" },
    { "allOf", SHAPE_STRUCTS, false, &schema_shape, "AllOf" },
    { "oneOf", SHAPE_STRUCTS, false, &schema_shape, "OneOf" },
    { "anyOf", SHAPE_STRUCTS, false, &schema_shape, "AnyOf" },
    { "not", SHAPE_STRUCT, false, &schema_shape, "Not" },
    { "properties", SHAPE_STRUCT_MAP, false, &schema_shape, "Properties" },
    { "additionalProperties", SHAPE_OR_FLAG, false, &schema_shape, "AdditionalProperties" },
    { "patternProperties", SHAPE_STRUCT_MAP, false, &schema_shape, "PatternProperties" },
    { "dependencies", SHAPE_DEPENDENCIES, false, &schema_shape, "Dependencies" },
    { "additionalItems", SHAPE_OR_FLAG, false, &schema_shape, "AdditionalItems" },
    { "definitions", SHAPE_STRUCT_MAP, false, &schema_shape, "Definitions" },
    { "externalDocs", SHAPE_STRUCT, false, &docs_shape, "ExternalDocs" },
    { "example", SHAPE_ANY, false, NULL, "Example" },
    { "x-kubernetes-preserve-unknown-fields",
        SHAPE_MAYBE_FLAG,
        false,
        NULL,
        "XPreserveUnknownFields" },
    { "x-kubernetes-embedded-resource", SHAPE_FLAG, false, NULL, "XEmbeddedResource" },
    { "x-kubernetes-int-or-string", SHAPE_FLAG, false, NULL, "XIntOrString" },
    { "x-kubernetes-list-map-keys", SHAPE_TEXTS, false, NULL, "XListMapKeys" },
    { "x-kubernetes-list-type", SHAPE_MAYBE_TEXT, false, NULL, "XListType" },
    { "x-kubernetes-map-type", SHAPE_MAYBE_TEXT, false, NULL, "XMapType" },
    { "x-kubernetes-validations", SHAPE_STRUCTS, false, &rule_shape, "XValidations" },
};
static const struct shape schema_shape = SHAPE("JSONSchemaProps", schema_fields);

static const struct shape_field names_fields[] = {
    { "plural", SHAPE_TEXT, true, NULL, NULL },
    { "singular", SHAPE_TEXT, false, NULL, NULL },
    { "shortNames", SHAPE_TEXTS, false, NULL, NULL },
    { "kind", SHAPE_TEXT, true, NULL, NULL },
    { "listKind", SHAPE_TEXT, false, NULL, NULL },
    { "categories", SHAPE_TEXTS, false, NULL, NULL },
};
static const struct shape names_shape = SHAPE("CustomResourceDefinitionNames", names_fields);

static const struct shape_field validation_fields[] = {
    { "openAPIV3Schema", SHAPE_STRUCT, false, &schema_shape, "OpenAPIV3Schema" },
};
static const struct shape validation_shape = SHAPE("CustomResourceValidation", validation_fields);

static const struct shape empty_shape = { .type = "CustomResourceSubresourceStatus" };

static const struct shape_field scale_fields[] = {
    { "specReplicasPath", SHAPE_TEXT, true, NULL, "SpecReplicasPath" },
    { "statusReplicasPath", SHAPE_TEXT, true, NULL, "StatusReplicasPath" },
    { "labelSelectorPath", SHAPE_MAYBE_TEXT, false, NULL, "LabelSelectorPath" },
};
static const struct shape scale_shape = SHAPE("CustomResourceSubresourceScale", scale_fields);

static const struct shape_field subresources_fields[] = {
    { "status", SHAPE_STRUCT, false, &empty_shape, "Status" },
    { "scale", SHAPE_STRUCT, false, &scale_shape, "Scale" },
};
static const struct shape subresources_shape =
    SHAPE("CustomResourceSubresources", subresources_fields);

static const struct shape_field column_fields[] = {
    { "name", SHAPE_TEXT, true, NULL, "Name" },
    { "type", SHAPE_TEXT, true, NULL, "Type" },
    { "format", SHAPE_TEXT, false, NULL, "Format" },
    { "description", SHAPE_TEXT, false, NULL, "Description" },
    { "priority", SHAPE_WHOLE, false, NULL, "Priority" },
    { "jsonPath", SHAPE_TEXT, true, NULL, "JSONPath" },
};
static const struct shape column_shape = SHAPE("CustomResourceColumnDefinition", column_fields);

static const struct shape_field selectable_fields[] = {
    { "jsonPath", SHAPE_TEXT, true, NULL, "JSONPath" },
};
static const struct shape selectable_shape = SHAPE("SelectableField", selectable_fields);

static const struct shape_field version_fields[] = {
    { "name", SHAPE_TEXT, true, NULL, "Name" },
    { "served", SHAPE_FLAG, true, NULL, "Served" },
    { "storage", SHAPE_FLAG, true, NULL, "Storage" },
    { "deprecated", SHAPE_FLAG, false, NULL, "Deprecated" },
    { "deprecationWarning", SHAPE_MAYBE_TEXT, false, NULL, "DeprecationWarning" },
    { "schema", SHAPE_STRUCT, false, &validation_shape, "Schema" },
    { "subresources", SHAPE_STRUCT, false, &subresources_shape, "Subresources" },
    { "additionalPrinterColumns", SHAPE_STRUCTS, false, &column_shape, "AdditionalPrinterColumns" },
    { "selectableFields", SHAPE_STRUCTS, false, &selectable_shape, "SelectableFields" },
};
static const struct shape version_shape = SHAPE("CustomResourceDefinitionVersion", version_fields);

static const struct shape_field service_fields[] = {
    { "namespace", SHAPE_TEXT, true, NULL, NULL },
    { "name", SHAPE_TEXT, true, NULL, NULL },
    { "path", SHAPE_MAYBE_TEXT, false, NULL, NULL },
    { "port", SHAPE_COUNT, false, NULL, NULL },
};
static const struct shape service_shape = SHAPE("ServiceReference", service_fields);

static const struct shape_field client_fields[] = {
    { "url", SHAPE_MAYBE_TEXT, false, NULL, NULL },
    { "service", SHAPE_STRUCT, false, &service_shape, NULL },
    { "caBundle", SHAPE_TEXT, false, NULL, NULL },
};
static const struct shape client_shape = SHAPE("WebhookClientConfig", client_fields);

static const struct shape_field webhook_fields[] = {
    { "clientConfig", SHAPE_STRUCT, false, &client_shape, NULL },
    { "conversionReviewVersions", SHAPE_TEXTS, true, NULL, NULL },
};
static const struct shape webhook_shape = SHAPE("WebhookConversion", webhook_fields);

static const struct shape_field conversion_fields[] = {
    { "strategy", SHAPE_TEXT, true, NULL, NULL },
    { "webhook", SHAPE_STRUCT, false, &webhook_shape, NULL },
};
static const struct shape conversion_shape = SHAPE("CustomResourceConversion", conversion_fields);

static const struct shape_field spec_fields[] = {
    { "group", SHAPE_TEXT, true, NULL, NULL },
    { "names", SHAPE_STRUCT, true, &names_shape, NULL },
    { "scope", SHAPE_TEXT, true, NULL, NULL },
    { "versions", SHAPE_STRUCTS, true, &version_shape, NULL },
    { "conversion", SHAPE_STRUCT, false, &conversion_shape, NULL },
    { "preserveUnknownFields", SHAPE_FLAG, false, NULL, NULL },
};
static const struct shape spec_shape = SHAPE("CustomResourceDefinitionSpec", spec_fields);

static const struct shape_field condition_fields[] = {
    { "type", SHAPE_TEXT, true, NULL, NULL },
    { "status", SHAPE_TEXT, true, NULL, NULL },
    { "observedGeneration", SHAPE_WHOLE, false, NULL, NULL },
    { "lastTransitionTime", SHAPE_ANY, false, NULL, NULL },
    { "reason", SHAPE_TEXT, false, NULL, NULL },
    { "message", SHAPE_TEXT, false, NULL, NULL },
};
static const struct shape condition_shape =
    SHAPE("CustomResourceDefinitionCondition", condition_fields);

static const struct shape_field status_fields[] = {
    { "conditions", SHAPE_STRUCTS, true, &condition_shape, NULL },
    { "acceptedNames", SHAPE_STRUCT, true, &names_shape, NULL },
    { "storedVersions", SHAPE_TEXTS, true, NULL, NULL },
    { "observedGeneration", SHAPE_WHOLE, false, NULL, NULL },
};
static const struct shape status_shape = SHAPE("CustomResourceDefinitionStatus", status_fields);

static const struct shape_field crd_fields[] = {
    { "apiVersion", SHAPE_TEXT, false, NULL, NULL },
    { "kind", SHAPE_TEXT, false, NULL, NULL },
    { "metadata", SHAPE_ANY, false, NULL, NULL },
    { "spec", SHAPE_STRUCT, true, &spec_shape, NULL },
    { "status", SHAPE_STRUCT, true, &status_shape, NULL },
};
static const struct shape crd_shape = SHAPE("CustomResourceDefinition", crd_fields);

/* ---- pruning ---- */

struct shaping {
    struct arena *arena;
    struct field_errors *unknown;
    bool keeps_empty; /* empty lists and maps are kept, as in Go */
};

static struct json shape_struct(
    struct shaping *s, const struct shape *shape, struct json v, const char *path);

static const struct shape_field *field_of(const struct shape *shape, const char *name)
{
    for (size_t i = 0; i < shape->count; i++)
        if (strcmp(shape->fields[i].name, name) == 0)
            return &shape->fields[i];
    return NULL;
}

static struct json shape_list(
    struct shaping *s, const struct shape *below, struct json v, const char *path)
{
    struct json_builder b;
    json_builder_init(&b, s->arena);
    size_t i = 0;
    json_each (item, v)
        json_push(&b, shape_struct(s, below, *item, field_index(s->arena, path, i++)));
    return json_list_end(&b);
}

static struct json shape_map(
    struct shaping *s, const struct shape *below, struct json v, const char *path)
{
    struct json_builder b;
    json_builder_init(&b, s->arena);
    json_each_member (m, v)
        json_put(&b,
            m->key,
            json_is(m->value, JSON_LIST)
                ? m->value
                : shape_struct(s, below, m->value, field_child(s->arena, path, m->key)));
    return json_map_end(&b);
}

static struct json unless_empty(const struct shaping *s, struct json v)
{
    return s->keeps_empty ? v : json_or_absent(v);
}

/* The value in this place; absent: none. */
static struct json shape_value(
    struct shaping *s, const struct shape_field *f, struct json v, const char *path)
{
    static const struct json absent;
    if (json_is(v, JSON_NULL))
        return f->always && f->kind == SHAPE_STRUCTS ? v : absent;
    /* A union is decoded separately, and less strictly. */
    struct shaping lenient = { .arena = s->arena, .keeps_empty = s->keeps_empty };
    switch ((enum shape_kind)f->kind) {
    case SHAPE_TEXT:
        return !f->always && json_is(v, JSON_STR) && !v.count ? absent : v;
    case SHAPE_FLAG:
        return !f->always && json_is(v, JSON_BOOL) && !v.boolean ? absent : v;
    case SHAPE_WHOLE:
        return !f->always && json_is(v, JSON_INT) && !v.integer ? absent : v;
    case SHAPE_ANYS:
    case SHAPE_TEXTS:
        return f->always ? v : unless_empty(s, v);
    case SHAPE_STRUCT:
        return shape_struct(s, f->below, v, path);
    case SHAPE_STRUCTS:
        v = shape_list(s, f->below, v, path);
        return f->always ? v : unless_empty(s, v);
    case SHAPE_STRUCT_MAP:
        return unless_empty(s, shape_map(s, f->below, v, path));
    case SHAPE_DEPENDENCIES:
        return shape_map(&lenient, f->below, v, path);
    case SHAPE_OR_FLAG:
        return json_is(v, JSON_MAP) ? shape_struct(&lenient, f->below, v, path) : v;
    case SHAPE_OR_LIST: /* other types count as empty */
        return json_is(v, JSON_LIST)  ? unless_empty(s, shape_list(&lenient, f->below, v, path))
               : json_is(v, JSON_MAP) ? shape_struct(&lenient, f->below, v, path)
                                      : absent;
    case SHAPE_COUNT:
    case SHAPE_NUMBER:
    case SHAPE_MAYBE_TEXT:
    case SHAPE_MAYBE_FLAG:
    case SHAPE_ANY:
        break;
    }
    return v;
}

/* A field that is always present and was not set. */
static struct json shape_nothing(struct shaping *s, const struct shape_field *f)
{
    switch ((enum shape_kind)f->kind) {
    case SHAPE_TEXT:
        return json_str("");
    case SHAPE_FLAG:
        return json_bool(false);
    case SHAPE_STRUCT:
        return shape_struct(s, f->below, json_empty_map(), "");
    default:
        return json_null();
    }
}

static struct json shape_struct(
    struct shaping *s, const struct shape *shape, struct json v, const char *path)
{
    struct json_builder b;
    json_builder_init(&b, s->arena);
    json_each_member (m, v) {
        const struct shape_field *f = field_of(shape, m->key);
        const char *below = field_child(s->arena, path, m->key);
        if (f)
            json_put(&b, m->key, shape_value(s, f, m->value, below));
        else if (s->unknown)
            field_error_add(s->unknown, FIELD_INVALID, below, json_none, below);
    }
    for (size_t i = 0; i < shape->count; i++) {
        const struct shape_field *f = &shape->fields[i];
        struct json given = json_member(v, f->name);
        if (f->always && (!json_present(given) || json_is(given, JSON_NULL)))
            json_put(&b, f->name, shape_nothing(s, f));
    }
    return json_map_end(&b);
}

struct json crd_shape_prune(struct arena *a, struct json crd, struct field_errors *unknown)
{
    struct shaping s = { .arena = a, .unknown = unknown };
    return shape_struct(&s, &crd_shape, crd, "");
}

struct json crd_shape_given_schema(struct arena *a, struct json schema)
{
    struct shaping s = { .arena = a, .keeps_empty = true };
    return shape_struct(&s, &schema_shape, schema, "");
}

/* ---- types ---- */

struct typing {
    struct arena *arena;
    struct error *err;
};

static bool check_struct(struct typing *t, const struct shape *in, const struct shape *shape,
    struct json v, const char *path);

static bool refuse(
    struct typing *t, const struct shape *in, struct json v, const char *path, const char *wanted)
{
    return fail(t->err,
        ERR_INVALID,
        "json: cannot unmarshal %s%s%s into Go struct field %s.%s of type %s",
        json_type_name(v),
        json_is(v, JSON_REAL) ? " " : "",
        json_is(v, JSON_REAL) ? json_to_text(t->arena, v) : "",
        in->type,
        path,
        wanted);
}

static bool check_list(struct typing *t, const struct shape *in, const struct shape_field *f,
    struct json v, const char *path)
{
    bool texts = f->kind == SHAPE_TEXTS;
    if (!json_is(v, JSON_LIST))
        return refuse(t,
            in,
            v,
            path,
            texts ? "[]string"
                  : arena_printf(t->arena, "[]v1.%s", f->below ? f->below->type : "JSON"));
    json_each (item, v) {
        if (texts && !json_is(*item, JSON_STR) && !json_is(*item, JSON_NULL))
            return refuse(t, in, *item, path, "string");
        if (f->kind == SHAPE_STRUCTS && !check_struct(t, in, f->below, *item, path))
            return false;
    }
    return true;
}

static bool check_map(struct typing *t, const struct shape *in, const struct shape_field *f,
    struct json v, const char *path)
{
    if (!json_is(v, JSON_MAP))
        return refuse(t, in, v, path, arena_printf(t->arena, "map[string]v1.%s", f->below->type));
    json_each_member (m, v)
        if (!json_is(m->value, JSON_LIST) && !check_struct(t, in, f->below, m->value, path))
            return false;
    return true;
}

static bool check_field(struct typing *t, const struct shape *in, const struct shape_field *f,
    struct json v, const char *path)
{
    if (json_is(v, JSON_NULL))
        return true;
    bool number = json_is(v, JSON_INT) || json_is(v, JSON_REAL);
    switch ((enum shape_kind)f->kind) {
    case SHAPE_TEXT:
    case SHAPE_MAYBE_TEXT:
        return json_is(v, JSON_STR) || refuse(t, in, v, path, "string");
    case SHAPE_FLAG:
    case SHAPE_MAYBE_FLAG:
        return json_is(v, JSON_BOOL) || refuse(t, in, v, path, "bool");
    case SHAPE_COUNT:
        return json_is(v, JSON_INT) || refuse(t, in, v, path, "int64");
    case SHAPE_WHOLE:
        return json_is(v, JSON_INT) || refuse(t, in, v, path, "int32");
    case SHAPE_NUMBER:
        return number || refuse(t, in, v, path, "float64");
    case SHAPE_ANYS:
    case SHAPE_TEXTS:
    case SHAPE_STRUCTS:
        return check_list(t, in, f, v, path);
    case SHAPE_STRUCT:
        return check_struct(t, in, f->below, v, path);
    case SHAPE_STRUCT_MAP:
    case SHAPE_DEPENDENCIES:
        return check_map(t, in, f, v, path);
    case SHAPE_OR_FLAG:
        return json_is(v, JSON_BOOL) || check_struct(t, in, f->below, v, path);
    case SHAPE_OR_LIST: {
        struct shape_field all = { .kind = SHAPE_STRUCTS, .below = f->below };
        return json_is(v, JSON_LIST)  ? check_list(t, in, &all, v, path)
               : json_is(v, JSON_MAP) ? check_struct(t, in, f->below, v, path)
                                      : true;
    }
    case SHAPE_ANY:
        break;
    }
    return true;
}

/* in: the struct with this field. */
static bool check_struct(struct typing *t, const struct shape *in, const struct shape *shape,
    struct json v, const char *path)
{
    if (json_is(v, JSON_NULL))
        return true;
    if (!json_is(v, JSON_MAP))
        return fail(t->err,
            ERR_INVALID,
            "json: cannot unmarshal %s into Go struct field %s.%s of type v1.%s",
            json_type_name(v),
            in->type,
            path,
            shape->type);
    json_each_member (m, v) {
        const struct shape_field *f = field_of(shape, m->key);
        if (f && !check_field(t, shape, f, m->value, field_child(t->arena, path, m->key)))
            return false;
    }
    return true;
}

bool crd_shape_check(struct arena *a, struct json crd, struct error *err)
{
    struct typing t = { .arena = a, .err = err };
    return check_struct(&t, &crd_shape, &crd_shape, crd, "");
}

/* ---- printing as in Go ---- */

static void print_struct(struct buf *b, const struct shape *shape, struct json v);

static void print_structs(struct buf *b, const struct shape *below, struct json v)
{
    const char *mark = json_is(v, JSON_LIST) ? "[]" : "{}";
    size_t count = 0;
    buf_add_char(b, mark[0]);
    json_each (item, v) {
        buf_add_text(b, count++ ? "," : "");
        print_struct(b, below, *item);
    }
    json_each_member (m, v) {
        buf_add_text(b, count++ ? "," : "");
        json_print(b, json_str(m->key));
        buf_add_char(b, ':');
        print_struct(b, below, m->value);
    }
    buf_add_char(b, mark[1]);
}

static void print_dependencies(struct buf *b, const struct shape *below, struct json v)
{
    size_t count = 0;
    buf_add_text(b, json_present(v) ? "{" : "null");
    json_each_member (m, v) {
        buf_add_text(b, count++ ? "," : "");
        json_print(b, json_str(m->key));
        buf_add_text(b, ":{\"Schema\":");
        if (json_is(m->value, JSON_MAP))
            print_struct(b, below, m->value);
        else
            buf_add_text(b, "null");
        buf_add_text(b, ",\"Property\":");
        json_print(b, json_is(m->value, JSON_LIST) ? m->value : json_null());
        buf_add_char(b, '}');
    }
    buf_add_text(b, json_present(v) ? "}" : "");
}

static void print_field(struct buf *b, const struct shape_field *f, struct json v)
{
    bool given = json_present(v);
    switch ((enum shape_kind)f->kind) {
    case SHAPE_TEXT:
        json_print(b, given ? v : json_str(""));
        break;
    case SHAPE_FLAG:
        json_print(b, json_bool(given && v.boolean));
        break;
    case SHAPE_WHOLE:
        json_print(b, given ? v : json_int(0));
        break;
    case SHAPE_DEPENDENCIES:
        print_dependencies(b, f->below, v);
        break;
    case SHAPE_STRUCT:
        if (given)
            print_struct(b, f->below, v);
        else
            buf_add_text(b, "null");
        break;
    case SHAPE_STRUCTS:
    case SHAPE_STRUCT_MAP:
        if (given)
            print_structs(b, f->below, v);
        else
            buf_add_text(b, "null");
        break;
    case SHAPE_OR_FLAG:
    case SHAPE_OR_LIST: {
        bool flag = f->kind == SHAPE_OR_FLAG;
        if (!given) {
            buf_add_text(b, "null");
            break;
        }
        if (flag)
            buf_printf(b, "{\"Allows\":%s,", json_is(v, JSON_MAP) || v.boolean ? "true" : "false");
        buf_add_text(b, flag ? "\"Schema\":" : "{\"Schema\":");
        if (json_is(v, JSON_MAP))
            print_struct(b, f->below, v);
        else
            buf_add_text(b, "null");
        buf_add_text(b, flag ? "" : ",\"JSONSchemas\":");
        if (json_is(v, JSON_LIST))
            print_structs(b, f->below, v);
        else
            buf_add_text(b, flag ? "" : "null");
        buf_add_char(b, '}');
        break;
    }
    default:
        json_print(b, v);
        break;
    }
}

static void print_struct(struct buf *b, const struct shape *shape, struct json v)
{
    buf_add_char(b, '{');
    for (size_t i = 0; i < shape->count; i++) {
        const struct shape_field *f = &shape->fields[i];
        buf_printf(b, "%s\"%s\":", i ? "," : "", f->go);
        print_field(b, f, json_member(v, f->name));
    }
    buf_add_char(b, '}');
}

const char *crd_shape_schema_text(struct arena *a, struct json schema)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)4 << 20);
    print_struct(&b, &schema_shape, schema);
    return arena_strdup(a, buf_text(&b));
}

const char *crd_shape_versions_text(struct arena *a, struct json versions)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)4 << 20);
    if (!json_is(versions, JSON_LIST))
        return "null";
    print_structs(&b, &version_shape, versions);
    return arena_strdup(a, buf_text(&b));
}

const char *crd_shape_items_text(struct arena *a, struct json items)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)4 << 20);
    print_field(&b, field_of(&schema_shape, "items"), items);
    return arena_strdup(a, buf_text(&b));
}
