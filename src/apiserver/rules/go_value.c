#include "apiserver/rules/go_value.h"

#include <string.h>

#include "apiserver/rules/line_diff.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/utf8.h"

#define TEXT_MAX ((size_t)16 << 20)

/* A value, what the client sent for it, and the map that it stands in. */
struct at {
    struct json v, given, outer;
};

static void print_struct(
    struct arena *a, struct buf *out, const char *type, struct at at, bool *first);

/* DNSPolicy is dnsPolicy, TTY is tty, HostPID is hostPID. */
static const char *json_name(struct arena *a, struct str name)
{
    char *copy = str_dup(a, name);
    size_t upper = 0;
    while (copy[upper] >= 'A' && copy[upper] <= 'Z')
        upper++;
    size_t end = copy[upper] && upper > 1 ? upper - 1 : upper;
    for (size_t i = 0; i < end; i++)
        copy[i] = (char)(copy[i] + ('a' - 'A'));
    return copy;
}

static struct json member_of(struct json map, const char *name)
{
    return map.type == JSON_MAP ? json_member(map, name) : (struct json){ 0 };
}

/* What is there, or what is empty and was lost on the way. */
static struct json found(struct at at)
{
    bool empty = (at.given.type == JSON_LIST || at.given.type == JSON_MAP) && !at.given.count;
    bool none = at.v.type == JSON_ABSENT || at.v.type == JSON_NULL;
    return none && empty ? at.given : none ? json_null() : at.v;
}

static void print_whole(struct arena *a, struct buf *out, const char *type, struct at at)
{
    bool first = true;
    buf_add_text(out, "{");
    print_struct(a, out, type, at, &first);
    buf_add_text(out, "}");
}

static void print_list(struct arena *a, struct buf *out, const char *type, struct at at)
{
    struct json list = found(at);
    if (list.type != JSON_LIST) {
        buf_add_text(out, "null");
        return;
    }
    for (uint32_t i = 0; i < list.count; i++) {
        bool known = at.given.type == JSON_LIST && i < at.given.count;
        struct at item = { list.items[i], known ? at.given.items[i] : (struct json){ 0 }, at.v };
        buf_add_text(out, i ? "," : "[");
        print_whole(a, out, type, item);
    }
    buf_add_text(out, list.count ? "]" : "[]");
}

static void print_value(struct arena *a, struct buf *out, const char *form, struct at at)
{
    struct json v = found(at);
    bool none = v.type == JSON_NULL;
    switch (*form) {
    case '.':
        print_whole(a, out, form + 1, at);
        return;
    case '*':
        if (none)
            buf_add_text(out, "null");
        else
            print_whole(a, out, form + 1, at);
        return;
    case '[':
        print_list(a, out, form + 1, at);
        return;
    case '$':
        v = none ? json_str("") : v;
        break;
    case '#':
        v = none ? json_int(0) : v;
        break;
    case '?':
        v = none ? json_bool(false) : v;
        break;
    case '%':
        v = none ? json_str("0") : v;
        break;
    default:
        break;
    }
    buf_add_text(out, json_to_text(a, v));
}

/* first: nothing was printed between the braces yet. */
static void print_field(
    struct arena *a, struct buf *out, struct str field, bool tagged, struct at at, bool *first)
{
    size_t length = strcspn(str_dup(a, field), "$#?%.*[");
    const char *form = str_dup(a, (struct str){ field.ptr + length, field.len - length });
    struct str json = { field.ptr, length }, name = str_cut(&json, '=');
    const char *key = json.ptr ? str_dup(a, json) : tagged ? str_dup(a, name) : json_name(a, name);
    bool outside = *key == '^';
    key += outside;
    struct at here = { member_of(outside ? at.outer : at.v, key),
        outside ? (struct json){ 0 } : member_of(at.given, key),
        at.v };
    bool may_go = tagged && (!*form || *form == '[');
    if (may_go && (here.v.type == JSON_ABSENT || here.v.type == JSON_NULL ||
                      ((here.v.type == JSON_LIST || here.v.type == JSON_MAP) && !here.v.count)))
        return;
    buf_printf(out, "%s\"%s\":", *first ? "" : ",", str_dup(a, name));
    *first = false;
    print_value(a, out, form, here);
}

static void print_struct(
    struct arena *a, struct buf *out, const char *type, struct at at, bool *first)
{
    const struct go_type *t = go_type_find(type);
    assert(t);
    bool tagged = *t->fields == '~';
    struct str rest = str_of(tagged ? t->fields + 2 : t->fields);
    while (rest.ptr) {
        struct str field = str_cut(&rest, ' ');
        if (*field.ptr == '+')
            print_struct(
                a, out, str_dup(a, (struct str){ field.ptr + 1, field.len - 1 }), at, first);
        else
            print_field(a, out, field, tagged, at, first);
    }
}

/* Outside of texts in JSON these three do not occur. */
static const char *escaped(struct arena *a, const char *text)
{
    cleanup(buf_done) struct buf out = BUF_INIT(TEXT_MAX);
    for (; *text; text++)
        if (strchr("<>&", *text))
            buf_printf(&out, "\\u%04x", (unsigned)*text);
        else
            buf_add_char(&out, *text);
    return arena_strdup(a, buf_text(&out));
}

const char *go_json_text(struct arena *a, struct json v)
{
    return escaped(a, json_to_text(a, v));
}

const char *go_quoted(struct arena *a, const char *text)
{
    static const char plain[] = "\a\b\f\n\r\t\v\\\"", letters[] = "abfnrtv\\\"";
    cleanup(buf_done) struct buf out = BUF_INIT(TEXT_MAX);
    buf_add_char(&out, '"');
    for (struct str rest = str_of(text); rest.len;) {
        const char *at = rest.ptr, *special = *at ? strchr(plain, *at) : NULL;
        uint32_t c = 0;
        size_t length = utf8_first(rest, &c);
        length = length ? length : 1;
        rest = (struct str){ at + length, rest.len - length };
        if (special)
            buf_printf(&out, "\\%c", letters[special - plain]);
        else if (c < 0x20 || c == 0x7f)
            buf_printf(&out, "\\x%02x", c);
        else if (!utf8_printable(c))
            buf_printf(&out, "\\u%04x", c);
        else
            buf_add(&out, at, length);
    }
    buf_add_char(&out, '"');
    return arena_strdup(a, buf_text(&out));
}

const char *go_value_text(struct arena *a, const char *type, struct json v, struct json given)
{
    cleanup(buf_done) struct buf out = BUF_INIT(TEXT_MAX);
    print_value(a, &out, type, (struct at){ v, given, { 0 } });
    return escaped(a, buf_text(&out));
}

/* ---- diffs ---- */

static void new_line(struct buf *out, size_t depth)
{
    buf_add_text(out, "\n");
    for (size_t i = 0; i < depth; i++)
        buf_add_text(out, " ");
}

/* One line for each value. */
static const char *indented(struct arena *a, const char *text)
{
    cleanup(buf_done) struct buf out = BUF_INIT(TEXT_MAX);
    size_t depth = 0;
    bool quoted = false;
    for (const char *at = text; *at; at++) {
        bool opens = !quoted && (*at == '{' || *at == '['),
             closes = !quoted && (*at == '}' || *at == ']'),
             empty = closes && (at[-1] == '{' || at[-1] == '[');
        if (*at == '"')
            quoted = !quoted;
        if (closes && !empty)
            new_line(&out, --depth);
        buf_add_char(&out, *at);
        if (quoted && *at == '\\')
            buf_add_char(&out, *++at);
        else if (opens && at[1] != '}' && at[1] != ']')
            new_line(&out, ++depth);
        else if (!quoted && *at == ',')
            new_line(&out, depth);
        else if (!quoted && *at == ':')
            buf_add_text(&out, " ");
    }
    return arena_strdup(a, buf_text(&out));
}

const char *go_value_diff(
    struct arena *a, const char *type, struct json old, struct json new, struct json given)
{
    return line_diff(a,
        indented(a, go_value_text(a, type, old, (struct json){ 0 })),
        indented(a, go_value_text(a, type, new, given)));
}
