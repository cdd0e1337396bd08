/* The schema in a CustomResourceDefinition: whether it is structural, that is, says of every field
 * what type it has, and whether what it says fits together. */

#include <string.h>

#include "apiserver/crd_check.h"
#include "apiserver/crd_rules.h"
#include "apiserver/crd_shape.h"
#include "apiserver/patterns.h"
#include "apiserver/structural.h"

enum place { PLACE_ROOT, PLACE_FIELD, PLACE_ITEM };

struct walk {
    struct arena *arena;
    struct field_errors *errors;
    bool is_unstructured; /* something keeps it from being structural: defaults are not looked at */
    bool is_strange; /* has what no structural schema can have: whether it else is one, is not said
                      */
};

static const struct json absent;

static const char *child(struct walk *w, const char *at, const char *name)
{
    return arena_printf(w->arena, "%s.%s", at, name);
}

static const char *keyed(struct walk *w, const char *at, const char *name, const char *key)
{
    return arena_printf(w->arena, "%s.%s[%s]", at, name, key);
}

static const char *indexed(struct walk *w, const char *at, const char *name, size_t index)
{
    return arena_printf(w->arena, "%s.%s[%zu]", at, name, index);
}

static bool has(struct json schema, const char *keyword)
{
    return json_present(json_member(schema, keyword));
}

static const char *text_of(struct json schema, const char *keyword)
{
    const char *text = json_text(json_member(schema, keyword));
    return text ? text : "";
}

static bool flag_of(struct json schema, const char *keyword)
{
    struct json v = json_member(schema, keyword);
    return json_is(v, JSON_BOOL) && v.boolean;
}

static struct json text_or_null(struct json schema, const char *keyword)
{
    struct json v = json_member(schema, keyword);
    return json_present(v) ? v : json_null();
}

/* ---- one schema, wherever it stands ---- */

/* In this order, as a message shows them. */
static void not_supported(
    struct walk *w, const char *path, struct json v, const char *const *allowed)
{
    const char *list = "supported values: ";
    for (size_t i = 0; allowed[i]; i++)
        list = arena_printf(w->arena, "%s%s\"%s\"", list, i ? ", " : "", allowed[i]);
    field_error_add(w->errors, FIELD_NOT_SUPPORTED, path, v, list);
}

static bool preserves_not(struct json s)
{
    struct json v = json_member(s, "x-kubernetes-preserve-unknown-fields");
    return json_is(v, JSON_BOOL) && !v.boolean;
}

static void check_unsupported(struct walk *w, struct json s, const char *at)
{
    static const char *const keywords[] = {
        "additionalItems", "definitions", "dependencies", "id", "patternProperties", "$ref"
    };
    for (size_t i = 0; i < lengthof(keywords); i++)
        if (has(s, keywords[i]))
            field_forbidden(w->errors,
                child(w, at, keywords[i]),
                arena_printf(w->arena, "%s is not supported", keywords[i]));
    if (preserves_not(s))
        field_invalid(w->errors,
            child(w, at, "x-kubernetes-preserve-unknown-fields"),
            json_bool(false),
            "must be true or undefined");
    if (flag_of(s, "uniqueItems"))
        field_forbidden(w->errors,
            child(w, at, "uniqueItems"),
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
    const char *pattern = text_of(s, "pattern");
    const char *why = *pattern ? pattern_fault(w->arena, pattern) : NULL;
    if (why)
        field_invalid(w->errors,
            child(w, at, "pattern"),
            json_str(pattern),
            arena_printf(w->arena, "must be a valid regular expression, but isn't: %s", why));
}

static void check_type_name(struct walk *w, struct json s, const char *at)
{
    static const char *const types[] = {
        "array", "boolean", "integer", "number", "object", "string", NULL
    };
    const char *type = text_of(s, "type");
    for (size_t i = 0; types[i]; i++)
        if (!*type || text_eq(type, types[i]))
            return;
    if (text_eq(type, "null"))
        field_forbidden(w->errors,
            child(w, at, "type"),
            "type cannot be set to null, use nullable as an alternative");
    not_supported(w, child(w, at, "type"), json_str(type), types);
}

/* `must be array if x-kubernetes-list-type is specified` */
static void check_type_is(struct walk *w, struct json s, const char *at, const char *type,
    const char *keyword, const char *how)
{
    const char *given = text_of(s, "type");
    if (text_eq(given, type))
        return;
    const char *detail = arena_printf(w->arena, "must be %s if %s is %s", type, keyword, how);
    if (*given)
        field_invalid(w->errors, child(w, at, "type"), json_str(given), detail);
    else
        field_required(w->errors, child(w, at, "type"), detail);
}

static void check_map_type(struct walk *w, struct json s, const char *at)
{
    static const char *const allowed[] = { "atomic", "granular", NULL };
    const char *type = text_of(s, "x-kubernetes-map-type");
    if (!has(s, "x-kubernetes-map-type"))
        return;
    check_type_is(w, s, at, "object", "x-kubernetes-map-type", "specified");
    if (!text_eq(type, "atomic") && !text_eq(type, "granular"))
        not_supported(w, child(w, at, "x-kubernetes-map-type"), json_str(type), allowed);
}

/* ---- lists that are sets or maps ---- */

static void check_set(struct walk *w, struct json s, const char *at)
{
    struct json items = json_member(s, "items");
    const char *below = child(w, at, "items");
    const char *why = "must be atomic as item of a list with x-kubernetes-list-type=set";
    if (!json_is(items, JSON_MAP))
        return;
    if (flag_of(items, "nullable"))
        field_forbidden(w->errors,
            child(w, below, "nullable"),
            "cannot be nullable when x-kubernetes-list-type is set");
    if (text_eq(text_of(items, "type"), "object") &&
        !text_eq(text_of(items, "x-kubernetes-map-type"), "atomic"))
        field_invalid(w->errors,
            child(w, below, "x-kubernetes-map-type"),
            text_or_null(items, "x-kubernetes-map-type"),
            why);
    if (text_eq(text_of(items, "type"), "array") && has(items, "x-kubernetes-list-type") &&
        !text_eq(text_of(items, "x-kubernetes-list-type"), "atomic"))
        field_invalid(w->errors,
            child(w, below, "x-kubernetes-list-type"),
            json_member(items, "x-kubernetes-list-type"),
            why);
}

static bool has_twice(struct json texts)
{
    for (uint32_t i = 0; i < texts.count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (json_equal(texts.items[i], texts.items[j]))
                return true;
    return false;
}

static void check_key(struct walk *w, struct json items, const char *at, const char *key)
{
    struct json field = json_member(json_member(items, "properties"), key);
    const char *path = keyed(w, at, "properties", key);
    const char *type = text_of(field, "type");
    if (text_eq(type, "array") || text_eq(type, "object"))
        field_invalid(w->errors,
            child(w, path, "type"),
            json_str(type),
            "must be a scalar type if parent array's x-kubernetes-list-type is map");
    if (flag_of(field, "nullable"))
        field_forbidden(w->errors,
            child(w, path, "nullable"),
            "this property is in x-kubernetes-list-map-keys, so it cannot be nullable");
    if (!has(field, "default") && !json_list_has(json_member(items, "required"), key))
        field_required(w->errors,
            child(w, path, "default"),
            "this property is in x-kubernetes-list-map-keys, so it must have a default or be a "
            "required property");
}

static void check_list_map(struct walk *w, struct json s, const char *at)
{
    struct json items = json_member(s, "items");
    struct json keys = json_member(s, "x-kubernetes-list-map-keys");
    const char *below = child(w, at, "items"), *own = child(w, at, "x-kubernetes-list-map-keys");
    if (!keys.count)
        field_required(w->errors, own, "must not be empty if x-kubernetes-list-type is map");
    if (!json_present(items))
        field_required(w->errors, below, "must have a schema if x-kubernetes-list-type is map");
    if (!json_is(items, JSON_MAP))
        return;
    if (flag_of(items, "nullable"))
        field_forbidden(w->errors,
            child(w, below, "nullable"),
            "cannot be nullable when x-kubernetes-list-type is map");
    if (!text_eq(text_of(items, "type"), "object")) {
        field_invalid(w->errors,
            child(w, below, "type"),
            json_str(text_of(items, "type")),
            "must be object if parent array's x-kubernetes-list-type is map");
        return;
    }
    if (has_twice(keys))
        field_invalid(w->errors, own, keys, "must not contain duplicate entries");
    bool known = true;
    json_each (key, keys) {
        bool there = json_present(json_member(json_member(items, "properties"), key->string));
        known &= there;
        if (there && !has_twice(keys))
            check_key(w, items, below, key->string);
    }
    if (!known)
        field_invalid(w->errors, own, keys, "entries must all be names of item properties");
}

static void check_list_type(struct walk *w, struct json s, const char *at)
{
    static const char *const allowed[] = { "atomic", "set", "map", NULL };
    const char *type = text_of(s, "x-kubernetes-list-type");
    const char *path = child(w, at, "x-kubernetes-list-type");
    bool given = has(s, "x-kubernetes-list-type");
    if (given) {
        check_type_is(w, s, at, "array", "x-kubernetes-list-type", "specified");
        if (!text_eq(type, "atomic") && !text_eq(type, "set") && !text_eq(type, "map"))
            not_supported(w, path, json_str(type), allowed);
    }
    if (has(s, "x-kubernetes-list-map-keys") && !text_eq(type, "map")) {
        const char *why = "must be map if x-kubernetes-list-map-keys is non-empty";
        if (given)
            field_invalid(w->errors, path, json_str(type), why);
        else
            field_required(w->errors, path, why);
    }
    if (text_eq(type, "set"))
        check_set(w, s, at);
    if (text_eq(type, "map"))
        check_list_map(w, s, at);
}

/* ---- schemas that only restrict values: under allOf, anyOf, oneOf and not ---- */

static void check_value_part(struct walk *w, struct json s, const char *at, bool typed);

/* {"type": "integer"}, {"type": "string"}: what an int-or-string may say. */
static bool is_int_or_string(struct json list)
{
    static const char *const types[] = { "integer", "string" };
    for (uint32_t i = 0; i < lengthof(types); i++) {
        struct json one = json_item(list, i);
        if (one.count != 1 || !text_eq(text_of(one, "type"), types[i]))
            return false;
    }
    return list.count == lengthof(types);
}

static void check_value_parts(
    struct walk *w, struct json s, const char *at, const char *keyword, bool typed)
{
    size_t i = 0;
    json_each (part, json_member(s, keyword)) {
        check_value_part(w, *part, indexed(w, at, keyword, i), typed);
        i++;
    }
}

static void check_alternatives(struct walk *w, struct json s, const char *at)
{
    check_value_parts(w, s, at, "oneOf", false);
    check_value_parts(w, s, at, "anyOf", is_int_or_string(json_member(s, "anyOf")));
    struct json all = json_member(s, "allOf");
    bool first = is_int_or_string(json_member(json_item(all, 0), "anyOf"));
    size_t i = 0;
    json_each (part, all) {
        const char *path = indexed(w, at, "allOf", i);
        /* The first one may hold the two types one level below. */
        if (i++ == 0 && first)
            check_value_part(w, json_with_member(w->arena, *part, "anyOf", absent), path, false);
        else
            check_value_part(w, *part, path, false);
    }
    if (has(s, "not"))
        check_value_part(w, json_member(s, "not"), child(w, at, "not"), false);
}

static void check_value_part(struct walk *w, struct json s, const char *at, bool typed)
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
    for (size_t i = typed ? 1 : 0; i < lengthof(forbidden) && !w->is_strange; i++)
        if (has(s, forbidden[i].keyword)) {
            field_forbidden(w->errors,
                child(w, at, forbidden[i].keyword),
                arena_printf(w->arena, "must be %s to be structural", forbidden[i].must));
            w->is_unstructured = true;
        }
    check_unsupported(w, s, at);
    check_type_name(w, s, at);
    check_list_type(w, s, at);
    check_map_type(w, s, at);
    check_alternatives(w, s, at);
    json_each_member (m, json_member(s, "properties"))
        check_value_part(w, m->value, keyed(w, at, "properties", m->key), false);
    if (json_is(json_member(s, "items"), JSON_MAP))
        check_value_part(w, json_member(s, "items"), child(w, at, "items"), false);
}

/* What a nested schema speaks of must be a field of the schema around it. */
static void check_complete(
    struct walk *w, struct json s, const char *at, struct json part, const char *part_at)
{
    static const char *const lists[] = { "allOf", "anyOf", "oneOf" };
    for (size_t i = 0; i < lengthof(lists); i++) {
        size_t index = 0;
        json_each (below, json_member(part, lists[i]))
            check_complete(w, s, at, *below, indexed(w, part_at, lists[i], index++));
    }
    if (has(part, "not"))
        check_complete(w, s, at, json_member(part, "not"), child(w, part_at, "not"));
    if (json_equal(s, part))
        return;
    json_each_member (m, json_member(part, "properties")) {
        struct json field = json_member(json_member(s, "properties"), m->key);
        const char *field_at = keyed(w, at, "properties", m->key);
        const char *from = keyed(w, part_at, "properties", m->key);
        if (json_present(field))
            check_complete(w, field, field_at, m->value, from);
        else
            field_required(
                w->errors, field_at, arena_printf(w->arena, "because it is defined in %s", from));
    }
}

/* ---- defaults ---- */

static void check_default(struct walk *w, struct json s, const char *at, enum place place)
{
    struct json v = json_member(s, "default");
    const char *path = child(w, at, "default");
    if (!json_present(v))
        return;
    const struct structural *schema = structural_compile(w->arena, s);
    size_t before = w->errors->count;
    if (structural_prunes(schema, w->arena, v, place == PLACE_ROOT))
        field_invalid(w->errors, path, v, "must not have unknown fields");
    if (place == PLACE_ROOT) {
        static const char *const needed[] = { "apiVersion", "kind" };
        for (size_t i = 0; i < lengthof(needed); i++)
            if (!has(v, needed[i]))
                field_required(w->errors, child(w, path, needed[i]), "");
    }
    structural_check_at(schema, w->arena, v, path, w->errors);
    if (w->errors->count == before && crd_rules_any(s))
        crd_rules_ask(
            crd_rules_compile(w->arena, s), w->arena, v, (struct json){ 0 }, path, w->errors);
}

/* ---- schemas that stand for values ---- */

static void check_node(struct walk *w, struct json s, const char *at, enum place place);

static void check_embedded(struct walk *w, struct json s, const char *at)
{
    check_type_is(w, s, at, "object", "x-kubernetes-embedded-resource", "true");
    if (has(s, "additionalProperties"))
        field_forbidden(w->errors,
            child(w, at, "additionalProperties"),
            "must not be used if x-kubernetes-embedded-resource is set");
    if (!has(s, "properties") && !flag_of(s, "x-kubernetes-preserve-unknown-fields"))
        field_required(w->errors,
            child(w, at, "properties"),
            "must not be empty if x-kubernetes-embedded-resource is true without "
            "x-kubernetes-preserve-unknown-fields");
}

/* apiVersion, kind and metadata have types of their own. */
static void check_meta_types(struct walk *w, struct json s, const char *at)
{
    static const struct {
        const char *name, *type;
    } fields[] = { { "apiVersion", "string" }, { "kind", "string" }, { "metadata", "object" } };
    for (size_t i = 0; i < lengthof(fields); i++) {
        struct json field = json_member(json_member(s, "properties"), fields[i].name);
        const char *type = text_of(field, "type");
        if (json_present(field) && *type && !text_eq(type, fields[i].type))
            field_invalid(w->errors,
                child(w, keyed(w, at, "properties", fields[i].name), "type"),
                json_str(type),
                arena_printf(w->arena, "must be %s", fields[i].type));
    }
}

static void check_no_defaults(struct walk *w, struct json s, const char *at, const char *where)
{
    if (has(s, "default"))
        field_forbidden(w->errors,
            child(w, at, "default"),
            arena_printf(w->arena, "must not be set in top-level %s", where));
    json_each_member (m, json_member(s, "properties"))
        check_no_defaults(w, m->value, keyed(w, at, "properties", m->key), where);
}

/* Of any schema, also of one that cannot be structural. */
static void check_any_root(struct walk *w, struct json s, const char *at)
{
    static const char *const names[] = { "apiVersion", "kind", "metadata" };
    struct json properties = json_member(s, "properties");
    if (flag_of(s, "nullable"))
        field_forbidden(w->errors, child(w, at, "nullable"), "nullable cannot be true at the root");
    for (size_t i = 0; i < lengthof(names); i++)
        if (has(properties, names[i]))
            check_no_defaults(w,
                json_member(properties, names[i]),
                keyed(w, at, "properties", names[i]),
                names[i]);
}

static void check_root_meta(struct walk *w, struct json s, const char *at)
{
    struct json meta = json_get(s, "properties.metadata");
    bool plain = true;
    json_each_member (m, meta)
        plain &=
            text_eq(m->key, "type") || text_eq(m->key, "properties") || text_eq(m->key, "default");
    json_each_member (m, json_member(meta, "properties"))
        plain &= text_eq(m->key, "name") || text_eq(m->key, "generateName");
    if (!plain && text_eq(text_of(meta, "type"), "object"))
        field_forbidden(w->errors,
            keyed(w, at, "properties", "metadata"),
            "must not specify anything other than name and generateName, but metadata is "
            "implicitly specified");
}

static void check_root(struct walk *w, struct json s, const char *at)
{
    const char *type = text_of(s, "type");
    if (!*type)
        field_required(w->errors, child(w, at, "type"), "must not be empty at the root");
    else if (!text_eq(type, "object"))
        field_invalid(
            w->errors, child(w, at, "type"), json_str(type), "must be object at the root");
    if (has(s, "additionalProperties"))
        field_forbidden(
            w->errors, child(w, at, "additionalProperties"), "must not be used at the root");
    check_root_meta(w, s, at);
    static const char *const lists[] = { "allOf", "anyOf", "oneOf" };
    for (size_t i = 0; i < lengthof(lists); i++) {
        size_t index = 0;
        json_each (part, json_member(s, lists[i])) {
            const char *path = indexed(w, at, lists[i], index++);
            if (has(json_member(*part, "properties"), "metadata"))
                field_forbidden(w->errors,
                    keyed(w, path, "properties", "metadata"),
                    "must not be specified in a nested context");
            check_complete(w, s, at, *part, path);
        }
    }
    if (has(s, "not"))
        check_complete(w, s, at, json_member(s, "not"), child(w, at, "not"));
}

static void check_children(struct walk *w, struct json s, const char *at)
{
    struct json items = json_member(s, "items");
    struct json more = json_member(s, "additionalProperties");
    if (json_is(items, JSON_LIST))
        field_forbidden(
            w->errors, child(w, at, "items"), "items must be a schema object and not an array");
    else if (text_eq(text_of(s, "type"), "array") && !json_present(items))
        field_required(w->errors, child(w, at, "items"), "must be specified");
    else if (json_present(items))
        check_node(w, items, child(w, at, "items"), PLACE_ITEM);
    bool closed = json_is(more, JSON_MAP) || (json_is(more, JSON_BOOL) && !more.boolean);
    if (closed && has(s, "properties"))
        field_forbidden(w->errors,
            child(w, at, "additionalProperties"),
            "additionalProperties and properties are mutual exclusive");
    if (json_is(more, JSON_MAP))
        check_node(w, more, child(w, at, "additionalProperties"), PLACE_FIELD);
    json_each_member (m, json_member(s, "properties"))
        check_node(w, m->value, keyed(w, at, "properties", m->key), PLACE_FIELD);
}

static void check_int_or_string(struct walk *w, struct json s, const char *at)
{
    static const char *const flags[] = { "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource" };
    for (size_t i = 0; i < lengthof(flags); i++)
        if (flag_of(s, flags[i]))
            field_invalid(w->errors,
                child(w, at, flags[i]),
                json_bool(true),
                "must be false if x-kubernetes-int-or-string is true");
}

/* What makes a schema structural. */
static void check_structure(struct walk *w, struct json s, const char *at, enum place place)
{
    struct json preserve = json_member(s, "x-kubernetes-preserve-unknown-fields");
    bool untyped = !*text_of(s, "type") && !flag_of(s, "x-kubernetes-int-or-string") &&
                   !(json_is(preserve, JSON_BOOL) && preserve.boolean);
    if (untyped && place != PLACE_ROOT)
        field_required(w->errors,
            child(w, at, "type"),
            place == PLACE_ITEM ? "must not be empty for specified array items"
                                : "must not be empty for specified object fields");
    if (flag_of(s, "x-kubernetes-embedded-resource"))
        check_embedded(w, s, at);
    if (flag_of(s, "x-kubernetes-int-or-string"))
        check_int_or_string(w, s, at);
    if (flag_of(s, "x-kubernetes-embedded-resource") || place == PLACE_ROOT)
        check_meta_types(w, s, at);
}

static void check_node(struct walk *w, struct json s, const char *at, enum place place)
{
    size_t before = w->errors->count;
    if (!w->is_strange)
        check_structure(w, s, at, place);
    w->is_unstructured |= w->errors->count > before;
    check_type_name(w, s, at);
    check_unsupported(w, s, at);
    check_list_type(w, s, at);
    check_map_type(w, s, at);
    check_alternatives(w, s, at);
    check_children(w, s, at);
    before = w->errors->count;
    if (place == PLACE_ROOT)
        check_any_root(w, s, at);
    if (place == PLACE_ROOT && !w->is_strange)
        check_root(w, s, at);
    w->is_unstructured |= w->errors->count > before;
}

/* The server does not look at those of additionalProperties. */
static void check_defaults(struct walk *w, struct json s, const char *at, enum place place)
{
    struct json items = json_member(s, "items");
    if (json_is(items, JSON_MAP))
        check_defaults(w, items, child(w, at, "items"), PLACE_ITEM);
    json_each_member (m, json_member(s, "properties"))
        check_defaults(w, m->value, keyed(w, at, "properties", m->key), PLACE_FIELD);
    check_default(w, s, at, place);
}

/* ---- the whole ---- */

/* A schema of the status must not get lost when it is taken out of the whole. */
static void check_status_root(struct walk *w, struct json s, const char *at)
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
    const char *type = text_of(s, "type");
    bool first = !has(s, "id") && !has(s, "$schema") && !has(s, "$ref");
    if (first && *type && !text_eq(type, "object")) {
        field_invalid(w->errors,
            child(w, at, "type"),
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
        field_invalid(w->errors,
            at,
            absent,
            arena_printf(w->arena,
                "%s: only [Description Type Format Title Maximum ExclusiveMaximum Minimum "
                "ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems "
                "MultipleOf Required Items Properties ExternalDocs Example "
                "XPreserveUnknownFields XValidations] fields are allowed at the root of the schema "
                "if the status subresource is enabled",
                crd_shape_schema_text(w->arena, s)));
        return;
    }
}

/* Whether a schema, or one in it, says what a structural one cannot say. */
static bool is_strange(struct json s)
{
    static const char *const keywords[] = {
        "id", "$schema", "$ref", "additionalItems", "patternProperties", "definitions"
    };
    static const char *const below[] = { "items", "additionalProperties", "not" };
    static const char *const lists[] = { "allOf", "anyOf", "oneOf" };
    bool found = json_is(json_member(s, "items"), JSON_LIST) ||
                 json_member(s, "dependencies").count > 0 || preserves_not(s);
    for (size_t i = 0; i < lengthof(keywords); i++)
        found = found || has(s, keywords[i]);
    for (size_t i = 0; i < lengthof(below); i++)
        found = found || (has(s, below[i]) && is_strange(json_member(s, below[i])));
    for (size_t i = 0; i < lengthof(lists); i++)
        json_each (part, json_member(s, lists[i]))
            found = found || is_strange(*part);
    json_each_member (m, json_member(s, "properties"))
        found = found || is_strange(m->value);
    return found;
}

void crd_check_schema(struct arena *a, struct json schema, const char *at, bool has_status,
    bool unchanged, struct field_errors *errors)
{
    struct walk w = { .arena = a, .errors = errors };
    size_t before = errors->count;
    if (has_status)
        check_status_root(&w, schema, at);
    w.is_strange = is_strange(schema);
    check_node(&w, schema, at, PLACE_ROOT);
    if (!w.is_strange && !w.is_unstructured)
        check_defaults(&w, schema, at, PLACE_ROOT);
    if (w.is_strange && errors->count == before) /* the only one that is not forbidden by name */
        field_invalid(errors, at, json_str(""), "OpenAPIV3Schema 'schema' is not supported");
    if (crd_rules_any(schema) && errors->count == before)
        crd_rules_check(a, schema, at, unchanged, errors);
}
