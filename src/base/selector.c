#include "base/selector.h"

#include <string.h>

#include "base/buf.h"
#include "base/names.h"

#define TEXT_BYTES_MAX 65536

/* A list of requirements under construction. */
struct list {
    struct arena *arena;
    struct error *err;
    struct selector_requirement *items;
    size_t count;
};

static void list_init(struct list *l, struct arena *a, struct error *err)
{
    *l = (struct list){ .arena = a, .err = err };
    l->items = arena_array(a, SELECTOR_REQUIREMENTS_MAX, sizeof(*l->items));
}

static struct selector list_end(const struct list *l)
{
    return (struct selector){ .count = l->count, .requirements = l->items };
}

static int compare_values(const void *a, const void *b)
{
    return json_compare(*(const struct json *)a, *(const struct json *)b);
}

static struct json sorted(struct arena *a, struct json values)
{
    struct json *items = arena_array(a, values.count, sizeof(*items));
    if (values.count == 0)
        return json_empty_list();
    memcpy(items, values.items, values.count * sizeof(*items));
    qsort(items, values.count, sizeof(*items), compare_values);
    return (struct json){ .type = JSON_LIST, .count = values.count, .items = items };
}

static bool is_number(const char *text, int64_t *ret)
{
    struct str s = str_of(text);
    if (str_starts(s, STR("+")) && s.len > 1 && s.ptr[1] != '-')
        s = (struct str){ s.ptr + 1, s.len - 1 };
    return str_to_int(s, ret);
}

static bool check_values(struct list *l, enum selector_operator op, struct json values)
{
    int64_t number;
    struct error why = { 0 };
    bool ordered = op == SELECTOR_GREATER || op == SELECTOR_LESS;
    if (ordered && !is_number(json_text(json_item(values, 0)), &number))
        return fail(l->err, ERR_INVALID, "> and < take a whole number");
    json_each (v, values) {
        if (!json_is(*v, JSON_STR))
            return fail(
                l->err, ERR_INVALID, "expected string as value, got %s", json_type_name(*v));
        if (!name_check(NAME_LABEL_VALUE, v->string, &why))
            return fail(l->err, ERR_INVALID, "value \"%.70s\": %s", v->string, why.text);
    }
    return true;
}

/* Adds a requirement on a label, checked as in the API server. */
static bool add(struct list *l, const char *key, enum selector_operator op, struct json values)
{
    struct error why = { 0 };
    if (l->count == SELECTOR_REQUIREMENTS_MAX)
        return fail(l->err, ERR_TOO_LARGE, "more than %d requirements", SELECTOR_REQUIREMENTS_MAX);
    if (values.count > SELECTOR_VALUES_MAX)
        return fail(l->err, ERR_TOO_LARGE, "more than %d values", SELECTOR_VALUES_MAX);
    if (!name_check(NAME_LABEL_KEY, key, &why))
        return fail(l->err, ERR_INVALID, "key \"%.70s\": %s", key, why.text);
    if (!check_values(l, op, values))
        return false;
    l->items[l->count++] = (struct selector_requirement){ key, op, sorted(l->arena, values) };
    return true;
}

/* ---- label selectors as text ---- */

struct lexer {
    const char *start, *at;
    struct str token; /* empty at the end */
    bool word;        /* not a symbol */
};

static bool is_symbol(char c)
{
    return c && strchr("=!(),><", c);
}

static bool is_blank(char c)
{
    return c && strchr(" \t\r\n", c);
}

static void advance(struct lexer *x)
{
    while (is_blank(*x->at))
        x->at++;
    const char *from = x->at;
    x->word = *from && !is_symbol(*from);
    if (x->word)
        while (*x->at && !is_symbol(*x->at) && !is_blank(*x->at))
            x->at++;
    else if (*from)
        x->at += (*from == '=' || *from == '!') && from[1] == '=' ? 2 : 1;
    x->token = (struct str){ from, (size_t)(x->at - from) };
}

static bool at_symbol(const struct lexer *x, const char *symbol)
{
    return !x->word && str_eq(x->token, str_of(symbol));
}

static bool fail_expected(struct list *l, const struct lexer *x, const char *expected)
{
    return fail(l->err,
        ERR_INVALID,
        "column %d: expected %s, found %s%.*s",
        (int)(x->token.ptr - x->start) + 1,
        expected,
        x->token.len ? "" : "the end",
        (int)(x->token.len < 70 ? x->token.len : 70),
        x->token.ptr);
}

/* (a, b): values may be empty, and () is one empty value. The current token is (. */
static bool read_set(struct list *l, struct lexer *x, struct json *ret)
{
    struct json_builder b;
    json_builder_init(&b, l->arena);
    do {
        advance(x);
        bool word = x->word;
        json_push(&b, word ? json_strn(l->arena, x->token.ptr, x->token.len) : json_str(""));
        if (b.count > SELECTOR_VALUES_MAX)
            return fail(l->err, ERR_TOO_LARGE, "more than %d values", SELECTOR_VALUES_MAX);
        if (word)
            advance(x);
    } while (at_symbol(x, ","));
    if (!at_symbol(x, ")"))
        return fail_expected(l, x, ", or )");
    advance(x);
    *ret = json_list_end(&b);
    return true;
}

/* The single value after = or another operator; may be empty. */
static struct json read_value(struct list *l, struct lexer *x)
{
    struct json value = json_str("");
    if (x->word) {
        value = json_strn(l->arena, x->token.ptr, x->token.len);
        advance(x);
    }
    return json_list(l->arena, value);
}

static const struct {
    const char *text;
    bool word, set;
    enum selector_operator op;
} operators[] = {
    { "=", false, false, SELECTOR_IN },
    { "==", false, false, SELECTOR_IN },
    { "!=", false, false, SELECTOR_NOT_IN },
    { ">", false, false, SELECTOR_GREATER },
    { "<", false, false, SELECTOR_LESS },
    { "in", true, true, SELECTOR_IN },
    { "notin", true, true, SELECTOR_NOT_IN },
};

static bool read_comparison(struct list *l, struct lexer *x, const char *key)
{
    for (size_t i = 0; i < lengthof(operators); i++) {
        if (x->word != operators[i].word || !str_eq(x->token, str_of(operators[i].text)))
            continue;
        advance(x);
        struct json values;
        if (!operators[i].set)
            values = read_value(l, x);
        else if (!at_symbol(x, "("))
            return fail_expected(l, x, "(");
        else if (!read_set(l, x, &values))
            return false;
        return add(l, key, operators[i].op, values);
    }
    return fail_expected(l, x, "one of = == != in notin > < , or the end");
}

static bool read_requirement(struct list *l, struct lexer *x)
{
    bool negated = at_symbol(x, "!");
    if (negated)
        advance(x);
    if (!x->word)
        return fail_expected(l, x, "a label key");
    const char *key = str_dup(l->arena, x->token), *column = x->token.ptr;
    advance(x);
    bool ends = x->token.len == 0 || at_symbol(x, ",");
    bool ok = negated || ends
                  ? add(l, key, negated ? SELECTOR_NOT_EXISTS : SELECTOR_EXISTS, json_empty_list())
                  : read_comparison(l, x, key);
    if (!ok && l->err && !text_starts(l->err->text, "column "))
        return fail_in(l->err, "column %d", (int)(column - x->start) + 1);
    return ok;
}

static bool check_size(const char *text, struct error *err)
{
    return strlen(text) <= TEXT_BYTES_MAX ||
           fail(err, ERR_TOO_LARGE, "a selector of more than %d bytes", TEXT_BYTES_MAX);
}

bool selector_parse(struct arena *a, const char *text, struct selector *ret, struct error *err)
{
    struct list l;
    struct error unused;
    list_init(&l, a, err ? err : &unused);
    text = text ? text : "";
    struct lexer x = { .start = text, .at = text };
    if (!check_size(text, err))
        return false;
    advance(&x);
    while (x.token.len) {
        if (!read_requirement(&l, &x))
            return false;
        if (x.token.len == 0)
            break;
        if (!at_symbol(&x, ","))
            return fail_expected(&l, &x, ", or the end");
        advance(&x);
        if (!x.word && !at_symbol(&x, "!"))
            return fail_expected(&l, &x, "a label key");
    }
    *ret = list_end(&l);
    return true;
}

/* ---- label selectors as JSON ---- */

static bool add_expression(struct list *l, struct json e)
{
    static const struct {
        const char *name;
        enum selector_operator op;
        bool values;
    } names[] = {
        { "In", SELECTOR_IN, true },
        { "NotIn", SELECTOR_NOT_IN, true },
        { "Exists", SELECTOR_EXISTS, false },
        { "DoesNotExist", SELECTOR_NOT_EXISTS, false },
    };
    const char *key = json_get_text(e, "key"), *word = json_get_text(e, "operator");
    struct json values = json_member(e, "values");
    for (size_t i = 0; i < lengthof(names); i++) {
        if (!text_eq(word, names[i].name))
            continue;
        bool some = json_is(values, JSON_LIST) && values.count > 0;
        if (some != names[i].values)
            return fail(l->err,
                ERR_INVALID,
                "values: %s be given when operator is %s",
                some ? "may not" : "must",
                word);
        return add(l, key ? key : "", names[i].op, some ? values : json_empty_list());
    }
    return fail(l->err, ERR_INVALID, "operator: expected In, NotIn, Exists or DoesNotExist");
}

bool selector_from_json(
    struct arena *a, struct json v, const char *at, struct selector *ret, struct error *err)
{
    struct list l;
    list_init(&l, a, err);
    if (!json_present(v) || json_is(v, JSON_NULL)) {
        *ret = (struct selector){ .nothing = true };
        return true;
    }
    if (!json_is(v, JSON_MAP))
        return fail(err, ERR_INVALID, "%s: expected object, got %s", at, json_type_name(v));
    json_each_member (m, json_member(v, "matchLabels"))
        if (!add(&l, m->key, SELECTOR_IN, json_list(a, m->value)))
            return fail_in(err, "%s.matchLabels", at);
    int index = 0;
    json_each (e, json_member(v, "matchExpressions")) {
        if (!add_expression(&l, *e))
            return fail_in(err, "%s.matchExpressions[%d]", at, index);
        index++;
    }
    *ret = list_end(&l);
    return true;
}

/* ---- field selectors ---- */

/* Reads up to an unescaped separator; removes the backslashes before , = and \. */
static bool read_field_value(struct list *l, const char **at, const char **ret)
{
    cleanup(buf_done) struct buf b = BUF_INIT(TEXT_BYTES_MAX + 1);
    for (; **at && **at != ','; ++*at) {
        if (**at == '=')
            return fail(l->err, ERR_INVALID, "a = in a value is written \\=");
        if (**at == '\\') {
            ++*at;
            if (!**at || !strchr("\\,=", **at))
                return fail(l->err, ERR_INVALID, "a \\ must come before \\ , or =");
        }
        buf_add_char(&b, **at);
    }
    *ret = str_dup(l->arena, buf_str(&b));
    return true;
}

static bool read_field(struct list *l, const char **at)
{
    const char *from = *at, *end = from + strcspn(from, "=!,");
    bool negated = *end == '!' && end[1] == '=';
    if (end == from || (!negated && *end != '='))
        return fail(l->err, ERR_INVALID, "expected a field, then = == or != and a value");
    const char *key = arena_strndup(l->arena, from, (size_t)(end - from)), *value = NULL;
    *at = end + (negated || end[1] == '=' ? 2 : 1);
    if (!read_field_value(l, at, &value))
        return false;
    if (l->count == SELECTOR_REQUIREMENTS_MAX)
        return fail(l->err, ERR_TOO_LARGE, "more than %d requirements", SELECTOR_REQUIREMENTS_MAX);
    l->items[l->count++] = (struct selector_requirement){
        key, negated ? SELECTOR_NOT_IN : SELECTOR_IN, json_list(l->arena, json_str(value))
    };
    return true;
}

bool selector_parse_fields(
    struct arena *a, const char *text, struct selector *ret, struct error *err)
{
    struct list l;
    list_init(&l, a, err);
    text = text ? text : "";
    if (!check_size(text, err))
        return false;
    for (const char *at = text; *at;) {
        const char *from = at;
        /* Empty parts are skipped, as in the API server. */
        if (*at == ',')
            at++;
        else if (!read_field(&l, &at))
            return fail_in(err, "column %d", (int)(from - text) + 1);
    }
    *ret = list_end(&l);
    return true;
}

/* ---- matching ---- */

static bool has_value(struct json values, const char *text)
{
    return text && json_list_has(values, text);
}

static bool holds(const struct selector_requirement *r, const char *text)
{
    int64_t have, want;
    switch (r->op) {
    case SELECTOR_IN:
        return has_value(r->values, text);
    case SELECTOR_NOT_IN:
        return !has_value(r->values, text);
    case SELECTOR_EXISTS:
        return text != NULL;
    case SELECTOR_NOT_EXISTS:
        return text == NULL;
    case SELECTOR_GREATER:
    case SELECTOR_LESS:
        if (!text || !is_number(text, &have) ||
            !is_number(json_text(json_item(r->values, 0)), &want))
            return false;
        return r->op == SELECTOR_GREATER ? have > want : have < want;
    }
    assert(!"an operator that is none");
}

bool selector_matches(const struct selector *s, struct json labels)
{
    for (size_t i = 0; i < s->count; i++)
        if (!holds(&s->requirements[i], json_text(json_member(labels, s->requirements[i].key))))
            return false;
    return !s->nothing;
}

/* The value of a field for a field selector: text, and "" if it is missing. */
static const char *field_text(struct arena *a, struct json v)
{
    if (!json_present(v) || json_is(v, JSON_NULL))
        return "";
    return json_is(v, JSON_STR) ? v.string : json_to_text(a, v);
}

bool selector_matches_fields(const struct selector *s, struct json object)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    for (size_t i = 0; i < s->count; i++) {
        const struct selector_requirement *r = &s->requirements[i];
        if (!holds(r, field_text(&a, json_get(object, r->key))))
            return false;
    }
    return !s->nothing;
}

/* ---- formatting ---- */

static void add_values(struct buf *b, const struct selector_requirement *r)
{
    bool one = r->values.count == 1;
    bool in = r->op == SELECTOR_IN;
    buf_add_text(b, one ? (in ? "=" : "!=") : (in ? " in (" : " notin ("));
    json_each (v, r->values)
        buf_printf(b, "%s%s", v == r->values.items ? "" : ",", v->string);
    buf_add_text(b, one ? "" : ")");
}

const char *selector_to_text(struct arena *a, const struct selector *s)
{
    assert(!s->nothing);
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)64 << 20);
    for (size_t i = 0; i < s->count; i++) {
        const struct selector_requirement *r = &s->requirements[i];
        buf_add_text(&b, i ? "," : "");
        buf_add_text(&b, r->op == SELECTOR_NOT_EXISTS ? "!" : "");
        buf_add_text(&b, r->key);
        if (r->op == SELECTOR_IN || r->op == SELECTOR_NOT_IN)
            add_values(&b, r);
        else if (r->op == SELECTOR_GREATER || r->op == SELECTOR_LESS)
            buf_printf(&b,
                "%c%s",
                r->op == SELECTOR_GREATER ? '>' : '<',
                json_text(json_item(r->values, 0)));
    }
    return str_dup(a, buf_str(&b));
}
