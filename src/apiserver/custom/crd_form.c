/* The form of a structural schema: each value has exactly one schema with a type. Schemas under
 * allOf, anyOf, oneOf and not only restrict values, and only values that have such a schema. */

#include <stdlib.h>
#include <string.h>

#include "apiserver/custom/crd_schema.h"
#include "apiserver/rules/patterns.h"

enum level { LEVEL_ROOT, LEVEL_ITEM, LEVEL_FIELD };

struct form {
    struct arena *arena;
    struct field_errors *errors;
};

static const char *child(struct form *f, const char *at, const char *name)
{
    return field_child(f->arena, at, name);
}

static const char *field_at(struct form *f, const char *at, const char *name)
{
    return schema_keyed(f->arena, at, "properties", name);
}

/* ---- schemas that can never be structural ---- */

static const char *strangeness_in(struct arena *a, struct json schemas)
{
    const char *found = NULL;
    for (uint32_t i = 0; json_is(schemas, JSON_LIST) && i < schemas.count && !found; i++)
        found = crd_form_strangeness(a, schemas.items[i]);
    for (uint32_t i = 0; json_is(schemas, JSON_MAP) && i < schemas.count && !found; i++)
        found = crd_form_strangeness(a, schemas.members[i].value);
    return found;
}

const char *crd_form_strangeness(struct arena *a, struct json s)
{
    static const char *const keywords[] = { "id",
        "$schema",
        "$ref",
        "patternProperties",
        "dependencies",
        "additionalItems",
        "definitions" };
    static const char *const many[] = { "allOf", "anyOf", "oneOf", "properties" };
    static const char *const one[] = { "not", "items", "additionalProperties" };
    const char *found = NULL;
    if (!json_is(s, JSON_MAP))
        return NULL;
    for (size_t i = 0; i < lengthof(keywords); i++) {
        struct json v = json_member(s, keywords[i]);
        if (json_present(v) && (v.count || json_is(v, JSON_BOOL)))
            return arena_printf(a,
                "OpenAPIV3Schema '%s' is not supported",
                text_eq(keywords[i], "$schema") ? "schema" : keywords[i]);
    }
    if (schema_is_not(s, "x-kubernetes-preserve-unknown-fields"))
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
    if (json_is(json_member(s, "items"), JSON_LIST))
        return "OpenAPIV3Schema 'items' must be a schema, but is an array";
    for (size_t i = 0; i < lengthof(many) && !found; i++)
        found = strangeness_in(a, json_member(s, many[i]));
    for (size_t i = 0; i < lengthof(one) && !found; i++)
        found = crd_form_strangeness(a, json_member(s, one[i]));
    return found;
}

/* ---- restrictions ---- */

static void check_restriction(struct form *f, struct json s, const char *at, bool skip_any);

/* {"type": "integer"}, {"type": "string"}: the only types that are allowed in a restriction. */
static bool is_int_or_string(struct json list)
{
    static const char *const types[] = { "integer", "string" };
    for (uint32_t i = 0; i < lengthof(types); i++) {
        struct json one = json_item(list, i);
        if (one.count != 1 || !text_eq(schema_text(one, "type"), types[i]))
            return false;
    }
    return list.count == lengthof(types);
}

/* skip_first: the anyOf of the first item in allOf is skipped. */
static void check_restrictions(
    struct form *f, struct json s, const char *at, bool skip_any, bool skip_first)
{
    static const char *const lists[] = { "anyOf", "allOf", "oneOf" };
    for (size_t i = skip_any ? 1 : 0; i < lengthof(lists); i++) {
        size_t index = 0;
        json_each (part, json_member(s, lists[i])) {
            bool first = skip_first && i == 1 && index == 0;
            check_restriction(f, *part, schema_indexed(f->arena, at, lists[i], index++), first);
        }
    }
    if (schema_has(s, "not"))
        check_restriction(f, json_member(s, "not"), child(f, at, "not"), false);
    const char *pattern = schema_text(s, "pattern");
    const char *why = *pattern ? pattern_fault(f->arena, pattern) : NULL;
    if (why)
        field_invalid(f->errors,
            child(f, at, "pattern"),
            json_str(pattern),
            arena_printf(f->arena, "must be a valid regular expression, but isn't: %s", why));
}

static void check_restriction(struct form *f, struct json s, const char *at, bool skip_any)
{
    static const struct {
        const char *keyword, *must;
    } forbidden[] = {
        { "type", "empty" },
        { "title", "empty" },
        { "description", "empty" },
        { "default", "undefined" },
        { "nullable", "false" },
        { "additionalProperties", "undefined" },
        { "x-kubernetes-preserve-unknown-fields", "false" },
        { "x-kubernetes-embedded-resource", "false" },
        { "x-kubernetes-int-or-string", "false" },
        { "x-kubernetes-list-type", "undefined" },
        { "x-kubernetes-list-map-keys", "empty" },
        { "x-kubernetes-map-type", "undefined" },
        { "x-kubernetes-validations", "empty" },
    };
    check_restrictions(f, s, at, skip_any, false);
    if (schema_has(s, "items"))
        check_restriction(f, json_member(s, "items"), child(f, at, "items"), false);
    json_each_member (m, json_member(s, "properties"))
        check_restriction(f, m->value, field_at(f, at, m->key), false);
    for (size_t i = 0; i < lengthof(forbidden); i++)
        if (schema_has(s, forbidden[i].keyword) && !schema_is_not(s, forbidden[i].keyword))
            field_forbidden(f->errors,
                child(f, at, forbidden[i].keyword),
                arena_printf(f->arena, "must be %s to be structural", forbidden[i].must));
    if (schema_has(json_member(s, "properties"), "metadata"))
        field_forbidden(
            f->errors, field_at(f, at, "metadata"), "must not be specified in a nested context");
}

/* ---- schemas of values ---- */

static void check_type(struct form *f, struct json s, const char *at, enum level level)
{
    static const char *const missing[] = {
        [LEVEL_ROOT] = "must not be empty at the root",
        [LEVEL_ITEM] = "must not be empty for specified array items",
        [LEVEL_FIELD] = "must not be empty for specified object fields",
    };
    static const char not_object[] = "must be object if x-kubernetes-embedded-resource is true";
    const char *type = schema_text(s, "type"), *path = child(f, at, "type");
    bool embedded = schema_is(s, "x-kubernetes-embedded-resource");
    bool typeless = schema_is(s, "x-kubernetes-int-or-string") ||
                    schema_is(s, "x-kubernetes-preserve-unknown-fields");
    if (embedded && !*type)
        field_required(f->errors, path, not_object);
    else if (embedded && !text_eq(type, "object"))
        field_invalid(f->errors, path, json_str(type), not_object);
    else if (!*type && !typeless)
        field_required(f->errors, path, missing[level]);
    if (level == LEVEL_ROOT && *type && !text_eq(type, "object"))
        field_invalid(f->errors, path, json_str(type), "must be object at the root");
}

/* In metadata only the name can be restricted. */
static bool is_plain_meta(struct json meta)
{
    json_each_member (m, meta)
        if (!text_eq(m->key, "type") && !text_eq(m->key, "properties") &&
            !text_eq(m->key, "default"))
            return false;
    json_each_member (m, json_member(meta, "properties"))
        if (!text_eq(m->key, "name") && !text_eq(m->key, "generateName"))
            return false;
    return true;
}

static void check_meta(struct form *f, struct json s, const char *at, enum level level)
{
    static const struct {
        const char *name, *type;
    } fields[] = { { "kind", "string" }, { "apiVersion", "string" }, { "metadata", "object" } };
    struct json properties = json_member(s, "properties");
    for (size_t i = 0; i < lengthof(fields); i++) {
        const char *type = schema_text(json_member(properties, fields[i].name), "type");
        if (schema_has(properties, fields[i].name) && !text_eq(type, fields[i].type))
            field_invalid(f->errors,
                child(f, field_at(f, at, fields[i].name), "type"),
                json_str(type),
                arena_printf(f->arena, "must be %s", fields[i].type));
    }
    if (level == LEVEL_ROOT && !is_plain_meta(json_member(properties, "metadata")))
        field_forbidden(f->errors,
            field_at(f, at, "metadata"),
            "must not specify anything other than name and generateName, but metadata is "
            "implicitly specified");
}

static void check_extensions(struct form *f, struct json s, const char *at)
{
    static const char *const flags[] = { "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource" };
    for (size_t i = 0; i < lengthof(flags) && schema_is(s, "x-kubernetes-int-or-string"); i++)
        if (schema_is(s, flags[i]))
            field_invalid(f->errors,
                child(f, at, flags[i]),
                json_bool(true),
                "must be false if x-kubernetes-int-or-string is true");
    if (!schema_is(s, "x-kubernetes-embedded-resource"))
        return;
    if (schema_has(s, "additionalProperties"))
        field_forbidden(f->errors,
            child(f, at, "additionalProperties"),
            "must not be used if x-kubernetes-embedded-resource is set");
    if (!schema_has(s, "properties") && !schema_is(s, "x-kubernetes-preserve-unknown-fields"))
        field_required(f->errors,
            child(f, at, "properties"),
            "must not be empty if x-kubernetes-embedded-resource is true without "
            "x-kubernetes-preserve-unknown-fields");
}

static void check_node(struct form *f, struct json s, const char *at, enum level level)
{
    struct json items = json_member(s, "items");
    struct json more = json_member(s, "additionalProperties");
    if (json_is(items, JSON_MAP))
        check_node(f, items, child(f, at, "items"), LEVEL_ITEM);
    else if (text_eq(schema_text(s, "type"), "array"))
        field_required(f->errors, child(f, at, "items"), "must be specified");
    json_each_member (m, json_member(s, "properties"))
        check_node(f, m->value, field_at(f, at, m->key), LEVEL_FIELD);
    if (json_present(more) && level == LEVEL_ROOT)
        field_forbidden(
            f->errors, child(f, at, "additionalProperties"), "must not be used at the root");
    if (json_is(more, JSON_MAP))
        check_node(f, more, child(f, at, "additionalProperties"), LEVEL_FIELD);
    check_type(f, s, at, level);
    check_extensions(f, s, at);
    if (level == LEVEL_ROOT || schema_is(s, "x-kubernetes-embedded-resource"))
        check_meta(f, s, at, level);
    check_restrictions(f,
        s,
        at,
        is_int_or_string(json_member(s, "anyOf")),
        is_int_or_string(json_member(json_item(json_member(s, "allOf"), 0), "anyOf")));
}

/* ---- restricted values need a schema ---- */

static void complete_restriction(
    struct form *f, struct json s, const char *at, struct json part, const char *part_at);

/* For the restrictions of `part`, which is s or one of its restrictions. */
static void complete_restrictions(
    struct form *f, struct json s, const char *at, struct json part, const char *part_at)
{
    static const char *const lists[] = { "allOf", "anyOf", "oneOf" };
    if (schema_has(part, "not"))
        complete_restriction(f, s, at, json_member(part, "not"), child(f, part_at, "not"));
    for (size_t i = 0; i < lengthof(lists); i++) {
        size_t index = 0;
        json_each (below, json_member(part, lists[i])) {
            const char *path = schema_indexed(f->arena, part_at, lists[i], index++);
            complete_restriction(f, s, at, *below, path);
        }
    }
}

static void complete_restriction(
    struct form *f, struct json s, const char *at, struct json part, const char *part_at)
{
    if (!json_present(s)) {
        field_required(
            f->errors, at, arena_printf(f->arena, "because it is defined in %s", part_at));
        return;
    }
    complete_restrictions(f, s, at, part, part_at);
    if (schema_has(part, "items"))
        complete_restriction(f,
            json_member(s, "items"),
            child(f, at, "items"),
            json_member(part, "items"),
            child(f, part_at, "items"));
    json_each_member (m, json_member(part, "properties"))
        complete_restriction(f,
            json_member(json_member(s, "properties"), m->key),
            field_at(f, at, m->key),
            m->value,
            field_at(f, part_at, m->key));
}

/* ---- all checks ---- */

/* Sorted by "PATH: MESSAGE", with the colon as part of the path. */
static int by_text(const void *left, const void *right)
{
    const struct field_error *x = left, *y = right;
    size_t same = 0;
    while (x->path[same] && x->path[same] == y->path[same])
        same++;
    char one = x->path[same] ? x->path[same] : ':', other = y->path[same] ? y->path[same] : ':';
    return one != other ? (unsigned char)one - (unsigned char)other
                        : strcmp(x->message, y->message);
}

void crd_form_check(
    struct arena *a, struct json schema, const char *at, struct field_errors *errors)
{
    struct form f = { .arena = a, .errors = errors };
    size_t before = errors->count;
    check_node(&f, schema, at, LEVEL_ROOT);
    complete_restrictions(&f, schema, at, schema, at);
    if (errors->count > before)
        qsort(errors->items + before, errors->count - before, sizeof(*errors->items), by_text);
}
