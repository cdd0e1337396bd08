#include "apiserver/custom/structural.h"

#include <stdlib.h>
#include <string.h>

#include "apiserver/custom/structural_node.h"
#include "base/buf.h"
#include "base/table.h"

const char *const structural_type_names[] = {
    [TYPE_ANY] = "",
    [TYPE_OBJECT] = "object",
    [TYPE_ARRAY] = "array",
    [TYPE_STRING] = "string",
    [TYPE_INTEGER] = "integer",
    [TYPE_NUMBER] = "number",
    [TYPE_BOOLEAN] = "boolean",
    [TYPE_INT_OR_STRING] = "integer,string",
};

static const char *const list_names[] = {
    [STRUCTURAL_LIST_ATOMIC] = "atomic",
    [STRUCTURAL_LIST_SET] = "set",
    [STRUCTURAL_LIST_MAP] = "map",
};

/* Most parts of most schemas are one of these. */
static const struct structural plain[] = {
    [TYPE_ANY] = { .type = TYPE_ANY },
    [TYPE_OBJECT] = { .type = TYPE_OBJECT },
    [TYPE_ARRAY] = { .type = TYPE_ARRAY },
    [TYPE_STRING] = { .type = TYPE_STRING },
    [TYPE_INTEGER] = { .type = TYPE_INTEGER },
    [TYPE_NUMBER] = { .type = TYPE_NUMBER },
    [TYPE_BOOLEAN] = { .type = TYPE_BOOLEAN },
    [TYPE_INT_OR_STRING] = { .type = TYPE_INT_OR_STRING },
};

#define RULES_MAX 18

struct compilation {
    struct arena *arena;
    struct arena scratch;
    struct table names; /* field names occur repeatedly */
    struct shared_pattern {
        struct pattern pattern;
        struct shared_pattern *next;
    } * patterns;
    bool of_default; /* the schema is only used for its defaults */
};

struct name_entry {
    struct table_node node;
    const char *text;
};

static bool name_entry_is(const struct table_node *n, const void *key)
{
    return strcmp(container_of(n, struct name_entry, node)->text, key) == 0;
}

static const char *shared_name(struct compilation *c, const char *text)
{
    uint64_t hash = table_hash(&c->names, text, strlen(text));
    struct table_node *n = table_find(&c->names, hash, name_entry_is, text);
    if (n)
        return container_of(n, struct name_entry, node)->text;
    struct name_entry *entry = arena_new(&c->scratch, struct name_entry);
    entry->text = arena_strdup(c->arena, text);
    table_add(&c->names, &entry->node, hash);
    return entry->text;
}

static const struct structural *compile(struct compilation *c, struct json schema);

static uint8_t index_of(const char *text, const char *const *names, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (text_eq(text, names[i]))
            return (uint8_t)i;
    return 0;
}

static const char *const *shared_names(struct compilation *c, struct json list, uint32_t *ret_count)
{
    const char **names = arena_array(c->arena, list.count, sizeof(*names));
    *ret_count = 0;
    json_each (item, list)
        if (json_is(*item, JSON_STR))
            names[(*ret_count)++] = shared_name(c, item->string);
    return names;
}

static const struct structural *const *compile_all(
    struct compilation *c, struct json list, uint32_t *ret_count)
{
    const struct structural **nodes = arena_array(c->arena, list.count, sizeof(*nodes));
    *ret_count = 0;
    json_each (item, list)
        nodes[(*ret_count)++] = compile(c, *item);
    return nodes;
}

/* ---- rules ---- */

/* Returns the same pattern for the same text, which is a shared name. */
static struct pattern *shared_pattern(struct compilation *c, const char *text)
{
    for (struct shared_pattern *p = c->patterns; p; p = p->next)
        if (p->pattern.text == text)
            return &p->pattern;
    struct shared_pattern *p = arena_new(c->arena, struct shared_pattern);
    *p = (struct shared_pattern){ { .text = text, .arena = c->arena }, c->patterns };
    c->patterns = p;
    return &p->pattern;
}

/* How the value of a keyword is converted to a rule. */
enum rule_value {
    VALUE_NODES,
    VALUE_NODE,
    VALUE_LIMIT,
    VALUE_NUMBER,
    VALUE_TEXT,
    VALUE_TRUE,
    VALUE_LIST,
    VALUE_NAMES
};

static const struct {
    const char *keyword;
    uint8_t value; /* enum rule_value */
} rule_table[] = {
    [RULE_ANY_OF] = { "anyOf", VALUE_NODES },
    [RULE_ONE_OF] = { "oneOf", VALUE_NODES },
    [RULE_ALL_OF] = { "allOf", VALUE_NODES },
    [RULE_NOT] = { "not", VALUE_NODE },
    [RULE_MAX_LENGTH] = { "maxLength", VALUE_LIMIT },
    [RULE_MIN_LENGTH] = { "minLength", VALUE_LIMIT },
    [RULE_PATTERN] = { "pattern", VALUE_TEXT },
    [RULE_FORMAT] = { "format", VALUE_TEXT },
    [RULE_MULTIPLE_OF] = { "multipleOf", VALUE_NUMBER },
    [RULE_MINIMUM] = { "minimum", VALUE_NUMBER },
    [RULE_MAXIMUM] = { "maximum", VALUE_NUMBER },
    [RULE_MIN_ITEMS] = { "minItems", VALUE_LIMIT },
    [RULE_MAX_ITEMS] = { "maxItems", VALUE_LIMIT },
    [RULE_UNIQUE_ITEMS] = { "uniqueItems", VALUE_TRUE },
    [RULE_ENUM] = { "enum", VALUE_LIST },
    [RULE_MIN_PROPERTIES] = { "minProperties", VALUE_LIMIT },
    [RULE_MAX_PROPERTIES] = { "maxProperties", VALUE_LIMIT },
    [RULE_REQUIRED] = { "required", VALUE_NAMES },
};

static bool fill_value(
    struct compilation *c, enum rule_value kind, struct json v, struct structural_rule *r)
{
    switch (kind) {
    case VALUE_NODES:
        r->nodes = compile_all(c, v, &r->count);
        return r->count > 0;
    case VALUE_NODE: {
        const struct structural **node = arena_alloc(c->arena, sizeof(*node));
        *node = compile(c, v);
        r->nodes = node;
        r->count = 1;
        return json_is(v, JSON_MAP);
    }
    case VALUE_LIMIT:
        r->limit = json_is(v, JSON_REAL) ? (int64_t)v.real : v.integer;
        return json_is(v, JSON_INT) || (json_is(v, JSON_REAL) && v.real < 1e18 && v.real > -1e18);
    case VALUE_NUMBER:
        r->number = json_is(v, JSON_INT) ? (double)v.integer : v.real;
        return json_is(v, JSON_INT) || json_is(v, JSON_REAL);
    case VALUE_TEXT:
        if (!json_is(v, JSON_STR) || !v.count)
            return false;
        r->text = shared_name(c, v.string);
        return true;
    case VALUE_TRUE:
        return json_is(v, JSON_BOOL) && v.boolean;
    case VALUE_LIST: {
        struct json *list = arena_new(c->arena, struct json);
        *list = json_copy(c->arena, v);
        r->values = list;
        return json_is(v, JSON_LIST) && v.count > 0;
    }
    case VALUE_NAMES:
        r->names = shared_names(c, v, &r->count);
        return r->count > 0;
    }
    return false;
}

static void compile_rules(struct compilation *c, struct json schema, struct structural *s)
{
    struct structural_rule rules[RULES_MAX];
    _Static_assert(lengthof(rule_table) == RULES_MAX, "one of each at most");
    for (size_t i = 0; i < lengthof(rule_table); i++) {
        struct json v = json_member(schema, rule_table[i].keyword);
        struct structural_rule r = { .type = (uint8_t)i };
        if (!json_present(v) || !fill_value(c, rule_table[i].value, v, &r))
            continue;
        if (i == RULE_PATTERN)
            r.pattern = shared_pattern(c, r.text);
        if (i == RULE_FORMAT)
            r.format = (uint8_t)format_of(r.text, json_text(json_member(schema, "type")));
        if (i == RULE_FORMAT && r.format == FORMAT_UNKNOWN)
            continue;
        if (i == RULE_MINIMUM)
            r.exclusive = json_get_bool(schema, "exclusiveMinimum", false);
        if (i == RULE_MAXIMUM)
            r.exclusive = json_get_bool(schema, "exclusiveMaximum", false);
        rules[s->rule_count++] = r;
    }
    if (s->rule_count) {
        struct structural_rule *kept = arena_array(c->arena, s->rule_count, sizeof(*kept));
        memcpy(kept, rules, s->rule_count * sizeof(*kept));
        s->rules = kept;
    }
}

/* ---- nodes ---- */

static void compile_fields(struct compilation *c, struct json properties, struct structural *s)
{
    if (!json_is(properties, JSON_MAP) || !properties.count || properties.count > UINT16_MAX)
        return;
    struct structural_field *fields = arena_array(c->arena, properties.count, sizeof(*fields));
    json_each_member (m, properties) {
        struct structural_field *f = &fields[s->field_count++];
        f->name = shared_name(c, m->key);
        f->node = compile(c, m->value);
        s->defaults |= f->node->defaults;
        s->special |= f->node->special;
        s->embeds |= f->node->embeds;
    }
    s->fields = fields;
}

static void compile_children(struct compilation *c, struct json schema, struct structural *s)
{
    compile_fields(c, json_member(schema, "properties"), s);
    struct json items = json_member(schema, "items");
    struct json additional = json_member(schema, "additionalProperties");
    if (json_is(items, JSON_MAP))
        s->items = compile(c, items);
    if (json_is(additional, JSON_MAP))
        s->additional = compile(c, additional);
    s->additional_any = json_is(additional, JSON_BOOL) && additional.boolean;
    const struct structural *children[] = { s->items, s->additional };
    for (size_t i = 0; i < lengthof(children); i++) {
        s->defaults |= children[i] && children[i]->defaults;
        s->special |= children[i] && children[i]->special;
        s->embeds |= children[i] && children[i]->embeds;
    }
}

static bool flag(struct json schema, const char *name)
{
    struct json v = json_member(schema, name);
    return json_is(v, JSON_BOOL) && v.boolean;
}

static const struct structural *compile(struct compilation *c, struct json schema)
{
    struct structural s = {
        .type = index_of(json_text(json_member(schema, "type")),
            structural_type_names,
            lengthof(structural_type_names)),
        .list = index_of(json_text(json_member(schema, "x-kubernetes-list-type")),
            list_names,
            lengthof(list_names)),
        .nullable = flag(schema, "nullable"),
        .preserve = flag(schema, "x-kubernetes-preserve-unknown-fields"),
        .embedded = flag(schema, "x-kubernetes-embedded-resource"),
    };
    if (flag(schema, "x-kubernetes-int-or-string") && !c->of_default)
        s.type = TYPE_INT_OR_STRING;
    s.embeds = s.embedded;
    s.special = s.embedded || s.list == STRUCTURAL_LIST_SET || s.list == STRUCTURAL_LIST_MAP;
    compile_children(c, schema, &s);
    compile_rules(c, schema, &s);
    struct json fallback = json_member(schema, "default");
    if (json_present(fallback) && !json_is(fallback, JSON_NULL)) {
        struct json *copy = arena_new(c->arena, struct json);
        *copy = json_copy(c->arena, structural_read_embedded(&s, &c->scratch, fallback, "", NULL));
        s.fallback = copy;
        s.defaults = true;
    }
    if (s.list == STRUCTURAL_LIST_MAP) {
        uint32_t count;
        s.keys = shared_names(c, json_member(schema, "x-kubernetes-list-map-keys"), &count);
        s.key_count = count > UINT8_MAX ? UINT8_MAX : (uint8_t)count;
    }
    bool is_plain = !s.fields && !s.items && !s.additional && !s.fallback && !s.rules &&
                    !s.nullable && !s.preserve && !s.special && !s.additional_any && !s.list;
    if (is_plain)
        return &plain[s.type];
    struct structural *kept = arena_new(c->arena, struct structural);
    *kept = s;
    return kept;
}

static void compilation_done(struct compilation *c)
{
    table_done(&c->names);
    arena_done(&c->scratch);
}

static const struct structural *compile_root(struct arena *a, struct json schema, bool of_default)
{
    static const struct structural free_form = { .type = TYPE_ANY, .preserve = true };
    if (!json_is(schema, JSON_MAP))
        return &free_form;
    cleanup(compilation_done) struct compilation c = { .arena = a, .of_default = of_default };
    arena_init(&c.scratch, ARENA_LIMIT_DEFAULT);
    table_init(&c.names, 0, 0);
    return compile(&c, schema);
}

const struct structural *structural_compile(struct arena *a, struct json schema)
{
    return compile_root(a, schema, false);
}

const struct structural *structural_compile_default(struct arena *a, struct json schema)
{
    return compile_root(a, schema, true);
}

/* ---- access ---- */

const struct structural *structural_field(const struct structural *s, const char *name)
{
    size_t low = 0, high = s->field_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(s->fields[middle].name, name);
        if (order == 0)
            return s->fields[middle].node;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static void add_path(struct buf *b, const struct structural_place *p, bool brackets)
{
    if (!p)
        return;
    add_path(b, p->up, brackets);
    if (!p->key)
        buf_printf(b, "[%zu]", p->index);
    else if (p->quoted && brackets)
        buf_printf(b, "[%s]", p->key);
    else
        buf_printf(b, "%s%s", b->len || p->quoted ? "." : "", p->key);
}

const char *structural_path(struct arena *a, const struct structural_place *p, bool brackets)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)1 << 20);
    add_path(&b, p, brackets);
    return arena_strdup(a, buf_text(&b));
}

void structural_check(const struct structural *s, struct arena *a, struct json object,
    struct json old, bool status, struct field_errors *errors)
{
    const struct structural *part = status ? structural_field(s, "status") : s;
    if (!status)
        structural_check_schema(s, a, object, old, "", errors);
    else if (part && json_present(json_member(object, "status")))
        structural_check_schema(
            part, a, json_member(object, "status"), json_member(old, "status"), "status", errors);
    if (!status) /* the API server does not check them there */
        structural_check_embedded(s, a, object, "", errors);
    struct field_errors before;
    field_errors_init(&before, a);
    if (json_present(old))
        structural_check_lists(s, a, old, "", &before);
    if (!before.count)
        structural_check_lists(s, a, object, "", errors);
}

void structural_check_at(const struct structural *s, struct arena *a, struct json value,
    const char *path, struct field_errors *errors)
{
    structural_check_schema(s, a, value, json_none, path, errors);
}
