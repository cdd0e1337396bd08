/* Prints YAML text. */

#include "base/buf.h"
#include "base/utf8.h"
#include "base/yaml.h"

/* YAML ends an implicit key after 1024 characters. */
#define IMPLICIT_KEY_BYTES_MAX 1000

/* Words that YAML 1.1 or 1.2 does not read as text, in any mixture of cases. */
static bool is_special_word(struct str s)
{
    static const char *const words[] = { "~",
        "null",
        "true",
        "false",
        "yes",
        "no",
        "on",
        "off",
        "y",
        "n",
        ".inf",
        "-.inf",
        "+.inf",
        ".nan",
        "=",
        "<<" };
    for (size_t i = 0; i < lengthof(words); i++)
        if (str_eq_nocase(s, str_of(words[i])))
            return true;
    return false;
}

/* Numbers in any notation of 1.1 and 1.2, dates and times; may return true too often. */
static bool may_be_number(struct str s)
{
    bool digits = false;
    if (!strchr("0123456789+-.", s.ptr[0]))
        return false;
    for (size_t i = 0; i < s.len; i++) {
        digits = digits || (s.ptr[i] >= '0' && s.ptr[i] <= '9');
        if (!s.ptr[i] || !strchr("0123456789abcdefABCDEFxXoO_:+-.TtZz ", s.ptr[i]))
            return false;
    }
    return digits;
}

static bool is_single_line(struct str s)
{
    uint32_t c;
    for (size_t length; s.len; s = (struct str){ s.ptr + length, s.len - length })
        if ((length = utf8_first(s, &c)) == 0 || !utf8_printable(c))
            return false;
    return true;
}

/* s is on one line. */
static bool may_be_plain(struct str s)
{
    if (s.len == 0 || s.ptr[0] == ' ' || s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == ':' ||
        strchr("?:,[]{}#&*!|>'\"%@`", s.ptr[0]))
        return false;
    if (s.ptr[0] == '-' && (s.len == 1 || s.ptr[1] == ' '))
        return false;
    if (str_starts(s, STR("---")) || str_starts(s, STR("...")))
        return false;
    if (memmem(s.ptr, s.len, ": ", 2) || memmem(s.ptr, s.len, " #", 2))
        return false;
    return !is_special_word(s) && !may_be_number(s);
}

/* A literal block preserves the text, with exceptions: leading spaces set the indentation, and
 * lines of spaces at the end are ambiguous. */
static bool may_be_block(struct str s)
{
    if (!memchr(s.ptr, '\n', s.len))
        return false;
    for (struct str rest = s; rest.ptr;) {
        struct str line = str_cut(&rest, '\n');
        if (!rest.ptr && line.len == 0)
            break;
        if (line.ptr == s.ptr && (line.len == 0 || line.ptr[0] == ' '))
            return false;
        if ((line.len && str_trim(line).len == 0) || !is_single_line(line))
            return false;
    }
    return true;
}

static void add_indent(struct buf *b, int indent)
{
    for (int i = 0; i < indent; i++)
        buf_add_char(b, ' ');
}

static void add_block(struct buf *b, struct str s, int indent)
{
    bool ends = str_ends(s, STR("\n")), ends_twice = str_ends(s, STR("\n\n"));
    buf_add_text(b, ends_twice ? "|+\n" : ends ? "|\n" : "|-\n");
    for (struct str rest = s; rest.ptr;) {
        struct str line = str_cut(&rest, '\n');
        if (!rest.ptr && line.len == 0)
            break;
        if (line.len)
            add_indent(b, indent);
        buf_add(b, line.ptr, line.len);
        buf_add_char(b, '\n');
    }
}

static void add_double_quoted(struct buf *b, struct str s)
{
    static const char shorts[] = "\"\\\n\t\r", letters[] = "\"\\ntr";
    buf_add_char(b, '"');
    while (s.len) {
        uint32_t c;
        size_t length = utf8_first(s, &c);
        const char *found = length == 1 && c ? strchr(shorts, (int)c) : NULL;
        if (length == 0) {
            /* Invalid UTF-8, which none of our texts contains. */
            buf_add_text(b, "\ufffd");
            length = 1;
        } else if (found) {
            buf_add(b, (char[]){ '\\', letters[found - shorts] }, 2);
        } else if (utf8_printable(c)) {
            buf_add(b, s.ptr, length);
        } else {
            buf_printf(b, c > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)c);
        }
        s = (struct str){ s.ptr + length, s.len - length };
    }
    buf_add_char(b, '"');
}

static void add_single_quoted(struct buf *b, struct str s)
{
    buf_add_char(b, '\'');
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '\'')
            buf_add_char(b, '\'');
        buf_add_char(b, s.ptr[i]);
    }
    buf_add_char(b, '\'');
}

static void add_line(struct buf *b, struct str s)
{
    if (!is_single_line(s))
        add_double_quoted(b, s);
    else if (may_be_plain(s))
        buf_add(b, s.ptr, s.len);
    else if (memchr(s.ptr, '"', s.len) || memchr(s.ptr, '\\', s.len))
        add_single_quoted(b, s);
    else
        add_double_quoted(b, s);
}

static void print_items(struct buf *b, struct json v, int indent);

/* Prints what follows "key:" or "-", up to the end of its last line. */
static void print_value(struct buf *b, struct json v, int indent, bool in_list)
{
    struct str s = { v.string, v.count };
    bool container = (json_is(v, JSON_MAP) || json_is(v, JSON_LIST)) && v.count > 0;
    if (container && in_list) {
        buf_add_char(b, ' ');
        print_items(b, v, indent + 2);
    } else if (container) {
        buf_add_char(b, '\n');
        int deeper = json_is(v, JSON_MAP) ? indent + 2 : indent;
        add_indent(b, deeper);
        print_items(b, v, deeper);
    } else if (json_is(v, JSON_STR) && may_be_block(s)) {
        buf_add_char(b, ' ');
        add_block(b, s, indent + 2);
    } else {
        buf_add_char(b, ' ');
        if (json_is(v, JSON_STR))
            add_line(b, s);
        else
            json_print(b, v);
        buf_add_char(b, '\n');
    }
}

static void print_member(struct buf *b, const struct json_member *m, int indent)
{
    struct str key = str_of(m->key);
    bool marked = key.len > IMPLICIT_KEY_BYTES_MAX;
    buf_add_text(b, marked ? "? " : "");
    add_line(b, key);
    if (marked) {
        buf_add_char(b, '\n');
        add_indent(b, indent);
    }
    buf_add_char(b, ':');
    print_value(b, m->value, indent, false);
}

/* Prints a container that is not empty; its first line is indented already. */
static void print_items(struct buf *b, struct json v, int indent)
{
    for (uint32_t i = 0; i < v.count; i++) {
        if (i)
            add_indent(b, indent);
        if (json_is(v, JSON_MAP)) {
            print_member(b, &v.members[i], indent);
        } else {
            buf_add_char(b, '-');
            print_value(b, v.items[i], indent, true);
        }
    }
}

void yaml_print(struct buf *b, struct json v)
{
    bool container = json_is(v, JSON_MAP) || json_is(v, JSON_LIST);
    if (container && v.count > 0) {
        print_items(b, v, 0);
    } else if (json_is(v, JSON_STR)) {
        add_double_quoted(b, (struct str){ v.string, v.count });
        buf_add_char(b, '\n');
    } else {
        json_print(b, v);
        buf_add_char(b, '\n');
    }
}
