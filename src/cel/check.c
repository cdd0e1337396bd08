/* The type checker: sets the type of every node and the overloads of every call. It continues after
 * errors, so that an author sees all of them at once. */

#include "base/buf.h"
#include "cel/ast.h"
#include "cel/decl.h"
#include "cel/lib.h"
#include "cel/type.h"

struct scope {
    const struct scope *outer;
    struct str name;
    const struct cel_type *type;
};

struct checker {
    struct cel_source *source;
    struct arena *arena;
    struct cel_types types;
    const struct scope *scope;
    const struct cel_check_options *options;
};

static void check_node(struct checker *c, struct cel_node *n);

static const struct cel_type *error_type(void)
{
    return cel_type_of(CEL_ERROR);
}

static const char *text_of(struct checker *c, const struct cel_type *t)
{
    return cel_type_text(&c->types, t);
}

static void mismatch(struct checker *c, const struct cel_node *n, const struct cel_type *wanted,
    const struct cel_type *found)
{
    cel_issue_add(c->source,
        n->offset,
        "expected type '%s' but found '%s'",
        text_of(c, wanted),
        text_of(c, found));
}

static void undeclared(struct checker *c, struct cel_node *n, struct str name)
{
    cel_issue_add(c->source,
        n->offset,
        "undeclared reference to '%.*s' (in container '')",
        (int)name.len,
        name.ptr);
    n->type = error_type();
}

/* ---- names ---- */

static const struct {
    const char *name;
    enum cel_kind kind;
} type_names[] = {
    { "bool", CEL_BOOL },
    { "int", CEL_INT },
    { "uint", CEL_UINT },
    { "double", CEL_DOUBLE },
    { "string", CEL_STRING },
    { "bytes", CEL_BYTES },
    { "list", CEL_LIST },
    { "map", CEL_MAP },
    { "null_type", CEL_NULL },
    { "type", CEL_TYPE },
    { "duration", CEL_DURATION },
    { "timestamp", CEL_TIMESTAMP },
    { "google.protobuf.Timestamp", CEL_TIMESTAMP },
    { "google.protobuf.Duration", CEL_DURATION },
    { "optional_type", CEL_OPTIONAL },
    { "net.IP", CEL_IP },
    { "net.CIDR", CEL_CIDR },
};

/* Removes the leading dot of an absolute name. */
static struct str without_dot(struct str name)
{
    bool dotted = name.len && *name.ptr == '.';
    return (struct str){ name.ptr + dotted, name.len - dotted };
}

static bool check_variable(struct checker *c, struct cel_node *n)
{
    for (const struct scope *s = c->scope; s; s = s->outer)
        if (str_eq(s->name, n->name)) {
            n->type = s->type;
            return true;
        }
    const struct cel_type *self = c->options->self->type;
    const char *variable = c->options->variable;
    struct str name = without_dot(n->name);
    if (str_eq(name, variable ? str_of(variable) : STR("self"))) {
        n->name = name;
        n->type = self;
        return true;
    }
    if (!variable && str_eq(name, STR("oldSelf"))) {
        n->name = name;
        c->source->uses_old_self = true;
        n->type =
            c->options->optional_old_self ? cel_type_new(c->arena, CEL_OPTIONAL, self, NULL) : self;
        return true;
    }
    return false;
}

/* If the name is a type, turns the node into its constant. */
static bool check_type_name(struct checker *c, struct cel_node *n, struct str name)
{
    name = without_dot(name);
    for (size_t i = 0; i < lengthof(type_names); i++)
        if (str_eq(name, str_of(type_names[i].name))) {
            struct cel_value *value = arena_new(c->arena, struct cel_value);
            *value = cel_type_value(cel_type_of(type_names[i].kind));
            n->kind = CEL_NODE_IDENT;
            n->name = name;
            n->constant = value;
            n->type = cel_type_new(c->arena, CEL_TYPE, value->type, NULL);
            return true;
        }
    return false;
}

/* "a.b.c" of a chain of names, or an empty text. */
static struct str qualified_name(struct checker *c, const struct cel_node *n)
{
    if (n->kind == CEL_NODE_IDENT)
        return n->name;
    if (n->kind != CEL_NODE_SELECT || n->is_test)
        return (struct str){ 0 };
    struct str before = qualified_name(c, n->target);
    if (!before.len)
        return before;
    return str_of(arena_printf(
        c->arena, "%.*s.%.*s", (int)before.len, before.ptr, (int)n->name.len, n->name.ptr));
}

/* ---- fields ---- */

static const struct cel_type *object_field(
    struct checker *c, const struct cel_node *n, const struct cel_type *t, struct str field)
{
    const struct cel_field *f = cel_decl_field_named(t->decl, field);
    if (f)
        return f->decl->type;
    cel_issue_add(c->source, n->offset, "undefined field '%.*s'", (int)field.len, field.ptr);
    return error_type();
}

static const struct cel_type *select_field(struct checker *c, const struct cel_node *n,
    struct cel_node *operand, struct str field, bool optional)
{
    check_node(c, operand);
    const struct cel_type *t = cel_type_resolve(&c->types, operand->type, false);
    const struct cel_type *result = cel_type_of(CEL_DYN);
    if (t->kind == CEL_OPTIONAL) {
        optional = true;
        t = t->of[0];
    }
    switch (t->kind) {
    case CEL_MAP:
        result = t->of[1];
        break;
    case CEL_OBJECT:
        result = object_field(c, n, t, field);
        break;
    case CEL_QUANTITY:
    case CEL_URL:
    case CEL_FORMAT:
    case CEL_SEMVER:
        cel_issue_add(
            c->source, n->offset, "unexpected failed resolution of '%s'", cel_kind_name(t->kind));
        result = error_type();
        break;
    case CEL_PARAM:
        cel_type_fits(&c->types, cel_type_of(CEL_DYN), t);
        break;
    case CEL_DYN:
    case CEL_ERROR:
        break;
    default:
        cel_issue_add(
            c->source, n->offset, "type '%s' does not support field selection", text_of(c, t));
        break;
    }
    return optional ? cel_type_new(c->arena, CEL_OPTIONAL, result, NULL) : result;
}

static void check_select(struct checker *c, struct cel_node *n)
{
    struct str name = qualified_name(c, n);
    if (name.len && check_type_name(c, n, name))
        return;
    const struct cel_type *t = select_field(c, n, n->target, n->name, false);
    n->type = n->is_test ? cel_type_of(CEL_BOOL) : cel_type_resolve(&c->types, t, false);
}

/* ---- calls ---- */

static void no_match(struct checker *c, const struct cel_node *n, const struct cel_type **args,
    size_t count, bool is_member)
{
    cleanup(buf_done) struct buf b = BUF_INIT(65536);
    for (size_t i = 0; i < count; i++) {
        const char *text = text_of(c, cel_type_resolve(&c->types, args[i], true));
        if (is_member && i == 0)
            buf_printf(&b, "%s.", text);
        if (i == is_member)
            buf_add_char(&b, '(');
        if (i >= is_member)
            buf_printf(&b, "%s%s", i > is_member ? ", " : "", text);
    }
    if (count <= is_member)
        buf_add_char(&b, '(');
    cel_issue_add(c->source,
        n->offset,
        "found no matching overload for '%.*s' applied to '%s)'",
        (int)n->name.len,
        n->name.ptr,
        buf_text(&b));
}

static void check_logic(struct checker *c, struct cel_node *n)
{
    n->type = cel_type_of(CEL_BOOL);
    for (uint32_t i = 0; i < n->count; i++)
        if (!cel_type_fits(&c->types, n->args[i]->type, cel_type_of(CEL_BOOL))) {
            mismatch(c, n->args[i], cel_type_of(CEL_BOOL), n->args[i]->type);
            n->type = error_type();
        }
}

#define OVERLOADS_MAX 64

static void resolve_overload(struct checker *c, struct cel_node *n)
{
    const struct cel_type *args[CEL_ARGS_MAX], *result = NULL;
    const struct cel_function *found[OVERLOADS_MAX];
    size_t count = 0, found_count = 0;
    bool is_member = n->target != NULL;
    if (is_member)
        args[count++] = n->target->type;
    for (uint32_t i = 0; i < n->count && count < CEL_ARGS_MAX; i++)
        args[count++] = n->args[i]->type;
    for (const struct cel_function *f = NULL; (f = cel_function_next(n->name, f));) {
        struct cel_signature s;
        unsigned params;
        cel_signature_read(c->arena, f, c->types.count, &s, &params);
        if (s.is_member != is_member || s.count != n->count + is_member)
            continue;
        cel_types_more(&c->types, params);
        if (!cel_type_fits_all(&c->types, args, s.args, count))
            continue;
        const struct cel_type *t = cel_type_resolve(&c->types, s.result, false);
        if (!result)
            result = t;
        else if (result->kind != CEL_DYN && !cel_type_same(t, result))
            result = cel_type_of(CEL_DYN);
        if (found_count < OVERLOADS_MAX)
            found[found_count++] = f;
    }
    if (!result) {
        no_match(c, n, args, count, is_member);
        n->type = error_type();
        return;
    }
    const struct cel_function **kept = arena_array(c->arena, found_count, sizeof(*kept));
    memcpy(kept, found, found_count * sizeof(*kept));
    n->overloads = kept;
    n->overload_count = (uint32_t)found_count;
    n->type = result;
}

static void check_call(struct checker *c, struct cel_node *n)
{
    if (str_eq(n->name, STR("_?._"))) {
        struct str field = n->args[1]->literal.text;
        check_node(c, n->args[1]);
        const struct cel_type *t = select_field(c, n, n->args[0], field, true);
        n->type = cel_type_resolve(&c->types, t, false);
        return;
    }
    for (uint32_t i = 0; i < n->count; i++)
        check_node(c, n->args[i]);
    if (str_eq(n->name, STR("_&&_")) || str_eq(n->name, STR("_||_"))) {
        check_logic(c, n);
        return;
    }
    struct str prefix = n->target ? qualified_name(c, n->target) : (struct str){ 0 };
    if (prefix.len) {
        struct str full = without_dot(str_of(arena_printf(
            c->arena, "%.*s.%.*s", (int)prefix.len, prefix.ptr, (int)n->name.len, n->name.ptr)));
        if (cel_function_next(full, NULL)) {
            n->name = full;
            n->target = NULL;
        }
    }
    if (n->target)
        check_node(c, n->target);
    if (!cel_function_next(without_dot(n->name), NULL)) {
        undeclared(c, n, n->name);
        return;
    }
    n->name = without_dot(n->name);
    resolve_overload(c, n);
}

/* ---- lists, maps, loops ---- */

/* Mixed types are dyn here; cel_check_literals() refuses them where it matters. */
static const struct cel_type *join(
    struct checker *c, const struct cel_type *before, const struct cel_type *now)
{
    if (!before)
        return now;
    return cel_type_fits(&c->types, before, now) ? cel_type_join(before, now)
                                                 : cel_type_of(CEL_DYN);
}

/* The type of an element, without the optional if it is marked with `?`. */
static const struct cel_type *element_type(struct checker *c, const struct cel_node *n, uint32_t i)
{
    const struct cel_node *item = n->args[i];
    const struct cel_type *t = item->type;
    if (!n->is_optional || !n->is_optional[i])
        return t;
    if (t->kind == CEL_OPTIONAL)
        return t->of[0];
    if (t->kind != CEL_DYN)
        mismatch(c, item, cel_type_new(c->arena, CEL_OPTIONAL, t, NULL), t);
    return t;
}

static void check_list(struct checker *c, struct cel_node *n)
{
    const struct cel_type *items = NULL;
    for (uint32_t i = 0; i < n->count; i++) {
        check_node(c, n->args[i]);
        items = join(c, items, element_type(c, n, i));
    }
    n->type =
        cel_type_new(c->arena, CEL_LIST, items ? items : cel_types_new_param(&c->types), NULL);
}

static void check_map(struct checker *c, struct cel_node *n)
{
    const struct cel_type *keys = NULL, *values = NULL;
    for (uint32_t i = 0; i < n->count; i += 2) {
        check_node(c, n->args[i]);
        keys = join(c, keys, n->args[i]->type);
        check_node(c, n->args[i + 1]);
        values = join(c, values, element_type(c, n, i + 1));
    }
    n->type = cel_type_new(c->arena,
        CEL_MAP,
        keys ? keys : cel_types_new_param(&c->types),
        values ? values : cel_types_new_param(&c->types));
}

static void loop_types(struct checker *c, const struct cel_fold *f,
    const struct cel_type **ret_first, const struct cel_type **ret_second)
{
    const struct cel_type *t = cel_type_resolve(&c->types, f->range->type, false);
    bool two = f->var2.ptr;
    switch (t->kind) {
    case CEL_LIST:
        *ret_first = two ? cel_type_of(CEL_INT) : t->of[0];
        *ret_second = t->of[0];
        return;
    case CEL_MAP:
        *ret_first = t->of[0];
        *ret_second = t->of[1];
        return;
    case CEL_DYN:
    case CEL_ERROR:
    case CEL_PARAM:
        cel_type_fits(&c->types, cel_type_of(CEL_DYN), t);
        *ret_first = *ret_second = cel_type_of(CEL_DYN);
        return;
    default:
        cel_issue_add(c->source,
            f->range->offset,
            "expression of type '%s' cannot be range of a comprehension (must be list, map, or "
            "dynamic)",
            text_of(c, t));
        *ret_first = *ret_second = error_type();
    }
}

static void require(struct checker *c, struct cel_node *n, const struct cel_type *t)
{
    check_node(c, n);
    if (!cel_type_fits(&c->types, t, n->type))
        mismatch(c, n, t, n->type);
}

static void check_fold(struct checker *c, struct cel_node *n)
{
    struct cel_fold *f = n->fold;
    const struct cel_type *first, *second;
    const struct scope *outer = c->scope;
    check_node(c, f->range);
    check_node(c, f->init);
    loop_types(c, f, &first, &second);
    struct scope accu = { outer, f->accu, f->init->type };
    struct scope var = { &accu, f->var, first }, var2 = { &var, f->var2, second };
    c->scope = f->var2.ptr ? &var2 : &var;
    require(c, f->condition, cel_type_of(CEL_BOOL));
    require(c, f->step, f->init->type);
    c->scope = &accu;
    check_node(c, f->result);
    c->scope = outer;
    n->type = cel_type_resolve(&c->types, f->result->type, false);
}

/* No message types are defined. */
static void check_message(struct checker *c, struct cel_node *n)
{
    bool is_type = false;
    if (check_variable(c, n) || (is_type = check_type_name(c, n, n->name)))
        cel_issue_add(c->source,
            n->offset,
            is_type ? "'%s' is not a message type" : "'%s' is not a type",
            is_type ? cel_kind_name(n->constant->type->kind) : text_of(c, n->type));
    else
        undeclared(c, n, n->name);
    n->type = error_type();
}

static void check_node(struct checker *c, struct cel_node *n)
{
    if (n->type) /* macros may use a node twice */
        return;
    switch (n->kind) {
    case CEL_NODE_LITERAL:
        n->type = cel_type_of(n->literal.kind);
        break;
    case CEL_NODE_IDENT:
        if (n->is_message)
            check_message(c, n);
        else if (!check_variable(c, n) && !check_type_name(c, n, n->name))
            undeclared(c, n, n->name);
        break;
    case CEL_NODE_SELECT:
        check_select(c, n);
        break;
    case CEL_NODE_CALL:
        check_call(c, n);
        break;
    case CEL_NODE_LIST:
        check_list(c, n);
        break;
    case CEL_NODE_MAP:
        check_map(c, n);
        break;
    case CEL_NODE_FOLD:
        check_fold(c, n);
        break;
    }
}

static void resolve_types(struct checker *c, struct cel_node *n)
{
    if (!n || n->is_resolved || !n->type)
        return;
    n->is_resolved = true;
    n->type = cel_type_resolve(&c->types, n->type, true);
    if (n->kind == CEL_NODE_LITERAL)
        return;
    if (n->kind == CEL_NODE_FOLD) {
        struct cel_node *below[] = {
            n->fold->range, n->fold->init, n->fold->condition, n->fold->step, n->fold->result
        };
        for (size_t i = 0; i < lengthof(below); i++)
            resolve_types(c, below[i]);
        return;
    }
    resolve_types(c, n->target);
    for (uint32_t i = 0; i < n->count; i++)
        resolve_types(c, n->args[i]);
}

void cel_check(struct cel_source *s, struct cel_node *root, const struct cel_check_options *o)
{
    struct checker c = { .source = s,
        .arena = s->arena,
        .types = { .arena = s->arena, .self = o->self },
        .options = o };
    check_node(&c, root);
    resolve_types(&c, root);
    if (!s->issue_count)
        cel_check_literals(s, &c.types, root);
}
