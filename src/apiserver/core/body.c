#include "apiserver/core/body.h"

#include <stdlib.h>
#include <string.h>

#include "apiserver/core/meta.h"
#include "apiserver/core/object.h"
#include "apiserver/core/protobuf.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/yaml.h"
#include "merge/managers.h"

enum media media_of(const char *content_type)
{
    struct str rest = str_of(content_type ? content_type : "");
    struct str type = str_trim(str_cut(&rest, ';'));
    if (!type.len || str_eq_nocase(type, STR("application/json")))
        return MEDIA_TYPE_JSON;
    if (str_eq_nocase(type, STR("application/yaml")))
        return MEDIA_TYPE_YAML;
    return str_eq_nocase(type, STR("application/vnd.kubernetes.protobuf")) ? MEDIA_TYPE_PROTOBUF
                                                                           : MEDIA_TYPE_OTHER;
}

bool body_check_media(struct api_call *c)
{
    enum media media = media_of(c->request->content_type);
    if (media != MEDIA_TYPE_OTHER && !(media == MEDIA_TYPE_PROTOBUF && c->kind->custom))
        return true;
    return call_fail(c,
        (struct api_status){ 415,
            "UnsupportedMediaType",
            media == MEDIA_TYPE_PROTOBUF
                ? "the body of the request was in an unknown format - accepted media types "
                  "include: "
                  "application/json, application/yaml"
                : "the body of the request was in an unknown format - accepted media types "
                  "include: "
                  "application/json, application/yaml, application/vnd.kubernetes.protobuf",
            .details = { 0 } });
}

#define SUMMARY_BYTES 30

/* The beginning of an unreadable body. */
static const char *summary(struct arena *a, struct str body)
{
    struct str part = { body.ptr, body.len < SUMMARY_BYTES ? body.len : SUMMARY_BYTES };
    const char *more = body.len > SUMMARY_BYTES ? " ..." : "";
    if (!body.len)
        return "<empty>";
    return arena_printf(
        a, "%s%s", body.ptr[0] == '{' ? str_dup(a, part) : hex_encode(a, part), more);
}

static bool fail_unrecognized(struct api_call *c, const char *why)
{
    return call_fail_bad(c,
        "the object provided is unrecognized (must be of type %s): %s (%s)",
        c->kind->resource.kind,
        why,
        summary(&c->arena, c->request->body));
}

/* encoding/json's names for types. */
static const char *const type_words[] = {
    "", "null", "bool", "number", "number", "string", "array", "object"
};

static const char *type_member_trouble(struct arena *a, struct json object)
{
    static const char *const fields[] = { "apiVersion", "kind" };
    for (size_t i = 0; i < lengthof(fields); i++)
        json_each_member (m, object)
            if (!json_is(m->value, JSON_STR) && !json_is(m->value, JSON_NULL) &&
                str_eq_nocase(str_of(m->key), str_of(fields[i])))
                return arena_printf(a,
                    "json: cannot unmarshal %s into Go struct field .%s of type string",
                    json_is(m->value, JSON_MAP) ? "object" : type_words[m->value.type],
                    fields[i]);
    return NULL;
}

const char *body_type_trouble(struct arena *a, struct json v)
{
    const char *why = json_is(v, JSON_MAP) ? type_member_trouble(a, v) : NULL;
    if (!json_is(v, JSON_MAP))
        why = arena_printf(a,
            "json: cannot unmarshal %s into Go value of type struct { APIVersion string "
            "\"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }",
            type_words[v.type]);
    if (why)
        return arena_printf(a, "couldn't get version/kind; json parse error: %s", why);
    const char *version = json_text(body_type_member(v, "apiVersion"));
    const char *slash = version ? strchr(version, '/') : NULL;
    return slash && strchr(slash + 1, '/')
               ? arena_printf(a, "unexpected GroupVersion string: %s", version)
               : NULL;
}

bool body_has_surrogates(struct str body)
{
    for (const char *at = body.ptr; (at = memmem(at, body.len - (size_t)(at - body.ptr), "\\u", 2));
         at += 2)
        if (body.len - (size_t)(at - body.ptr) > 3 && (at[2] | 0x20) == 'd' && at[3] > '7')
            return true;
    return false;
}

bool body_parse(struct api_call *c, const struct protobuf_type *usual, struct json *ret,
    bool *ret_twice, const char **ret_why)
{
    struct error err;
    struct arena *a = &c->arena;
    struct str body = c->request->body;
    enum media media = media_of(c->request->content_type);
    *ret_twice = false;
    *ret_why = NULL;
    bool json =
        media == MEDIA_TYPE_JSON || (body.len && *body.ptr == '{' && !body_has_surrogates(body));
    if (media == MEDIA_TYPE_PROTOBUF) {
        if (!protobuf_decode(a, body, usual, ret, &err))
            *ret_why = arena_strdup(a, err.text);
        return !*ret_why;
    }
    json = json && json_parse_keys(a, body, ret, ret_twice, &err) &&
           (media == MEDIA_TYPE_JSON || !*ret_twice);
    if (!json && media == MEDIA_TYPE_JSON)
        *ret_why = arena_printf(a, "couldn't get version/kind; json parse error: %s", err.text);
    else if (!json) {
        struct json documents;
        *ret_twice = false;
        if (!yaml_parse_old(a, body, "body", &documents, &c->twice, &err))
            *ret_why = arena_printf(a, "yaml: %s", err.text);
        else
            *ret = documents.count ? documents.items[0] : json_null();
    }
    if (!*ret_why && json_is(*ret, JSON_NULL))
        *ret = json_empty_map();
    if (!*ret_why)
        *ret_why = body_type_trouble(a, *ret);
    return !*ret_why;
}

static bool fail_handling(
    struct api_call *c, const char *kind, const char *version, const char *why)
{
    return call_fail_bad(c,
        "%s in version \"%s\" cannot be handled as a %s: %s",
        kind,
        version,
        c->kind->resource.kind,
        why);
}

static const char *version_of(const char *api_version)
{
    const char *slash = strchr(api_version, '/');
    return slash ? slash + 1 : api_version;
}

static bool parse(struct api_call *c, struct json *ret, bool *ret_twice)
{
    struct error err;
    struct str body = c->request->body;
    const char *why;
    bool is_binary = media_of(c->request->content_type) == MEDIA_TYPE_PROTOBUF;
    if (!body_check_media(c))
        return false;
    const struct protobuf_type usual = { object_api_version(&c->arena, c->kind),
        c->kind->resource.kind };
    if (!body_parse(c, &usual, ret, ret_twice, &why))
        return json_present(json_member(*ret, "kind")) && is_binary
                   ? fail_handling(c,
                         json_get_text(*ret, "kind"),
                         version_of(json_get_text(*ret, "apiVersion")),
                         why)
                   : fail_unrecognized(c, why);
    return !*ret_twice || c->kind->custom || json_parse_joined(&c->arena, body, ret, &err) ||
           call_fail_bad(c, "%s", err.text);
}

/* Go matches these keys ignoring case. */
struct json body_type_member(struct json object, const char *field)
{
    struct json found = json_member(object, field);
    json_each_member (m, object)
        if (!json_present(found) && str_eq_nocase(str_of(m->key), str_of(field)))
            found = m->value;
    return found;
}

static bool fail_custom_kind(
    struct api_call *c, struct json object, const char *kind, const char *group)
{
    const char *name = json_get_text(object, "metadata.name");
    struct field_errors errors;
    field_errors_init(&errors, &c->arena);
    field_invalid(&errors,
        "kind",
        json_str(kind),
        arena_printf(&c->arena, "must be %s", c->kind->resource.kind));
    return call_fail(c, status_invalid(&c->arena, group, kind, name ? name : "", &errors));
}

const char *body_type_error(const struct field_errors *errors)
{
    static const char words[] = "Invalid value: ";
    for (size_t i = 0; i < errors->count; i++)
        if (errors->items[i].type == FIELD_TYPE_INVALID) {
            const char *text = errors->items[i].message;
            return text_starts(text, words) ? text + sizeof(words) - 1 : text;
        }
    return NULL;
}

static bool is_among_texts(const char *const *list, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (text_eq(list[i], text))
            return true;
    return false;
}

/* Types that the API server can decode but that have no path: lists, and types shared by all groups
 * or versions. Returns the version of the Go type; NULL: unknown. */
static const char *version_of_pathless(
    struct api_call *c, const char *group, const char *version, const char *kind)
{
    static const char *const everywhere[] = {
        "Status", "APIVersions", "APIGroupList", "APIGroup", "APIResourceList"
    };
    static const char *const in_groups[] = { "WatchEvent",
        "ListOptions",
        "GetOptions",
        "DeleteOptions",
        "CreateOptions",
        "UpdateOptions",
        "PatchOptions" };
    const struct registry *r = apiserver_registry(c->server);
    if (is_among_texts(everywhere, lengthof(everywhere), kind))
        return "v1";
    if (text_eq(version, "v1") && ((!*group && text_eq(kind, "List")) ||
                                      (text_eq(group, "autoscaling") && text_eq(kind, "Scale"))))
        return "v1";
    const struct api_kind *k;
    for (size_t i = 0; (k = registry_at(r, i)); i++) {
        if (k->custom || !text_eq(k->resource.group, group) ||
            !text_eq(k->resource.version, version))
            continue;
        if (is_among_texts(in_groups, lengthof(in_groups), kind))
            return "v1";
        if (text_eq(k->list_kind, kind))
            return version;
    }
    return NULL;
}

static bool fail_conversion(
    struct api_call *c, const char *kind, const char *version, const char *go_version)
{
    struct arena *a = &c->arena;
    return fail_handling(c,
        kind,
        version,
        arena_printf(a,
            "converting (%s.%s) to (%s): unknown conversion",
            go_version,
            kind,
            object_go_type(a, c->kind, c->kind->resource.kind)));
}

/* The type in the body is not the kind of the path. */
static bool fail_other_kind(struct api_call *c, struct json object, const char *api_version,
    const char *group, const char *version, const char *kind)
{
    struct arena *a = &c->arena;
    if (!*version)
        return fail_handling(c,
            kind,
            version,
            arena_printf(
                a, "Object 'apiVersion' is missing in '%s'", str_dup(a, c->request->body)));
    const struct api_kind *other =
        registry_find_kind(apiserver_registry(c->server), group, version, kind);
    if (!other || other->custom) {
        const char *go_version = version_of_pathless(c, group, version, kind);
        return go_version ? fail_conversion(c, kind, version, go_version)
                          : fail_handling(c,
                                kind,
                                version,
                                arena_printf(a,
                                    "no kind \"%s\" is registered for version \"%s\" in scheme "
                                    "\"pkg/runtime/scheme.go:111\"",
                                    kind,
                                    api_version));
    }
    /* It is decoded as the type that it claims to be, before the mismatch is noticed. */
    struct field_errors wrong;
    field_errors_init(&wrong, a);
    if (other->behaviour && other->behaviour->prune)
        other->behaviour->prune(other, a, object, &wrong);
    if (body_type_error(&wrong))
        return fail_handling(c, kind, version, body_type_error(&wrong));
    return fail_conversion(c, kind, version, version);
}

/* apiVersion and kind: filled in, or compared with the path. */
static bool check_kind(struct api_call *c, struct json *object)
{
    struct arena *a = &c->arena;
    const struct resource *r = &c->kind->resource;
    const char *want = object_api_version(a, c->kind);
    const char *version = json_text(body_type_member(*object, "apiVersion"));
    const char *kind = json_text(body_type_member(*object, "kind"));
    if (c->kind->custom && text_empty(kind))
        return call_fail_bad(c,
            "the object provided is unrecognized (must be of type %s): Object 'Kind' is missing in "
            "'%s' (%s)",
            r->kind,
            str_dup(a, c->request->body),
            summary(a, c->request->body));
    if (version && *version == '/')
        version++; /* the core group has no group name */
    if (text_empty(version))
        version = c->kind->custom ? "" : want;
    kind = text_empty(kind) ? r->kind : kind;
    /* An older version of the same form, which is not served but still accepted. */
    if (text_eq(kind, "Eviction") && text_eq(version, "policy/v1beta1"))
        version = "policy/v1";
    if (text_eq(version, want) && text_eq(kind, r->kind)) {
        *object = json_with_member(a, *object, "apiVersion", json_str(want));
        *object = json_with_member(a, *object, "kind", json_str(kind));
        return true;
    }
    struct str rest = str_of(version), group = str_cut(&rest, '/');
    const char *short_version = rest.ptr ? rest.ptr : version;
    const char *group_text = rest.ptr ? str_dup(a, group) : "";
    if (c->kind->custom && text_eq(version, want))
        return fail_custom_kind(c, *object, kind, group_text);
    if (c->kind->custom)
        return call_fail_bad(c,
            "the API version in the data (%s) does not match the expected API version (%s)",
            version,
            want);
    return fail_other_kind(c, *object, version, group_text, short_version, kind);
}

/* ---- unknown fields and duplicate keys ---- */

struct strict {
    struct arena *arena;
    const struct field_errors *unknown;
    struct field_errors found; /* the path of each contains the message; nothing else is used */
    const char *prefix;        /* of each message */
    bool sorts;
};

static bool is_among(const struct field_errors *list, const char *path)
{
    for (size_t i = 0; i < list->count; i++)
        if (text_eq(list->items[i].path, path))
            return true;
    return false;
}

static void add_found(struct strict *s, const char *word, const char *path)
{
    const char *words = arena_printf(s->arena, "%s%s field \"%s\"", s->prefix, word, path);
    if (!is_among(&s->found, words)) /* each is reported once */
        field_error_add(&s->found, FIELD_INVALID, words, json_none, NULL);
}

/* Built-in kinds report both in the order of the text; custom kinds report duplicates first. */
static bool on_key(void *ctx, const char *path, bool again)
{
    struct strict *s = ctx;
    bool unknown = is_among(s->unknown, path);
    if (unknown && !s->sorts)
        add_found(s, "unknown", path);
    else if (again)
        add_found(s, "duplicate", path);
    return !unknown || s->sorts;
}

static void warn_yaml_twice(struct api_call *c)
{
    json_each (line, c->twice)
        call_warn(c, json_text(*line));
}

static const char *yaml_twice_text(struct api_call *c)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)64 << 10);
    buf_add_text(&b, "yaml: unmarshal errors:");
    json_each (line, c->twice)
        buf_printf(&b, "\n  %s", json_text(*line));
    return arena_strdup(&c->arena, buf_text(&b));
}

static int by_path(const void *left, const void *right)
{
    const struct field_error *l = left, *r = right;
    return strcmp(l->path, r->path);
}

/* sorts: for custom kinds. */
static bool report_strict(struct api_call *c, bool sorts, const struct field_errors *unknown,
    struct str text, const char *prefix, const char **ret_why)
{
    struct arena *a = &c->arena;
    struct strict s = { .arena = a, .unknown = unknown, .prefix = prefix, .sorts = sorts };
    field_errors_init(&s.found, a);
    if (!text.ptr && !sorts) /* then it was built from a map, which Go prints sorted */
        qsort(unknown->items, unknown->count, sizeof(*unknown->items), by_path);
    if (text.ptr)
        json_walk_keys(text, on_key, &s);
    else if (c->twice.count && c->validation == VALIDATION_WARN)
        warn_yaml_twice(c);
    else if (c->twice.count)
        field_error_add(&s.found, FIELD_INVALID, yaml_twice_text(c), json_none, NULL);
    for (size_t i = 0; i < unknown->count && (!text.ptr || s.sorts); i++)
        add_found(&s, "unknown", unknown->items[i].path);
    if (c->validation == VALIDATION_WARN) {
        for (size_t i = 0; i < s.found.count; i++)
            call_warn(c, s.found.items[i].path);
        return true;
    }
    if (!s.found.count)
        return true;
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)1 << 20);
    buf_add_text(&b, "strict decoding error: ");
    for (size_t i = 0; i < s.found.count; i++)
        buf_printf(&b, "%s%s", i ? ", " : "", s.found.items[i].path);
    buf_add_text(&b, field_errors_rest(a, s.found.more + unknown->more));
    *ret_why = arena_strdup(a, buf_text(&b));
    return false;
}

/* As paths in the list of operations. */
static void find_unknown_parts(struct json operations, struct field_errors *unknown)
{
    size_t i = 0;
    json_each (op, operations) {
        const char *at = field_index(unknown->arena, "", i++);
        json_each_member (m, *op)
            if (!text_eq(m->key, "op") && !text_eq(m->key, "path") && !text_eq(m->key, "from") &&
                !text_eq(m->key, "value"))
                field_error_add(unknown,
                    FIELD_INVALID,
                    field_child(unknown->arena, at, m->key),
                    json_none,
                    NULL);
    }
}

bool body_check_patch(struct api_call *c, struct str text, bool operations, const char **ret_why)
{
    struct json patch;
    struct error err;
    bool twice = false;
    struct field_errors unknown;
    field_errors_init(&unknown, &c->arena);
    if (c->validation == VALIDATION_IGNORE ||
        !json_parse_keys(&c->arena, text, &patch, &twice, &err))
        return true;
    if (operations)
        find_unknown_parts(patch, &unknown);
    return (!twice && !unknown.count) ||
           report_strict(c, false, &unknown, text, operations ? "json patch " : "", ret_why);
}

bool body_report_yaml_twice(struct api_call *c)
{
    if (c->validation == VALIDATION_WARN)
        warn_yaml_twice(c);
    return c->validation != VALIDATION_STRICT || !c->twice.count ||
           call_fail_bad(c,
               "error strict decoding YAML: error converting YAML to JSON: %s",
               yaml_twice_text(c));
}

static int by_value_and_place(const void *x, const void *y)
{
    const struct json *l = *(const struct json *const *)x, *r = *(const struct json *const *)y;
    int order = json_compare(*l, *r);
    return order ? order : l < r ? -1 : l > r;
}

/* For each item of a list, whether an equal one precedes it. */
static const bool *find_again(struct arena *a, struct json list)
{
    const struct json **items = arena_array(a, list.count + 1, sizeof(*items));
    bool *again = arena_array(a, list.count + 1, sizeof(*again));
    for (uint32_t i = 0; i < list.count; i++)
        items[i] = &list.items[i];
    qsort(items, list.count, sizeof(*items), by_value_and_place);
    for (uint32_t i = 1; i < list.count; i++)
        again[items[i] - list.items] = json_compare(*items[i - 1], *items[i]) == 0;
    return again;
}

/* Removes duplicate owner references. */
static struct json without_same_owners(struct api_call *c, struct json meta)
{
    struct json owners = json_member(meta, "ownerReferences");
    struct json_builder kept;
    json_builder_init(&kept, &c->arena);
    cleanup(buf_done) struct buf twice = BUF_INIT((size_t)64 << 10);
    const bool *again = json_is(owners, JSON_LIST) ? find_again(&c->arena, owners) : NULL;
    for (uint32_t i = 0; again && i < owners.count; i++) {
        const char *uid = json_get_text(owners.items[i], "uid");
        if (again[i])
            buf_printf(&twice, "%s%s", twice.len ? ", " : "", uid ? uid : "");
        else
            json_push(&kept, owners.items[i]);
    }
    if (!twice.len)
        return meta;
    call_warn(c,
        arena_printf(&c->arena,
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner "
            "references in 1.20+, and may reject such requests as early as 1.24; please fix your "
            "requests; duplicate UID(s) observed: %s",
            buf_text(&twice)));
    return json_with_member(&c->arena, meta, "ownerReferences", json_list_end(&kept));
}

bool body_read_object(struct api_call *c, const struct api_kind *k, struct json *object,
    struct str text, bool twice, const char **ret_why)
{
    struct arena *a = &c->arena;
    struct error err = { 0 };
    struct field_errors unknown;
    struct json meta, given = json_member(*object, "metadata");
    const struct api_behaviour *b = k->behaviour;
    field_errors_init(&unknown, a);
    c->given = *object;
    if (!meta_normalise(a, given, k, &meta, &unknown, &err)) {
        *ret_why = arena_strdup(a, err.text);
        return false;
    }
    meta = without_same_owners(c, meta);
    *object = json_with_member(a, *object, "metadata", meta);
    /* For custom objects the merge has already refused unknown fields, and nulls are values. */
    if (b && b->prune && !(k->custom && c->applies))
        *object = b->prune(k, a, *object, &unknown);
    struct json owners = json_member(meta, "managedFields");
    if (!k->custom && json_present(owners) && managers_is_reset(owners))
        *object = json_with(a, *object, "metadata.managedFields", owners);
    *ret_why = body_type_error(&unknown);
    if (*ret_why)
        return false;
    bool told = c->validation != VALIDATION_IGNORE && (unknown.count || twice || c->twice.count);
    return !told || report_strict(c, k->custom, &unknown, text, "", ret_why);
}

bool body_decode(struct api_call *c, struct json *ret)
{
    bool twice;
    const char *why = NULL;
    const struct resource *r = &c->kind->resource;
    if (!parse(c, ret, &twice) || !check_kind(c, ret))
        return false;
    bool json = media_of(c->request->content_type) == MEDIA_TYPE_JSON;
    struct str text = json ? c->request->body : (struct str){ NULL, 0 };
    return body_read_object(c, c->kind, ret, text, twice, &why) ||
           fail_handling(c, r->kind, r->version, why);
}
