/* Compiles the rules of a schema, and reports everything that the API server reports when the
 * CustomResourceDefinition is created. */

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "cel/rules_tree.h"

#define MOST_EXPENSIVE 4
#define UNBOUNDED UINT64_MAX

struct expense {
    const char *path;
    uint64_t cost;
};

struct compiler {
    struct arena *arena;
    const struct cel_rules_options *options;
    struct cel_problems *problems;
    struct cel_problems cel_problems; /* after those of fields */
    size_t field_problems;
    uint64_t total;
    struct expense expenses[MOST_EXPENSIVE];
};

/* The position of a node. */
struct place {
    const char *path;
    uint64_t cardinality;       /* the maximum number of instances; UNBOUNDED */
    const char *uncorrelatable; /* the list above it whose items have no identity; NULL: none */
};

static uint64_t times(uint64_t a, uint64_t b)
{
    return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/* ---- field paths: ".spec.name", "['a key']" ---- */

static bool unescape_quoted(struct arena *a, struct str s, const char **ret)
{
    static const char letters[] = "abfnrtv'\\", meant[] = "\a\b\f\n\r\t\v'\\";
    cleanup(buf_done) struct buf b = BUF_INIT(s.len + 1);
    for (size_t i = 0; i < s.len; i++) {
        const char *letter = "";
        if (s.ptr[i] == '\\' && i + 1 < s.len) {
            letter = strchr(letters, s.ptr[++i]);
            if (!letter || !*letter)
                return false;
        }
        buf_add_char(&b, *letter ? meant[letter - letters] : s.ptr[i]);
    }
    *ret = arena_strdup(a, buf_text(&b));
    return true;
}

/* The next name and where it ends. */
static bool next_name(struct arena *a, const char **at, const char **ret)
{
    const char *start = *at + 1;
    if (**at == '.') {
        size_t length = strcspn(start, ".[]");
        *ret = arena_strndup(a, start, length);
        *at = start + length;
        return length > 0;
    }
    if (**at != '[' || *start != '\'')
        return false;
    const char *end = start + 1;
    while (*end && (*end != '\'' || end[-1] == '\\'))
        end++;
    if (!*end || end[1] != ']')
        return false;
    *at = end + 2;
    return unescape_quoted(a, (struct str){ start + 1, (size_t)(end - start - 1) }, ret);
}

static bool read_field_path(struct arena *a, struct json schema, const char *text, const char **ret)
{
    const char *path = "", *name;
    while (*text) {
        struct json properties = json_member(schema, "properties");
        if (!next_name(a, &text, &name))
            return false;
        if (json_is(properties, JSON_MAP)) {
            schema = json_member(properties, name);
            if (!json_present(schema))
                return false;
            path = *path ? arena_printf(a, "%s.%s", path, name) : name;
        } else {
            schema = json_member(schema, "additionalProperties");
            if (!json_is(schema, JSON_MAP))
                return false;
            path = arena_printf(a, "%s[%s]", path, name);
        }
    }
    *ret = path;
    return true;
}

/* ---- errors in a rule's fields ---- */

static bool has_line_end(const char *text)
{
    return text && strpbrk(text, "\n\r");
}

static bool is_blank(const char *text)
{
    return str_trim(str_of(text)).len == 0;
}

static const struct {
    const char *name;
    enum cel_problem_type type;
} reasons[] = {
    { "FieldValueDuplicate", CEL_PROBLEM_DUPLICATE },
    { "FieldValueForbidden", CEL_PROBLEM_FORBIDDEN },
    { "FieldValueInvalid", CEL_PROBLEM_INVALID },
    { "FieldValueRequired", CEL_PROBLEM_REQUIRED },
};

static bool find_reason(const char *name, enum cel_problem_type *ret)
{
    for (size_t i = 0; i < lengthof(reasons); i++)
        if (text_eq(name, reasons[i].name)) {
            *ret = reasons[i].type;
            return true;
        }
    return false;
}

/* The fields of one rule. */
struct fields {
    struct arena *arena;
    struct cel_problems *problems;
    struct json rule;
    const char *path;
    size_t found;
};

static void complain(struct fields *f, enum cel_problem_type type, const char *field,
    const char *value, const char *detail)
{
    cel_problem_add(f->problems,
        f->arena,
        type,
        arena_printf(f->arena, "%s.%s", f->path, field),
        value ? cel_show_quoted(f->arena, str_of(value)) : NULL,
        detail);
    f->found++;
}

static void check_texts(struct fields *f)
{
    const char *text = json_get_text(f->rule, "rule"), *message = json_get_text(f->rule, "message");
    const char *expression = json_get_text(f->rule, "messageExpression");
    text = str_dup(f->arena, str_trim(str_of(text ? text : "")));
    const char *trimmed = str_dup(f->arena, str_trim(str_of(message ? message : "")));
    if (!*text)
        complain(f, CEL_PROBLEM_REQUIRED, "rule", NULL, "rule is not specified");
    else if (!text_empty(message) && !*trimmed)
        complain(f, CEL_PROBLEM_INVALID, "message", message, "must be non-empty if specified");
    else if (has_line_end(trimmed))
        complain(f, CEL_PROBLEM_INVALID, "message", message, "must not contain line breaks");
    else if (has_line_end(text) && !*trimmed)
        complain(f,
            CEL_PROBLEM_REQUIRED,
            "message",
            NULL,
            "message must be specified if rule contains line breaks");
    if (!text_empty(expression) && is_blank(expression))
        complain(f,
            CEL_PROBLEM_REQUIRED,
            "messageExpression",
            NULL,
            "messageExpression must be non-empty if specified");
}

static void check_fields(struct fields *f, struct json schema)
{
    const char *reason = json_get_text(f->rule, "reason"), *normalized;
    const char *field = json_get_text(f->rule, "fieldPath");
    enum cel_problem_type type;
    check_texts(f);
    if (reason && !find_reason(reason, &type))
        complain(f,
            CEL_PROBLEM_NOT_SUPPORTED,
            "reason",
            reason,
            "supported values: \"FieldValueDuplicate\", \"FieldValueForbidden\", "
            "\"FieldValueInvalid\", \"FieldValueRequired\"");
    if (text_empty(field))
        return;
    if (is_blank(field))
        complain(f, CEL_PROBLEM_INVALID, "fieldPath", field, "must be non-empty if specified");
    if (has_line_end(field))
        complain(f, CEL_PROBLEM_INVALID, "fieldPath", field, "must not contain line breaks");
    if (!read_field_path(f->arena, schema, field, &normalized))
        complain(f, CEL_PROBLEM_INVALID, "fieldPath", field, "must be a valid path");
}

size_t cel_rules_check_fields(
    struct arena *a, struct json schema, const char *at, struct cel_problems *ret_problems)
{
    struct json rules = json_member(schema, "x-kubernetes-validations");
    struct fields f = { .arena = a, .problems = ret_problems };
    for (uint32_t i = 0; json_is(rules, JSON_LIST) && i < rules.count; i++) {
        f.rule = rules.items[i];
        f.path = arena_printf(a, "%s%sx-kubernetes-validations[%u]", at, *at ? "." : "", i);
        check_fields(&f, schema);
    }
    return f.found;
}

/* ---- costs ---- */

static const char *over_budget(struct arena *a, const char *what, uint64_t cost, uint64_t limit)
{
    double factor = (double)cost / (double)limit;
    const char *text = factor > 100   ? "more than 100x"
                       : factor < 1.5 ? arena_printf(a, "%fx", factor)
                                      : arena_printf(a, "%.1fx", factor);
    return arena_printf(a,
        "%s exceeds budget by factor of %s (try simplifying the rule, or adding maxItems, "
        "maxProperties, and maxLength where arrays, maps, and strings are declared)",
        what,
        text);
}

static int by_cost(const void *a, const void *b)
{
    const struct expense *x = a, *y = b;
    return x->cost > y->cost ? -1 : x->cost < y->cost;
}

static void observe_cost(struct compiler *c, const char *path, const char *what, uint64_t cost)
{
    struct expense *cheapest = &c->expenses[MOST_EXPENSIVE - 1];
    if (cost > CEL_ESTIMATE_RULE && !c->options->no_cost_limits)
        cel_problem_add(&c->cel_problems,
            c->arena,
            CEL_PROBLEM_FORBIDDEN,
            path,
            NULL,
            over_budget(c->arena, what, cost, CEL_ESTIMATE_RULE));
    c->total = cost > UINT64_MAX - c->total ? UINT64_MAX : c->total + cost;
    if (cost < CEL_ESTIMATE_SCHEMA / 100 || cost <= cheapest->cost)
        return;
    *cheapest = (struct expense){ path, cost };
    qsort(c->expenses, MOST_EXPENSIVE, sizeof(*c->expenses), by_cost);
}

static void check_total(struct compiler *c)
{
    if (c->total <= CEL_ESTIMATE_SCHEMA || c->options->no_cost_limits)
        return;
    for (size_t i = 0; i < MOST_EXPENSIVE && c->expenses[i].path; i++)
        cel_problem_add(c->problems,
            c->arena,
            CEL_PROBLEM_FORBIDDEN,
            c->expenses[i].path,
            NULL,
            "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 "
            "schema");
    cel_problem_add(c->problems,
        c->arena,
        CEL_PROBLEM_FORBIDDEN,
        c->options->at ? c->options->at : "",
        NULL,
        over_budget(c->arena,
            "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema",
            c->total,
            CEL_ESTIMATE_SCHEMA));
}

/* ---- one rule ---- */

/* Go's JSON encoder escapes HTML. */
static const char *go_json(struct arena *a, struct json v)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)16 << 20);
    for (const char *c = json_to_text(a, v); *c; c++)
        if (strchr("&<>", *c))
            buf_printf(&b, "\\u%04x", *c);
        else
            buf_add_char(&b, *c);
    return arena_strdup(a, buf_text(&b));
}

/* The rule as the server's messages print it. */
static const char *rule_value(struct arena *a, struct json rule)
{
    static const struct {
        const char *key, *name;
        bool is_pointer;
    } fields[] = { { "rule", "Rule", false },
        { "message", "Message", false },
        { "messageExpression", "MessageExpression", false },
        { "reason", "Reason", true },
        { "fieldPath", "FieldPath", false },
        { "optionalOldSelf", "OptionalOldSelf", true } };
    const char *text = "";
    for (size_t i = 0; i < lengthof(fields); i++) {
        struct json v = json_member(rule, fields[i].key);
        if (!json_present(v))
            v = fields[i].is_pointer ? json_null() : json_str("");
        text = arena_printf(a, "%s%s\"%s\":%s", text, i ? "," : "", fields[i].name, go_json(a, v));
    }
    return arena_printf(a, "{%s}", text);
}

static void compile_message(struct compiler *c, const struct cel_rules *node, struct cel_rule *r,
    struct json rule, const char *path)
{
    struct cel_options options = {
        .optional_old_self = json_get_bool(rule, "optionalOldSelf", false), .wanted = CEL_STRING
    };
    const struct cel_program *p;
    r->message_expression = json_get_text(rule, "messageExpression");
    if (text_empty(r->message_expression) || r->trouble)
        return;
    const char *trouble = cel_compile(c->arena, node->decl, r->message_expression, &options, &p);
    path = arena_printf(c->arena, "%s.messageExpression", path);
    if (trouble && text_starts(trouble, "compilation"))
        trouble = arena_printf(c->arena, "messageExpression %s", trouble);
    else if (trouble && text_starts(trouble, "program "))
        trouble = arena_printf(c->arena, "messageExpression %s", trouble + strlen("program "));
    else if (!trouble)
        r->message_program = p;
    if (trouble)
        cel_problem_add(&c->cel_problems,
            c->arena,
            CEL_PROBLEM_INVALID,
            path,
            rule_value(c->arena, rule),
            trouble);
    else
        observe_cost(c, path, "estimated messageExpression cost", p->estimate);
}

static uint64_t cardinality_of(const struct cel_rules *node, const struct place *at)
{
    if (at->cardinality != UNBOUNDED)
        return at->cardinality;
    return (uint64_t)(CEL_REQUEST_BYTES_MAX / (node->decl->bytes_min + 1));
}

/* Adds the problems of a compiled rule. */
static void judge(struct compiler *c, const struct cel_rules *node, const struct cel_rule *r,
    struct json rule, const struct place *at, const char *path)
{
    const char *rule_path = arena_printf(c->arena, "%s.rule", path);
    struct json optional = json_member(rule, "optionalOldSelf");
    if (r->program)
        observe_cost(c,
            rule_path,
            "estimated rule cost",
            times(r->program->estimate, cardinality_of(node, at)));
    if (r->trouble)
        cel_problem_add(&c->cel_problems,
            c->arena,
            CEL_PROBLEM_INVALID,
            rule_path,
            rule_value(c->arena, rule),
            r->trouble);
    bool uses_old = r->program && r->program->uses_old_self;
    if (uses_old && at->uncorrelatable)
        cel_problem_add(&c->cel_problems,
            c->arena,
            CEL_PROBLEM_INVALID,
            rule_path,
            cel_show_quoted(c->arena, str_of(json_get_text(rule, "rule"))),
            arena_printf(c->arena,
                "oldSelf cannot be used on the uncorrelatable portion of the schema within %s",
                at->uncorrelatable));
    if (!uses_old && json_present(optional))
        cel_problem_add(&c->cel_problems,
            c->arena,
            CEL_PROBLEM_INVALID,
            arena_printf(c->arena, "%s.optionalOldSelf", path),
            json_to_text(c->arena, optional),
            "may not be set if oldSelf is not used in rule");
}

static void compile_rule(struct compiler *c, const struct cel_rules *node, struct json rule,
    const struct place *at, const char *path, struct cel_rule *r)
{
    const char *text = json_get_text(rule, "rule"), *message = json_get_text(rule, "message");
    const char *field = json_get_text(rule, "fieldPath");
    struct cel_options options = {
        .optional_old_self = json_get_bool(rule, "optionalOldSelf", false), .wanted = CEL_BOOL
    };
    *r = (struct cel_rule){ .type = CEL_PROBLEM_INVALID };
    if (text_empty(text) || is_blank(text))
        return;
    r->label = str_dup(c->arena, str_trim(str_of(text_empty(message) ? text : message)));
    r->message =
        text_empty(message) ? arena_printf(c->arena, "failed rule: %s", r->label) : r->label;
    r->trouble = cel_compile(c->arena, node->decl, text, &options, &r->program);
    if (r->trouble)
        r->program = NULL;
    find_reason(json_get_text(rule, "reason"), &r->type);
    if (!text_empty(field))
        read_field_path(c->arena, node->decl->schema, field, &r->field_path);
    judge(c, node, r, rule, at, path);
    compile_message(c, node, r, rule, path);
}

/* ---- the tree ---- */

static const struct cel_rules *compile_node(
    struct compiler *c, struct json schema, const struct cel_decl *d, const struct place *at);

static struct place below(
    struct compiler *c, struct json schema, const struct place *at, const char *path)
{
    struct place p = *at;
    bool is_array = text_eq(json_get_text(schema, "type"), "array");
    const char *key = is_array ? "maxItems" : "maxProperties";
    bool repeats = is_array || json_is(json_member(schema, "additionalProperties"), JSON_MAP);
    struct json limit = json_member(schema, key);
    p.path = *at->path ? arena_printf(c->arena, "%s.%s", at->path, path) : path;
    if (repeats && (at->cardinality == UNBOUNDED || !json_is(limit, JSON_INT)))
        p.cardinality = UNBOUNDED;
    else if (repeats)
        p.cardinality = times(at->cardinality, limit.integer < 0 ? 0 : (uint64_t)limit.integer);
    if (is_array && !text_eq(json_get_text(schema, "x-kubernetes-list-type"), "map") &&
        !p.uncorrelatable)
        p.uncorrelatable = *at->path ? at->path : "<nil>";
    return p;
}

static void compile_properties(
    struct compiler *c, struct cel_rules *node, struct json schema, const struct place *at)
{
    struct json properties = json_member(schema, "properties");
    struct cel_rules_property *list = arena_array(c->arena, properties.count + 1, sizeof(*list));
    json_each_member (m, properties) {
        const struct cel_field *f = cel_decl_field(node->decl, m->key);
        bool has_rules = json_member(m->value, "x-kubernetes-validations").count > 0;
        if (!f || (!f->decl->type && f->name && !has_rules))
            continue; /* a node without a type is left out, unless it has rules */
        struct place there = below(c, schema, at, arena_printf(c->arena, "properties[%s]", m->key));
        const struct cel_rules *child = compile_node(c, m->value, f->decl, &there);
        if (child)
            list[node->property_count++] = (struct cel_rules_property){ m->key, child };
    }
    node->properties = list;
}

static bool is_wrong(struct compiler *c, const char *path)
{
    const char *const *wrong = c->options->wrong;
    size_t first = 0, end = c->options->wrong_count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (strcmp(wrong[middle], path) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first < c->options->wrong_count && text_starts(wrong[first], path);
}

static void compile_own(struct compiler *c, struct cel_rules *node, struct json schema,
    const struct place *at, size_t problems_before)
{
    struct json rules = json_member(schema, "x-kubernetes-validations");
    struct cel_rule *list = arena_array(c->arena, rules.count + 1, sizeof(*list));
    const char *path = *at->path ? arena_printf(c->arena, "%s.x-kubernetes-validations", at->path)
                                 : "x-kubernetes-validations";
    if (!c->options->wrong)
        c->field_problems += cel_rules_check_fields(c->arena, schema, at->path, c->problems);
    if (!rules.count || !json_is(rules, JSON_LIST) || c->field_problems > problems_before ||
        is_wrong(c, at->path))
        return;
    if (!node->decl->type) {
        cel_problem_add(&c->cel_problems,
            c->arena,
            CEL_PROBLEM_INTERNAL,
            path,
            NULL,
            "internal error: failed to construct type information for x-kubernetes-validations "
            "rules: unable to convert structural schema to CEL declarations");
        return;
    }
    node->rules = list;
    for (; node->rule_count < rules.count; node->rule_count++)
        compile_rule(c,
            node,
            rules.items[node->rule_count],
            at,
            arena_printf(c->arena, "%s[%zu]", path, node->rule_count),
            &list[node->rule_count]);
}

/* NULL if there are no rules at or below this node. */
static const struct cel_rules *compile_node(
    struct compiler *c, struct json schema, const struct cel_decl *d, const struct place *at)
{
    struct cel_rules *node = arena_new(c->arena, struct cel_rules);
    struct json items = json_member(schema, "items");
    struct json values = json_member(schema, "additionalProperties");
    size_t problems_before = c->field_problems;
    node->decl = d;
    if (json_is(values, JSON_MAP) && d->items && d->schema_type == CEL_SCHEMA_OBJECT) {
        struct place there = below(c, schema, at, "additionalProperties");
        node->values = compile_node(c, values, d->items, &there);
    }
    compile_properties(c, node, schema, at);
    if (json_is(items, JSON_MAP) && d->items && d->schema_type == CEL_SCHEMA_ARRAY) {
        struct place there = below(c, schema, at, "items");
        node->items = compile_node(c, items, d->items, &there);
    }
    compile_own(c, node, schema, at, problems_before);
    return cel_rules_any(node) ? node : NULL;
}

const struct cel_rules *cel_rules_compile(struct arena *a, struct json schema,
    const struct cel_rules_options *options, struct cel_problems *ret_problems)
{
    static const struct cel_rules_options defaults = { 0 };
    struct compiler c = {
        .arena = a, .options = options ? options : &defaults, .problems = ret_problems
    };
    struct place root = { .path = c.options->at ? c.options->at : "", .cardinality = 1 };
    const struct cel_decl *decl = cel_decl_new(a, schema, true);
    const struct cel_rules *rules = compile_node(&c, schema, decl, &root);
    for (struct cel_problem *p = c.cel_problems.first, *next; p && ret_problems; p = next) {
        next = p->next;
        p->next = NULL;
        *(ret_problems->end ? ret_problems->end : &ret_problems->first) = p;
        ret_problems->end = &p->next;
        ret_problems->count++;
    }
    check_total(&c);
    if (rules)
        return rules;
    struct cel_rules *none = arena_new(a, struct cel_rules);
    none->decl = decl;
    return none;
}

bool cel_rules_any(const struct cel_rules *r)
{
    return r->rule_count || r->items || r->values || r->property_count;
}
