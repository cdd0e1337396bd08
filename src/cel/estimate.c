/* The estimated cost of an expression. It tracks the possible sizes of values: a field by the
 * bounds in its schema, a list by its elements. Values without bounds are as large as a request may
 * be, which is why rules on lists without maxItems are refused. */

#include <math.h>

#include "cel/cost.h"
#include "cel/decl.h"

#define TEXT 0.1
#define REGEX 0.25
#define ENDLESS UINT64_MAX

/* Bounds of a size, or of a cost. */
struct bounds {
    uint64_t min, max;
};

struct entry_size {
    enum cel_kind container; /* CEL_DYN: unknown */
    struct bounds key, value;
};

/* The known properties of a node. A path leads from self through the schema; one that leaves the
 * schema has no decl. */
struct cel_node_size {
    bool has_size, has_path, has_cost;
    struct bounds size, cost;
    struct entry_size entry;
    const struct cel_decl *decl;
};

struct local {
    const struct local *outer;
    struct str name;
    struct cel_node_size of;
};

struct coster {
    struct arena *arena;
    const struct cel_decl *self;
    const struct local *locals;
};

static struct bounds cost_of(struct coster *c, struct cel_node *n);

/* ---- saturating arithmetic ---- */

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > ENDLESS - b ? ENDLESS : a + b;
}

static uint64_t times(uint64_t a, uint64_t b)
{
    return b && a > ENDLESS / b ? ENDLESS : a * b;
}

static uint64_t scaled(uint64_t a, double factor)
{
    double product = ceil((double)a * factor);
    return product >= 0x1p64 ? ENDLESS : (uint64_t)product;
}

static struct bounds exactly(uint64_t n)
{
    return (struct bounds){ n, n };
}

static struct bounds add(struct bounds a, struct bounds b)
{
    return (struct bounds){ plus(a.min, b.min), plus(a.max, b.max) };
}

static struct bounds multiply(struct bounds a, struct bounds b)
{
    return (struct bounds){ times(a.min, b.min), times(a.max, b.max) };
}

static struct bounds scale(struct bounds a, double factor)
{
    return (struct bounds){ scaled(a.min, factor), scaled(a.max, factor) };
}

static struct bounds unite(struct bounds a, struct bounds b)
{
    return (struct bounds){ a.min < b.min ? a.min : b.min, a.max > b.max ? a.max : b.max };
}

/* ---- sizes ---- */

static struct cel_node_size *info(struct coster *c, struct cel_node *n)
{
    if (!n->size)
        n->size = arena_new(c->arena, struct cel_node_size);
    return n->size;
}

static const struct local *find_local(const struct coster *c, const struct cel_node *n)
{
    if (n->kind != CEL_NODE_IDENT)
        return NULL;
    const struct local *l = c->locals;
    while (l && !str_eq(l->name, n->name))
        l = l->outer;
    return l;
}

static const struct cel_node_size *path_of(struct coster *c, struct cel_node *n)
{
    const struct local *l = find_local(c, n);
    return l ? &l->of : info(c, n);
}

static void set_size(struct coster *c, struct cel_node *n, struct bounds size)
{
    info(c, n)->has_size = true;
    info(c, n)->size = size;
}

static bool is_scalar(const struct cel_type *t)
{
    if (t->kind == CEL_OPTIONAL)
        return is_scalar(t->of[0]);
    return t->kind == CEL_BOOL || t->kind == CEL_DOUBLE || t->kind == CEL_DURATION ||
           t->kind == CEL_INT || t->kind == CEL_TIMESTAMP || t->kind == CEL_UINT;
}

static struct bounds size_of_decl(const struct cel_decl *d)
{
    return (struct bounds){ 0, (uint64_t)d->elements_max };
}

static bool known_size(struct coster *c, struct cel_node *n, struct bounds *ret)
{
    const struct local *l = find_local(c, n);
    const struct cel_node_size *path = path_of(c, n);
    if (info(c, n)->has_size)
        *ret = info(c, n)->size;
    else if (n->kind == CEL_NODE_LITERAL)
        *ret = exactly(cel_size(n->literal));
    else if (n->kind == CEL_NODE_LIST || n->kind == CEL_NODE_MAP)
        *ret = exactly(n->kind == CEL_NODE_LIST ? n->count : n->count / 2);
    else if (path->has_path && path->decl)
        *ret = size_of_decl(path->decl);
    else if (is_scalar(n->type))
        *ret = exactly(1);
    else if (l && l->of.has_size)
        *ret = l->of.size;
    else
        return false;
    return true;
}

static struct bounds size_of(struct coster *c, struct cel_node *n)
{
    struct bounds size;
    return known_size(c, n, &size) ? size : (struct bounds){ 0, ENDLESS };
}

static struct entry_size entry_of(struct coster *c, struct cel_node *n)
{
    const struct local *l = find_local(c, n);
    if (info(c, n)->entry.container == CEL_DYN && l)
        return l->of.entry;
    return info(c, n)->entry;
}

static struct entry_size unite_entries(struct entry_size a, struct entry_size b)
{
    if (a.container == CEL_DYN || b.container == CEL_DYN)
        return (struct entry_size){ 0 };
    return (struct entry_size){ a.container, unite(a.key, b.key), unite(a.value, b.value) };
}

static void copy_sizes(struct coster *c, struct cel_node *to, struct cel_node *from)
{
    struct bounds size;
    if (known_size(c, from, &size))
        set_size(c, to, size);
    info(c, to)->entry = entry_of(c, from);
}

/* ---- calls ---- */

struct call {
    struct coster *c;
    struct cel_node *n;
    struct cel_node *operands[CEL_ARGS_MAX]; /* the receiver first */
    size_t count;
    bool has_size;
    struct bounds size; /* of the result */
};

static struct bounds operand_size(const struct call *call, size_t i)
{
    return size_of(call->c, call->operands[i]);
}

static struct bounds with_size(struct call *call, struct bounds cost, struct bounds size)
{
    call->has_size = true;
    call->size = size;
    return cost;
}

/* The items of a list, if its schema is known. */
static struct bounds item_size(const struct call *call)
{
    const struct cel_node_size *path = path_of(call->c, call->operands[0]);
    if (!path->has_path || !path->decl || !path->decl->items)
        return (struct bounds){ 0, ENDLESS };
    return size_of_decl(path->decl->items);
}

static struct bounds walk_cost(struct call *call)
{
    const struct cel_type *t = call->operands[0]->type;
    struct bounds size = operand_size(call, 0), each = exactly(1);
    if (!t->of[0])
        return scale(size, TEXT);
    if (t->of[0]->kind == CEL_STRING || t->of[0]->kind == CEL_BYTES)
        each = add(each, scale(item_size(call), TEXT));
    return multiply(size, each);
}

static struct bounds replace_cost(struct call *call)
{
    struct bounds size = operand_size(call, 0), old = operand_size(call, 1);
    struct bounds fresh = operand_size(call, 2), count = { 0 }, kept = { 0 };
    if (old.min == 0) {
        count.max = plus(size.max, 1);
        kept.max = size.max;
    } else if (fresh.max <= old.min) {
        kept.max = size.max;
    } else {
        count.max = scaled(size.max, 1.0 / (double)old.min);
    }
    if (old.max == 0) {
        count.min = plus(size.min, 1);
        kept.min = size.min;
    } else if (old.max <= fresh.min) {
        kept.min = size.min;
    } else {
        count.min = scaled(size.min, 1.0 / (double)old.max);
    }
    return with_size(call, scale(size, 2 * TEXT), add(multiply(count, fresh), kept));
}

static struct bounds split_cost(struct call *call)
{
    struct bounds size = operand_size(call, 0), parts = { 0, size.max };
    const struct cel_node *most = call->count > 2 ? call->operands[2] : NULL;
    if (most && most->kind == CEL_NODE_LITERAL && most->literal.kind == CEL_INT)
        parts.max = most->literal.natural;
    return with_size(call, scale(size, 2 * TEXT), parts);
}

static struct bounds join_cost(struct call *call)
{
    struct bounds list = operand_size(call, 0), size = multiply(list, item_size(call));
    if (call->count > 1) {
        struct bounds separators = { list.min ? list.min - 1 : 0, list.max ? list.max - 1 : 0 };
        size = add(size, multiply(operand_size(call, 1), separators));
    }
    return with_size(call, scale(size, TEXT), size);
}

static struct bounds regex_cost(struct call *call, bool finds)
{
    struct bounds size = operand_size(call, 0);
    struct bounds cost =
        multiply(scale(add(size, exactly(1)), TEXT), scale(operand_size(call, 1), REGEX));
    return finds ? with_size(call, cost, (struct bounds){ 0, size.max }) : cost;
}

static struct bounds equal_cost(struct call *call)
{
    const struct cel_type *a = call->operands[0]->type, *b = call->operands[1]->type;
    bool same = a->kind == b->kind && str_eq(call->n->name, STR("_==_"));
    if (same && a->kind == CEL_FORMAT)
        return scale((struct bounds){ 1, 64 }, TEXT);
    if (same && a->kind == CEL_URL) {
        struct bounds size;
        bool known = known_size(call->c, call->operands[1], &size);
        return scale((struct bounds){ 1, known ? size.max : 1 }, TEXT);
    }
    if (same && a->kind >= CEL_QUANTITY && a->kind <= CEL_SEMVER)
        return exactly(1);
    struct bounds left = operand_size(call, 0), right = operand_size(call, 1);
    uint64_t smaller = left.max < right.max ? left.max : right.max;
    return scale((struct bounds){ smaller > 0, smaller }, TEXT);
}

static struct bounds add_cost(struct call *call, bool lists)
{
    struct bounds size = add(operand_size(call, 0), operand_size(call, 1));
    struct entry_size entry =
        unite_entries(entry_of(call->c, call->operands[0]), entry_of(call->c, call->operands[1]));
    if (entry.container != CEL_DYN)
        info(call->c, call->n)->entry = entry;
    return with_size(call, lists ? exactly(1) : scale(size, TEXT), size);
}

/* An address has 4 to 16 bytes. */
static struct bounds network_cost(struct call *call, bool cidr, bool text)
{
    struct bounds size = { 4, 16 }, cost = scale(add(size, size), TEXT);
    if (cidr)
        cost = add(cost, add(scale(size, TEXT), exactly(1)));
    return text ? add(cost, scale(operand_size(call, 1), TEXT)) : cost;
}

static uint64_t literal_or(const struct cel_node *n, uint64_t otherwise)
{
    if (n->kind != CEL_NODE_LITERAL || n->literal.kind != CEL_INT)
        return otherwise;
    return n->literal.integer < 0 ? 0 : n->literal.natural;
}

static struct bounds list_call(struct call *call, double factor, struct bounds size)
{
    return with_size(call, add(scale(size, factor), exactly(1 + CEL_COST_NEW_LIST)), size);
}

static struct bounds list_cost(struct call *call, const struct cel_function *f)
{
    struct bounds size = operand_size(call, 0);
    switch (f->cost) {
    case CEL_COST_SLICE: {
        uint64_t start = literal_or(call->operands[1], 0);
        uint64_t end = literal_or(call->operands[2], size.max);
        return list_call(call, 1, exactly(end - start));
    }
    case CEL_COST_RANGE:
        return list_call(call, 1, exactly(literal_or(call->operands[0], ENDLESS)));
    case CEL_COST_REVERSE:
        return list_call(call, 1, size);
    case CEL_COST_FLATTEN:
        return list_call(
            call, call->count > 1 ? (double)literal_or(call->operands[1], ENDLESS) : 1, size);
    case CEL_COST_SORT_BY:
    case CEL_COST_SORT_BY_TEXT:
        size = operand_size(call, 1);
        break;
    default:
        break;
    }
    bool text = f->cost == CEL_COST_SORT_TEXT || f->cost == CEL_COST_SORT_BY_TEXT;
    return list_call(call, text ? 2 + TEXT : 2, multiply(size, size));
}

static struct bounds text_cost(struct call *call, const struct cel_function *f)
{
    struct bounds size = operand_size(call, 0), cost = scale(size, TEXT);
    switch (f->cost) {
    case CEL_COST_TRANSFORM:
        return with_size(call, cost, size);
    case CEL_COST_TO_BYTES:
        return with_size(call, cost, (struct bounds){ size.min, size.max * 4 });
    case CEL_COST_FROM_BYTES:
        return with_size(call, cost, (struct bounds){ size.min / 4, size.max });
    case CEL_COST_QUOTE:
        return with_size(call, cost, (struct bounds){ size.min + 2, size.max * 2 + 2 });
    case CEL_COST_TRAVERSAL_TWICE:
        return scale(size, 2 * TEXT);
    case CEL_COST_AFFIX:
        return scale(operand_size(call, 1), TEXT);
    default:
        return cost;
    }
}

/* Without the cost of the operands. */
static struct bounds function_cost(struct call *call, const struct cel_function *f)
{
    switch (f->cost) {
    case CEL_COST_TRAVERSAL:
    case CEL_COST_TRAVERSAL_TWICE:
    case CEL_COST_TRANSFORM:
    case CEL_COST_AFFIX:
    case CEL_COST_TO_BYTES:
    case CEL_COST_FROM_BYTES:
    case CEL_COST_QUOTE:
    case CEL_COST_FORMAT_STRING:
        return text_cost(call, f);
    case CEL_COST_EQUAL:
    case CEL_COST_ORDER:
        return equal_cost(call);
    case CEL_COST_ADD_TEXT:
    case CEL_COST_ADD_LIST:
        return add_cost(call, f->cost == CEL_COST_ADD_LIST);
    case CEL_COST_IN_LIST:
        return operand_size(call, 1);
    case CEL_COST_MATCHES:
    case CEL_COST_FIND:
        return regex_cost(call, f->cost == CEL_COST_FIND);
    case CEL_COST_CONTAINS:
        return multiply(scale(operand_size(call, 0), TEXT), scale(operand_size(call, 1), TEXT));
    case CEL_COST_REPLACE:
        return replace_cost(call);
    case CEL_COST_SPLIT:
        return split_cost(call);
    case CEL_COST_JOIN:
        return join_cost(call);
    case CEL_COST_LIST_WALK:
        return walk_cost(call);
    case CEL_COST_CONTAINS_IP:
    case CEL_COST_CONTAINS_IP_TEXT:
        return network_cost(call, false, f->cost == CEL_COST_CONTAINS_IP_TEXT);
    case CEL_COST_CONTAINS_CIDR:
    case CEL_COST_CONTAINS_CIDR_TEXT:
        return network_cost(call, true, f->cost == CEL_COST_CONTAINS_CIDR_TEXT);
    case CEL_COST_VALIDATE:
        return scale(scale(operand_size(call, 1), TEXT), 128 * REGEX);
    case CEL_COST_SETS:
    case CEL_COST_SETS_TWICE:
        return add(scale(multiply(operand_size(call, 0), operand_size(call, 1)),
                       f->cost == CEL_COST_SETS ? 1 : 2),
            exactly(1));
    case CEL_COST_SLICE:
    case CEL_COST_FLATTEN:
    case CEL_COST_RANGE:
    case CEL_COST_REVERSE:
    case CEL_COST_DISTINCT:
    case CEL_COST_SORT:
    case CEL_COST_SORT_TEXT:
    case CEL_COST_SORT_BY:
    case CEL_COST_SORT_BY_TEXT:
        return list_cost(call, f);
    default:
        return exactly(1);
    }
}

/* The path of an item or a member's value, and its size if a list or map literal shows it. */
static void follow_index(struct call *call)
{
    struct coster *c = call->c;
    const struct cel_node_size *path = path_of(c, call->operands[0]);
    struct entry_size entry = entry_of(c, call->operands[0]);
    call->has_size = entry.container != CEL_DYN;
    call->size = entry.value;
    struct cel_node_size *own = info(c, call->n);
    own->decl = !path->has_path ? c->self : path->decl ? path->decl->items : NULL;
    own->has_path = true;
}

static struct bounds conditional_cost(struct coster *c, struct cel_node *n)
{
    struct bounds cost = cost_of(c, n->args[0]);
    cost = add(cost, unite(cost_of(c, n->args[1]), cost_of(c, n->args[2])));
    struct entry_size entry = unite_entries(entry_of(c, n->args[1]), entry_of(c, n->args[2]));
    if (entry.container != CEL_DYN)
        info(c, n)->entry = entry;
    set_size(c, n, unite(size_of(c, n->args[1]), size_of(c, n->args[2])));
    return cost;
}

static struct bounds logic_cost(struct coster *c, struct cel_node *n)
{
    struct bounds cost = { 0 };
    for (uint32_t i = 0; i < n->count; i++) {
        struct bounds term = cost_of(c, n->args[i]);
        cost = (struct bounds){ i ? cost.min : term.min, plus(cost.max, term.max) };
    }
    return cost;
}

static struct bounds call_cost(struct coster *c, struct cel_node *n)
{
    struct bounds sum = { 0 }, own = { ENDLESS, 0 };
    struct call call = { .c = c, .n = n };
    if (str_eq(n->name, STR("_&&_")) || str_eq(n->name, STR("_||_")))
        return logic_cost(c, n);
    if (str_eq(n->name, STR("_?_:_")))
        return conditional_cost(c, n);
    if (n->target)
        call.operands[call.count++] = n->target;
    for (uint32_t i = 0; i < n->count && call.count < CEL_ARGS_MAX; i++)
        call.operands[call.count++] = n->args[i];
    for (size_t i = 0; i < call.count; i++)
        sum = add(sum, cost_of(c, call.operands[i]));
    if (str_eq(n->name, STR("dyn"))) {
        copy_sizes(c, n, n->args[0]);
        return add(sum, exactly(1));
    }
    if (str_eq(n->name, STR("_?._")))
        return add(sum, exactly(1));
    bool has_size = false;
    struct bounds size = { 0 };
    for (uint32_t i = 0; i < n->overload_count; i++) {
        call.has_size = false;
        own = unite(own, function_cost(&call, n->overloads[i]));
        if (call.has_size)
            size = has_size ? unite(size, call.size) : call.size;
        has_size = has_size || call.has_size;
        if (n->overloads[i]->cost == CEL_COST_INDEX_LIST ||
            n->overloads[i]->cost == CEL_COST_INDEX_MAP) {
            follow_index(&call);
            has_size = call.has_size;
            size = call.size;
        }
        if (!has_size)
            has_size = known_size(c, n, &size);
    }
    if (has_size)
        set_size(c, n, size);
    return add(sum, own);
}

/* ---- the other nodes ---- */

static struct bounds ident_cost(struct coster *c, struct cel_node *n)
{
    const struct local *l = find_local(c, n);
    struct cel_node_size *own = info(c, n);
    own->has_path = l ? l->of.has_path : true;
    own->decl = l ? l->of.decl : c->self;
    return exactly(1);
}

static struct bounds select_cost(struct coster *c, struct cel_node *n)
{
    struct bounds cost = cost_of(c, n->target);
    if (n->is_test)
        return cost;
    enum cel_kind kind = n->target->type->kind;
    const struct cel_node_size *path = path_of(c, n->target);
    const struct cel_field *f = path->has_path && path->decl && path->decl->is_object
                                    ? cel_decl_field_named(path->decl, n->name)
                                    : NULL;
    if (f && !str_eq(n->name, str_of(f->name)))
        f = NULL; /* cel-go has no bounds for a reserved word that is not escaped */
    info(c, n)->decl = f ? f->decl : path->has_path ? NULL : c->self;
    info(c, n)->has_path = true;
    return kind == CEL_MAP || kind == CEL_OBJECT ? add(cost, exactly(1)) : cost;
}

static struct bounds list_literal_cost(struct coster *c, struct cel_node *n)
{
    struct bounds cost = { 0 }, item = { n->count ? ENDLESS : 0, 0 };
    for (uint32_t i = 0; i < n->count; i++) {
        cost = add(cost, cost_of(c, n->args[i]));
        item = unite(item, size_of(c, n->args[i]));
    }
    info(c, n)->entry = (struct entry_size){ CEL_LIST, exactly(1), item };
    return add(cost, exactly(CEL_COST_NEW_LIST));
}

static struct bounds map_literal_cost(struct coster *c, struct cel_node *n)
{
    struct bounds cost = { 0 },
                  sizes[2] = { { n->count ? ENDLESS : 0, 0 }, { n->count ? ENDLESS : 0, 0 } };
    for (uint32_t i = 0; i < n->count; i++) {
        cost = add(cost, cost_of(c, n->args[i]));
        sizes[i % 2] = unite(sizes[i % 2], size_of(c, n->args[i]));
    }
    info(c, n)->entry = (struct entry_size){ CEL_MAP, sizes[0], sizes[1] };
    return add(cost, exactly(CEL_COST_NEW_MAP));
}

/* ---- loops ---- */

/* A loop variable: the key (or index) of each entry, or its value. */
static struct local loop_variable(struct coster *c, struct cel_node *range, struct str name,
    bool is_key, const struct local *outer)
{
    struct entry_size entry = entry_of(c, range);
    const struct cel_node_size *path = path_of(c, range);
    enum cel_kind container = entry.container == CEL_DYN ? range->type->kind : entry.container;
    struct local l = { .outer = outer, .name = name, .of = { .has_path = true } };
    static const struct cel_decl key_decl = { 0 }; /* keys have no bounds */
    if (entry.container != CEL_DYN) {
        l.of.has_size = true;
        l.of.size = is_key ? entry.key : entry.value;
    }
    if (!path->has_path)
        l.of.decl = c->self;
    else if (is_key)
        l.of.decl = container == CEL_LIST             ? NULL
                    : path->decl && path->decl->items ? &key_decl
                                                      : NULL;
    else
        l.of.decl = path->decl ? path->decl->items : NULL;
    return l;
}

static struct local accu_variable(struct coster *c, const struct cel_fold *f)
{
    struct local l = { .outer = c->locals, .name = f->accu };
    l.of.entry = entry_of(c, f->init);
    const struct cel_node_size *path = path_of(c, f->init);
    l.of.has_path = path->has_path;
    l.of.decl = path->decl;
    l.of.has_size = known_size(c, f->init, &l.of.size);
    return l;
}

static struct bounds bind_cost(struct coster *c, struct cel_node *n)
{
    struct cel_fold *f = n->fold;
    struct bounds cost = add(cost_of(c, f->range), cost_of(c, f->init));
    const struct local *outer = c->locals;
    struct local accu = accu_variable(c, f);
    c->locals = &accu;
    cost = add(cost, cost_of(c, f->result));
    copy_sizes(c, n, f->result);
    c->locals = outer;
    return cost;
}

static bool is_bind(const struct cel_fold *f)
{
    return f->range->kind == CEL_NODE_LIST && f->range->count == 0 &&
           f->condition->kind == CEL_NODE_LITERAL && !cel_is_true(f->condition->literal);
}

static struct bounds fold_cost(struct coster *c, struct cel_node *n)
{
    struct cel_fold *f = n->fold;
    if (is_bind(f))
        return bind_cost(c, n);
    const struct local *outer = c->locals;
    struct bounds cost = add(cost_of(c, f->range), cost_of(c, f->init));
    struct local accu = accu_variable(c, f), first, second;
    bool of_list = entry_of(c, f->range).container == CEL_LIST ||
                   (entry_of(c, f->range).container == CEL_DYN && f->range->type->kind == CEL_LIST);
    bool two = f->var2.ptr;
    first = loop_variable(c, f->range, f->var, two || !of_list, &accu);
    second = loop_variable(c, f->range, f->var2, false, &first);
    c->locals = two ? &second : &first;
    struct bounds turn = add(cost_of(c, f->condition), cost_of(c, f->step));
    c->locals = &accu;
    cost = add(cost, cost_of(c, f->result));
    c->locals = outer;
    struct bounds count = size_of(c, f->range), size;
    if (f->init->kind == CEL_NODE_LITERAL) {
        if (known_size(c, f->init, &size))
            set_size(c, n, size);
    } else if (f->init->kind == CEL_NODE_LIST || f->init->kind == CEL_NODE_MAP) {
        set_size(c, n, count);
        if (entry_of(c, f->step).container != CEL_DYN)
            info(c, n)->entry = entry_of(c, f->step);
    }
    return add(cost, multiply(count, turn));
}

static struct bounds cost_of(struct coster *c, struct cel_node *n)
{
    struct bounds cost = { 0 };
    if (n->size && n->size->has_cost) /* macros may use a node twice */
        return n->size->cost;
    switch (n->kind) {
    case CEL_NODE_LITERAL:
        break;
    case CEL_NODE_IDENT:
        cost = ident_cost(c, n);
        break;
    case CEL_NODE_SELECT:
        cost = select_cost(c, n);
        break;
    case CEL_NODE_CALL:
        cost = call_cost(c, n);
        break;
    case CEL_NODE_LIST:
        cost = list_literal_cost(c, n);
        break;
    case CEL_NODE_MAP:
        cost = map_literal_cost(c, n);
        break;
    case CEL_NODE_FOLD:
        cost = fold_cost(c, n);
        break;
    }
    info(c, n)->has_cost = true;
    info(c, n)->cost = cost;
    return cost;
}

uint64_t cel_cost_estimate(struct arena *a, const struct cel_decl *self, struct cel_node *root)
{
    return cost_of(&(struct coster){ .arena = a, .self = self }, root).max;
}
