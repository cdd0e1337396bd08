#include "apiserver/custom/crd_rules.h"

#include <stdlib.h>
#include <string.h>

#include "cel/rules.h"

static const struct json absent;

bool crd_rules_any(struct json schema)
{
    if (json_member(schema, "x-kubernetes-validations").count)
        return true;
    json_each_member (m, json_member(schema, "properties"))
        if (crd_rules_any(m->value))
            return true;
    struct json items = json_member(schema, "items");
    struct json more = json_member(schema, "additionalProperties");
    return (json_is(items, JSON_MAP) && crd_rules_any(items)) ||
           (json_is(more, JSON_MAP) && crd_rules_any(more));
}

static enum field_error_type type_of(enum cel_problem_type type)
{
    static const enum field_error_type types[] = {
        [CEL_PROBLEM_INVALID] = FIELD_INVALID,
        [CEL_PROBLEM_REQUIRED] = FIELD_REQUIRED,
        [CEL_PROBLEM_FORBIDDEN] = FIELD_FORBIDDEN,
        [CEL_PROBLEM_DUPLICATE] = FIELD_DUPLICATE,
        [CEL_PROBLEM_INTERNAL] = FIELD_INTERNAL,
        [CEL_PROBLEM_NOT_SUPPORTED] = FIELD_NOT_SUPPORTED,
    };
    return types[type];
}

static void add_problems(
    struct field_errors *errors, const struct cel_problems *problems, const char *at)
{
    for (const struct cel_problem *p = problems->first; p; p = p->next) {
        const char *path = !*at                        ? p->path
                           : text_eq(p->path, "<nil>") ? at
                                                       : field_child(errors->arena, at, p->path);
        field_error_add(errors, type_of(p->type), path, absent, NULL);
        /* The message is complete already. */
        errors->items[errors->count - 1].message = p->message;
    }
}

void crd_rules_check_fields(
    struct arena *a, struct json schema, const char *at, struct field_errors *errors)
{
    struct cel_problems found = { 0 };
    cel_rules_check_fields(a, schema, at, &found);
    add_problems(errors, &found, "");
}

static int compare_texts(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

void crd_rules_check(struct arena *a, struct json schema, const char *at, bool unchanged,
    size_t errors_from, struct field_errors *errors)
{
    size_t count = errors->count - errors_from;
    const char **wrong = arena_array(a, count + 1, sizeof(*wrong));
    for (size_t i = 0; i < count; i++)
        wrong[i] = errors->items[errors_from + i].path;
    qsort(wrong, count, sizeof(*wrong), compare_texts);
    struct cel_problems found = { 0 };
    struct cel_rules_options options = {
        .at = at, .no_cost_limits = unchanged, .wrong = wrong, .wrong_count = count
    };
    cel_rules_compile(a, schema, &options, &found);
    add_problems(errors, &found, "");
}

/* ---- compiled rules ---- */

/* Descriptions are most of a schema. */
static bool is_prose(const char *keyword)
{
    static const char *const prose[] = { "description", "title", "example", "externalDocs" };
    for (size_t i = 0; i < lengthof(prose); i++)
        if (strcmp(prose[i], keyword) == 0)
            return true;
    return false;
}

/* A copy of a schema without descriptions; fields: a map of schemas, whose keys are field names. */
static struct json slim_copy(struct arena *a, struct json v, bool fields)
{
    struct json_builder b;
    json_builder_init(&b, a);
    if (json_is(v, JSON_LIST)) {
        json_each (item, v)
            json_push(&b, slim_copy(a, *item, false));
        return json_list_end(&b);
    }
    if (!json_is(v, JSON_MAP))
        return json_copy(a, v);
    json_each_member (m, v) {
        bool value = !fields && (strcmp(m->key, "default") == 0 || strcmp(m->key, "enum") == 0);
        if (fields || !is_prose(m->key))
            json_put(&b,
                arena_strdup(a, m->key),
                value ? json_copy(a, m->value)
                      : slim_copy(a, m->value, !fields && strcmp(m->key, "properties") == 0));
    }
    return json_map_end(&b);
}

const struct cel_rules *crd_rules_compile(struct arena *a, struct json schema)
{
    if (!crd_rules_any(schema))
        return NULL;
    struct cel_problems ignored = { 0 };
    struct cel_rules_options options = { .at = "", .no_cost_limits = true };
    return cel_rules_compile(a, slim_copy(a, schema, false), &options, &ignored);
}

void crd_rules_ask(const struct cel_rules *rules, struct arena *a, struct json value,
    struct json old, const char *at, struct field_errors *errors)
{
    struct cel_problems found = { 0 };
    struct cel_rules_input input = { .object = value, .old = old };
    if (!rules)
        return;
    cel_rules_check(rules, a, &input, &found, NULL);
    add_problems(errors, &found, at);
}
