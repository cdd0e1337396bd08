/* Objects inside objects (x-kubernetes-embedded-resource): what every object must have. */

#include <string.h>

#include "apiserver/structural_node.h"
#include "base/names.h"

struct embedded {
    struct arena *arena;
    const char *prefix;
    struct field_errors *errors;
};

static const char *path_of(struct embedded *e, const struct structural_place *at, const char *field)
{
    struct structural_place place = { .up = at, .key = field };
    const char *path = structural_path(e->arena, &place, true);
    const char *dot = *e->prefix && *path != '[' ? "." : "";
    return arena_printf(e->arena, "%s%s%s", e->prefix, dot, path);
}

/* NULL: it is none, or empty. */
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
    char *lower = arena_strdup(e->arena, text);
    for (char *c = lower; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    struct error err;
    if (!name_check(NAME_DNS1035_LABEL, lower, &err))
        field_invalid(e->errors,
            path,
            v,
            arena_printf(
                e->arena, "may have mixed case, but should otherwise match: %s", err.text));
}

static void check(struct embedded *e, const struct structural *s, struct json v,
    const struct structural_place *at)
{
    if (!s->special)
        return;
    if (json_is(v, JSON_MAP) && s->embedded) {
        check_api_version(e, json_member(v, "apiVersion"), path_of(e, at, "apiVersion"));
        check_kind(e, json_member(v, "kind"), path_of(e, at, "kind"));
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
