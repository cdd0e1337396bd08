/* The behaviour of all built-in kinds; the differences are in their rules. */

#include "apiserver/builtin/rules.h"

#include "apiserver/builtin/cells/cells.h"
#include "apiserver/rules/decode.h"
#include "merge/apply.h"

static struct json prune(
    const struct api_kind *k, struct arena *a, struct json object, struct field_errors *unknown)
{
    return decode_object(a, k->schema, object, unknown);
}

static struct json fill(const struct api_kind *k, struct arena *a, struct json object)
{
    const struct builtin_rules *rules = builtin_of(k)->rules;
    return rules->fill ? rules->fill(a, object) : object;
}

/* The initial status of an object. */
static struct json empty_status(const struct api_write *w)
{
    return json_member(schema_empty_object(w->arena, w->kind->schema), "status");
}

/* The metadata in a write of the status, without the parts that this kind ignores. */
static struct json status_metadata(const struct api_write *w, struct json object)
{
    struct arena *a = w->arena;
    const struct resource *r = &w->kind->resource;
    struct json owners = json_get(object, "metadata.managedFields");
    size_t count;
    const struct fieldset *ignored = apply_reset_fields(a, r->group, r->kind, "status", false);
    const struct field_path *paths = fieldset_paths(a, ignored, &count);
    for (size_t i = 0; i < count; i++) {
        const char *path = field_path_text(a, &paths[i]) + 1;
        if (text_starts(path, "metadata"))
            object = json_with(a, object, path, json_get(w->old, path));
    }
    return json_with_member(a, json_member(object, "metadata"), "managedFields", owners);
}

/* A write of the object keeps the old status, and a write of the status keeps everything else. */
static struct json keep_other_part(const struct api_write *w, struct json object)
{
    struct json old = w->old;
    if (text_eq(w->subresource, "status") || text_eq(w->subresource, "approval")) {
        struct json kept = json_with_member(w->arena, old, "status", json_member(object, "status"));
        return json_with_member(w->arena, kept, "metadata", status_metadata(w, object));
    }
    if (!json_present(old) && builtin_of(w->kind)->rules->keeps_status)
        return object;
    struct json status = json_present(old) ? json_member(old, "status") : empty_status(w);
    return json_with_member(w->arena, object, "status", status);
}

static bool prepare(const struct api_write *w, struct json *object, struct error *err)
{
    const struct builtin_rules *rules = builtin_of(w->kind)->rules;
    *object = decode_for_store(w->arena, w->kind->schema, *object);
    if (w->kind->has_status)
        *object = keep_other_part(w, *object);
    return !rules->prepare || rules->prepare(w, object, err);
}

static void validate(const struct api_write *w, struct json object, struct field_errors *errors)
{
    const struct builtin_rules *rules = builtin_of(w->kind)->rules;
    if (text_eq(w->subresource, "status")) {
        builtin_status_check(w, object, errors);
        return;
    }
    if (rules->validate)
        rules->validate(w, object, errors);
    if (rules->validate_change && json_present(w->old))
        rules->validate_change(w, object, errors);
}

static bool admit(const struct api_write *w, struct json object, struct error *err)
{
    const struct builtin_rules *rules = builtin_of(w->kind)->rules;
    return !rules->admit || rules->admit(w, object, err);
}

/* Field selectors that are not simply a path. */
static const struct {
    const char *path, *from, *otherwise;
    const char *second; /* an alternative path; NULL: none */
} odd_fields[] = {
    { "spec.hostNetwork", "spec.hostNetwork", "false", NULL },
    { "spec.unschedulable", "spec.unschedulable", "false", NULL },
    { "status.replicas", "status.replicas", "0", NULL },
    { "status.successful", "status.succeeded", "0", NULL },
    { "status.podIPs", "status.podIP", "", NULL },
    { "source", "source.component", "", "reportingComponent" },
};

static const char *field(
    const struct api_kind *k, struct arena *a, struct json object, const char *path)
{
    const char *const *f = builtin_of(k)->rules->fields;
    const char *from = path, *otherwise = "";
    while (f && *f && !text_eq(*f, path))
        f++;
    if (!f || !*f)
        return NULL;
    for (size_t i = 0; i < lengthof(odd_fields); i++)
        if (text_eq(odd_fields[i].path, path)) {
            bool there = !text_empty(json_get_text(object, odd_fields[i].from));
            from = odd_fields[i].second && !there ? odd_fields[i].second : odd_fields[i].from;
            otherwise = odd_fields[i].otherwise;
        }
    struct json v = json_get(object, from);
    if (v.type == JSON_STR)
        return v.string;
    return v.type == JSON_ABSENT || v.type == JSON_NULL ? otherwise : json_to_text(a, v);
}

static struct json cells(
    const struct api_kind *k, struct arena *a, struct json object, int64_t wall_ms)
{
    return cells_make(a, builtin_of(k)->cells, object, wall_ms);
}

static void warn(const struct api_write *w, struct json object)
{
    if (builtin_of(w->kind)->rules->warn && !*w->subresource)
        builtin_of(w->kind)->rules->warn(w, object);
}

static void written(
    struct apiserver *server, const struct api_kind *k, struct json old, struct json object)
{
    if (builtin_of(k)->rules->written)
        builtin_of(k)->rules->written(server, k, old, object);
}

static struct json convert(
    const struct api_kind *k, struct arena *a, struct json object, const char *api_version)
{
    return builtin_of(k)->rules->convert(k, a, object, api_version);
}

const struct builtin_rules builtin_stored = { 0 };

#define BEHAVIOUR                                                                                  \
    .prune = prune, .fill = fill, .prepare = prepare, .validate = validate, .admit = admit,        \
    .warn = warn, .written = written, .field = field, .cells = cells

const struct api_behaviour builtin_behaviour = { BEHAVIOUR };
const struct api_behaviour builtin_converting_behaviour = { BEHAVIOUR, .convert = convert };
