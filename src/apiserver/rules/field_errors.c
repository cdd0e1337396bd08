#include "apiserver/rules/field_errors.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

const char *field_error_reason(enum field_error_type type)
{
    static const char *const reasons[] = {
        [FIELD_INVALID] = "FieldValueInvalid",
        [FIELD_REQUIRED] = "FieldValueRequired",
        [FIELD_DUPLICATE] = "FieldValueDuplicate",
        [FIELD_NOT_FOUND] = "FieldValueNotFound",
        [FIELD_NOT_SUPPORTED] = "FieldValueNotSupported",
        [FIELD_FORBIDDEN] = "FieldValueForbidden",
        [FIELD_TOO_LONG] = "FieldValueTooLong",
        [FIELD_TOO_MANY] = "FieldValueTooMany",
        [FIELD_TYPE_INVALID] = "FieldValueTypeInvalid",
        [FIELD_INTERNAL] = "InternalError",
    };
    return reasons[type];
}

void field_errors_init(struct field_errors *e, struct arena *a)
{
    *e = (struct field_errors){ .arena = a };
}

static const char *const type_words[] = {
    [FIELD_INVALID] = "Invalid value",
    [FIELD_REQUIRED] = "Required value",
    [FIELD_DUPLICATE] = "Duplicate value",
    [FIELD_NOT_FOUND] = "Not found",
    [FIELD_NOT_SUPPORTED] = "Unsupported value",
    [FIELD_FORBIDDEN] = "Forbidden",
    [FIELD_TOO_LONG] = "Too long",
    [FIELD_TOO_MANY] = "Too many",
    [FIELD_TYPE_INVALID] = "Invalid value",
    [FIELD_INTERNAL] = "Internal error",
};

/* Only these show the value; for others it is missing or may be secret. */
static bool shows_value(enum field_error_type type)
{
    return type != FIELD_REQUIRED && type != FIELD_FORBIDDEN && type != FIELD_TOO_LONG &&
           type != FIELD_INTERNAL;
}

struct json field_given(const struct field_errors *e, const char *path)
{
    char *dotted = arena_strdup(e->arena, path), *out = dotted;
    for (const char *at = path; *at; at++)
        if (*at != ']')
            *out++ = *at == '[' ? '.' : *at;
    *out = '\0';
    return json_if(json_present(e->given), json_get(e->given, dotted));
}

void field_error_add(struct field_errors *e, enum field_error_type type, const char *path,
    struct json value, const char *detail)
{
    bool is_first_type = type == FIELD_TYPE_INVALID && !e->has_type;
    e->has_type |= is_first_type;
    if (e->count >= FIELD_ERRORS_MAX && !is_first_type) {
        e->more++;
        return;
    }
    arena_room(e->arena, e->items, e->count, e->size);
    bool value_shown = shows_value(type) && json_present(value);
    e->items[e->count++] = (struct field_error){
        .type = type,
        .path = arena_strdup(e->arena, path),
        .message = arena_printf(e->arena,
            "%s%s%s%s%s",
            type_words[type],
            value_shown ? ": " : "",
            value_shown ? json_to_text(e->arena, value) : "",
            text_empty(detail) ? "" : ": ",
            text_empty(detail) ? "" : detail),
    };
}

void field_invalid(struct field_errors *e, const char *path, struct json value, const char *detail)
{
    field_error_add(e, FIELD_INVALID, path, value, detail);
}

void field_required(struct field_errors *e, const char *path, const char *detail)
{
    field_error_add(e, FIELD_REQUIRED, path, json_none, detail);
}

void field_forbidden(struct field_errors *e, const char *path, const char *detail)
{
    field_error_add(e, FIELD_FORBIDDEN, path, json_none, detail);
}

void field_duplicate(struct field_errors *e, const char *path, struct json value)
{
    field_error_add(e, FIELD_DUPLICATE, path, value, NULL);
}

static int compare_texts(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

void field_not_supported(
    struct field_errors *e, const char *path, struct json value, const char *const *allowed)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)1 << 20);
    size_t count = 0;
    while (allowed[count])
        count++;
    const char **sorted = arena_array(e->arena, count + 1, sizeof(*sorted));
    memcpy(sorted, allowed, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare_texts);
    for (size_t i = 0; i < count; i++)
        buf_printf(&b, "%s\"%s\"", i ? ", " : "supported values: ", sorted[i]);
    field_error_add(e, FIELD_NOT_SUPPORTED, path, value, buf_text(&b));
}

void field_errors_take(struct field_errors *e, const struct field_errors *part, const char *path)
{
    for (size_t i = 0; i < part->count; i++) {
        const struct field_error *from = &part->items[i];
        size_t before = e->count;
        field_error_add(e, from->type, field_child(e->arena, path, from->path), json_none, NULL);
        if (e->count > before)
            e->items[before].message = from->message;
    }
    e->more += part->more;
}

const char *field_child(struct arena *a, const char *path, const char *name)
{
    return *path ? arena_printf(a, "%s.%s", path, name) : arena_strdup(a, name);
}

const char *field_index(struct arena *a, const char *path, size_t index)
{
    return arena_printf(a, "%s[%zu]", path, index);
}

const char *field_key(struct arena *a, const char *path, const char *key)
{
    return arena_printf(a, "%s[%s]", path, key);
}

const char *field_errors_rest(struct arena *a, size_t more)
{
    return more ? arena_printf(a, ", and %zu more", more) : "";
}

const char *field_errors_text(const struct field_errors *e)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)16 << 20);
    size_t shown = 0;
    for (size_t i = 0; i < e->count; i++) {
        bool again = false; /* an aggregate has no duplicate messages */
        for (size_t j = 0; j < i && !again; j++)
            again = text_eq(e->items[i].path, e->items[j].path) &&
                    text_eq(e->items[i].message, e->items[j].message);
        if (again)
            continue;
        buf_printf(&b,
            "%s%s%s%s",
            shown++ ? ", " : "",
            e->items[i].path,
            text_empty(e->items[i].path) ? "" : ": ",
            e->items[i].message);
    }
    buf_add_text(&b, field_errors_rest(e->arena, e->more));
    return shown > 1 ? arena_printf(e->arena, "[%s]", buf_text(&b))
                     : arena_strdup(e->arena, buf_text(&b));
}
