/* Shapes, items and their keys, validation. */

#include "merge/gojson.h"
#include "merge/typed.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

enum typed_shape typed_shape(const struct schema_type *t, struct json v)
{
    if (v.type >= JSON_BOOL && v.type <= JSON_STR && t->scalar)
        return SHAPE_SCALAR;
    if (v.type == JSON_LIST && t->list)
        return SHAPE_LIST;
    if (v.type == JSON_MAP && t->map)
        return SHAPE_MAP;
    return t->map ? SHAPE_MAP : t->scalar ? SHAPE_SCALAR : SHAPE_LIST;
}

/* ---- items ---- */

struct json typed_key_default(const struct schema *s, const struct schema_key *key)
{
    const char *text = schema_name(s, key->fallback);
    double real;
    int64_t integer;
    switch (text[0]) {
    case 's':
        return json_str(text + 1);
    case 'b':
        return json_bool(text[1] == 't');
    case 'n':
        if (str_to_int(str_of(text + 1), &integer))
            return json_int(integer);
        return str_to_real(str_of(text + 1), &real) ? json_real(real) : json_null();
    default:
        return json_none;
    }
}

static bool fail_without_keys(
    const struct schema *s, const struct schema_type *t, struct error *err)
{
    cleanup(buf_done) struct buf names = BUF_INIT(200);
    for (uint32_t i = 0; i < t->key_count; i++)
        buf_printf(
            &names, "%s\"%s\"", i ? " " : "", schema_name(s, s->table.keys[t->keys + i].name));
    return fail(err,
        ERR_INVALID,
        "associative list with keys has an element that omits all key fields [%s] (and doesn't "
        "have default values for any key fields)",
        buf_text(&names));
}

static bool key_element(struct arena *a, const struct schema *s, const struct schema_type *t,
    struct json item, struct path_element *ret, struct error *err)
{
    if (item.type != JSON_MAP)
        return fail(err,
            ERR_INVALID,
            "associative list with keys may not have %s",
            item.type == JSON_NULL ? "a null element" : "non-map elements");
    struct json_member *members = arena_array(a, t->key_count, sizeof(*members));
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->key_count; i++) {
        const struct schema_key *key = &s->table.keys[t->keys + i];
        const char *name = schema_name(s, key->name);
        struct json value = json_member(item, name);
        if (!json_present(value))
            value = typed_key_default(s, key);
        if (json_present(value))
            members[count++] = (struct json_member){ .key = name, .value = value };
    }
    if (!count)
        return fail_without_keys(s, t, err);
    *ret = (struct path_element){
        .kind = PATH_KEY,
        .value = { .type = JSON_MAP, .count = count, .members = members },
    };
    return true;
}

bool typed_item_element(struct arena *a, const struct schema *s, const struct schema_type *t,
    struct json item, struct path_element *ret, struct error *err)
{
    if (t->list == LIST_MAP)
        return key_element(a, s, t, item, ret, err);
    assert(t->list == LIST_SET);
    static const char *const refused[] = {
        [JSON_MAP] = "associative list without keys has an element that's a map type",
        [JSON_LIST] = "not supported: associative list with lists as elements",
        [JSON_NULL] = "associative list without keys has an element that's an explicit null",
    };
    if (item.type < lengthof(refused) && refused[item.type])
        return fail(err, ERR_INVALID, "%s", refused[item.type]);
    *ret = (struct path_element){ .kind = PATH_VALUE, .value = item };
    return true;
}

/* Merges two sorted halves; most lists are short or already sorted. */
static void sort_items(
    const struct path_element *elements, uint32_t *sorted, uint32_t *spare, uint32_t count)
{
    if (count < 2)
        return;
    uint32_t half = count / 2;
    sort_items(elements, sorted, spare, half);
    sort_items(elements, sorted + half, spare, count - half);
    if (path_element_compare(&elements[sorted[half - 1]], &elements[sorted[half]]) <= 0)
        return;
    memcpy(spare, sorted, half * sizeof(*spare));
    for (uint32_t l = 0, r = half, out = 0; l < half;) {
        bool left =
            r == count || path_element_compare(&elements[spare[l]], &elements[sorted[r]]) <= 0;
        sorted[out++] = left ? spare[l++] : sorted[r++];
    }
}

bool typed_items(struct arena *a, const struct schema *s, const struct schema_type *t,
    struct json list, struct typed_items *ret, struct error *err)
{
    uint32_t count = list.type == JSON_LIST ? list.count : 0;
    struct path_element *elements = arena_array(a, count, sizeof(*elements));
    uint32_t *sorted = arena_array(a, count + count / 2, sizeof(*sorted));
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = i;
        if (!typed_item_element(a, s, t, list.items[i], &elements[i], err))
            return fail_in(err, "element %u", i);
    }
    sort_items(elements, sorted, sorted + count, count);
    *ret = (struct typed_items){
        .items = count ? list.items : NULL,
        .elements = elements,
        .sorted = sorted,
        .count = count,
    };
    return true;
}

/* The first position in the order whose element is not less, or, with past, greater. */
static uint32_t bound(const struct typed_items *items, const struct path_element *e, bool past)
{
    uint32_t low = 0, high = items->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = path_element_compare(&items->elements[items->sorted[middle]], e);
        if (order < 0 || (past && order == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t typed_items_find(
    const struct typed_items *items, const struct path_element *e, uint32_t *ret_first)
{
    uint32_t low = bound(items, e, false);
    if (low == items->count || path_element_compare(&items->elements[items->sorted[low]], e) != 0)
        return 0;
    *ret_first = items->sorted[low];
    return bound(items, e, true) - low;
}

/* ---- validation ---- */

struct step {
    const struct step *above;
    struct path_element element;
};

struct validation {
    const struct schema *schema;
    struct arena arena;
    bool allow_duplicates;
    bool allow_unknown;
    struct buf text; /* one line per error */
    unsigned errors;
};

/* Readers need only the first few errors; the limit of the text drops the rest. */
#define ERRORS_MAX 20

static void print_path(struct buf *b, const struct step *at)
{
    if (!at)
        return;
    print_path(b, at->above);
    path_element_print(b, &at->element);
}

static void complain(struct validation *v, const struct step *at, const char *message)
{
    if (v->errors++ >= ERRORS_MAX)
        return;
    buf_add_text(&v->text, v->errors > 1 ? "\n  " : "");
    print_path(&v->text, at);
    buf_printf(&v->text, "%s%s", at ? ": " : "", message);
}

static void validate(struct validation *v, uint16_t type, struct json value, const struct step *at);

/* A value in an error message. The server prints it in one of three Go formats; here the message
 * only has its type. */
static const char *got(struct validation *v, enum schema_scalar wanted, struct json value)
{
    static const char *const types[] = {
        [JSON_BOOL] = "bool",
        [JSON_STR] = "string",
        [JSON_LIST] = "[]interface {}",
        [JSON_MAP] = "map[string]interface {}",
    };
    if (v->allow_unknown)
        return json_type_name(value);
    if (wanted == SCALAR_NUMBER)
        return types[value.type];
    if (wanted == SCALAR_STRING)
        return arena_printf(
            &v->arena, "&value.valueUnstructured{Value:%s}", gojson_literal(&v->arena, value));
    return arena_printf(&v->arena, "&{%s}", gojson_shown(&v->arena, value));
}

static void validate_scalar(
    struct validation *v, const struct schema_type *t, struct json value, const struct step *at)
{
    static const char *const wanted[] = {
        [SCALAR_ANY] = "any scalar",
        [SCALAR_STRING] = "string",
        [SCALAR_NUMBER] = "numeric (int or float)",
        [SCALAR_BOOL] = "boolean",
    };
    bool ok = false;
    switch ((enum schema_scalar)t->scalar) {
    case SCALAR_ANY:
        ok = value.type < JSON_LIST;
        break;
    case SCALAR_STRING:
        ok = value.type == JSON_STR;
        break;
    case SCALAR_NUMBER:
        ok = value.type == JSON_INT || value.type == JSON_REAL;
        break;
    case SCALAR_BOOL:
        ok = value.type == JSON_BOOL;
        break;
    case SCALAR_NONE:
        break;
    }
    if (!ok && value.type != JSON_NULL)
        complain(v,
            at,
            arena_printf(
                &v->arena, "expected %s, got %s", wanted[t->scalar], got(v, t->scalar, value)));
}

static void validate_list(
    struct validation *v, const struct schema_type *t, struct json value, const struct step *at)
{
    struct typed_items items;
    struct error err;
    if (value.type != JSON_LIST) {
        complain(
            v, at, arena_printf(&v->arena, "expected list, got %s", got(v, SCALAR_NONE, value)));
        return;
    }
    if (t->list != LIST_ATOMIC && !typed_items(&v->arena, v->schema, t, value, &items, &err)) {
        complain(v, at, err.text);
        return;
    }
    for (uint32_t i = 0; i < value.count; i++) {
        struct step below = {
            .above = at,
            .element = { .kind = PATH_INDEX, .value = json_int(i) },
        };
        uint32_t first = i;
        if (t->list != LIST_ATOMIC) {
            below.element = items.elements[i];
            typed_items_find(&items, &below.element, &first);
        }
        if (first != i && !v->allow_duplicates) {
            cleanup(buf_done) struct buf text = BUF_INIT(4096);
            buf_add_text(&text, "duplicate entries for key ");
            path_element_print(&text, &below.element);
            complain(v, at, buf_text(&text));
        }
        validate(v, t->item, value.items[i], &below);
    }
}

static void validate_map(
    struct validation *v, const struct schema_type *t, struct json value, const struct step *at)
{
    if (value.type != JSON_MAP) {
        complain(
            v, at, arena_printf(&v->arena, "expected map, got %s", got(v, SCALAR_NONE, value)));
        return;
    }
    json_each_member (m, value) {
        const struct step below = { .above = at, .element = path_field(m->key) };
        uint16_t type = schema_member_type(v->schema, t, m->key);
        if (type != SCHEMA_NO_TYPE)
            validate(v, type, m->value, &below);
        else if (!v->allow_unknown)
            complain(v, &below, "field not declared in schema");
    }
}

static void validate(struct validation *v, uint16_t type, struct json value, const struct step *at)
{
    const struct schema_type *t = schema_type(v->schema, type);
    enum typed_shape shape = typed_shape(t, value);
    if (shape == SHAPE_SCALAR)
        validate_scalar(v, t, value, at);
    else if (value.type == JSON_NULL)
        return; /* null is a valid list and a valid map */
    else if (shape == SHAPE_LIST)
        validate_list(v, t, value, at);
    else
        validate_map(v, t, value, at);
}

static void validation_done(struct validation **v)
{
    buf_done(&(*v)->text);
    arena_done(&(*v)->arena);
}

static bool validate_all(struct validation *validation, struct json value, struct error *err)
{
    cleanup(validation_done) struct validation *v = validation;
    arena_init(&v->arena, ARENA_LIMIT_DEFAULT);
    buf_init(&v->text, 4096);
    validate(v, v->schema->root, value, NULL);
    bool ok = v->errors == 0;
    if (!ok)
        fail(err, ERR_INVALID, "%s%s", v->errors > 1 ? "errors:\n  " : "", buf_text(&v->text));
    return ok;
}

bool typed_validate(
    const struct schema *s, struct json value, bool allow_duplicates, struct error *err)
{
    struct validation v = { .schema = s, .allow_duplicates = allow_duplicates };
    return validate_all(&v, value, err);
}

bool typed_fits(const struct schema *s, struct json value, struct error *err)
{
    struct validation v = { .schema = s, .allow_duplicates = true, .allow_unknown = true };
    return validate_all(&v, value, err);
}
