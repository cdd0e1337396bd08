/* Embedded objects (x-kubernetes-embedded-resource): their apiVersion, kind and metadata are read
 * and validated like those of any object, whatever the schema says. */

#include <string.h>

#include "apiserver/core/meta.h"
#include "apiserver/custom/structural_node.h"
#include "apiserver/rules/check.h"
#include "base/names.h"

struct embedded {
    struct arena *arena;
    const char *prefix;
    struct field_errors *errors; /* NULL: not needed */
};

static const char *path_at(struct embedded *e, const struct structural_place *at)
{
    const char *path = structural_path(e->arena, at, true);
    const char *dot = *e->prefix && *path && *path != '[' ? "." : "";
    return arena_printf(e->arena, "%s%s%s", e->prefix, dot, path);
}

static const char *path_of(struct embedded *e, const struct structural_place *at, const char *field)
{
    struct structural_place place = { .up = at, .key = field };
    return path_at(e, &place);
}

/* ---- reading ---- */

/* An error is reported as a whole: the path is part of the message. */
static void refuse(struct embedded *e, const char *path, struct json v, const char *detail)
{
    struct field_errors told;
    field_errors_init(&told, e->arena);
    field_invalid(&told, path, v, detail);
    field_error_add(e->errors, FIELD_TYPE_INVALID, path, json_none, NULL);
    e->errors->items[e->errors->count - 1].message = field_errors_text(&told);
}

static struct json read_metadata(
    struct embedded *e, struct json metadata, const struct structural_place *at)
{
    struct field_errors found;
    const char *path = path_of(e, at, "metadata"), *why = NULL;
    field_errors_init(&found, e->arena);
    struct json read = meta_read_embedded(e->arena, metadata, &found);
    for (size_t i = 0; i < found.count; i++)
        if (found.items[i].type == FIELD_TYPE_INVALID)
            why = found.items[i].message;
    if (why && e->errors)
        refuse(e, path, metadata, why);
    else if (e->errors)
        field_errors_take(e->errors, &found, path);
    return read;
}

/* A member of an embedded object in stored form; absent: it is dropped. */
static struct json read_member(
    struct embedded *e, const struct json_member *m, const struct structural_place *at)
{
    if (strcmp(m->key, "metadata") == 0)
        return read_metadata(e, m->value, at);
    bool named = strcmp(m->key, "apiVersion") == 0 || strcmp(m->key, "kind") == 0;
    if (!named || json_is(m->value, JSON_STR))
        return m->value;
    if (e->errors)
        refuse(e, path_of(e, at, m->key), m->value, "must be a string");
    return json_none;
}

static struct json read_value(struct embedded *e, const struct structural *s, struct json v,
    const struct structural_place *at)
{
    struct json_builder b;
    if (!s || !s->embeds || (!json_is(v, JSON_MAP) && !json_is(v, JSON_LIST)))
        return v;
    json_builder_init(&b, e->arena);
    for (uint32_t i = 0; json_is(v, JSON_LIST) && i < v.count; i++) {
        struct structural_place place = { .up = at, .index = i };
        json_push(&b, read_value(e, s->items, v.items[i], &place));
    }
    if (json_is(v, JSON_LIST))
        return json_list_end(&b);
    json_each_member (m, v) {
        const struct structural *field = structural_field(s, m->key);
        struct structural_place place = { .up = at, .key = m->key, .quoted = !field };
        struct json value = s->embedded ? read_member(e, m, at) : m->value;
        if (json_present(value))
            json_put(&b, m->key, read_value(e, field ? field : s->additional, value, &place));
    }
    return json_map_end(&b);
}

struct json structural_read_embedded(const struct structural *s, struct arena *a, struct json value,
    const char *path, struct field_errors *unknown)
{
    struct embedded e = { .arena = a, .prefix = path, .errors = unknown };
    return read_value(&e, s, value, NULL);
}

/* ---- checking ---- */

/* NULL: not a text, or empty. */
static const char *check_text(struct embedded *e, struct json v, const char *path)
{
    const char *text = json_text(v);
    if (!json_present(v))
        field_required(e->errors, path, "");
    else if (!text || !*text)
        field_invalid(e->errors, path, v, text ? "must not be empty" : "must be a string");
    return text && *text ? text : NULL;
}

static void check_api_version(struct embedded *e, struct json v, const char *path)
{
    const char *text = check_text(e, v, path);
    if (!text)
        return;
    const char *slash = strchr(text, '/');
    if (slash && strchr(slash + 1, '/'))
        field_invalid(
            e->errors, path, v, arena_printf(e->arena, "unexpected GroupVersion string: %s", text));
}

static void check_kind(struct embedded *e, struct json v, const char *path)
{
    const char *text = check_text(e, v, path);
    if (!text)
        return;
    const char *lower = check_lower(e->arena, text), *length = "", *comma = "";
    bool too_long = strlen(text) > NAME_LABEL_MAX;
    struct error err;
    bool ok =
        name_check(NAME_DNS1035_LABEL, check_shortened(e->arena, lower, NAME_LABEL_MAX), &err);
    if (too_long)
        length = arena_printf(e->arena, "must be no more than %d characters", NAME_LABEL_MAX);
    if (too_long && !ok)
        comma = ",";
    if (too_long || !ok)
        field_invalid(e->errors,
            path,
            v,
            arena_printf(e->arena,
                "may have mixed case, but should otherwise match: %s%s%s",
                length,
                comma,
                ok ? "" : err.text));
}

/* The value may not have been read before: a default, or the result of an apply. */
static void check_metadata(
    struct embedded *e, struct json metadata, const struct structural_place *at)
{
    struct field_errors found, wrong;
    field_errors_init(&found, e->arena);
    field_errors_init(&wrong, e->arena);
    struct json read = meta_read_embedded(e->arena, metadata, &found);
    for (size_t i = 0; i < found.count; i++)
        if (found.items[i].type == FIELD_TYPE_INVALID) {
            field_invalid(e->errors, path_of(e, at, "metadata"), metadata, found.items[i].message);
            return;
        }
    meta_validate_embedded(&wrong, read);
    field_errors_take(e->errors, &wrong, path_at(e, at));
}

static void check(struct embedded *e, const struct structural *s, struct json v,
    const struct structural_place *at)
{
    if (!s->embeds)
        return;
    if (json_is(v, JSON_MAP) && s->embedded) {
        check_api_version(e, json_member(v, "apiVersion"), path_of(e, at, "apiVersion"));
        check_kind(e, json_member(v, "kind"), path_of(e, at, "kind"));
        if (json_present(json_member(v, "metadata")))
            check_metadata(e, json_member(v, "metadata"), at);
    }
    json_each_member (m, v) {
        const struct structural *field = structural_field(s, m->key);
        struct structural_place place = { .up = at, .key = m->key, .quoted = !field };
        if (field || s->additional)
            check(e, field ? field : s->additional, m->value, &place);
    }
    for (uint32_t i = 0; json_is(v, JSON_LIST) && s->items && i < v.count; i++) {
        struct structural_place place = { .up = at, .index = i };
        check(e, s->items, v.items[i], &place);
    }
}

void structural_check_embedded(const struct structural *s, struct arena *a, struct json value,
    const char *path, struct field_errors *errors)
{
    struct embedded e = { .arena = a, .prefix = path, .errors = errors };
    check(&e, s, value, NULL);
}
