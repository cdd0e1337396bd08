/* Computes the fields of a value, and handles sets of fields with a schema. */

#include "merge/typed.h"

struct set_walk {
    struct arena *arena;
    const struct schema *schema;
};

/* The result for one value: whether its own path is a member, and the members below it. */
struct fields_of {
    bool self;
    const struct fieldset *below;
};

static struct fields_of fields_of(const struct set_walk *w, uint16_t type, struct json v);

static const struct fieldset *fields_of_list(
    const struct set_walk *w, const struct schema_type *t, struct json v)
{
    struct typed_items items;
    struct fieldset_builder b;
    fieldset_builder_init(&b, w->arena);
    if (!typed_items(w->arena, w->schema, t, v, &items, NULL))
        return fieldset_empty();
    /* In the order of the elements, so that no sorting is needed. */
    for (uint32_t i = 0; i < items.count; i++) {
        uint32_t at = items.sorted[i];
        const struct path_element *e = &items.elements[at];
        bool again = i > 0 && path_element_compare(&items.elements[items.sorted[i - 1]], e) == 0;
        bool more = i + 1 < items.count &&
                    path_element_compare(&items.elements[items.sorted[i + 1]], e) == 0;
        if (again)
            continue;
        /* Only the existence of duplicates: their fields cannot be told apart. */
        fieldset_add(&b, *e, true, more ? NULL : fields_of(w, t->item, items.items[at]).below);
    }
    return fieldset_end(&b);
}

static const struct fieldset *fields_of_map(
    const struct set_walk *w, const struct schema_type *t, struct json v)
{
    struct fieldset_builder b;
    fieldset_builder_init(&b, w->arena);
    json_each_member (m, v) {
        const struct schema_field *declared = schema_field(w->schema, t, m->key);
        uint16_t type = declared ? declared->type : t->member;
        struct fields_of f = { 0 };
        if (type != SCHEMA_NO_TYPE)
            f = fields_of(w, type, m->value);
        bool nothing = m->value.type == JSON_NULL || (m->value.type == JSON_MAP && !m->value.count);
        fieldset_add(&b, path_field(m->key), f.self || nothing || !declared, f.below);
    }
    return fieldset_end(&b);
}

static struct fields_of fields_of(const struct set_walk *w, uint16_t type, struct json v)
{
    const struct schema_type *t = schema_type(w->schema, type);
    enum typed_shape shape = typed_shape(t, v);
    if (typed_is_atomic(t, shape))
        return (struct fields_of){ .self = true };
    /* An empty list that is a set or a map has no fields, not even itself: a quirk. */
    return (struct fields_of){
        .below = shape == SHAPE_LIST ? fields_of_list(w, t, v) : fields_of_map(w, t, v),
    };
}

const struct fieldset *typed_set(struct arena *a, const struct schema *s, struct json v)
{
    const struct set_walk w = { .arena = a, .schema = s };
    const struct fieldset *set = fields_of(&w, s->root, v).below;
    return set ? set : fieldset_empty();
}

/* ---- whether a set is that of a value, without computing it ---- */

static bool is_of(const struct set_walk *w, uint16_t type, struct json v,
    const struct fieldset *set, bool *ret_self);

static bool is_of_list(const struct set_walk *w, const struct schema_type *t, struct json v,
    const struct fieldset *set)
{
    uint32_t count = v.type == JSON_LIST ? v.count : 0;
    if (count != set->count)
        return false; /* no client can have applied a set with duplicates */
    for (uint32_t i = 0; i < count; i++) {
        struct path_element e;
        bool self;
        if (!typed_item_element(w->arena, w->schema, t, v.items[i], &e, NULL))
            return false;
        const struct fieldset_entry *found = fieldset_entry(set, &e);
        if (!found || !found->member ||
            !is_of(w, t->item, v.items[i], found->below ? found->below : fieldset_empty(), &self))
            return false;
    }
    return true;
}

static bool is_of_map(const struct set_walk *w, const struct schema_type *t, struct json v,
    const struct fieldset *set)
{
    uint32_t at = 0;
    json_each_member (m, v) {
        const struct schema_field *declared = schema_field(w->schema, t, m->key);
        uint16_t type = declared ? declared->type : t->member;
        const struct fieldset_entry *e = at < set->count ? &set->entries[at] : NULL;
        if (e && (e->element.kind != PATH_FIELD || strcmp(e->element.value.string, m->key) != 0))
            e = NULL;
        bool self = false;
        bool nothing = m->value.type == JSON_NULL || (m->value.type == JSON_MAP && !m->value.count);
        const struct fieldset *below = e && e->below ? e->below : fieldset_empty();
        if (type == SCHEMA_NO_TYPE || !is_of(w, type, m->value, below, &self))
            return false;
        if ((self || nothing || !declared) != (e && e->member))
            return false;
        at += e != NULL;
    }
    return at == set->count;
}

static bool is_of(const struct set_walk *w, uint16_t type, struct json v,
    const struct fieldset *set, bool *ret_self)
{
    const struct schema_type *t = schema_type(w->schema, type);
    enum typed_shape shape = typed_shape(t, v);
    *ret_self = typed_is_atomic(t, shape);
    if (*ret_self)
        return !set->count;
    return shape == SHAPE_LIST ? is_of_list(w, t, v, set) : is_of_map(w, t, v, set);
}

bool typed_set_is_of(
    struct arena *a, const struct schema *s, struct json v, const struct fieldset *set)
{
    const struct set_walk w = { .arena = a, .schema = s };
    bool self;
    return is_of(&w, s->root, v, set, &self);
}

/* ---- sets and schemas ---- */

/* The type below an element; SCHEMA_NO_TYPE if the schema does not define it. */
static uint16_t type_below(
    const struct schema *s, const struct schema_type *t, const struct path_element *e)
{
    if (!t)
        return SCHEMA_NO_TYPE;
    if (e->kind == PATH_FIELD)
        return t->map ? schema_member_type(s, t, e->value.string) : SCHEMA_NO_TYPE;
    return t->list ? t->item : SCHEMA_NO_TYPE;
}

static const struct schema_type *type_or_null(const struct schema *s, uint16_t type)
{
    return type == SCHEMA_NO_TYPE ? NULL : schema_type(s, type);
}

static const struct fieldset *with_fields(
    const struct set_walk *w, const struct schema_type *t, const struct fieldset *set)
{
    struct fieldset_builder b;
    fieldset_builder_init(&b, w->arena);
    for (uint32_t i = 0; i < set->count; i++) {
        const struct fieldset_entry *e = &set->entries[i];
        const struct fieldset *below = e->below;
        bool member = e->member;
        if (below) {
            uint16_t type = e->element.kind <= PATH_KEY ? type_below(w->schema, t, &e->element)
                                                        : SCHEMA_NO_TYPE;
            below = with_fields(w, type_or_null(w->schema, type), below);
            member |= t && t->map && e->element.kind == PATH_FIELD &&
                      schema_field(w->schema, t, e->element.value.string);
        }
        fieldset_add(&b, e->element, member, below);
    }
    return fieldset_end(&b);
}

const struct fieldset *typed_set_with_fields(
    struct arena *a, const struct schema *s, const struct fieldset *set)
{
    const struct set_walk w = { .arena = a, .schema = s };
    return with_fields(&w, schema_type(s, s->root), set);
}

/* Maps without declared members have always been free-form and are not changed. */
static bool is_free_form(const struct schema *s, const struct schema_type *t)
{
    if (t->field_count || t->member == SCHEMA_NO_TYPE)
        return false;
    const struct schema_type *member = schema_type(s, t->member);
    return t->member == SCHEMA_TYPE_DEDUCED ||
           (member->scalar == SCALAR_ANY && member->format == FORMAT_INT_OR_STRING);
}

static const struct fieldset *reconciled(
    const struct set_walk *w, const struct schema_type *t, const struct fieldset *set)
{
    struct fieldset_builder b;
    fieldset_builder_init(&b, w->arena);
    for (uint32_t i = 0; i < set->count; i++) {
        const struct fieldset_entry *e = &set->entries[i];
        const struct schema_type *below_type =
            type_or_null(w->schema, type_below(w->schema, t, &e->element));
        const struct fieldset *below = e->below;
        bool member = e->member;
        if (below && below_type) {
            enum typed_shape shape = typed_shape(below_type, json_none);
            bool free_form = shape == SHAPE_MAP && is_free_form(w->schema, below_type);
            if (shape != SHAPE_SCALAR && typed_is_atomic(below_type, shape) && !free_form) {
                member = true;
                below = NULL;
            } else if (shape != SHAPE_SCALAR && !free_form) {
                below = reconciled(w, below_type, below);
            }
        }
        fieldset_add(&b, e->element, member, below);
    }
    return fieldset_end(&b);
}

const struct fieldset *typed_set_reconciled(
    struct arena *a, const struct schema *s, const struct fieldset *set)
{
    const struct set_walk w = { .arena = a, .schema = s };
    return reconciled(&w, schema_type(s, s->root), set);
}
