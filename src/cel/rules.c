#include "cel/rules.h"

#include "cel/cel.h"
#include "cel/rules_tree.h"

/* ---- problems ---- */

static const struct {
    const char *reason, *title;
} types[] = {
    [CEL_PROBLEM_INVALID] = { "FieldValueInvalid", "Invalid value" },
    [CEL_PROBLEM_REQUIRED] = { "FieldValueRequired", "Required value" },
    [CEL_PROBLEM_FORBIDDEN] = { "FieldValueForbidden", "Forbidden" },
    [CEL_PROBLEM_DUPLICATE] = { "FieldValueDuplicate", "Duplicate value" },
    [CEL_PROBLEM_NOT_SUPPORTED] = { "FieldValueNotSupported", "Unsupported value" },
    [CEL_PROBLEM_INTERNAL] = { "InternalError", "Internal error" },
};

const char *cel_problem_text(struct arena *a, const struct cel_problem *p)
{
    return arena_printf(a, "%s: %s", p->path, p->message);
}

void cel_problem_add(struct cel_problems *to, struct arena *a, enum cel_problem_type type,
    const char *path, const char *value, const char *detail)
{
    struct cel_problem *p = arena_new(a, struct cel_problem);
    bool has_value = value && (type == CEL_PROBLEM_INVALID || type == CEL_PROBLEM_DUPLICATE ||
                                  type == CEL_PROBLEM_NOT_SUPPORTED);
    const char *message = types[type].title;
    if (!to)
        return;
    if (has_value)
        message = arena_printf(a, "%s: %s", message, value);
    if (detail && *detail)
        message = arena_printf(a, "%s: %s", message, detail);
    *p = (struct cel_problem){ .type = type,
        .path = *path ? path : "<nil>",
        .reason = types[type].reason,
        .message = message };
    *(to->end ? to->end : &to->first) = p;
    to->end = &p->next;
    to->count++;
}

/* ---- paths ---- */

static const char *path_child(struct arena *a, const char *path, const char *name)
{
    return *path ? arena_printf(a, "%s.%s", path, name) : name;
}

static const char *path_key(struct arena *a, const char *path, const char *key)
{
    return arena_printf(a, "%s[%s]", path, key);
}

/* ---- the walk ---- */

/* An old value to compare with a new one, and what is known about the two. Without a current value,
 * the nearest ancestor decides whether something changed. */
struct correlation {
    const struct correlation *parent;
    struct json schema, now, old;
    bool exists;
    int *equal; /* -1: not known yet */
};

struct walk {
    struct arena *arena;
    struct arena scratch; /* of one rule at a time */
    struct cel_problems *problems, *warnings;
    int64_t budget;
};

static struct json list_map_keys(struct json schema)
{
    return json_if(text_eq(json_get_text(schema, "x-kubernetes-list-type"), "map"),
        json_member(schema, "x-kubernetes-list-map-keys"));
}

static bool same_keys(struct json a, struct json b, struct json keys)
{
    json_each (key, keys)
        if (!json_equal(json_member(a, json_text(*key)), json_member(b, json_text(*key))))
            return false;
    return true;
}

/* An old list, to find the item with the same keys as a new one. Items usually keep their
 * positions; if one does not, all are indexed. */
struct old_list {
    struct arena *arena;
    struct json schema, keys, list;
    uint32_t *places; /* number + 1, by the hash of the keys */
    size_t size;
};

static struct old_list old_list_of(struct arena *a, struct json schema, struct json list)
{
    return (struct old_list){ a, schema, list_map_keys(schema), list, NULL, 0 };
}

static size_t hash_keys(const struct old_list *l, struct json item)
{
    uint64_t h = 0xcbf29ce484222325u;
    json_each (key, l->keys)
        for (const char *c = json_to_text(l->arena, json_member(item, json_text(*key))); *c; c++)
            h = (h ^ (unsigned char)*c) * 0x100000001b3u;
    return (size_t)(h ^ h >> 32);
}

static struct json find_indexed(struct old_list *l, struct json item)
{
    if (!l->places) {
        l->size = (size_t)l->list.count * 2 + 1;
        l->places = arena_array(l->arena, l->size, sizeof(*l->places));
        for (uint32_t i = 0; i < l->list.count; i++) {
            size_t at = hash_keys(l, l->list.items[i]) % l->size;
            while (l->places[at])
                at = (at + 1) % l->size;
            l->places[at] = i + 1;
        }
    }
    for (size_t at = hash_keys(l, item) % l->size; l->places[at]; at = (at + 1) % l->size) {
        struct json old = l->list.items[l->places[at] - 1];
        if (json_is(old, JSON_MAP) && same_keys(item, old, l->keys))
            return old;
    }
    return json_none;
}

/* Absent if there is none, or the list has another type. */
static struct json old_item(struct old_list *l, struct json item, size_t hint)
{
    if (!l->keys.count || !json_is(l->list, JSON_LIST) || !json_is(item, JSON_MAP))
        return json_none;
    struct json old = json_item(l->list, hint);
    return json_is(old, JSON_MAP) && same_keys(item, old, l->keys) ? old : find_indexed(l, item);
}

static struct json schema_of_key(struct json schema, const char *key)
{
    struct json below = json_member(json_member(schema, "properties"), key);
    return json_present(below) ? below : json_member(schema, "additionalProperties");
}

/* Equality that respects list types. Fields without a schema always count as different. */
static bool unchanged(struct arena *a, struct json schema, struct json now, struct json old)
{
    if (now.type != old.type || now.count != old.count)
        return json_equal(now, old);
    if (json_is(now, JSON_LIST)) {
        struct old_list list = old_list_of(a, schema, old);
        if (!list.keys.count)
            return json_equal(now, old);
        for (uint32_t i = 0; i < now.count; i++) {
            struct json was = old_item(&list, now.items[i], i);
            if (!json_present(was) ||
                !unchanged(a, json_member(schema, "items"), now.items[i], was))
                return false;
        }
        return true;
    }
    if (!json_is(now, JSON_MAP))
        return json_equal(now, old);
    json_each_member (m, now) {
        struct json was = json_member(old, m->key), below = schema_of_key(schema, m->key);
        if (!json_present(was) || !json_is(below, JSON_MAP) || !unchanged(a, below, m->value, was))
            return false;
    }
    return true;
}

static bool is_unchanged(struct arena *a, const struct correlation *c)
{
    if (!c->exists)
        c = c->parent;
    if (!c || !c->exists)
        return false;
    if (*c->equal < 0)
        *c->equal = unchanged(a, c->schema, c->now, c->old);
    return *c->equal;
}

/* The correlation of a child, whose parent has one. */
static struct correlation correlate(const struct correlation *parent, struct json schema,
    struct json now, struct json old, int *equal)
{
    if (!parent->exists)
        return *parent;
    *equal = -1;
    bool exists = json_present(old) && json_is(schema, JSON_MAP);
    return (struct correlation){ parent, schema, now, old, exists, equal };
}

static void walk_node(struct walk *w, const struct cel_rules *node, const char *path,
    struct json now, struct json old, const struct correlation *c);

/* ---- one rule ---- */

static const char *type_value(const struct cel_rules *node, struct arena *a)
{
    return arena_printf(a, "\"%s\"", node->decl->type_text);
}

/* A value in the format of `Invalid value: …`; NULL for objects and arrays, which would be long. */
static const char *shown_value(struct arena *a, const struct cel_rules *node, struct json v)
{
    bool is_container =
        node->decl->schema_type == CEL_SCHEMA_OBJECT || node->decl->schema_type == CEL_SCHEMA_ARRAY;
    if (is_container)
        return NULL;
    if (json_is(v, JSON_STR))
        return cel_show_quoted(a, (struct str){ v.string, v.count });
    return json_is(v, JSON_REAL) ? cel_show_double(a, v.real, 'g') : json_to_text(a, v);
}

static void out_of_budget(struct walk *w, const struct cel_rules *node, const char *path)
{
    cel_problem_add(w->problems,
        w->arena,
        CEL_PROBLEM_INVALID,
        path,
        type_value(node, w->arena),
        "validation failed due to running out of cost budget, no further validation rules will be "
        "run");
    w->budget = -1;
}

static const char *failed_evaluation(
    struct arena *a, const struct cel_rule *rule, const struct cel_outcome *got)
{
    const char *text = str_dup(a, got->value.text);
    if (got->over_budget)
        return arena_printf(a,
            "'%s': no further validation rules will be run due to call cost exceeds limit for "
            "rule: %s",
            text,
            rule->label);
    if (text_starts(text, "no such overload"))
        return arena_printf(a,
            "'%s': call arguments did not match a supported operator, function or macro signature "
            "for rule: %s",
            text,
            rule->label);
    return arena_printf(a, "%s evaluating rule: %s", text, rule->label);
}

/* The result of messageExpression; NULL if it is not usable. It may exhaust the budget, which is a
 * problem of its own. */
static const char *evaluated_message(struct walk *w, const struct cel_rule *rule,
    const struct cel_input *input, const char **ret_trouble)
{
    *ret_trouble = NULL;
    if (!rule->message_program)
        return NULL;
    struct cel_outcome got = cel_run(rule->message_program, &w->scratch, input);
    if (got.cost > INT64_MAX || (int64_t)got.cost > w->budget)
        *ret_trouble = "messageExpression evaluation failed due to running out of cost budget, no "
                       "further validation rules will be run";
    else if (got.over_budget)
        *ret_trouble = arena_printf(w->arena,
            "no further validation rules will be run due to call cost exceeds limit for "
            "messageExpression: %s",
            cel_show_quoted(w->arena, str_of(rule->message_expression)));
    if (*ret_trouble)
        return NULL;
    w->budget -= (int64_t)got.cost;
    if (got.value.kind != CEL_STRING)
        return NULL;
    struct str text = str_trim(got.value.text);
    if (!text.len || text.len > CEL_MESSAGE_BYTES_MAX || memchr(text.ptr, '\n', text.len))
        return NULL;
    return str_dup(w->arena, text);
}

static void refuse(struct walk *w, const struct cel_rules *node, const struct cel_rule *rule,
    const char *path, const struct cel_input *input, const struct correlation *c)
{
    const char *trouble, *message = evaluated_message(w, rule, input, &trouble);
    struct cel_problems *to =
        !rule->program->uses_old_self && is_unchanged(w->arena, c) ? w->warnings : w->problems;
    if (rule->field_path)
        path = path_child(w->arena, path, rule->field_path);
    if (trouble) {
        cel_problem_add(
            to, w->arena, CEL_PROBLEM_INVALID, path, type_value(node, w->arena), trouble);
        w->budget = -1;
        return;
    }
    cel_problem_add(to,
        w->arena,
        rule->type,
        path,
        shown_value(w->arena, node, input->self),
        rule->type == CEL_PROBLEM_DUPLICATE ? NULL
        : message                           ? message
                                            : rule->message);
}

static void check_rule(struct walk *w, const struct cel_rules *node, const struct cel_rule *rule,
    const char *path, struct json now, struct json old, const struct correlation *c)
{
    if (rule->trouble) {
        cel_problem_add(w->problems,
            w->arena,
            CEL_PROBLEM_INVALID,
            path,
            type_value(node, w->arena),
            arena_printf(w->arena, "rule compile error: %s", rule->trouble));
        return;
    }
    if (!rule->program)
        return;
    bool has_old = json_present(old) && !json_is(old, JSON_NULL);
    if (rule->program->uses_old_self && !has_old && !rule->program->optional_old_self)
        return;
    struct cel_input input = { now, json_if(has_old, old) };
    struct cel_outcome got = cel_run(rule->program, &w->scratch, &input);
    if (got.cost > INT64_MAX || (int64_t)got.cost > w->budget) {
        out_of_budget(w, node, path);
        return;
    }
    w->budget -= (int64_t)got.cost;
    if (got.value.kind == CEL_ERROR) {
        cel_problem_add(w->problems,
            w->arena,
            CEL_PROBLEM_INVALID,
            path,
            type_value(node, w->arena),
            failed_evaluation(w->arena, rule, &got));
        if (got.over_budget)
            w->budget = -1;
        return;
    }
    if (!cel_is_true(got.value))
        refuse(w, node, rule, path, &input, c);
}

/* ---- the nodes ---- */

static void walk_list(struct walk *w, const struct cel_rules *node, const char *path,
    struct json now, struct json old, const struct correlation *c)
{
    struct json items = json_member(node->decl->schema, "items");
    struct old_list olds = old_list_of(w->arena, node->decl->schema, old);
    for (uint32_t i = 0; node->items && i < now.count && w->budget >= 0; i++) {
        int equal;
        struct json was = old_item(&olds, now.items[i], i);
        struct json before = json_if(c->exists, was);
        struct correlation below = correlate(c, items, now.items[i], before, &equal);
        walk_node(
            w, node->items, arena_printf(w->arena, "%s[%u]", path, i), now.items[i], was, &below);
    }
}

static void walk_map(struct walk *w, const struct cel_rules *node, const char *path,
    struct json now, struct json old, const struct correlation *c)
{
    json_each_member (m, now) {
        const struct cel_rules *below = node->values;
        const char *at = path_key(w->arena, path, m->key);
        for (size_t i = 0; i < node->property_count; i++)
            if (text_eq(node->properties[i].key, m->key)) {
                below = node->properties[i].node;
                at = path_child(w->arena, path, m->key);
            }
        if (!below || w->budget < 0)
            continue;
        int equal;
        struct json was = json_if(json_is(old, JSON_MAP), json_member(old, m->key));
        struct json before = json_if(c->exists, json_member(c->old, m->key));
        struct correlation next =
            correlate(c, schema_of_key(c->schema, m->key), m->value, before, &equal);
        bool of_type = !c->parent && (text_eq(m->key, "apiVersion") || text_eq(m->key, "kind"));
        if (of_type) /* both were converted to the same version */
            next = (struct correlation){ 0 };
        walk_node(w, below, at, m->value, was, &next);
    }
}

static void walk_node(struct walk *w, const struct cel_rules *node, const char *path,
    struct json now, struct json old, const struct correlation *c)
{
    if (json_is(now, JSON_NULL) || !json_present(now) || w->budget < 0)
        return;
    if (node->rule_count && w->budget <= 0) {
        out_of_budget(w, node, path);
        return;
    }
    for (size_t i = 0; i < node->rule_count && w->budget >= 0; i++) {
        check_rule(w, node, &node->rules[i], path, now, old, c);
        arena_reset(&w->scratch);
    }
    if (json_is(now, JSON_LIST))
        walk_list(w, node, path, now, old, c);
    else if (json_is(now, JSON_MAP))
        walk_map(w, node, path, now, old, c);
}

static void walk_done(struct walk *w)
{
    arena_done(&w->scratch);
}

void cel_rules_check(const struct cel_rules *rules, struct arena *a,
    const struct cel_rules_input *input, struct cel_problems *ret_problems,
    struct cel_problems *ret_warnings)
{
    cleanup(walk_done) struct walk w = { .arena = a,
        .scratch = ARENA_INIT,
        .problems = ret_problems,
        .warnings = ret_warnings,
        .budget = CEL_BUDGET_OBJECT };
    int equal = -1;
    struct correlation root = {
        NULL, rules->decl->schema, input->object, input->old, json_present(input->old), &equal
    };
    walk_node(&w, rules, "", input->object, input->old, &root);
}
