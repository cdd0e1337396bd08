#include "apiserver/rules/selector_error.h"

#include <string.h>

#include "base/json.h"
#include "base/names.h"
#include "base/str.h"

/* ---- label selectors ---- */

struct scan {
    struct arena *arena;
    const char *at;
    const char *token; /* "" at the end */
    bool word;         /* neither a symbol nor in, notin */
    const char *why;   /* NULL: fine so far */
};

static bool is_symbol(char c)
{
    return c && strchr("=!(),><", c);
}

static void advance(struct scan *s)
{
    while (*s->at && strchr(" \t\r\n", *s->at))
        s->at++;
    const char *from = s->at;
    if (is_symbol(*from))
        s->at += (*from == '=' || *from == '!') && from[1] == '=' ? 2 : 1;
    else
        while (*s->at && !is_symbol(*s->at) && !strchr(" \t\r\n", *s->at))
            s->at++;
    s->token = arena_strndup(s->arena, from, (size_t)(s->at - from));
    s->word =
        *from && !is_symbol(*from) && strcmp(s->token, "in") != 0 && strcmp(s->token, "notin") != 0;
}

static bool is(const struct scan *s, const char *token)
{
    return strcmp(s->token, token) == 0;
}

static bool found(struct scan *s, const char *expected)
{
    s->why = arena_printf(s->arena, "found '%s', %s", s->token, expected);
    return false;
}

static bool check_value(struct scan *s, const char *value, size_t index, const char *key)
{
    struct error why;
    if (name_check(NAME_LABEL_VALUE, value, &why))
        return true;
    s->why = arena_printf(
        s->arena, "values[%zu][%s]: Invalid value: \"%s\": %s", index, key, value, why.text);
    return false;
}

static bool scan_set(struct scan *s, const char *key)
{
    if (!is(s, "(")) {
        s->why = arena_printf(s->arena, "found '%s' expected: '('", s->token);
        return false;
    }
    size_t index = 0;
    do {
        advance(s);
        const char *value = s->word || is(s, "in") || is(s, "notin") ? s->token : "";
        if (!*value && !is(s, ",") && !is(s, ")"))
            return found(s, "expected: ',', ')' or identifier");
        if (!check_value(s, value, index++, key))
            return false;
        if (*value)
            advance(s);
    } while (is(s, ","));
    if (!is(s, ")"))
        return found(s, "expected: ',' or ')'");
    advance(s);
    return true;
}

static bool check_key(struct scan *s, const char *key)
{
    struct error why;
    if (name_check(NAME_LABEL_KEY, key, &why))
        return true;
    s->why = arena_printf(s->arena, "<nil>: Invalid value: \"%s\": %s", key, why.text);
    return false;
}

static bool scan_operator(struct scan *s, const char *key)
{
    static const char *const operators[] = { "=", "==", "!=", ">", "<" };
    if (is(s, "in") || is(s, "notin")) {
        advance(s);
        return scan_set(s, key);
    }
    bool known = false, ordered = is(s, ">") || is(s, "<");
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
        known |= is(s, operators[i]);
    if (!known)
        return found(s, "expected: in, notin, =, ==, !=, gt, lt");
    advance(s);
    bool empty = !*s->token || is(s, ",");
    const char *value = empty ? "" : s->token;
    int64_t number;
    if (ordered && !str_to_int(str_of(value), &number)) {
        s->why = arena_printf(s->arena,
            "values[0]: Invalid value: \"%s\": for 'Gt', 'Lt' operators, the value must be an "
            "integer",
            value);
        return false;
    }
    if (!empty && !s->word && !is(s, "in") && !is(s, "notin"))
        return found(s, "expected: identifier");
    if (!empty)
        advance(s);
    return check_value(s, value, 0, key);
}

static bool scan_requirement(struct scan *s)
{
    bool negated = is(s, "!");
    if (negated)
        advance(s);
    if (!s->word && !is(s, "in") && !is(s, "notin"))
        return found(s, "expected: identifier");
    const char *key = s->token;
    advance(s);
    if (!check_key(s, key))
        return false;
    return negated || !*s->token || is(s, ",") || scan_operator(s, key);
}

static bool starts_requirement(const struct scan *s)
{
    return s->word || is(s, "!") || is(s, "in") || is(s, "notin");
}

const char *selector_error_text(struct arena *a, const char *selector, const char *otherwise)
{
    struct scan s = { .arena = a, .at = selector };
    advance(&s);
    while (*s.token && !s.why) {
        if (!starts_requirement(&s)) {
            found(&s, "expected: !, identifier, or 'end of string'");
            break;
        }
        if (!scan_requirement(&s)) {
            s.why = arena_printf(a, "unable to parse requirement: %s", s.why);
            break;
        }
        if (!*s.token)
            break;
        if (!is(&s, ",")) {
            found(&s, "expected: ',' or 'end of string'");
            break;
        }
        advance(&s);
        if (!starts_requirement(&s))
            found(&s, "expected: identifier after ','");
    }
    return s.why ? s.why : otherwise;
}

/* ---- field selectors ---- */

/* Up to the next comma that is not escaped. */
static struct str next_term(const char **at)
{
    const char *from = *at;
    while (**at && **at != ',')
        *at += **at == '\\' && (*at)[1] ? 2 : 1;
    struct str term = { from, (size_t)(*at - from) };
    *at += **at == ',';
    return term;
}

const char *selector_error_fields(struct arena *a, const char *selector, const char *otherwise)
{
    for (const char *at = selector; *at;) {
        struct str term = next_term(&at);
        if (!term.len)
            continue;
        const char *text = str_dup(a, term);
        if (!strchr(text, '='))
            return arena_printf(a, "invalid selector: '%s'; can't understand '%s'", selector, text);
        if (*text == '=' || text_starts(text, "!="))
            return "\"\" is not a known field selector: only \"metadata.name\", "
                   "\"metadata.namespace\"";
        const char *value = strchr(text, '=');
        value += 1 + (value[1] == '=');
        for (; *value; value++) {
            if (*value == '=')
                return arena_printf(
                    a, "invalid field selector: unescaped character in value: %d", *value);
            if (*value == '\\' && (!value[1] || !strchr("\\,=", *++value)))
                return arena_printf(
                    a, "invalid field selector: invalid escape sequence: \\%c", *value);
        }
    }
    return otherwise;
}
