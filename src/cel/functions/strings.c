/* The strings extension. Positions count characters. */

#include "base/buf.h"
#include "base/utf8.h"
#include "cel/lib.h"

/* The byte offset of a character; the length in bytes if there are fewer characters. */
static size_t byte_of(struct str s, int64_t character)
{
    size_t at = 0;
    for (; character > 0 && at < s.len; character--) {
        uint32_t c;
        size_t bytes = utf8_first((struct str){ s.ptr + at, s.len - at }, &c);
        at += bytes ? bytes : 1;
    }
    return at;
}

static struct cel_value out_of_range(struct cel_eval *e, int64_t index)
{
    return cel_error(e, "index out of range: %lld", (long long)index);
}

static struct str between(struct str s, int64_t start, int64_t end)
{
    size_t from = byte_of(s, start);
    size_t length = byte_of((struct str){ s.ptr + from, s.len - from }, end - start);
    return (struct str){ s.ptr + from, length };
}

CEL_IMPLEMENT(char_at)
{
    struct str s = args[0].text;
    int64_t i = args[1].integer, size = (int64_t)cel_size(args[0]);
    if (i < 0 || i > size)
        return out_of_range(e, i);
    return cel_string(i == size ? (struct str){ "", 0 } : between(s, i, i + 1));
}

CEL_IMPLEMENT(substring)
{
    int64_t size = (int64_t)cel_size(args[0]), start = args[1].integer;
    int64_t end = n == 3 ? args[2].integer : size;
    if (n == 3 && start > end)
        return cel_error(
            e, "invalid substring range. start: %lld, end: %lld", (long long)start, (long long)end);
    if (start < 0 || start > size)
        return out_of_range(e, start);
    if (end < 0 || end > size)
        return out_of_range(e, end);
    return cel_string(between(args[0].text, start, end));
}

static int64_t characters_before(struct str s, size_t bytes)
{
    return (int64_t)cel_size(cel_string((struct str){ s.ptr, bytes }));
}

CEL_IMPLEMENT(index_of)
{
    struct str s = args[0].text, part = args[1].text;
    int64_t offset = n == 3 ? args[2].integer : 0;
    if (part.len == 0)
        return cel_int(offset);
    if (offset < 0)
        return out_of_range(e, offset);
    size_t from = byte_of(s, offset);
    const char *found = s.len ? memmem(s.ptr + from, s.len - from, part.ptr, part.len) : NULL;
    return cel_int(found ? characters_before(s, (size_t)(found - s.ptr)) : -1);
}

CEL_IMPLEMENT(last_index_of)
{
    struct str s = args[0].text, part = args[1].text;
    int64_t size = (int64_t)cel_size(args[0]);
    int64_t offset = n == 3 ? args[2].integer : size - 1;
    if (part.len == 0)
        return cel_int(n == 3 ? offset : size);
    if (n < 3 && s.len < part.len)
        return cel_int(-1);
    if (offset < 0)
        return out_of_range(e, offset);
    if (offset >= size)
        return cel_int(-1);
    for (size_t at = byte_of(s, offset) + 1; at-- > 0;)
        if (part.len <= s.len - at && memcmp(s.ptr + at, part.ptr, part.len) == 0)
            return cel_int(characters_before(s, at));
    return cel_int(-1);
}

static struct cel_value shift_case(struct cel_eval *e, struct str s, char first, char last)
{
    struct cel_value v = cel_string_of(e, s.ptr, s.len);
    char *bytes = (char *)v.text.ptr;
    for (size_t i = 0; i < s.len; i++)
        if (bytes[i] >= first && bytes[i] <= last)
            bytes[i] ^= 0x20;
    return v;
}

CEL_IMPLEMENT(lower_ascii)
{
    return shift_case(e, args[0].text, 'A', 'Z');
}

CEL_IMPLEMENT(upper_ascii)
{
    return shift_case(e, args[0].text, 'a', 'z');
}

/* The next split: at the separator, or after one character if that is empty. False at the end. */
static bool next_cut(struct str rest, struct str separator, size_t *ret)
{
    if (separator.len == 0) {
        *ret = byte_of(rest, 1);
        return *ret < rest.len;
    }
    const char *found = rest.len ? memmem(rest.ptr, rest.len, separator.ptr, separator.len) : NULL;
    *ret = found ? (size_t)(found - rest.ptr) : rest.len;
    return found;
}

CEL_IMPLEMENT(replace)
{
    struct str s = args[0].text, old = args[1].text, fresh = args[2].text;
    int64_t most = n == 4 ? args[3].integer : -1, done = 0;
    cleanup(buf_done) struct buf b = BUF_INIT(CEL_TEXT_BYTES_MAX);
    if (str_eq(old, fresh) || most == 0)
        return args[0];
    if (old.len == 0 && most != 0) { /* before each character, and at the end */
        buf_add(&b, fresh.ptr, fresh.len);
        done++;
    }
    while (s.len && (most < 0 || done < most)) {
        size_t cut;
        bool found = next_cut(s, old, &cut);
        buf_add(&b, s.ptr, cut);
        s = (struct str){ s.ptr + cut, s.len - cut };
        if (!found && old.len)
            break;
        buf_add(&b, fresh.ptr, fresh.len);
        s = (struct str){ s.ptr + old.len, s.len - old.len };
        done++;
    }
    buf_add(&b, s.ptr, s.len);
    return cel_string_of_buf(e, &b);
}

CEL_IMPLEMENT(split)
{
    struct str s = args[0].text, separator = args[1].text;
    int64_t most = n == 3 ? args[2].integer : -1;
    struct cel_value list = cel_list_new(e->arena, NULL, 0);
    size_t cut;
    if (most == 0 || (separator.len == 0 && s.len == 0))
        return list;
    while ((most < 0 || list.list->count < most - 1) && next_cut(s, separator, &cut)) {
        list = cel_list_append(e->arena, list, cel_string((struct str){ s.ptr, cut }));
        s = (struct str){ s.ptr + cut + separator.len, s.len - cut - separator.len };
    }
    return cel_list_append(e->arena, list, cel_string(s));
}

CEL_IMPLEMENT(join)
{
    cleanup(buf_done) struct buf b = BUF_INIT(CEL_TEXT_BYTES_MAX);
    for (size_t i = 0; i < args[0].list->count; i++) {
        struct cel_value item = cel_list_get(e, args[0], i);
        if (item.kind != CEL_STRING) {
            buf_done(&b);
            return item.kind == CEL_ERROR
                       ? item
                       : cel_error(e, "join: invalid input: %s", cel_show(e->arena, item));
        }
        if (i && n == 2)
            buf_add(&b, args[1].text.ptr, args[1].text.len);
        buf_add(&b, item.text.ptr, item.text.len);
    }
    return cel_string_of_buf(e, &b);
}

/* Like Go's unicode.IsSpace. */
static bool is_space(uint32_t c)
{
    return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

CEL_IMPLEMENT(trim)
{
    struct str s = args[0].text;
    uint32_t c;
    size_t bytes;
    (void)e;
    while ((bytes = utf8_first(s, &c)) && is_space(c))
        s = (struct str){ s.ptr + bytes, s.len - bytes };
    while (s.len) {
        size_t last = s.len - 1;
        while (last && ((unsigned char)s.ptr[last] & 0xc0) == 0x80)
            last--;
        if (!utf8_first((struct str){ s.ptr + last, s.len - last }, &c) || !is_space(c))
            break;
        s.len = last;
    }
    return cel_string(s);
}

CEL_IMPLEMENT(quote)
{
    static const char plain[] = "\a\b\f\n\r\t\v\\\"", letters[] = "abfnrtv\\\"";
    cleanup(buf_done) struct buf b = BUF_INIT(CEL_TEXT_BYTES_MAX);
    buf_add_char(&b, '"');
    for (size_t i = 0; i < args[0].text.len; i++) {
        char c = args[0].text.ptr[i];
        const char *special = c ? strchr(plain, c) : NULL;
        if (special)
            buf_add_char(&b, '\\');
        buf_add_char(&b, special ? letters[special - plain] : c);
    }
    buf_add_char(&b, '"');
    return cel_string_of_buf(e, &b);
}

CEL_IMPLEMENT(format)
{
    return cel_format_string(e, args[0], args[1]);
}

const struct cel_function cel_lib_strings[] = {
    { "charAt", "string.(int) string", char_at, CEL_COST_ONE },
    { "indexOf", "string.(string) int", index_of, CEL_COST_LIST_WALK },
    { "indexOf", "string.(string, int) int", index_of, CEL_COST_LIST_WALK },
    { "lastIndexOf", "string.(string) int", last_index_of, CEL_COST_LIST_WALK },
    { "lastIndexOf", "string.(string, int) int", last_index_of, CEL_COST_LIST_WALK },
    { "lowerAscii", "string.() string", lower_ascii, CEL_COST_TRANSFORM },
    { "upperAscii", "string.() string", upper_ascii, CEL_COST_TRANSFORM },
    { "replace", "string.(string, string) string", replace, CEL_COST_REPLACE },
    { "replace", "string.(string, string, int) string", replace, CEL_COST_REPLACE },
    { "split", "string.(string) list(string)", split, CEL_COST_SPLIT },
    { "split", "string.(string, int) list(string)", split, CEL_COST_SPLIT },
    { "substring", "string.(int) string", substring, CEL_COST_TRANSFORM },
    { "substring", "string.(int, int) string", substring, CEL_COST_TRANSFORM },
    { "trim", "string.() string", trim, CEL_COST_TRANSFORM },
    { "format", "string.(list(dyn)) string", format, CEL_COST_FORMAT_STRING },
    { "strings.quote", "(string) string", quote, CEL_COST_QUOTE },
    { "join", "list(string).() string", join, CEL_COST_JOIN },
    { "join", "list(string).(string) string", join, CEL_COST_JOIN },
    { 0 },
};
