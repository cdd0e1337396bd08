/* PATCH, in its four types. */

#include <string.h>

#include "apiserver/core/body.h"
#include "apiserver/core/internal.h"
#include "apiserver/core/meta.h"
#include "apiserver/core/object.h"
#include "apiserver/core/options.h"
#include "apiserver/rules/decode.h"
#include "apiserver/rules/json_patch.h"
#include "apiserver/verbs/scale.h"
#include "apiserver/verbs/write.h"
#include "base/time.h"
#include "base/yaml.h"
#include "merge/apply.h"
#include "merge/gojson.h"
#include "merge/strategic.h"

enum patch_form { PATCH_JSON, PATCH_MERGE, PATCH_STRATEGIC, PATCH_APPLY, PATCH_UNKNOWN };

static enum patch_form form_of(const struct api_call *c)
{
    static const char *const types[] = {
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
    };
    struct str rest = str_of(c->request->content_type ? c->request->content_type : "");
    struct str type = str_trim(str_cut(&rest, ';'));
    for (size_t i = 0; i < lengthof(types); i++)
        if (str_eq_nocase(type, str_of(types[i])))
            return c->kind->custom && i == PATCH_STRATEGIC ? PATCH_UNKNOWN : (enum patch_form)i;
    return PATCH_UNKNOWN;
}

bool rest_patch_check_form(struct api_call *c)
{
    if (form_of(c) != PATCH_UNKNOWN)
        return true;
    struct api_status status = { 415, "UnsupportedMediaType", "415: Unsupported Media Type" };
    status.details = json_empty_map();
    if (c->kind->custom) {
        status.message =
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, "
            "application/apply-patch+yaml";
        status.details = json_none;
    }
    return call_fail(c, status);
}

/* ---- the patched object ---- */

/* Decodes like encoding/json. */
static bool check_operation(struct api_call *c, struct json op)
{
    static const char *const texts[] = { "op", "path", "from" };
    if (!json_is(op, JSON_MAP) && !json_is(op, JSON_NULL))
        return call_fail_bad(c,
            "error decoding patch: json: cannot unmarshal %s into Go value of type "
            "handlers.jsonPatchOp",
            json_type_name(op));
    for (size_t i = 0; i < lengthof(texts); i++) {
        struct json v = json_member(op, texts[i]);
        if (json_present(v) && !json_is(v, JSON_STR) && !json_is(v, JSON_NULL))
            return call_fail_bad(c,
                "error decoding patch: json: cannot unmarshal %s into Go struct field "
                "jsonPatchOp.%s of type string",
                json_type_name(v),
                texts[i]);
    }
    return true;
}

static bool parse_patch(
    struct api_call *c, enum patch_form form, struct json *ret, struct json_givens *givens)
{
    struct error err;
    struct arena *a = &c->arena;
    struct str body = c->request->body;
    const char *prefix = form == PATCH_STRATEGIC ? "" : "error decoding patch: ";
    *givens = (struct json_givens){ 0 };
    if (!(form == PATCH_JSON ? json_parse_given(a, body, ret, givens, &err)
                             : json_parse(a, body, ret, &err)))
        return call_fail_bad(c, "%s%s", prefix, err.text);
    enum json_type want = form == PATCH_JSON ? JSON_LIST : JSON_MAP;
    if (ret->type != want && !json_is(*ret, JSON_NULL))
        return call_fail_bad(c,
            "%sjson: cannot unmarshal %s into Go value of type %s",
            prefix,
            json_type_name(*ret),
            form == PATCH_JSON ? "[]handlers.jsonPatchOp" : "map[string]interface {}");
    if (form == PATCH_JSON && ret->count > JSON_PATCH_OPERATIONS_MAX)
        return call_fail(c,
            (struct api_status){ 413,
                "RequestEntityTooLarge",
                arena_printf(a,
                    "The allowed maximum operations in a JSON patch is %d, got %u",
                    JSON_PATCH_OPERATIONS_MAX,
                    ret->count),
                .details = { 0 } });
    json_each (op, *ret)
        if (!check_operation(c, *op))
            return false;
    return true;
}

/* ret_text: the result of a JSON patch before it is decoded, as in the real server: values from the
 * patch are unchanged, including duplicate keys. */
static bool apply_patch(struct api_call *c, enum patch_form form, struct json live,
    struct json *ret, struct str *ret_text)
{
    struct json patch;
    struct json_givens givens;
    struct error err;
    *ret_text = (struct str){ NULL, 0 };
    if (!parse_patch(c, form, &patch, &givens))
        return false;
    if (form == PATCH_MERGE && json_is(patch, JSON_NULL))
        return call_fail_bad(c, "Invalid JSON Patch");
    if (form == PATCH_MERGE) {
        *ret = json_merge_patch(&c->arena, live, patch);
        return true;
    }
    if (form == PATCH_STRATEGIC) {
        const struct schema *schema = c->kind->schema ? c->kind->schema : schema_deduced();
        if (json_is(patch, JSON_NULL))
            patch = json_empty_map();
        return strategic_merge(&c->arena, schema, live, patch, ret, &err) ||
               (err.code == ERR_INVALID
                       ? call_fail_bad(c, "%s", err.text)
                       : call_fail(c,
                             (struct api_status){
                                 500, "", arena_strdup(&c->arena, err.text), .details = { 0 } }));
    }
    bool patched = json_patch(&c->arena, live, patch, &givens, ret, &err);
    if (!patched && err.code == ERR_TOO_LARGE)
        return call_fail(c,
            (struct api_status){ 413,
                "RequestEntityTooLarge",
                arena_strdup(&c->arena, err.text),
                .details = { 0 } });
    if (!patched)
        return call_fail(c,
            (struct api_status){ 422,
                "Invalid",
                "the server rejected our request due to an error in our request",
                .details = json_empty_map() });
    *ret_text = str_of(json_given_to_text(&c->arena, *ret, &givens));
    return true;
}

/* The result of a patch is decoded like a body, but with another error: it shows the object, and
 * the patch if it is a strategic merge patch. */
static bool fail_patched(
    struct api_call *c, enum patch_form form, struct json object, const char *why)
{
    struct field_errors errors;
    struct error err;
    field_errors_init(&errors, &c->arena);
    struct json patch;
    bool strategic =
        form == PATCH_STRATEGIC && json_parse(&c->arena, c->request->body, &patch, &err);
    field_invalid(&errors,
        "patch",
        json_str(strategic ? gojson_shown(&c->arena, patch) : json_to_text(&c->arena, object)),
        why);
    return call_fail(c, status_invalid(&c->arena, "", "", "", &errors));
}

/* The same for apiVersion and kind, in the words of a strategic merge; NULL: no error. */
static const char *type_not_restored(struct json object)
{
    static const char *const fields[] = { "apiVersion", "kind" };
    for (size_t i = 0; i < lengthof(fields); i++) {
        struct json v = json_member(object, fields[i]);
        if (json_is(v, JSON_INT))
            return "cannot convert int64 to string";
        if (json_present(v) && !json_is(v, JSON_STR) && !json_is(v, JSON_NULL))
            return "unrecognized type: string";
    }
    return NULL;
}

/* Why an object without a version, which means the server's internal version, is invalid. */
static const char *own_form_of(struct api_call *c, const char *kind)
{
    const struct resource *r = &c->kind->resource;
    const char *group = *r->group ? r->group : "core";
    int name = (int)strcspn(group, ".");
    if (registry_find_any(c->server->registry, r->group, kind))
        return arena_printf(&c->arena,
            "converting (%.*s.%s) to (%.*s.%s): unknown conversion",
            name,
            group,
            kind,
            name,
            group,
            r->kind);
    return arena_printf(&c->arena,
        "no kind \"%s\" is registered for the internal version of group \"%s\" in scheme "
        "\"pkg/runtime/scheme.go:111\"",
        kind,
        r->group);
}

/* The result of a patch is first decoded as the type that it claims to be. A strategic merge
 * already has the type, so it ignores the patch's type. */
static bool check_identity(struct api_call *c, enum patch_form form, struct json object)
{
    const struct resource *r = &c->kind->resource;
    const char *want = object_api_version(&c->arena, c->kind), *why = NULL;
    const char *wrong =
        form == PATCH_STRATEGIC ? type_not_restored(object) : body_type_trouble(&c->arena, object);
    if (wrong || form == PATCH_STRATEGIC)
        return !wrong || fail_patched(c, form, object, wrong);
    const char *version = json_text(body_type_member(object, "apiVersion")),
               *kind = json_text(body_type_member(object, "kind"));
    if (c->kind->custom)
        return !text_empty(kind) || fail_patched(c,
                                        form,
                                        object,
                                        arena_printf(&c->arena,
                                            "Object 'Kind' is missing in '%s'",
                                            json_to_text(&c->arena, object)));
    bool same_version = text_eq(version, want);
    if (same_version && (text_empty(kind) || text_eq(kind, r->kind)))
        return true;
    /* Without a version it is decoded as the internal version, whose metadata has another name. */
    if (text_empty(version))
        return (!text_empty(kind) && !text_eq(kind, r->kind))
                   ? fail_patched(c, form, object, own_form_of(c, kind))
                   : update_check_own_name(c, json_empty_map());
    const struct api_kind *other =
        same_version ? registry_find_kind(c->server->registry, r->group, r->version, kind) : NULL;
    struct json as_other = object;
    if (!other)
        why = arena_printf(&c->arena,
            "no kind \"%s\" is registered for version \"%s\" in scheme "
            "\"pkg/runtime/scheme.go:111\"",
            kind ? kind : "",
            version ? version : want);
    else if (body_read_object(c, other, &as_other, (struct str){ NULL, 0 }, false, &why))
        why = arena_printf(&c->arena,
            "converting (%s.%s) to (%s): unknown conversion",
            r->version,
            kind,
            object_go_type(&c->arena, c->kind, r->kind));
    return fail_patched(c, form, object, why);
}

/* A custom object keeps the type that it claims until validation, which requires its own kind;
 * status updates do not check it. */
static bool check_custom_type(struct api_call *c, struct json object)
{
    struct arena *a = &c->arena;
    const char *want = object_api_version(a, c->kind);
    const char *version = json_get_text(object, "apiVersion"),
               *kind = json_get_text(object, "kind");
    struct field_errors errors;
    field_errors_init(&errors, a);
    if (!text_eq(kind, c->kind->resource.kind))
        field_invalid(
            &errors, "kind", json_str(kind), arena_printf(a, "must be %s", c->kind->resource.kind));
    if (!text_eq(version, want))
        field_invalid(
            &errors, "apiVersion", json_str(version), arena_printf(a, "must be %s", want));
    struct str rest = str_of(version), group = str_cut(&rest, '/');
    const char *group_text = rest.ptr ? str_dup(a, group) : "";
    return !errors.count || *c->subresource ||
           call_fail(c, status_invalid(a, group_text, kind, c->name, &errors));
}

static bool fail_without_version(struct api_call *c)
{
    static const char why[] = "Object 'apiVersion' is missing in 'object has no apiVersion field'";
    struct arena *a = &c->arena;
    return call_fail(c,
        (struct api_status){ 500,
            "InternalError",
            arena_printf(a, "Internal error occurred: %s", why),
            .details = json_map(
                a, { "causes", json_list(a, json_map(a, { "message", json_str(why) })) }) });
}

/* Adds duplicates in a patch to the error of its result. */
static const char *with_twice(struct arena *a, const char *twice, const char *why)
{
    static const char strict[] = "strict decoding error: ";
    if (!why)
        return twice;
    return text_starts(why, strict) ? arena_printf(a, "%s, %s", twice, why + sizeof(strict) - 1)
                                    : why;
}

static void patch_object(struct write *w, enum patch_form form)
{
    struct api_call *c = w->call;
    struct json object;
    struct str text;
    const char *why = NULL, *twice = NULL;
    if (!apply_patch(c, form, w->old, &object, &text) || !check_identity(c, form, object))
        return;
    size_t warned = c->warning_count;
    bool told = !body_check_patch(c, c->request->body, form == PATCH_JSON, &twice);
    struct json patched = object;
    if (form == PATCH_STRATEGIC && !c->kind->custom && c->kind->schema)
        object = decode_wrap_numbers(w->arena, c->kind->schema, object);
    object = json_with_member(
        w->arena, object, "apiVersion", json_str(object_api_version(w->arena, c->kind)));
    object = json_with_member(w->arena, object, "kind", json_str(c->kind->resource.kind));
    bool read = body_read_object(c, c->kind, &object, text, text.ptr != NULL, &why);
    if (!read) /* then the message does not mention the patch */
        call_unwarn(c, warned);
    if (!read || told) {
        fail_patched(c, form, patched, told ? with_twice(w->arena, twice, why) : why);
        return;
    }
    if (c->kind->custom && text_empty(json_get_text(patched, "apiVersion")))
        fail_without_version(c);
    else if (update_check_name(c, object) && (!c->kind->custom || check_custom_type(c, patched)))
        update_object(w, object, false);
}

/* ---- apply ---- */

static bool parse_config(struct api_call *c, struct json *ret)
{
    struct arena *a = &c->arena;
    struct error err;
    struct json documents;
    bool twice = false;
    struct str body = c->request->body;
    if (!body.len || *body.ptr != '{' || body_has_surrogates(body) ||
        !json_parse_keys(a, body, ret, &twice, &err) || twice) {
        if (!yaml_parse_old(a, body, "body", &documents, &c->twice, &err))
            return call_fail_bad(
                c, "error decoding YAML: error converting YAML to JSON: yaml: %s", err.text);
        *ret = documents.count ? documents.items[0] : json_empty_map();
    }
    if (json_is(*ret, JSON_NULL))
        *ret = json_empty_map();
    return json_is(*ret, JSON_MAP) ||
           call_fail_bad(c,
               "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot "
               "unmarshal %s into Go value of type map[string]interface {}",
               json_type_name(*ret));
}

static bool check_config_kind(
    struct api_call *c, struct json config, const char *want_version, const char *want_kind)
{
    const char *version = json_get_text(config, "apiVersion");
    const char *kind = json_get_text(config, "kind");
    version = version ? version : "";
    return (text_eq(version, want_version) && text_eq(kind, want_kind)) ||
           call_fail_bad(c,
               "invalid object type: %s%s, Kind=%s",
               strchr(version, '/') ? "" : "/",
               version,
               kind ? kind : "");
}

static bool fail_apply_read(
    struct write *w, struct json config, struct json object, const char *why)
{
    struct arena *a = w->arena;
    if (w->kind->custom)
        return fail_patched(w->call, PATCH_APPLY, object, why);
    const char *version = json_get_text(config, "apiVersion"),
               *ns = json_get_text(config, "metadata.namespace"),
               *name = json_get_text(config, "metadata.name");
    const char *gvk = arena_printf(
        a, "%s%s, Kind=%s", strchr(version, '/') ? "" : "/", version, w->kind->resource.kind);
    const char *text = arena_printf(a,
        "failed to convert new object (%s/%s; %s) to proper version: unable to convert "
        "unstructured object to %s: %s",
        ns ? ns : "",
        name ? name : "",
        gvk,
        gvk,
        why);
    return call_fail(w->call, (struct api_status){ 500, "", text, .details = { 0 } });
}

/* Owners are ignored, but decoded. */
static bool check_config_times(struct write *w, struct json config)
{
    int64_t ms;
    json_each (owner, json_get(config, "metadata.managedFields")) {
        struct json time = json_member(*owner, "time");
        if (w->kind->custom || !json_present(time) || json_is(time, JSON_NULL))
            continue;
        if (!json_is(time, JSON_STR))
            return fail_apply_read(w,
                config,
                config,
                arena_printf(w->arena,
                    "json: cannot unmarshal %s into Go value of type string",
                    json_type_name(time)));
        if (!time_parse(time.string, &ms))
            return fail_apply_read(w, config, config, decode_time_trouble(w->arena, time.string));
    }
    return true;
}

static bool check_config_owners(struct api_call *c, struct json config)
{
    return !managers_readable(json_get(config, "metadata.managedFields")) ||
           call_fail_bad(c, "metadata.managedFields must be nil");
}

/* Validates a configuration before it is merged with the live object. */
static bool check_config(struct write *w, struct json config)
{
    struct api_call *c = w->call;
    struct arena *a = &c->arena;
    if (!check_config_kind(c, config, object_api_version(a, c->kind), c->kind->resource.kind))
        return false;
    if (!check_config_owners(c, config))
        return false;
    const char *uid = json_get_text(config, "metadata.uid");
    if (!w->before && !text_empty(uid))
        return call_fail(c,
            status_conflict(a,
                c->kind,
                c->name,
                arena_printf(a,
                    "uid mismatch: the provided object specified uid %s, and no existing object "
                    "was found",
                    uid)));
    return true;
}

/* The name of the unreadable object is in the middle of the message. */
static const char *with_object(
    struct arena *a, const char *text, const char *words, struct json object)
{
    const char *ns = json_get_text(object, "metadata.namespace");
    const char *name = json_get_text(object, "metadata.name");
    const char *version = json_get_text(object, "apiVersion");
    if (!text_starts(text, words) || text[strlen(words)] != ':')
        return text;
    return arena_printf(a,
        "%s (%s/%s; %s%s, Kind=%s)%s",
        words,
        ns ? ns : "",
        name ? name : "",
        strchr(version, '/') ? "" : "/",
        version,
        json_get_text(object, "kind"),
        text + strlen(words));
}

static bool fail_apply(
    struct write *w, struct json config, const struct apply_result *result, const struct error *err)
{
    struct arena *a = w->arena;
    struct api_call *c = w->call;
    if (!result->conflict_count) {
        const char *text = with_object(a, err->text, "failed to create typed patch object", config);
        text = with_object(a, text, "failed to create typed live object", w->old);
        return call_fail(
            c, (struct api_status){ 500, "", arena_strdup(a, text), .details = { 0 } });
    }
    struct json_builder causes;
    json_builder_init(&causes, a);
    for (size_t i = 0; i < result->conflict_count; i++)
        json_push(&causes,
            json_map(a,
                { "reason", json_str("FieldManagerConflict") },
                { "message", json_strf(a, "conflict with %s", result->conflicts[i].owner) },
                { "field", json_str(result->conflicts[i].text) }));
    return call_fail(c,
        (struct api_status){ 409,
            "Conflict",
            apply_conflict_message(a, result),
            .details = json_map(a, { "causes", json_list_end(&causes) }) });
}

/* The result of the merge is not an object of the kind. */
static void apply_object(struct write *w)
{
    struct api_call *c = w->call;
    struct arena *a = w->arena;
    struct json config;
    struct apply_result result = { 0 };
    struct error err = { 0 };
    struct apply_versions versions = write_versions(w);
    struct apply_request request = {
        .schema = c->kind->schema ? c->kind->schema : schema_deduced(),
        .api_version = object_api_version(a, c->kind),
        .manager = c->manager,
        .subresource = c->subresource,
        .now = meta_now(c->server->env, a),
        .force = call_param_bool(c, "force"),
        .reset = write_reset_fields(w, c->subresource),
        .versions = &versions,
    };
    if (!parse_config(c, &config) || !check_config(w, config))
        return;
    if (!w->before && *c->subresource) {
        call_fail(c, status_not_found(a, c->kind, c->name));
        return;
    }
    if (!apply_config(a, &request, w->old, config, &result, &err)) {
        fail_apply(w, config, &result, &err);
        return;
    }
    if (!check_config_times(w, config) || !body_report_yaml_twice(c))
        return;
    struct json object = result.object;
    w->same = result.same;
    if (!c->kind->custom && c->kind->schema)
        object = decode_wrap_numbers(a, c->kind->schema, object);
    const char *why = NULL;
    c->applies = true;
    if (!body_read_object(c, c->kind, &object, (struct str){ NULL, 0 }, false, &why)) {
        fail_apply_read(w, config, object, why);
        return;
    }
    if (!update_check_name(c, object))
        return;
    if (w->before) {
        update_object(w, object, true);
        return;
    }
    object = json_with(a, object, "metadata.resourceVersion", json_none);
    create_object(w, object, true);
}

/* ---- scale ---- */

/* The API server cannot do this, and a client that relies on it would fail on a real cluster. */
static void fail_custom_scale(struct write *w, struct json config)
{
    const char *ns = json_get_text(config, "metadata.namespace");
    const char *text = arena_printf(w->arena,
        "failed to convert new object (%s/%s; " SCALE_API_VERSION
        ", Kind=Scale) to proper version: "
        "request to convert CR to an invalid group/version: " SCALE_API_VERSION,
        ns ? ns : "",
        w->name);
    call_fail(w->call, (struct api_status){ 500, "", text, .details = { 0 } });
}

/* It fails even earlier if replicas has no owner: then it first creates one. */
static void fail_unowned_scale(struct write *w)
{
    static const char text[] =
        "failed to create manager for existing fields: failed to convert live object "
        "(/; " SCALE_API_VERSION ", Kind=Scale) to proper version: request to convert CR to an "
        "invalid group/version: " SCALE_API_VERSION;
    call_fail(w->call, (struct api_status){ 500, "", text, .details = { 0 } });
}

static struct json owned_scale(struct write *w)
{
    struct json scale = scale_of(w->arena, w->kind, w->old);
    return json_with(w->arena, scale, "metadata.managedFields", scale_owners(w));
}

static void apply_scale(struct write *w)
{
    struct api_call *c = w->call;
    struct json config;
    struct apply_result result = { 0 };
    struct error err = { 0 };
    struct apply_request request = {
        .schema = scale_kind(w->arena)->schema,
        .api_version = SCALE_API_VERSION,
        .manager = c->manager,
        .subresource = c->subresource,
        .now = meta_now(c->server->env, w->arena),
        .force = call_param_bool(c, "force"),
    };
    if (!parse_config(c, &config) || !check_config_kind(c, config, SCALE_API_VERSION, "Scale"))
        return;
    struct json live = owned_scale(w);
    if (w->kind->custom && !json_present(json_get(live, "metadata.managedFields")))
        fail_unowned_scale(w);
    else if (!check_config_owners(c, config))
        return;
    else if (!apply_config(w->arena, &request, live, config, &result, &err))
        fail_apply(w, config, &result, &err);
    else if (w->kind->custom)
        fail_custom_scale(w, config);
    else
        scale_store(c, w, result.object, true);
}

/* The result must be a valid Scale. */
static bool read_scale(struct write *w, enum patch_form form, struct json *scale)
{
    struct api_call *c = w->call;
    struct json patched = *scale;
    const char *why = NULL;
    c->kind = scale_kind(w->arena);
    bool ok = check_identity(c, form, patched) &&
              (body_read_object(c, c->kind, scale, (struct str){ NULL, 0 }, false, &why) ||
                  fail_patched(c, form, patched, why));
    c->kind = w->kind;
    return ok;
}

static void patch_scale(struct write *w, enum patch_form form)
{
    struct api_call *c = w->call;
    struct json scale;
    struct str text;
    if (!w->before)
        call_fail(c, status_not_found(w->arena, w->kind, w->name));
    else if (form == PATCH_APPLY)
        apply_scale(w);
    else if (apply_patch(c, form, owned_scale(w), &scale, &text) && read_scale(w, form, &scale))
        scale_store(c, w, scale, false);
}

void rest_patch(struct api_call *c)
{
    enum patch_form form = form_of(c);
    if (!options_read_write(c, "PatchOptions", form == PATCH_APPLY))
        return;
    struct write w = write_of_call(c);
    w.patches = true;
    bool there = write_read_old(&w);
    if (there && !call_check_version(c, w.before, true))
        return;
    if (!there && form != PATCH_APPLY)
        call_fail(c, status_not_found(&c->arena, c->kind, c->name));
    else if (text_eq(c->subresource, "scale"))
        patch_scale(&w, form);
    else if (form == PATCH_APPLY)
        apply_object(&w);
    else
        patch_object(&w, form);
}
