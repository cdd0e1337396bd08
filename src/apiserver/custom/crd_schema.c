/* See crd_schema.h for the steps. */

#include "apiserver/custom/crd_schema.h"

#include <string.h>

#include "apiserver/custom/crd_check.h"
#include "apiserver/custom/crd_rules.h"
#include "apiserver/custom/crd_shape.h"
#include "apiserver/custom/structural.h"
#include "apiserver/rules/check.h"
#include "base/json_index.h"

struct checker {
    struct arena *arena;
    struct field_errors *errors;
    const char *root;  /* the path of the root schema */
    struct json given; /* the schema from the client; absent: unknown */
};

static const struct json absent;

static const char *child(struct checker *c, const char *at, const char *name)
{
    return field_child(c->arena, at, name);
}

static bool is_meta(const char *field)
{
    return text_eq(field, "apiVersion") || text_eq(field, "kind") || text_eq(field, "metadata");
}

/* ---- keywords of a single schema ---- */

struct words {
    const char *no_defaults; /* the message if defaults are not allowed; NULL: they are */
    bool in_meta;            /* inside metadata of a resource */
};

/* Values are listed in this order, as in the message. */
static void not_supported(
    struct checker *c, const char *path, struct json v, const char *const *allowed)
{
    const char *list = "supported values: ";
    for (size_t i = 0; allowed[i]; i++)
        list = arena_printf(c->arena, "%s%s\"%s\"", list, i ? ", " : "", allowed[i]);
    field_error_add(c->errors, FIELD_NOT_SUPPORTED, path, v, list);
}

static bool is_one_of(const char *text, const char *const *list)
{
    while (*list && !text_eq(text, *list))
        list++;
    return *list != NULL;
}

static void check_allowed(struct checker *c, struct json s, const char *at, struct words words)
{
    static const char *const types[] = {
        "array", "boolean", "integer", "number", "object", "string", NULL
    };
    static const char *const keywords[] = {
        "id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"
    };
    const char *type = schema_text(s, "type");
    if (*type && !is_one_of(type, types))
        not_supported(c, child(c, at, "type"), json_str(type), types);
    if (schema_has(s, "default") && words.no_defaults)
        field_forbidden(c->errors,
            child(c, at, "default"),
            arena_printf(c->arena, "must not be set %s", words.no_defaults));
    for (size_t i = 0; i < lengthof(keywords); i++)
        if (schema_has(s, keywords[i]))
            field_forbidden(c->errors,
                child(c, at, keywords[i]),
                arena_printf(c->arena, "%s is not supported", keywords[i]));
    if (text_eq(type, "null"))
        field_forbidden(c->errors,
            child(c, at, "type"),
            "type cannot be set to null, use nullable as an alternative");
    if (json_is(json_member(s, "items"), JSON_LIST))
        field_forbidden(
            c->errors, child(c, at, "items"), "items must be a schema object and not an array");
    if (words.in_meta && schema_is(s, "x-kubernetes-embedded-resource"))
        field_forbidden(c->errors,
            child(c, at, "x-kubernetes-embedded-resource"),
            "must not be used inside of resource meta");
    if (schema_is(s, "uniqueItems"))
        field_forbidden(c->errors,
            child(c, at, "uniqueItems"),
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
    struct json more = json_member(s, "additionalProperties");
    if (schema_has(s, "properties") && json_present(more) && !schema_is(s, "additionalProperties"))
        field_forbidden(c->errors,
            child(c, at, "additionalProperties"),
            "additionalProperties and properties are mutual exclusive");
}

/* Reports `must be array if x-kubernetes-list-type is specified`; returns whether it is. */
static bool check_type_is(
    struct checker *c, struct json s, const char *at, const char *type, const char *keyword)
{
    const char *given = schema_text(s, "type");
    if (!schema_has(s, keyword) || text_eq(given, type))
        return true;
    const char *detail = arena_printf(c->arena, "must be %s if %s is specified", type, keyword);
    if (*given)
        field_invalid(c->errors, child(c, at, "type"), json_str(given), detail);
    else
        field_required(c->errors, child(c, at, "type"), detail);
    return false;
}

static void check_one_of(struct checker *c, struct json s, const char *at, const char *keyword,
    const char *const *allowed)
{
    struct json v = json_member(s, keyword);
    if (json_present(v) && !is_one_of(json_text(v), allowed))
        not_supported(c, child(c, at, keyword), v, allowed);
}

/* Items of a set are compared as a whole. */
static void check_set(struct checker *c, struct json s, const char *at)
{
    static const char why[] = "must be atomic as item of a list with x-kubernetes-list-type=set";
    struct json items = json_member(s, "items");
    struct json list = json_member(items, "x-kubernetes-list-type");
    const char *type = schema_text(items, "type"), *below = child(c, at, "items");
    if (text_eq(type, "array") && json_present(list) && !text_eq(json_text(list), "atomic"))
        field_invalid(c->errors, child(c, below, "x-kubernetes-list-type"), list, why);
    if (text_eq(type, "object") && !text_eq(schema_text(items, "x-kubernetes-map-type"), "atomic"))
        field_invalid(c->errors,
            child(c, below, "x-kubernetes-map-type"),
            json_present(list) ? list : json_null(), /* the other value, which is set */
            why);
}

static void check_keys(struct checker *c, struct json s, const char *at)
{
    struct json items = json_member(s, "items");
    struct json keys = json_member(s, "x-kubernetes-list-map-keys");
    const char *path = child(c, at, "x-kubernetes-list-map-keys");
    struct json_index index = json_index_of(c->arena, keys, NULL);
    for (uint32_t i = 0; i < keys.count; i++) {
        const char *key = json_text(keys.items[i]);
        struct json field = json_member(json_member(items, "properties"), key ? key : "");
        const char *type = schema_text(field, "type");
        bool again = json_index_again(&index, i);
        if (!json_present(field))
            field_invalid(c->errors, path, keys, "entries must all be names of item properties");
        else if (text_eq(type, "array") || text_eq(type, "object"))
            field_invalid(c->errors,
                child(c, schema_keyed(c->arena, child(c, at, "items"), "properties", key), "type"),
                json_str("object"), /* the type of the items, which is present */
                "must be a scalar type if parent array's x-kubernetes-list-type is map");
        if (again)
            field_invalid(c->errors, path, keys, "must not contain duplicate entries");
    }
}

/* An empty items schema is dropped, except in a list with keys, where it is reported. */
static struct json items_of(struct checker *c, struct json s, const char *at)
{
    struct json items = json_member(s, "items");
    struct field_errors sent = { .arena = c->arena, .given = c->given };
    const char *below = child(c, at + strlen(c->root), "items");
    return json_present(items) ? items : field_given(&sent, below + (*below == '.'));
}

static void check_list_map(struct checker *c, struct json s, const char *at)
{
    struct json items = items_of(c, s, at);
    const char *below = child(c, at, "items"), *type = schema_text(items, "type");
    if (!schema_has(s, "x-kubernetes-list-map-keys"))
        field_required(c->errors,
            child(c, at, "x-kubernetes-list-map-keys"),
            "must not be empty if x-kubernetes-list-type is map");
    if (!check_is_set(items))
        field_required(c->errors, below, "must have a schema if x-kubernetes-list-type is map");
    else if (!json_is(items, JSON_MAP))
        check_invalid_text(c->errors,
            FIELD_INVALID,
            below,
            crd_shape_items_text(c->arena, items),
            "must only have a single schema if x-kubernetes-list-type is map");
    else if (text_eq(type, "object"))
        check_keys(c, s, at);
    else
        field_invalid(c->errors,
            child(c, below, "type"),
            json_str(type),
            "must be object if parent array's x-kubernetes-list-type is map");
}

/* Items that are identified by value or by keys must have them. */
static void check_identity(struct checker *c, struct json s, const char *at, const char *list)
{
    struct json items = json_member(s, "items"), properties = json_member(items, "properties");
    const char *below = child(c, at, "items");
    if (schema_is(items, "nullable"))
        field_forbidden(c->errors,
            child(c, below, "nullable"),
            arena_printf(c->arena, "cannot be nullable when x-kubernetes-list-type is %s", list));
    if (!text_eq(list, "map"))
        return;
    json_each (key, json_member(s, "x-kubernetes-list-map-keys")) {
        const char *name = json_text(*key) ? json_text(*key) : "";
        struct json field = json_member(properties, name);
        const char *path = schema_keyed(c->arena, below, "properties", name);
        if (!json_present(field))
            continue;
        if (!schema_has(field, "default") && !json_list_has(json_member(items, "required"), name))
            field_required(c->errors,
                child(c, path, "default"),
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be "
                "a required property");
        if (schema_is(field, "nullable"))
            field_forbidden(c->errors,
                child(c, path, "nullable"),
                "this property is in x-kubernetes-list-map-keys, so it cannot be nullable");
    }
}

static void check_list(struct checker *c, struct json s, const char *at)
{
    static const char *const allowed[] = { "atomic", "set", "map", NULL };
    static const char why[] = "must be map if x-kubernetes-list-map-keys is non-empty";
    struct json given = json_member(s, "x-kubernetes-list-type");
    const char *list = schema_text(s, "x-kubernetes-list-type");
    const char *path = child(c, at, "x-kubernetes-list-type");
    bool is_array = check_type_is(c, s, at, "array", "x-kubernetes-list-type");
    if (is_array && text_eq(list, "set"))
        check_set(c, s, at);
    check_one_of(c, s, at, "x-kubernetes-list-type", allowed);
    bool keyed = schema_has(s, "x-kubernetes-list-map-keys");
    if (keyed && !json_present(given))
        field_required(c->errors, path, why);
    else if (keyed && !text_eq(list, "map"))
        field_invalid(c->errors, path, given, why);
    if (text_eq(list, "map"))
        check_list_map(c, s, at);
    if (text_eq(list, "map") || text_eq(list, "set"))
        check_identity(c, s, at, list);
}

static void check_words(
    struct checker *c, struct json s, const char *at, bool root, struct words words);

static void check_words_of_fields(
    struct checker *c, struct json s, const char *at, bool root, struct words words)
{
    bool resource = root || schema_is(s, "x-kubernetes-embedded-resource");
    json_each_member (m, json_member(s, "properties")) {
        struct words below = words;
        if (resource && is_meta(m->key)) {
            below.in_meta = true;
            if (root)
                below.no_defaults = arena_printf(c->arena, "in top-level %s", m->key);
        }
        check_words(c, m->value, schema_keyed(c->arena, at, "properties", m->key), false, below);
    }
}

/* All nested schemas, whatever their meaning. */
static void check_words_below(
    struct checker *c, struct json s, const char *at, bool root, struct words words)
{
    static const char *const parts[] = {
        "not", "allOf", "oneOf", "anyOf", "definitions", "items", "dependencies"
    };
    struct words values = words;
    if (words.in_meta)
        values.no_defaults = "inside additionalProperties applying to object metadata";
    if (json_is(json_member(s, "additionalProperties"), JSON_MAP))
        check_words(c,
            json_member(s, "additionalProperties"),
            child(c, at, "additionalProperties"),
            false,
            values);
    check_words_of_fields(c, s, at, root, words);
    for (size_t i = 0; i < lengthof(parts); i++) {
        struct json part = json_member(s, parts[i]);
        bool many = text_eq(parts[i], "definitions") || text_eq(parts[i], "dependencies");
        size_t index = 0;
        if (json_is(part, JSON_LIST))
            json_each (one, part)
                check_words(c, *one, schema_indexed(c->arena, at, parts[i], index++), false, words);
        else if (many)
            json_each_member (m, part)
                check_words(
                    c, m->value, schema_keyed(c->arena, at, parts[i], m->key), false, words);
        else if (json_is(part, JSON_MAP))
            check_words(c, part, child(c, at, parts[i]), false, words);
    }
}

static void check_words(
    struct checker *c, struct json s, const char *at, bool root, struct words words)
{
    static const char *const map_types[] = { "atomic", "granular", NULL };
    check_allowed(c, s, at, words);
    check_words_below(c, s, at, root, words);
    if (schema_is_not(s, "x-kubernetes-preserve-unknown-fields"))
        field_invalid(c->errors,
            child(c, at, "x-kubernetes-preserve-unknown-fields"),
            json_bool(false),
            "must be true or undefined");
    check_type_is(c, s, at, "object", "x-kubernetes-map-type");
    check_one_of(c, s, at, "x-kubernetes-map-type", map_types);
    check_list(c, s, at);
    crd_rules_check_fields(c->arena, s, at, c->errors);
}

/* ---- defaults ---- */

/* The position of a schema in its resource: the root or an embedded one. */
struct place {
    const struct place *up; /* NULL: the root of the resource */
    const char *field;      /* NULL: a list item */
    struct json resource;   /* its schema */
    bool in_meta;
};

/* The innermost resource that contains the position. */
static struct json resource_around(struct arena *a, const struct place *place, struct json v)
{
    for (; place->up; place = place->up)
        v = place->field ? json_map(a, { place->field, v }) : json_list(a, v);
    if (!schema_has(v, "kind"))
        v = json_with_member(a, v, "kind", json_str("Validation"));
    if (!schema_has(v, "apiVersion"))
        v = json_with_member(a, v, "apiVersion", json_str("validation/v1"));
    return v;
}

/* Validates a value and its embedded objects: if they are unreadable, only this is reported.
 * Returns the value as it was read. */
static struct json check_objects(struct checker *c, const struct structural *schema, struct json v,
    const char *path, struct field_errors *errors)
{
    struct field_errors unknown;
    field_errors_init(&unknown, c->arena);
    struct json read = structural_read_embedded(schema, c->arena, v, path, &unknown);
    for (size_t i = 0; i < unknown.count; i++)
        if (unknown.items[i].type == FIELD_TYPE_INVALID) {
            const char *at = unknown.items[i].path;
            field_invalid(errors, at, absent, NULL);
            errors->items[errors->count - 1].message =
                unknown.items[i].message + strlen(at) + strlen(": ");
            return read;
        }
    structural_check_embedded(schema, c->arena, read, path, errors);
    return read;
}

static void check_default_meta(
    struct checker *c, const struct place *place, struct json v, const char *path)
{
    struct field_errors found;
    field_errors_init(&found, c->arena);
    check_objects(c,
        structural_compile(c->arena, place->resource),
        resource_around(c->arena, place, v),
        "",
        &found);
    if (found.count)
        field_invalid(c->errors,
            path,
            v,
            arena_printf(c->arena, "must result in valid metadata: %s", field_errors_text(&found)));
}

static void check_default(
    struct checker *c, struct json s, const char *at, const struct place *place)
{
    struct json v = json_member(s, "default");
    const char *path = child(c, at, "default");
    if (!json_present(v))
        return;
    const struct structural *schema = structural_compile_default(c->arena, s);
    if (!place->in_meta && structural_prunes(schema, c->arena, v, !place->up))
        field_invalid(c->errors, path, v, "must not have unknown fields");
    size_t before = c->errors->count;
    if (place->in_meta)
        check_default_meta(c, place, v, path);
    else
        v = check_objects(c, schema, v, path, c->errors);
    if (c->errors->count == before)
        structural_check_at(schema, c->arena, v, path, c->errors);
    if (c->errors->count == before && crd_rules_any(s))
        crd_rules_ask(crd_rules_compile(c->arena, s), c->arena, v, absent, path, c->errors);
}

/* The server skips the defaults in additionalProperties. */
static void check_defaults(
    struct checker *c, struct json s, const char *at, const struct place *place)
{
    struct place own = { .resource = s };
    bool resource = schema_is(s, "x-kubernetes-embedded-resource");
    if (resource)
        place = &own;
    check_default(c, s, at, place);
    struct place below = { .up = place, .resource = place->resource, .in_meta = place->in_meta };
    if (schema_has(s, "items"))
        check_defaults(c, json_member(s, "items"), child(c, at, "items"), &below);
    json_each_member (m, json_member(s, "properties")) {
        below.field = m->key;
        below.in_meta = place->in_meta || (resource && is_meta(m->key));
        check_defaults(c, m->value, schema_keyed(c->arena, at, "properties", m->key), &below);
    }
}

static bool has_objects(struct json s)
{
    static const char *const below[] = { "items", "additionalProperties" };
    if (!json_is(s, JSON_MAP))
        return false;
    bool found = schema_is(s, "x-kubernetes-embedded-resource");
    json_each_member (m, json_member(s, "properties"))
        found = found || has_objects(m->value);
    for (size_t i = 0; i < lengthof(below); i++)
        found = found || has_objects(json_member(s, below[i]));
    return found;
}

static struct json read_default(struct arena *a, struct json s)
{
    struct field_errors unknown;
    field_errors_init(&unknown, a);
    struct json v = structural_read_embedded(
        structural_compile_default(a, s), a, json_member(s, "default"), "", &unknown);
    for (size_t i = 0; i < unknown.count; i++)
        if (unknown.items[i].type == FIELD_TYPE_INVALID)
            return s;
    return json_with_member(a, s, "default", v);
}

struct json crd_schema_read_defaults(struct arena *a, struct json schema)
{
    struct json items = json_member(schema, "items"), properties;
    struct json_builder b;
    if (!has_objects(schema))
        return schema;
    if (json_present(json_member(schema, "default")))
        schema = read_default(a, schema);
    if (json_is(items, JSON_MAP))
        schema = json_with_member(a, schema, "items", crd_schema_read_defaults(a, items));
    properties = json_member(schema, "properties");
    json_builder_init(&b, a);
    json_each_member (m, properties)
        json_put(&b, m->key, crd_schema_read_defaults(a, m->value));
    return properties.count ? json_with_member(a, schema, "properties", json_map_end(&b)) : schema;
}

/* ---- all checks ---- */

/* The schema of status must still be valid when it is used without the rest. */
static void check_status_root(struct checker *c, struct json s, const char *at)
{
    static const char *const allowed[] = { "description",
        "type",
        "format",
        "title",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
        "pattern",
        "maxItems",
        "minItems",
        "uniqueItems",
        "multipleOf",
        "required",
        "items",
        "properties",
        "externalDocs",
        "example",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-validations" };
    const char *type = schema_text(s, "type");
    bool first = !schema_has(s, "id") && !schema_has(s, "$schema") && !schema_has(s, "$ref");
    if (first && *type && !text_eq(type, "object")) {
        field_invalid(c->errors,
            child(c, at, "type"),
            json_str(type),
            "only \"object\" is allowed as the type at the root of the schema if the status "
            "subresource is enabled");
        return;
    }
    json_each_member (m, s) {
        bool fine = false;
        for (size_t i = 0; i < lengthof(allowed) && !fine; i++)
            fine = strcmp(allowed[i], m->key) == 0;
        if (fine)
            continue;
        field_invalid(c->errors,
            at,
            absent,
            arena_printf(c->arena,
                "%s: only [Description Type Format Title Maximum ExclusiveMaximum Minimum "
                "ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems "
                "MultipleOf Required Items Properties ExternalDocs Example "
                "XPreserveUnknownFields XValidations] fields are allowed at the root of the schema "
                "if the status subresource is enabled",
                crd_shape_schema_text(c->arena, s)));
        return;
    }
}

void crd_check_schema(struct arena *a, struct json schema, const struct crd_schema_options *options,
    struct field_errors *errors)
{
    struct checker c = {
        .arena = a, .errors = errors, .root = options->at, .given = options->given
    };
    const char *at = options->at, *strange = crd_form_strangeness(a, schema);
    size_t first = errors->count;
    bool known = json_is(options->given, JSON_MAP);
    if (options->has_status)
        check_status_root(&c, known ? crd_shape_given_schema(a, options->given) : schema, at);
    if (schema_is(schema, "nullable"))
        field_forbidden(errors, child(&c, at, "nullable"), "nullable cannot be true at the root");
    size_t form = errors->count;
    if (!strange)
        crd_form_check(a, schema, at, errors);
    if (!strange && errors->count == form)
        check_defaults(&c,
            json_with_member(a, schema, "x-kubernetes-embedded-resource", json_bool(true)),
            at,
            NULL);
    size_t words = errors->count;
    check_words(&c, schema, at, true, (struct words){ 0 });
    if (strange && errors->count == first) /* not a forbidden keyword */
        field_invalid(errors, at, json_str(""), strange);
    if (!strange && words == form && crd_rules_any(schema))
        crd_rules_check(a, schema, at, options->unchanged, words, errors);
}
