#include "apiserver/verbs/scale.h"

#include <string.h>

#include "apiserver/core/body.h"
#include "apiserver/core/internal.h"
#include "apiserver/core/meta.h"
#include "apiserver/core/object.h"
#include "apiserver/rules/decode.h"
#include "apiserver/verbs/write.h"
#include "base/selector.h"
#include "merge/apply.h"

/* The selector as text: the parent has it as text or as a LabelSelector. */
static struct json selector_text(struct arena *a, const struct api_kind *k, struct json parent)
{
    struct selector s;
    struct error err;
    if (!k->scale.label_selector)
        return json_none;
    struct json v = json_get(parent, k->scale.label_selector);
    if (!json_present(v) || json_is(v, JSON_STR))
        return v;
    bool plain = !json_present(json_member(v, "matchLabels")) &&
                 !json_present(json_member(v, "matchExpressions"));
    if (plain && v.count) /* the map of a ReplicationController */
        v = json_map(a, { "matchLabels", v });
    if (!selector_from_json(a, v, "", &s, &err) || s.nothing)
        return json_none;
    return json_str_or_absent(selector_to_text(a, &s));
}

struct json scale_of(struct arena *a, const struct api_kind *k, struct json parent)
{
    struct json meta = json_member(parent, "metadata");
    return json_map(a,
        { "kind", json_str("Scale") },
        { "apiVersion", json_str("autoscaling/v1") },
        { "metadata",
            json_map(a,
                { "name", json_member(meta, "name") },
                { "namespace", json_member(meta, "namespace") },
                { "uid", json_member(meta, "uid") },
                { "resourceVersion", json_member(meta, "resourceVersion") },
                { "creationTimestamp", json_member(meta, "creationTimestamp") }) },
        { "spec",
            json_map(a,
                { "replicas",
                    json_int_or_absent(json_get_int(parent, k->scale.spec_replicas, 0)) }) },
        { "status",
            json_map(a,
                { "replicas", json_int(json_get_int(parent, k->scale.status_replicas, 0)) },
                { "selector", selector_text(a, k, parent) }) });
}

/* ---- the kind ---- */

static struct json cells(
    const struct api_kind *k, struct arena *a, struct json object, int64_t wall_ms)
{
    (void)k;
    return json_list(a,
        json_get(object, "metadata.name"),
        json_int(json_get_int(object, "spec.replicas", 0)),
        json_int(json_get_int(object, "status.replicas", 0)),
        json_str(table_age(a, json_get_text(object, "metadata.creationTimestamp"), wall_ms)));
}

/* The table of a custom kind describes the same columns in more detail. */
static const struct api_column custom_columns[] = {
    { .name = "Name", .type = "string", .format = "name", .description = "" },
    { .name = "Desired", .type = "integer", .format = "", .description = "" },
    { .name = "Available", .type = "integer", .format = "", .description = "" },
    { .name = "Age", .type = "date", .format = "", .description = "" },
};

const struct api_kind *scale_kind(struct arena *a)
{
    static const struct api_behaviour behaviour = { .prune = request_prune, .cells = cells };
    static const struct api_column columns[] = {
        { .name = "Name", .type = "string", .format = "", .description = "" },
        { .name = "Desired", .type = "integer", .format = "", .description = "" },
        { .name = "Available", .type = "integer", .format = "", .description = "" },
        { .name = "Age", .type = "string", .format = "", .description = "" },
    };
    static const struct api_kind kind = {
        .resource = { "autoscaling", "v1", "Scale", "scales", false },
        .columns = columns,
        .column_count = lengthof(columns),
        .behaviour = &behaviour,
    };
    return request_with_schema(a, &kind);
}

/* In the requested form. */
static void answer_scale(struct api_call *c, struct json scale)
{
    const struct api_kind *parent = c->kind;
    struct api_kind kind = *scale_kind(&c->arena);
    if (parent->custom)
        kind.columns = custom_columns;
    c->kind = &kind;
    call_value(c, 200, scale);
    c->kind = parent;
}

void rest_get_scale(struct api_call *c, const struct store_object *parent)
{
    struct json o = object_read(c->kind, &c->arena, parent);
    const char *path = c->kind->scale.spec_replicas;
    if (c->kind->custom && !json_is(json_get(o, path), JSON_INT)) {
        const char *why =
            arena_printf(&c->arena, "the spec replicas field \".%s\" does not exist", path);
        call_fail(c, status_internal(&c->arena, why));
        return;
    }
    answer_scale(c, scale_of(&c->arena, c->kind, o));
}

static bool check_scale(struct api_call *c, struct json scale)
{
    struct field_errors errors;
    field_errors_init(&errors, &c->arena);
    if (!update_check_own_name(c, scale))
        return false;
    struct json replicas = json_get(scale, "spec.replicas");
    /* For a custom kind the parent is invalid. */
    if (!c->kind->custom && json_is(replicas, JSON_INT) && replicas.integer < 0)
        field_invalid(&errors, "spec.replicas", replicas, "must be greater than or equal to 0");
    return !errors.count ||
           call_fail(c, status_invalid(&c->arena, "autoscaling", "Scale", c->name, &errors));
}

/* ---- owners: a Scale has its own list, derived from the parent's ---- */

/* Only one version: no built-in kind with replicas has more. */
static struct managers_scale_path replicas_path(const struct write *w)
{
    struct managers_scale_path path = { .api_version = object_api_version(w->arena, w->kind) };
    struct error err;
    const char *text = arena_printf(w->arena, ".%s", w->kind->scale.spec_replicas);
    bool ok = field_path_parse(w->arena, text, &path.path, &err);
    assert(ok);
    return path;
}

struct json scale_owners(struct write *w)
{
    struct managers_scale_path path = replicas_path(w);
    const struct managers_scale_paths paths = { &path, 1 };
    struct json owners;
    struct error err;
    bool ok = managers_to_scale(
        w->arena, json_get(w->old, "metadata.managedFields"), &paths, &owners, &err);
    return json_if(ok, owners);
}

/* The API server sets no time for managers that scale a custom object. */
static struct json without_scale_times(struct arena *a, struct json owners)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (owner, owners)
        json_push(&b,
            text_eq(json_get_text(*owner, "subresource"), "scale")
                ? json_with_member(a, *owner, "time", json_none)
                : *owner);
    return json_list_end(&b);
}

static void fill_owners(struct write *w, struct json scale, bool applied, struct json *object)
{
    struct arena *a = w->arena;
    struct managers_scale_path path = replicas_path(w);
    const struct managers_scale_paths paths = { &path, 1 };
    struct json owners, after = scale;
    struct error err;
    struct apply_request request = {
        .schema = scale_kind(a)->schema,
        .api_version = SCALE_API_VERSION,
        .manager = w->call->manager,
        .subresource = "scale",
        .now = meta_now(w->server->env, a),
    };
    struct json before = scale_of(a, w->kind, w->old);
    before = json_with(a, before, "metadata.managedFields", scale_owners(w));
    if (!applied) {
        int64_t replicas = json_get_int(scale, "spec.replicas", 0);
        struct json fresh = json_with(a, before, "spec.replicas", json_int_or_absent(replicas));
        if (!apply_update(a, &request, before, fresh, &after, &err))
            return;
    }
    if (managers_from_scale(a,
            json_get(w->old, "metadata.managedFields"),
            json_get(after, "metadata.managedFields"),
            &paths,
            path.api_version,
            &owners,
            &err))
        *object = json_with(a,
            *object,
            "metadata.managedFields",
            json_or_absent(w->kind->custom ? without_scale_times(a, owners) : owners));
}

bool scale_store(struct api_call *c, struct write *w, struct json scale, bool applied)
{
    struct arena *a = &c->arena;
    const char *version = json_get_text(scale, "metadata.resourceVersion");
    if (!check_scale(c, scale))
        return false;
    if (!text_empty(version) &&
        !text_eq(version, json_get_text(w->old, "metadata.resourceVersion")))
        return call_fail(c,
            status_conflict(a,
                c->kind,
                c->name,
                "the object has been modified; please apply your changes to the latest version "
                "and try again"));
    int64_t replicas = json_get_int(scale, "spec.replicas", 0);
    struct json object = json_with(a, w->old, c->kind->scale.spec_replicas, json_int(replicas));
    const struct store_object *stored;
    fill_owners(w, scale, applied, &object);
    if (!write_check_update(w, &object) || !write_store(w, object, false, &stored))
        return false;
    if (stored)
        object = object_read(c->kind, a, stored);
    answer_scale(c, scale_of(a, c->kind, object));
    return true;
}

/* The API server does not report errors in the Scale of a custom object, because it cannot format
 * its type. */
static bool decode_scale(struct api_call *c, struct json *ret)
{
    const struct api_kind *parent = c->kind;
    c->kind = scale_kind(&c->arena);
    bool readable = body_check_media(c), ok = readable && body_decode(c, ret);
    c->kind = parent;
    if (readable && !ok && parent->custom)
        call_fail_bad(c,
            "no kind is registered for the type v1.Scale in scheme "
            "\"pkg/runtime/scheme.go:111\"");
    return ok;
}

void rest_update_scale(struct api_call *c)
{
    struct json scale;
    struct write w = write_of_call(c);
    if (!decode_scale(c, &scale) || !update_check_name(c, scale))
        return;
    if (!write_read_old(&w))
        call_fail(c, status_not_found(&c->arena, c->kind, c->name));
    else if (call_check_version(c, w.before, true) &&
             write_check_uid(&w, json_get_text(scale, "metadata.uid")))
        scale_store(c, &w, scale, false);
}
