#include "apiserver/custom/crd_check.h"

#include <string.h>

#include "apiserver/custom/crd_conversion.h"
#include "apiserver/custom/crd_parts.h"
#include "apiserver/custom/crd_schema.h"
#include "apiserver/custom/crd_shape.h"
#include "apiserver/custom/crd_status.h"
#include "apiserver/rules/check.h"
#include "base/json_index.h"
#include "base/names.h"
#include "base/url.h"
#include "base/utf8.h"

struct checker {
    struct arena *arena;
    struct json crd, old;
    struct json spec, versions;
    struct field_errors *errors;
};

static const struct json absent;

static const char *text_at(struct json v, const char *path)
{
    const char *text = json_get_text(v, path);
    return text ? text : "";
}

/* ---- names ---- */

static void check_label(struct checker *c, const char *path, const char *text)
{
    struct error err;
    if (!name_check(NAME_DNS1035_LABEL, text, &err))
        field_invalid(c->errors, path, json_str(text), err.text);
}

/* Kinds are DNS labels, ignoring case. */
static void check_kind(struct checker *c, const char *path, const char *text)
{
    struct error err;
    if (!name_check(NAME_DNS1035_LABEL, check_lower(c->arena, text), &err))
        field_invalid(c->errors,
            path,
            json_str(text),
            arena_printf(
                c->arena, "may have mixed case, but should otherwise match: %s", err.text));
}

static void check_labels_of(struct checker *c, struct json names, const char *at, const char *list)
{
    size_t i = 0;
    json_each (item, json_member(names, list))
        check_label(c,
            field_index(c->arena, field_child(c->arena, at, list), i++),
            json_is(*item, JSON_STR) ? item->string : "");
}

static void check_names(struct checker *c, struct json names, const char *at)
{
    static const struct {
        const char *name;
        bool kind;
    } fields[] = {
        { "plural", false }, { "singular", false }, { "kind", true }, { "listKind", true }
    };
    for (size_t i = 0; i < lengthof(fields); i++) {
        const char *text = text_at(names, fields[i].name);
        const char *path = field_child(c->arena, at, fields[i].name);
        if (*text)
            (fields[i].kind ? check_kind : check_label)(c, path, text);
    }
    check_labels_of(c, names, at, "shortNames");
    const char *kind = text_at(names, "kind");
    if (*kind && text_eq(kind, text_at(names, "listKind")))
        field_invalid(c->errors,
            field_child(c->arena, at, "listKind"),
            json_str(kind),
            "kind and listKind may not be the same");
    check_labels_of(c, names, at, "categories");
}

/* The required names of a CRD. */
static void check_spec_names(struct checker *c)
{
    static const char *const needed[] = { "plural", "singular", "kind", "listKind" };
    struct json names = json_member(c->spec, "names");
    for (size_t i = 0; i < lengthof(needed); i++)
        if (!*text_at(names, needed[i]))
            field_required(c->errors, field_child(c->arena, "spec.names", needed[i]), "");
    check_names(c, names, "spec.names");
}

/* The name of a CRD is derived from what it defines; generateName is checked, too. */
static void check_own_name(struct checker *c)
{
    static const char *const fields[] = { "metadata.generateName", "metadata.name" };
    const char *wanted = arena_printf(
        c->arena, "%s.%s", text_at(c->spec, "names.plural"), text_at(c->spec, "group"));
    for (size_t i = 0; i < lengthof(fields) && !json_present(c->old); i++) {
        const char *name = text_at(c->crd, fields[i]);
        if ((*name || i == 1) && !text_eq(name, wanted))
            field_invalid(
                c->errors, fields[i], json_str(name), "must be spec.names.plural+\".\"+spec.group");
    }
}

static void check_group(struct checker *c)
{
    const char *group = text_at(c->spec, "group");
    struct error err;
    if (!*group)
        field_required(c->errors, "spec.group", "");
    else if (!name_check(NAME_DNS1123_SUBDOMAIN, group, &err))
        field_invalid(c->errors, "spec.group", json_str(group), err.text);
    else if (!strchr(group, '.'))
        field_invalid(
            c->errors, "spec.group", json_str(group), "should be a domain with at least one dot");
}

/* ---- versions ---- */

static void check_deprecation(struct checker *c, struct json version, const char *at)
{
    struct json warning = json_member(version, "deprecationWarning");
    const char *path = field_child(c->arena, at, "deprecationWarning");
    if (!json_is(warning, JSON_STR))
        return;
    if (!json_get_bool(version, "deprecated", false)) {
        field_invalid(c->errors, path, warning, "can only be set for deprecated versions");
        return;
    }
    if (warning.count > 256)
        field_invalid(c->errors, path, warning, "must be <= 256 characters long");
    if (!warning.count)
        field_invalid(c->errors, path, warning, "must not be an empty string");
    struct str rest = { warning.string, warning.count };
    for (uint32_t character; rest.len;) {
        size_t bytes = utf8_first(rest, &character);
        if (!bytes || !utf8_printable(character)) {
            field_invalid(c->errors,
                path,
                warning,
                arena_printf(c->arena,
                    "must only contain printable UTF-8 characters; non-printable character found "
                    "at index %zu",
                    (size_t)(rest.ptr - warning.string)));
            break;
        }
        rest = (struct str){ rest.ptr + bytes, rest.len - bytes };
    }
}

/* If all versions have the same part, the server's internal type has it at the top level, and so
 * have paths. ret_top is a version with only these parts; returns the versions without them. */
static struct json lift(struct checker *c, struct json *ret_top)
{
    static const char *const lifted[] = {
        "schema", "subresources", "additionalPrinterColumns", "selectableFields"
    };
    struct json top = json_empty_map(), versions = c->versions;
    for (size_t i = 0; i < lengthof(lifted); i++) {
        struct json first = json_member(json_item(versions, 0), lifted[i]);
        struct json_builder rest;
        json_builder_init(&rest, c->arena);
        bool same = true;
        json_each (version, versions) {
            same = same && json_equal(json_member(*version, lifted[i]), first);
            json_push(&rest, json_with_member(c->arena, *version, lifted[i], absent));
        }
        if (!same || !json_present(first))
            continue;
        top = json_with_member(c->arena, top, lifted[i], first);
        versions = json_list_end(&rest);
    }
    *ret_top = top;
    return versions;
}

static bool is_unchanged(struct checker *c, const char *version)
{
    struct json now = json_find(c->versions, "name", version);
    struct json before = json_find(json_get(c->old, "spec.versions"), "name", version);
    return json_present(before) && json_equal(json_get(now, "schema.openAPIV3Schema"),
                                       json_get(before, "schema.openAPIV3Schema"));
}

static bool has_status(struct json version)
{
    return json_present(json_get(version, "subresources.status"));
}

static void complain_versions(struct checker *c, struct json versions, const char *what)
{
    check_invalid_text(c->errors,
        FIELD_INVALID,
        "spec.versions",
        crd_shape_versions_text(c->arena, versions),
        what);
}

static void check_version(struct checker *c, struct json version, const char *at)
{
    const char *name = text_at(version, "name");
    check_label(c, field_child(c->arena, at, "name"), name);
    check_deprecation(c, version, at);
    crd_parts_check(c->arena,
        &(struct crd_level){
            .at = at,
            .schema = "schema",
            .given_at = at,
            .without = "may only be set when `version.schema.openAPIV3Schema` is not included",
            .parts = version,
            .has_status = has_status(json_find(c->versions, "name", name)),
            .unchanged = is_unchanged(c, name),
        },
        c->errors);
}

static void check_needed_schemas(struct checker *c)
{
    size_t i = 0;
    json_each (version, c->versions) {
        const char *at = field_index(c->arena, "spec.versions", i++);
        if (!json_present(json_get(*version, "schema.openAPIV3Schema")))
            field_required(c->errors, field_child(c->arena, at, "schema.openAPIV3Schema"), "");
    }
}

static void check_versions(struct checker *c, struct json versions)
{
    size_t stored = 0;
    bool unique = true;
    struct json_index names = json_index_of(c->arena, versions, "name");
    for (uint32_t i = 0; i < versions.count; i++) {
        struct json version = versions.items[i];
        unique &= !json_index_again(&names, i);
        stored += json_get_bool(version, "storage", false);
        check_version(c, version, field_index(c->arena, "spec.versions", i));
    }
    if (!unique)
        complain_versions(c, versions, "must contain unique version names");
    if (stored != 1)
        complain_versions(c, versions, "must have exactly one version marked as storage version");
    const char *first = text_at(json_item(versions, 0), "name");
    if (*first)
        check_label(c, "spec.version", first);
}

/* Parts at the top level. */
static void check_top(struct checker *c, struct json top)
{
    bool any_status = false;
    json_each (version, c->versions)
        any_status |= has_status(*version);
    crd_parts_check(c->arena,
        &(struct crd_level){
            .at = "spec",
            .schema = "validation",
            .given_at = "spec.versions[0]",
            .without = "may only be set when validations.schema is included",
            .parts = top,
            .has_status = any_status,
            .unchanged = is_unchanged(c, text_at(json_item(c->versions, 0), "name")),
        },
        c->errors);
}

/* ---- the CRD ---- */

static void check_scope(struct checker *c)
{
    static const char *const scopes[] = { "Cluster", "Namespaced", NULL };
    const char *scope = text_at(c->spec, "scope");
    if (!*scope)
        field_required(c->errors, "spec.scope", "");
    else if (!text_eq(scope, "Cluster") && !text_eq(scope, "Namespaced"))
        field_not_supported(c->errors, "spec.scope", json_str(scope), scopes);
}

static void check_unchanging(struct checker *c)
{
    struct json established =
        json_find(json_get(c->old, "status.conditions"), "type", "Established");
    bool in_use = text_eq(text_at(established, "status"), "True");
    static const char *const paths[] = {
        "spec.scope", "spec.names.kind", "spec.group", "spec.names.plural"
    };
    for (size_t i = in_use ? 0 : 2; i < lengthof(paths) && json_present(c->old); i++)
        check_immutable(
            c->errors, json_get(c->old, paths[i]), json_get(c->crd, paths[i]), paths[i]);
}

static bool has_default(struct json schema);

static bool has_default_in(struct json schemas)
{
    json_each (one, schemas)
        if (has_default(*one))
            return true;
    json_each_member (m, schemas)
        if (has_default(m->value))
            return true;
    return false;
}

/* In any of its schemas, even where a default is not allowed. */
static bool has_default(struct json schema)
{
    static const char *const one[] = { "items", "not", "additionalProperties", "additionalItems" };
    static const char *const many[] = { "items",
        "allOf",
        "anyOf",
        "oneOf",
        "properties",
        "patternProperties",
        "definitions",
        "dependencies" };
    if (!json_is(schema, JSON_MAP))
        return false;
    for (size_t i = 0; i < lengthof(one); i++)
        if (has_default(json_member(schema, one[i])))
            return true;
    for (size_t i = 0; i < lengthof(many); i++)
        if (has_default_in(json_member(schema, many[i])))
            return true;
    return schema_has(schema, "default");
}

/* Was allowed in earlier versions. */
static bool keeps_unknown(struct checker *c)
{
    return json_get_bool(c->spec, "preserveUnknownFields", false);
}

static void check_kept_unknown(struct checker *c)
{
    if (keeps_unknown(c))
        field_invalid(c->errors,
            "spec.preserveUnknownFields",
            json_bool(true),
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
            "spec.versions[*].schema instead");
}

static void check_kept_defaults(struct checker *c)
{
    bool found = false;
    json_each (version, c->versions)
        found = found || has_default(json_get(*version, "schema.openAPIV3Schema"));
    if (found && keeps_unknown(c))
        field_invalid(c->errors,
            "spec.preserveUnknownFields",
            json_bool(true),
            "must be false in order to use defaults in the schema");
}

static void check_stored_versions(struct checker *c)
{
    struct json stored = json_get(c->crd, "status.storedVersions");
    static const char path[] = "status.storedVersions";
    if (!stored.count) {
        field_invalid(c->errors, path, json_null(), "must have at least one stored version");
        return;
    }
    struct json_index names = json_index_of(c->arena, c->versions, "name");
    uint32_t i = 0;
    json_each (version, c->versions) {
        const char *name = text_at(*version, "name");
        bool earlier = json_index_again(&names, i++);
        if (json_get_bool(*version, "storage", false) && (earlier || !json_list_has(stored, name)))
            field_invalid(c->errors,
                path,
                stored,
                arena_printf(c->arena, "must have the storage version %s", name));
    }
    for (uint32_t at = 0; at < stored.count; at++) {
        const char *name = json_text(stored.items[at]);
        if (name && !json_present(json_find(c->versions, "name", name)))
            field_invalid(c->errors,
                field_index(c->arena, path, at),
                stored.items[at],
                arena_printf(c->arena,
                    "missing from spec.versions; %s was previously a storage version, and must "
                    "remain in spec.versions until a storage migration ensures no data remains "
                    "persisted in %s and removes %s from status.storedVersions",
                    name,
                    name,
                    name));
    }
}

static void check_approval(struct checker *c)
{
    static const char path[] = "metadata.annotations[api-approved.kubernetes.io]";
    static const char see[] = "see https://github.com/kubernetes/enhancements/pull/1111";
    if (!crd_status_is_protected(text_at(c->spec, "group")))
        return;
    struct json value =
        json_member(json_get(c->crd, "metadata.annotations"), "api-approved.kubernetes.io");
    const char *text = json_text(value);
    struct url url;
    bool fine = text && (text_starts(text, "unapproved") ||
                            (url_parse(c->arena, text, &url, NULL) && *url.host));
    struct json before =
        json_member(json_get(c->old, "metadata.annotations"), "api-approved.kubernetes.io");
    if (fine || (json_present(c->old) && json_equal(before, value)))
        return;
    if (text_empty(text))
        field_required(c->errors,
            path,
            arena_printf(c->arena,
                "protected groups must have approval annotation \"api-approved.kubernetes.io\", %s",
                see));
    else
        field_invalid(c->errors,
            path,
            value,
            arena_printf(c->arena,
                "protected groups must have approval annotation \"api-approved.kubernetes.io\" "
                "with either a URL or a reason starting with \"unapproved\", %s",
                see));
}

void crd_check(struct arena *a, struct json crd, struct json old, struct field_errors *errors)
{
    struct checker c = {
        .arena = a,
        .crd = crd,
        .old = old,
        .spec = json_member(crd, "spec"),
        .versions = json_get(crd, "spec.versions"),
        .errors = errors,
    };
    struct json top, versions = lift(&c, &top);
    check_own_name(&c);
    check_group(&c);
    check_scope(&c);
    check_needed_schemas(&c);
    check_kept_defaults(&c);
    check_versions(&c, versions);
    check_spec_names(&c);
    check_top(&c, top);
    crd_conversion_check(a, c.spec, errors);
    check_unchanging(&c);
    check_names(&c, json_get(crd, "status.acceptedNames"), "status.acceptedNames");
    check_stored_versions(&c);
    check_approval(&c);
    check_kept_unknown(&c);
}
