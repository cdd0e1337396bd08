#include "apiserver/crd_check.h"

#include <string.h>

#include "apiserver/crd_status.h"
#include "base/buf.h"
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

/* Kinds are labels but for the case of their letters. */
static void check_kind(struct checker *c, const char *path, const char *text)
{
    struct error err;
    char *lower = arena_strdup(c->arena, text);
    for (char *at = lower; *at; at++)
        if (*at >= 'A' && *at <= 'Z')
            *at = (char)(*at - 'A' + 'a');
    if (!name_check(NAME_DNS1035_LABEL, lower, &err))
        field_invalid(c->errors,
            path,
            json_str(text),
            arena_printf(
                c->arena, "may have mixed case, but should otherwise match: %s", err.text));
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
    static const char *const lists[] = { "shortNames", "categories" };
    for (size_t i = 0; i < lengthof(lists); i++) {
        size_t index = 0;
        json_each (item, json_member(names, lists[i])) {
            const char *path = field_child(c->arena, at, lists[i]);
            check_label(c,
                field_index(c->arena, path, index++),
                json_is(*item, JSON_STR) ? item->string : "");
        }
    }
    const char *kind = text_at(names, "kind");
    if (*kind && text_eq(kind, text_at(names, "listKind")))
        field_invalid(c->errors,
            field_child(c->arena, at, "listKind"),
            json_str(kind),
            "kind and listKind may not be the same");
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
    const char *wanted = arena_printf(c->arena, "%s.%s", text_at(c->spec, "names.plural"), group);
    const char *name = text_at(c->crd, "metadata.name");
    if (!json_present(c->old) && !text_eq(name, wanted))
        field_invalid(c->errors,
            "metadata.name",
            json_str(name),
            "must be spec.names.plural+\".\"+spec.group");
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

/* ---- versions ---- */

/* What is the same in all versions stands at the top in the server's own type, and so in paths. */
static bool is_shared(struct checker *c, const char *field)
{
    struct json first = json_member(json_item(c->versions, 0), field);
    json_each (version, c->versions)
        if (!json_equal(json_member(*version, field), first))
            return false;
    return true;
}

/* As Go prints them, without what stands at the top. */
static const char *versions_text(struct checker *c)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)4 << 20);
    if (!json_is(c->versions, JSON_LIST))
        return "null";
    buf_add_char(&b, '[');
    json_each (version, c->versions) {
        struct json warning = json_member(*version, "deprecationWarning");
        buf_printf(&b,
            "%s{\"Name\":%s,\"Served\":%s,\"Storage\":%s,\"Deprecated\":%s,"
            "\"DeprecationWarning\":%s,\"Schema\":null,\"Subresources\":null,"
            "\"AdditionalPrinterColumns\":null,\"SelectableFields\":null}",
            b.len > 1 ? "," : "",
            json_to_text(c->arena, json_member(*version, "name")),
            json_get_bool(*version, "served", false) ? "true" : "false",
            json_get_bool(*version, "storage", false) ? "true" : "false",
            json_get_bool(*version, "deprecated", false) ? "true" : "false",
            json_present(warning) ? json_to_text(c->arena, warning) : "null");
    }
    buf_add_char(&b, ']');
    return arena_strdup(c->arena, buf_text(&b));
}

static void complain_versions(struct checker *c, const char *what)
{
    field_invalid(c->errors,
        "spec.versions",
        absent,
        arena_printf(c->arena, "%s: %s", versions_text(c), what));
}

static void check_deprecation(struct checker *c, struct json version, const char *at)
{
    struct json warning = json_member(version, "deprecationWarning");
    const char *path = field_child(c->arena, at, "deprecationWarning"), *what = NULL;
    if (!json_is(warning, JSON_STR))
        return;
    struct str rest = { warning.string, warning.count };
    if (!json_get_bool(version, "deprecated", false))
        what = "can only be set for deprecated versions";
    else if (warning.count > 256)
        what = "must be <= 256 characters long";
    else if (!warning.count)
        what = "must not be an empty string";
    for (uint32_t character; !what && rest.len;) {
        size_t bytes = utf8_first(rest, &character);
        if (!bytes || !utf8_printable(character))
            what = arena_printf(c->arena,
                "must only contain printable UTF-8 characters; non-printable character found at "
                "index %zu",
                (size_t)(rest.ptr - warning.string));
        rest = (struct str){ rest.ptr + bytes, rest.len - bytes };
    }
    if (what)
        field_invalid(c->errors, path, warning, what);
}

static void check_versions(struct checker *c)
{
    size_t stored = 0, i = 0;
    bool unique = true;
    json_each (version, c->versions) {
        const char *at = field_index(c->arena, "spec.versions", i);
        const char *name = text_at(*version, "name");
        for (size_t j = 0; j < i; j++)
            unique &= !text_eq(name, text_at(json_item(c->versions, j), "name"));
        stored += json_get_bool(*version, "storage", false);
        check_label(c, field_child(c->arena, at, "name"), name);
        check_deprecation(c, *version, at);
        i++;
    }
    const char *first = text_at(json_item(c->versions, 0), "name");
    if (*first)
        check_label(c, "spec.version", first);
    if (!unique)
        complain_versions(c, "must contain unique version names");
    if (stored != 1)
        complain_versions(c, "must have exactly one version marked as storage version");
}

static void check_stored_versions(struct checker *c)
{
    struct json stored = json_get(c->crd, "status.storedVersions");
    static const char path[] = "status.storedVersions";
    if (!stored.count) {
        field_invalid(c->errors, path, json_null(), "must have at least one stored version");
        return;
    }
    uint32_t i = 0;
    json_each (version, c->versions) {
        const char *name = text_at(*version, "name");
        bool earlier = false;
        for (uint32_t j = 0; j < i; j++)
            earlier |= text_eq(name, text_at(json_item(c->versions, j), "name"));
        i++;
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

/* ---- what a version has ---- */

static void check_schemas(struct checker *c)
{
    bool shared = is_shared(c, "schema");
    size_t i = 0;
    json_each (version, c->versions) {
        struct json schema = json_get(*version, "schema.openAPIV3Schema");
        const char *own = field_index(c->arena, "spec.versions", i);
        const char *at = shared && json_present(schema)
                             ? "spec.validation.openAPIV3Schema"
                             : field_child(c->arena, own, "schema.openAPIV3Schema");
        i++;
        struct json before =
            json_find(json_get(c->old, "spec.versions"), "name", text_at(*version, "name"));
        bool same =
            json_present(schema) && json_equal(json_get(before, "schema.openAPIV3Schema"), schema);
        if (!json_present(schema))
            field_required(c->errors, at, "");
        else
            crd_check_schema(c->arena,
                schema,
                at,
                json_present(json_get(*version, "subresources.status")),
                same,
                c->errors);
        if (shared && json_present(schema))
            break;
    }
}

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
        if (!*text_at(*column, "name"))
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

/* NULL, or what is wrong with the path to a field that can be selected by. */
static const char *selectable_fault(struct checker *c, struct json schema, const char *path)
{
    if (*path != '.')
        return arena_printf(c->arena,
            "is an invalid path: expected [ or . but got: %.*s",
            (int)strcspn(path, ".["),
            path);
    struct str rest = str_of(path + 1);
    while (rest.ptr) {
        struct str index = str_cut(&rest, '.'), name = str_cut(&index, '[');
        schema = json_member_n(json_member(schema, "properties"), name);
        if (!json_present(schema))
            return "is an invalid path: does not refer to a valid field";
        if (index.ptr)
            return "is an invalid path: array notation is not allowed";
    }
    const char *type = text_at(schema, "type");
    if (!text_eq(type, "string") && !text_eq(type, "boolean") && !text_eq(type, "integer"))
        return "must point to a field of type string, boolean or integer. Enum string fields and "
               "strings with formats are allowed.";
    return NULL;
}

#define SELECTABLE_MAX 8

static void check_selectable(
    struct checker *c, struct json fields, struct json schema, const char *at)
{
    size_t before = c->errors->count;
    if (fields.count && !json_present(schema)) {
        field_invalid(
            c->errors, at, json_str(""), "may only be set when validations.schema is included");
        return;
    }
    for (uint32_t i = 0; i < fields.count; i++) {
        struct json v = json_member(fields.items[i], "jsonPath");
        const char *path = field_child(c->arena, field_index(c->arena, at, i), "jsonPath");
        const char *fault = v.count ? selectable_fault(c, schema, v.string) : NULL;
        bool again = false;
        for (uint32_t j = 0; j < i; j++)
            again |= json_equal(v, json_member(fields.items[j], "jsonPath"));
        if (!v.count)
            field_required(c->errors, path, "");
        else if (fault)
            field_invalid(c->errors, path, v, fault);
        else if (again)
            field_duplicate(c->errors, path, v);
    }
    if (c->errors->count == before && fields.count > SELECTABLE_MAX)
        field_error_add(
            c->errors, FIELD_TOO_MANY, at, json_int(fields.count), "must have at most 8 items");
}

static void check_parts(struct checker *c)
{
    static const char *const parts[] = {
        "subresources", "additionalPrinterColumns", "selectableFields"
    };
    for (size_t p = 0; p < lengthof(parts); p++) {
        bool shared = is_shared(c, parts[p]);
        size_t i = 0;
        json_each (version, c->versions) {
            struct json part = json_member(*version, parts[p]);
            struct json schema = json_get(*version, "schema.openAPIV3Schema");
            const char *own = field_index(c->arena, "spec.versions", i++);
            const char *at = field_child(c->arena, shared ? "spec" : own, parts[p]);
            if (p == 0 && json_present(json_member(part, "scale")))
                check_scale(c, json_member(part, "scale"), field_child(c->arena, at, "scale"));
            if (p == 1)
                check_columns(c, part, at);
            if (p == 2)
                check_selectable(c, part, schema, at);
            if (shared)
                break;
        }
    }
}

static void check_conversion(struct checker *c)
{
    static const char *const strategies[] = { "None", "Webhook", NULL };
    struct json conversion = json_member(c->spec, "conversion");
    const char *strategy = text_at(conversion, "strategy");
    struct json reviews = json_get(conversion, "webhook.conversionReviewVersions");
    struct json client = json_get(conversion, "webhook.clientConfig");
    bool webhook = text_eq(strategy, "Webhook");
    if (!*strategy)
        field_required(c->errors, "spec.conversion.strategy", "");
    else if (!webhook && !text_eq(strategy, "None"))
        field_not_supported(c->errors, "spec.conversion.strategy", json_str(strategy), strategies);
    if (!webhook && json_present(client))
        field_forbidden(c->errors,
            "spec.conversion.webhookClientConfig",
            "should not be set when strategy is not set to Webhook");
    if (!webhook && reviews.count)
        field_forbidden(c->errors,
            "spec.conversion.conversionReviewVersions",
            "should not be set when strategy is not set to Webhook");
    if (!webhook)
        return;
    if (!reviews.count)
        field_required(c->errors, "spec.conversion.conversionReviewVersions", "");
    bool url = json_present(json_member(client, "url"));
    bool service = json_present(json_member(client, "service"));
    if (!json_present(client))
        field_required(c->errors,
            "spec.conversion.webhookClientConfig",
            "required when strategy is set to Webhook");
    else if (url == service)
        field_required(c->errors,
            "spec.conversion.webhookClientConfig",
            "exactly one of url or service is required");
}

/* ---- the whole ---- */

static void check_scope(struct checker *c)
{
    static const char *const scopes[] = { "Cluster", "Namespaced", NULL };
    const char *scope = text_at(c->spec, "scope");
    if (!*scope)
        field_required(c->errors, "spec.scope", "");
    else if (!text_eq(scope, "Cluster") && !text_eq(scope, "Namespaced"))
        field_not_supported(c->errors, "spec.scope", json_str(scope), scopes);
}

static void check_needed_names(struct checker *c)
{
    static const char *const needed[] = { "plural", "singular", "kind", "listKind" };
    struct json names = json_member(c->spec, "names");
    for (size_t i = 0; i < lengthof(needed); i++)
        if (!*text_at(names, needed[i]))
            field_required(c->errors, field_child(c->arena, "spec.names", needed[i]), "");
    check_names(c, names, "spec.names");
    check_names(c, json_get(c->crd, "status.acceptedNames"), "status.acceptedNames");
}

static void check_immutable(struct checker *c)
{
    struct json established =
        json_find(json_get(c->old, "status.conditions"), "type", "Established");
    bool in_use = text_eq(text_at(established, "status"), "True");
    static const struct {
        const char *path;
        bool always;
    } fields[] = {
        { "spec.scope", false },
        { "spec.names.kind", false },
        { "spec.group", true },
        { "spec.names.plural", true },
    };
    for (size_t i = 0; i < lengthof(fields) && json_present(c->old); i++) {
        struct json v = json_get(c->crd, fields[i].path);
        if ((fields[i].always || in_use) && !json_equal(v, json_get(c->old, fields[i].path)))
            field_invalid(c->errors, fields[i].path, v, "field is immutable");
    }
}

static bool has_default(struct json schema)
{
    bool found = json_present(json_member(schema, "default"));
    json_each_member (m, json_member(schema, "properties"))
        found = found || has_default(m->value);
    struct json items = json_member(schema, "items");
    struct json more = json_member(schema, "additionalProperties");
    return found || (json_is(items, JSON_MAP) && has_default(items)) ||
           (json_is(more, JSON_MAP) && has_default(more));
}

static void check_preserve(struct checker *c)
{
    if (!json_get_bool(c->spec, "preserveUnknownFields", false))
        return;
    field_invalid(c->errors,
        "spec.preserveUnknownFields",
        json_bool(true),
        "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
        "spec.versions[*].schema instead");
    bool found = false;
    json_each (version, c->versions)
        found = found || has_default(json_get(*version, "schema.openAPIV3Schema"));
    if (found)
        field_invalid(c->errors,
            "spec.preserveUnknownFields",
            json_bool(true),
            "must be false in order to use defaults in the schema");
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
    check_group(&c);
    check_scope(&c);
    check_versions(&c);
    check_needed_names(&c);
    check_preserve(&c);
    check_schemas(&c);
    check_parts(&c);
    check_conversion(&c);
    check_immutable(&c);
    check_stored_versions(&c);
    check_approval(&c);
}
