/* Validates a value against a schema as kube-openapi does. It continues after most errors. If none
 * of several schemas matches, the errors come from the one with the most passed checks, so passed
 * checks are counted in the same way. */

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apiserver/custom/structural_node.h"
#include "apiserver/rules/patterns.h"
#include "base/buf.h"
#include "base/json_index.h"
#include "base/utf8.h"

/* Responses show fewer errors: further ones are only counted. */
#define COMPARED_MAX 200

struct violation {
    enum field_error_type type;
    const char *path; /* NULL: for the whole object, even if a part is invalid */
    struct json value;
    const char *text; /* kube-openapi's message; each is reported once */
    const char *detail;
};

struct outcome {
    struct violation *items;
    size_t count, size;
    int64_t matches;
};

struct checker {
    struct arena *arena;
};

static const struct json absent;

static void check_value(struct checker *c, const struct structural *s, struct json v,
    struct json old, const struct structural_place *at, struct outcome *out);

static void add_violation(struct checker *c, struct outcome *out, struct violation v)
{
    for (size_t i = 0; i < out->count && i < COMPARED_MAX; i++)
        if (strcmp(out->items[i].text, v.text) == 0)
            return;
    arena_room(c->arena, out->items, out->count, out->size);
    out->items[out->count++] = v;
}

static void merge(struct checker *c, struct outcome *into, const struct outcome *from)
{
    for (size_t i = 0; i < from->count; i++)
        add_violation(c, into, from->items[i]);
    into->matches += from->matches;
}

static const char *path_of(struct checker *c, const struct structural_place *at)
{
    return structural_path(c->arena, at, false);
}

/* Reports `PATH in body WHAT` for a value. */
static void complain(struct checker *c, struct outcome *out, enum field_error_type type,
    const struct structural_place *at, struct json value, const char *what)
{
    const char *path = path_of(c, at);
    const char *text = arena_printf(c->arena, "%s in body %s", path, what);
    add_violation(c, out, (struct violation){ type, path, value, text, text });
}

/* A float64 as in Go's %v: the fewest digits that identify it. */
static const char *number_text(struct arena *a, double number)
{
    char digits[40];
    int precision = 0;
    do
        snprintf(digits, sizeof(digits), "%.*e", precision, number);
    while (strtod(digits, NULL) != number && ++precision < 17);
    char *mark = strchr(digits, 'e');
    int exponent = mark ? (int)strtol(mark + 1, NULL, 10) : 0;
    if (exponent < -4 || exponent >= 6)
        return arena_strdup(a, digits);
    int decimals = precision - exponent;
    return arena_printf(a, "%.*f", decimals > 0 ? decimals : 0, number);
}

/* ---- types ---- */

static uint8_t type_of(struct json v)
{
    static const uint8_t types[] = {
        [JSON_BOOL] = TYPE_BOOLEAN,
        [JSON_INT] = TYPE_INTEGER,
        [JSON_REAL] = TYPE_NUMBER,
        [JSON_STR] = TYPE_STRING,
        [JSON_LIST] = TYPE_ARRAY,
        [JSON_MAP] = TYPE_OBJECT,
    };
    return types[v.type];
}

static void complain_type(struct checker *c, struct outcome *out, const struct structural_place *at,
    const char *wanted, const char *got)
{
    const char *what = arena_printf(
        c->arena, "must be of type %s: %s", wanted, json_to_text(c->arena, json_str(got)));
    complain(c, out, FIELD_TYPE_INVALID, at, json_str(got), what);
}

static bool type_fits(uint8_t wanted, struct json v)
{
    uint8_t type = type_of(v);
    bool whole = type == TYPE_NUMBER && trunc(v.real) == v.real && fabs(v.real) < 0x1p53;
    switch (wanted) {
    case TYPE_INTEGER:
        return type == TYPE_INTEGER || whole;
    case TYPE_NUMBER:
        return type == TYPE_INTEGER || type == TYPE_NUMBER;
    case TYPE_INT_OR_STRING:
        return type == TYPE_INTEGER || type == TYPE_STRING || whole;
    default:
        return type == wanted;
    }
}

static const struct structural_rule *rule_of(
    const struct structural *s, enum structural_rule_type type)
{
    for (uint8_t i = 0; i < s->rule_count; i++)
        if (s->rules[i].type == type)
            return &s->rules[i];
    return NULL;
}

static void check_type(struct checker *c, const struct structural *s, struct json v,
    const struct structural_place *at, struct outcome *out)
{
    const struct structural_rule *format = rule_of(s, RULE_FORMAT);
    if (!s->type && !format)
        return;
    out->matches++;
    bool fits = type_fits(s->type, v);
    bool text_or_list = json_is(v, JSON_STR) || json_is(v, JSON_LIST);
    bool numeric =
        s->type == TYPE_INTEGER || s->type == TYPE_NUMBER || s->type == TYPE_INT_OR_STRING;
    if (format && !text_or_list && !fits) {
        const char *got = json_is(v, JSON_INT) ? "int64" : json_is(v, JSON_REAL) ? "float64" : "";
        complain_type(c, out, at, format->text, got);
    } else if (!fits && !(format && text_or_list && !numeric)) {
        complain_type(
            c, out, at, structural_type_names[s->type], structural_type_names[type_of(v)]);
    } else {
        out->matches++;
    }
}

/* ---- combined schemas; old values are ignored in them ---- */

/* The API server reports these as errors of the whole object. */
static void complain_schemas(
    struct checker *c, struct outcome *out, const struct structural_place *at, const char *what)
{
    const char *text =
        arena_printf(c->arena, "%s %s", json_to_text(c->arena, json_str(path_of(c, at))), what);
    add_violation(c, out, (struct violation){ FIELD_INVALID, NULL, json_str(""), text, text });
}

static void check_plain(struct checker *c, const struct structural *s, struct json v,
    struct json old, const struct structural_place *at, struct outcome *out);

struct input {
    struct json value, old;
    const struct structural_place *at;
};

static void check_any_of(
    struct checker *c, const struct structural_rule *r, const struct input *in, struct outcome *out)
{
    struct outcome best = { 0 };
    for (uint32_t i = 0; i < r->count; i++) {
        struct outcome one = { 0 };
        check_plain(c, r->nodes[i], in->value, absent, in->at, &one);
        if (!one.count) {
            merge(c, out, &one);
            return;
        }
        if (i == 0 || one.matches > best.matches)
            best = one;
    }
    complain_schemas(c, out, in->at, "must validate at least one schema (anyOf)");
    merge(c, out, &best);
}

static void check_one_of(
    struct checker *c, const struct structural_rule *r, const struct input *in, struct outcome *out)
{
    struct outcome best = { 0 }, first = { 0 };
    uint32_t valid = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        struct outcome one = { 0 };
        check_plain(c, r->nodes[i], in->value, absent, in->at, &one);
        if (!one.count && valid++ == 0)
            first = one;
        if (one.count && (i == 0 || one.matches > best.matches))
            best = one;
    }
    if (valid == 1) {
        merge(c, out, &first);
        return;
    }
    const char *found =
        valid ? arena_printf(c->arena, "Found %u valid alternatives", valid) : "Found none valid";
    complain_schemas(c,
        out,
        in->at,
        arena_printf(c->arena, "must validate one and only one schema (oneOf). %s", found));
    if (!valid)
        merge(c, out, &best);
}

static void check_all_of(
    struct checker *c, const struct structural_rule *r, const struct input *in, struct outcome *out)
{
    uint32_t valid = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        struct outcome one = { 0 };
        check_plain(c, r->nodes[i], in->value, absent, in->at, &one);
        valid += !one.count;
        merge(c, out, &one);
    }
    if (valid < r->count)
        complain_schemas(c,
            out,
            in->at,
            valid ? "must validate all the schemas (allOf)"
                  : "must validate all the schemas (allOf). None validated");
}

static void check_not(
    struct checker *c, const struct structural_rule *r, const struct input *in, struct outcome *out)
{
    struct outcome one = { 0 };
    check_plain(c, r->nodes[0], in->value, absent, in->at, &one);
    if (!one.count)
        complain_schemas(c, out, in->at, "must not validate the schema (not)");
}

/* ---- rules for single values ---- */

static size_t character_count(struct json v)
{
    size_t count = 0;
    for (uint32_t i = 0; i < v.count; i++)
        count += ((unsigned char)v.string[i] & 0xc0) != 0x80;
    return count;
}

/* Only the first violation of length and pattern is reported. */
static bool check_text(
    struct checker *c, const struct structural_rule *r, const struct input *in, struct outcome *out)
{
    const char *what = NULL;
    switch (r->type) {
    case RULE_MAX_LENGTH:
        if ((int64_t)character_count(in->value) > r->limit) {
            const char *path = path_of(c, in->at);
            add_violation(c,
                out,
                (struct violation){ FIELD_TOO_LONG,
                    path,
                    in->value,
                    arena_printf(c->arena, "%s too long", path),
                    arena_printf(c->arena,
                        "may not be more than %lld byte%s",
                        (long long)r->limit,
                        r->limit == 1 ? "" : "s") });
            return false;
        }
        return true;
    case RULE_MIN_LENGTH:
        if ((int64_t)character_count(in->value) < r->limit)
            what =
                arena_printf(c->arena, "should be at least %lld chars long", (long long)r->limit);
        break;
    default:
        if (!pattern_found(r->pattern, (struct str){ in->value.string, in->value.count }))
            what = arena_printf(c->arena, "should match '%s'", r->pattern->text);
        break;
    }
    if (what)
        complain(c, out, FIELD_INVALID, in->at, in->value, what);
    return !what;
}

/* Whether a number is possible for the schema's type and format. */
static bool number_fits(const struct structural *s, double number)
{
    const struct structural_rule *format = rule_of(s, RULE_FORMAT);
    if (s->type == TYPE_NUMBER)
        return !format || format->format != FORMAT_FLOAT || fabs(number) <= FLT_MAX;
    if (s->type != TYPE_INTEGER)
        return true;
    if (trunc(number) != number)
        return false;
    bool small = format && format->format == FORMAT_INT32;
    return small ? number >= INT32_MIN && number <= INT32_MAX : fabs(number) <= 0x1p63;
}

/* An error of the whole object, because the API server has no path for it. */
static bool check_range(struct checker *c, const struct structural *s, double number,
    const char *what, const struct input *in, struct outcome *out)
{
    if (number_fits(s, number))
        return true;
    const struct structural_rule *format = rule_of(s, RULE_FORMAT);
    const char *text = arena_printf(c->arena,
        "%s value must be of type %s %s%s in %s",
        what,
        structural_type_names[s->type],
        format ? "with format " : "(default format)",
        format ? format->text : "",
        path_of(c, in->at));
    add_violation(c, out, (struct violation){ FIELD_INVALID, NULL, json_str(""), text, text });
    return false;
}

static void check_multiple(struct checker *c, const struct structural_rule *r, bool whole,
    const struct input *in, struct outcome *out)
{
    double number = json_is(in->value, JSON_INT) ? (double)in->value.integer : in->value.real;
    double factor = whole ? trunc(r->number) : r->number;
    if (factor <= 0) {
        const char *path = path_of(c, in->at);
        const char *text = arena_printf(c->arena,
            "factor MultipleOf declared for %s must be positive: %s",
            path,
            number_text(c->arena, factor));
        struct json value = whole ? json_int((int64_t)factor) : json_real(factor);
        add_violation(c, out, (struct violation){ FIELD_INVALID, path, value, text, text });
        return;
    }
    double times = factor < 1 ? 1 / factor * number : number / factor;
    bool multiple = whole ? in->value.integer % (int64_t)factor == 0
                          : fabs(times - round(times)) <= 1e-9 * fmax(1, fabs(times));
    if (!multiple)
        complain(c,
            out,
            FIELD_INVALID,
            in->at,
            in->value,
            arena_printf(c->arena, "should be a multiple of %s", number_text(c->arena, factor)));
}

static void check_limit(struct checker *c, const struct structural_rule *r, bool whole,
    const struct input *in, struct outcome *out)
{
    double number = json_is(in->value, JSON_INT) ? (double)in->value.integer : in->value.real;
    double limit = whole ? trunc(r->number) : r->number;
    const char *words = NULL;
    if (r->type == RULE_MINIMUM && (r->exclusive ? number <= limit : number < limit))
        words = r->exclusive ? "greater than" : "greater than or equal to";
    if (r->type == RULE_MAXIMUM && (r->exclusive ? number >= limit : number > limit))
        words = r->exclusive ? "less than" : "less than or equal to";
    if (!words)
        return;
    const char *limit_text =
        whole ? arena_printf(c->arena, "%lld", (long long)limit) : number_text(c->arena, limit);
    complain(c,
        out,
        FIELD_INVALID,
        in->at,
        in->value,
        arena_printf(c->arena, "should be %s %s", words, limit_text));
}

/* Integers are compared as integers, unless the limit does not fit the schema's type. */
static void check_number(
    struct checker *c, const struct structural *s, const struct input *in, struct outcome *out)
{
    static const char *const measures[] = {
        [RULE_MULTIPLE_OF] = "MultipleOf",
        [RULE_MINIMUM] = "Minimum boundary",
        [RULE_MAXIMUM] = "Maximum boundary",
    };
    bool whole = json_is(in->value, JSON_INT);
    double number = whole ? (double)in->value.integer : in->value.real;
    check_range(c, s, number, "Checked", in, out);
    for (uint8_t i = 0; i < s->rule_count; i++) {
        const struct structural_rule *r = &s->rules[i];
        if (r->type < RULE_MULTIPLE_OF || r->type > RULE_MAXIMUM)
            continue;
        bool fits = check_range(c, s, r->number, measures[r->type], in, out);
        if (r->type == RULE_MULTIPLE_OF)
            check_multiple(c, r, whole && fits, in, out);
        else
            check_limit(c, r, whole && fits, in, out);
    }
}

static void complain_too_many(
    struct checker *c, struct outcome *out, const struct input *in, int64_t limit)
{
    const char *path = path_of(c, in->at);
    add_violation(c,
        out,
        (struct violation){ FIELD_TOO_MANY,
            path,
            json_int(in->value.count),
            arena_printf(c->arena, "%s too many", path),
            arena_printf(c->arena,
                "must have at most %lld item%s",
                (long long)limit,
                limit == 1 ? "" : "s") });
}

static bool has_twice(struct arena *a, struct json list)
{
    struct json_index x = json_index_of(a, list, NULL);
    for (uint32_t i = 1; i < list.count; i++)
        if (json_index_again(&x, i))
            return true;
    return false;
}

static void check_items(
    struct checker *c, const struct structural_rule *r, const struct input *in, struct outcome *out)
{
    int64_t count = in->value.count;
    if (r->type == RULE_MIN_ITEMS && count < r->limit)
        complain(c,
            out,
            FIELD_INVALID,
            in->at,
            json_int(count),
            arena_printf(c->arena, "should have at least %lld items", (long long)r->limit));
    if (r->type == RULE_MAX_ITEMS && count > r->limit)
        complain_too_many(c, out, in, r->limit);
    if (r->type == RULE_UNIQUE_ITEMS && has_twice(c->arena, in->value))
        complain(c, out, FIELD_INVALID, in->at, json_str(""), "shouldn't contain duplicates");
}

/* Compares values after Go's conversion: 2.5 is 2 if integers are allowed. */
static bool is_allowed(struct json allowed, struct json v)
{
    if (json_is(allowed, JSON_INT) && json_is(v, JSON_REAL))
        return fabs(v.real) < 0x1p63 && (int64_t)v.real == allowed.integer;
    return json_equal(allowed, v) && !json_is(v, JSON_NULL);
}

static void check_enum(
    struct checker *c, const struct structural_rule *r, const struct input *in, struct outcome *out)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)1 << 20);
    json_each (allowed, *r->values) {
        if (is_allowed(*allowed, in->value))
            return;
        const char *text = json_text(*allowed);
        buf_printf(&b,
            "%s%s",
            b.len ? ", " : "supported values: ",
            json_to_text(c->arena, json_str(text ? text : json_to_text(c->arena, *allowed))));
    }
    const char *path = path_of(c, in->at);
    add_violation(c,
        out,
        (struct violation){ FIELD_NOT_SUPPORTED,
            path,
            in->value,
            arena_printf(c->arena, "%s enum", path),
            arena_strdup(c->arena, buf_text(&b)) });
}

static void check_counts(
    struct checker *c, const struct structural_rule *r, const struct input *in, struct outcome *out)
{
    int64_t count = in->value.count;
    if (r->type == RULE_MIN_PROPERTIES && count < r->limit)
        complain(c,
            out,
            FIELD_INVALID,
            in->at,
            json_int(count),
            arena_printf(c->arena, "should have at least %lld properties", (long long)r->limit));
    if (r->type == RULE_MAX_PROPERTIES && count > r->limit)
        complain_too_many(c, out, in, r->limit);
}

static void check_required(
    struct checker *c, const struct structural_rule *r, const struct input *in, struct outcome *out)
{
    for (uint32_t i = 0; i < r->count; i++) {
        if (json_present(json_member(in->value, r->names[i])))
            continue;
        struct structural_place place = { .up = in->at, .key = r->names[i] };
        const char *path = path_of(c, &place);
        add_violation(c,
            out,
            (struct violation){ .type = FIELD_REQUIRED,
                .path = path,
                .text = arena_printf(c->arena, "%s is required", path),
                .detail = "" });
    }
}

/* ---- values and their members ---- */

/* The items of an old list by key; only for list-maps. */
struct old_items {
    const struct structural *schema;
    struct json list;
    struct json_index keys;
};

static struct json keys_of(struct arena *a, const struct structural *s, struct json item)
{
    if (!json_is(item, JSON_MAP))
        return json_null();
    struct json *values = arena_array(a, s->key_count, sizeof(*values));
    for (uint8_t k = 0; k < s->key_count; k++)
        values[k] = json_member(item, s->keys[k]);
    return (struct json){ .type = JSON_LIST, .count = s->key_count, .items = values };
}

static struct old_items old_items_of(struct arena *a, const struct structural *s, struct json old)
{
    struct old_items x = { .schema = s };
    if (s->list != STRUCTURAL_LIST_MAP || !json_is(old, JSON_LIST))
        return x;
    x.list = old;
    struct json *keys = arena_array(a, old.count, sizeof(*keys));
    for (uint32_t i = 0; i < old.count; i++)
        keys[i] = keys_of(a, s, old.items[i]);
    x.keys = json_index_of(
        a, (struct json){ .type = JSON_LIST, .count = old.count, .items = keys }, NULL);
    return x;
}

/* The old version of a new list item. */
static struct json old_item(struct arena *a, const struct old_items *x, struct json item)
{
    if (!x->list.count || !json_is(item, JSON_MAP))
        return absent;
    int64_t at = json_index_find(&x->keys, keys_of(a, x->schema, item));
    return at < 0 ? absent : x->list.items[at];
}

/* Whether the value is unchanged; the order of a list-map is ignored. The API server cannot compare
 * values that are not in the schema, such as some metadata of an embedded resource. */
static bool is_unchanged(
    struct arena *a, const struct structural *s, struct json old, struct json v)
{
    if (old.type != v.type || old.count != v.count)
        return json_equal(old, v);
    if (json_is(v, JSON_LIST)) {
        if (s->list != STRUCTURAL_LIST_MAP)
            return json_equal(old, v);
        struct old_items olds = old_items_of(a, s, old);
        json_each (item, v) {
            struct json before = old_item(a, &olds, *item);
            if (!json_present(before) || !is_unchanged(a, s->items, before, *item))
                return false;
        }
        return true;
    }
    if (!json_is(v, JSON_MAP))
        return json_equal(old, v);
    json_each_member (m, v) {
        const struct structural *field = structural_field(s, m->key);
        const struct structural *child = field ? field : s->additional;
        struct json before = json_member(old, m->key);
        if (!child || !json_present(before) || !is_unchanged(a, child, before, m->value))
            return false;
    }
    return true;
}

static void check_members(
    struct checker *c, const struct structural *s, const struct input *in, struct outcome *out)
{
    json_each_member (m, in->value) {
        const struct structural *field = structural_field(s, m->key);
        const struct structural *child = field ? field : s->additional;
        if (!child)
            continue;
        struct structural_place place = { .up = in->at, .key = m->key, .quoted = !field };
        check_value(c, child, m->value, json_member(in->old, m->key), &place, out);
    }
}

static void check_list(
    struct checker *c, const struct structural *s, const struct input *in, struct outcome *out)
{
    struct old_items olds = old_items_of(c->arena, s, in->old);
    for (uint32_t i = 0; s->items && i < in->value.count; i++) {
        struct structural_place place = { .up = in->at, .index = i };
        struct json item = in->value.items[i];
        check_value(c, s->items, item, old_item(c->arena, &olds, item), &place, out);
    }
}

static void check_rule(
    struct checker *c, const struct structural_rule *r, const struct input *in, struct outcome *out)
{
    switch ((enum structural_rule_type)r->type) {
    case RULE_ANY_OF:
        check_any_of(c, r, in, out);
        break;
    case RULE_ONE_OF:
        check_one_of(c, r, in, out);
        break;
    case RULE_ALL_OF:
        check_all_of(c, r, in, out);
        break;
    case RULE_NOT:
        check_not(c, r, in, out);
        break;
    case RULE_FORMAT:
        if (!json_is(in->value, JSON_STR) || r->format >= FORMAT_NUMBERS)
            break;
        out->matches++;
        if (!format_matches(r->format, (struct str){ in->value.string, in->value.count }))
            complain_type(c, out, in->at, r->text, in->value.string);
        break;
    case RULE_ENUM:
        check_enum(c, r, in, out);
        break;
    default:
        break;
    }
}

static void check_text_rules(
    struct checker *c, const struct structural *s, const struct input *in, struct outcome *out)
{
    for (uint8_t i = 0; i < s->rule_count; i++)
        if (s->rules[i].type >= RULE_MAX_LENGTH && s->rules[i].type <= RULE_PATTERN &&
            !check_text(c, &s->rules[i], in, out))
            return;
}

static void check_object(
    struct checker *c, const struct structural *s, const struct input *in, struct outcome *out)
{
    for (uint8_t i = 0; i < s->rule_count; i++)
        check_counts(c, &s->rules[i], in, out);
    check_members(c, s, in, out);
    const struct structural_rule *required = rule_of(s, RULE_REQUIRED);
    if (required)
        check_required(c, required, in, out);
}

/* Validates against one schema, without the old value. */
static void check_plain(struct checker *c, const struct structural *s, struct json v,
    struct json old, const struct structural_place *at, struct outcome *out)
{
    struct input in = { v, old, at };
    if (json_is(v, JSON_NULL)) {
        const struct structural_rule *allowed = rule_of(s, RULE_ENUM);
        if (s->type && !s->nullable)
            complain_type(c, out, at, structural_type_names[s->type], "null");
        else
            out->matches++;
        if (allowed)
            check_enum(c, allowed, &in, out);
        return;
    }
    check_type(c, s, v, at, out);
    bool number = json_is(v, JSON_INT) || json_is(v, JSON_REAL);
    if (json_is(v, JSON_STR))
        check_text_rules(c, s, &in, out);
    for (uint8_t i = 0; i < s->rule_count; i++)
        check_rule(c, &s->rules[i], &in, out);
    if (number)
        check_number(c, s, &in, out);
    if (json_is(v, JSON_LIST)) {
        check_list(c, s, &in, out);
        for (uint8_t i = 0; i < s->rule_count; i++)
            check_items(c, &s->rules[i], &in, out);
    }
    if (json_is(v, JSON_MAP))
        check_object(c, s, &in, out);
    /* Combined schemas (2), enum, and the schema itself; texts and maps 1, numbers and lists 2. */
    out->matches +=
        4 + (json_is(v, JSON_STR) || json_is(v, JSON_MAP)) + 2 * (number || json_is(v, JSON_LIST));
}

static void check_value(struct checker *c, const struct structural *s, struct json v,
    struct json old, const struct structural_place *at, struct outcome *out)
{
    size_t before = out->count;
    check_plain(c, s, v, old, at, out);
    if (out->count > before && json_present(old) && is_unchanged(c->arena, s, old, v))
        out->count = before;
}

void structural_check_schema(const struct structural *s, struct arena *a, struct json value,
    struct json old, const char *path, struct field_errors *errors)
{
    struct checker c = { .arena = a };
    struct outcome out = { 0 };
    check_value(&c, s, value, old, NULL, &out);
    for (size_t i = 0; i < out.count; i++) {
        const struct violation *v = &out.items[i];
        const char *below = v->path ? v->path + (*v->path == '.') : "";
        const char *where = *below && *path ? field_child(a, path, below) : *below ? below : path;
        struct json shown = v->value;
        const char *detail = v->detail;
        if (json_is(shown, JSON_REAL)) { /* printed as in Go */
            detail = arena_printf(a, "%s: %s", number_text(a, shown.real), detail);
            shown = absent;
        } else if (v->type == FIELD_NOT_SUPPORTED && json_is(shown, JSON_STR)) {
            /* A text here; built-in kinds have types that print as JSON. */
            detail = arena_printf(a, "%s: %s", json_to_text(a, json_str(shown.string)), detail);
            shown = absent;
        }
        field_error_add(errors, v->type, *where ? where : "<nil>", shown, detail);
    }
}
