#include "apiserver/rules/jsonpath.h"

#include <ctype.h>

#define JSONPATH_STEPS_MAX 64

/* STEP_ITEMS applies only to lists, STEP_ALL also to the values of a map. */
enum step_type { STEP_MEMBER, STEP_INDEX, STEP_ITEMS, STEP_ALL, STEP_FILTER };

struct step {
    enum step_type type;
    const char *name;    /* for STEP_MEMBER */
    int64_t index;       /* for STEP_INDEX; negative: from the end */
    const char *left;    /* for STEP_FILTER: the path below the item */
    const char *compare; /* "==" and so on; NULL: exists */
    struct json right;
};

struct steps {
    struct step list[JSONPATH_STEPS_MAX];
    size_t count;
};

static bool parse(struct arena *a, const char *path, struct steps *ret, struct error *err);

/* A name after a dot: up to the next dot or bracket; a backslash escapes the next character. */
static const char *parse_name(struct arena *a, const char *p, struct step *ret)
{
    char *name = arena_alloc(a, strlen(p) + 1);
    size_t n = 0;
    for (; *p && *p != '.' && *p != '['; p++) {
        if (*p == '\\' && p[1])
            p++;
        name[n++] = *p;
    }
    *ret = text_eq(name, "*") ? (struct step){ .type = STEP_ALL }
                              : (struct step){ .type = STEP_MEMBER, .name = name };
    return p;
}

static bool parse_literal(struct arena *a, struct str text, struct json *ret)
{
    text = str_trim(text);
    if (text.len >= 2 && (text.ptr[0] == '"' || text.ptr[0] == '\'') &&
        text.ptr[text.len - 1] == text.ptr[0]) {
        *ret = json_strn(a, text.ptr + 1, text.len - 2);
        return true;
    }
    return json_parse(a, text, ret, NULL);
}

/* The text between [?( and )]. */
static bool parse_filter(struct arena *a, struct str text, struct step *ret, struct error *err)
{
    static const char *const signs[] = { "==", "!=", "<=", ">=", "<", ">" };
    *ret = (struct step){ .type = STEP_FILTER };
    struct str left = str_trim(text);
    bool quoted = false;
    for (size_t i = 0; i < text.len && !ret->compare; i++) {
        quoted ^= text.ptr[i] == '"' || text.ptr[i] == '\'';
        struct str rest = { text.ptr + i, text.len - i };
        for (size_t s = 0; s < lengthof(signs) && !ret->compare && !quoted; s++)
            if (str_starts(rest, str_of(signs[s]))) {
                struct str right = { rest.ptr + strlen(signs[s]), rest.len - strlen(signs[s]) };
                ret->compare = signs[s];
                left = str_trim((struct str){ text.ptr, i });
                if (!parse_literal(a, right, &ret->right))
                    return fail(err, ERR_INVALID, "cannot be compared with %s", right.ptr);
            }
    }
    if (left.len == 0 || left.ptr[0] != '@')
        return fail(err, ERR_INVALID, "a filter begins with @");
    ret->left = arena_strndup(a, left.ptr + 1, left.len - 1);
    struct steps below;
    return parse(a, ret->left, &below, err);
}

static bool parse_bracket(struct arena *a, const char **at, struct step *ret, struct error *err)
{
    const char *p = *at + 1;
    bool filter = text_starts(p, "?(");
    const char *end = strstr(p, filter ? ")]" : "]");
    if (!end)
        return fail(err, ERR_INVALID, "an unclosed bracket in %s", *at);
    struct str inner = { filter ? p + 2 : p, (size_t)(end - p) - (filter ? 2 : 0) };
    *at = end + (filter ? 2 : 1);
    if (filter)
        return parse_filter(a, inner, ret, err);
    inner = str_trim(inner);
    *ret = (struct step){ .type = STEP_ITEMS };
    if (str_eq(inner, STR("*")) || str_eq(inner, STR(":")))
        return true;
    if (inner.len >= 2 && (inner.ptr[0] == '\'' || inner.ptr[0] == '"') &&
        inner.ptr[inner.len - 1] == inner.ptr[0]) {
        ret->type = STEP_MEMBER;
        ret->name = arena_strndup(a, inner.ptr + 1, inner.len - 2);
        return true;
    }
    ret->type = STEP_INDEX;
    return str_to_int(inner, &ret->index) ||
           fail(err, ERR_INVALID, "no index: %.*s", (int)inner.len, inner.ptr);
}

static bool parse(struct arena *a, const char *path, struct steps *ret, struct error *err)
{
    ret->count = 0;
    const char *p = path;
    if (*p == '$')
        p++;
    while (*p) {
        if (ret->count == JSONPATH_STEPS_MAX)
            return fail(err, ERR_INVALID, "more than %d steps", JSONPATH_STEPS_MAX);
        struct step *step = &ret->list[ret->count];
        if (*p == '[') {
            if (!parse_bracket(a, &p, step, err))
                return false;
            ret->count++;
        } else if (*p == '.') {
            if (p[1] == '\0' || p[1] == '[') {
                p++;
                continue;
            }
            p = parse_name(a, p + 1, step);
            ret->count++;
        } else {
            return fail(err, ERR_INVALID, "a dot or a bracket is missing before %s", p);
        }
    }
    return true;
}

/* ---- walking ---- */

static struct json walk(struct arena *a, const struct steps *s, size_t at, struct json value);

static bool compares(const struct step *step, struct json left)
{
    if (!step->compare)
        return json_present(left);
    if (!json_present(left))
        return false;
    if (text_eq(step->compare, "=="))
        return json_equal(left, step->right);
    if (text_eq(step->compare, "!="))
        return !json_equal(left, step->right);
    if (json_is(left, JSON_STR) != json_is(step->right, JSON_STR))
        return false;
    int order = json_compare(left, step->right);
    bool equal = order == 0 && step->compare[1] == '=';
    return equal || (step->compare[0] == '<' ? order < 0 : order > 0);
}

static struct json walk_each(
    struct arena *a, const struct steps *s, size_t at, struct json value, const struct step *filter)
{
    json_each (item, value) {
        if (filter && !compares(filter, jsonpath_first(a, filter->left, *item)))
            continue;
        struct json found = walk(a, s, at + 1, *item);
        if (json_present(found))
            return found;
    }
    if (!filter)
        json_each_member (m, value) {
            struct json found = walk(a, s, at + 1, m->value);
            if (json_present(found))
                return found;
        }
    return json_none;
}

static struct json walk(struct arena *a, const struct steps *s, size_t at, struct json value)
{
    if (at == s->count || !json_present(value))
        return value;
    const struct step *step = &s->list[at];
    switch (step->type) {
    case STEP_MEMBER:
        return walk(a, s, at + 1, json_member(value, step->name));
    case STEP_INDEX: {
        int64_t i = step->index < 0 ? step->index + (int64_t)value.count : step->index;
        bool there = json_is(value, JSON_LIST) && i >= 0 && i < (int64_t)value.count;
        return json_if(there, walk(a, s, at + 1, json_item(value, (size_t)i)));
    }
    case STEP_ITEMS:
        return json_if(json_is(value, JSON_LIST), walk_each(a, s, at, value, NULL));
    case STEP_ALL:
        return walk_each(a, s, at, value, NULL);
    case STEP_FILTER:
        return walk_each(a, s, at, value, step);
    }
    return json_none;
}

struct json jsonpath_first(struct arena *a, const char *path, struct json value)
{
    struct steps steps;
    return json_if(parse(a, path, &steps, NULL), walk(a, &steps, 0, value));
}
