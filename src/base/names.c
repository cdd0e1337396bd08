#include "base/names.h"

#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/str.h"

enum {
    LOWER = 1,
    DIGIT = 2,
    UPPER = 4,
    DASH = 8,
    DOT = 16,
    UNDERSCORE = 32,
};

static int class_of(char c)
{
    if (c >= 'a' && c <= 'z')
        return LOWER;
    if (c >= '0' && c <= '9')
        return DIGIT;
    if (c >= 'A' && c <= 'Z')
        return UPPER;
    return c == '-' ? DASH : c == '.' ? DOT : c == '_' ? UNDERSCORE : 0;
}

/* A word with certain characters at both ends, and certain characters between them. */
struct shape {
    int first, middle, last;
};
static const struct shape label = { LOWER | DIGIT, LOWER | DIGIT | DASH, LOWER | DIGIT };
static const struct shape label_1035 = { LOWER, LOWER | DIGIT | DASH, LOWER | DIGIT };
static const struct shape label_text = {
    LOWER | DIGIT | UPPER, LOWER | DIGIT | UPPER | DASH | DOT | UNDERSCORE, LOWER | DIGIT | UPPER
};

static bool has_shape(struct str s, const struct shape *shape)
{
    if (s.len == 0 || !(class_of(s.ptr[0]) & shape->first) ||
        !(class_of(s.ptr[s.len - 1]) & shape->last))
        return false;
    for (size_t i = 1; i + 1 < s.len; i++)
        if (!(class_of(s.ptr[i]) & shape->middle))
            return false;
    return true;
}

static bool is_subdomain(struct str s)
{
    do {
        if (!has_shape(str_cut(&s, '.'), &label))
            return false;
    } while (s.ptr);
    return true;
}

/* The messages of k8s.io/apimachinery, so that a message is the same wherever it comes from; the
 * spaces before "or" are in the original. */
#define LABEL_RE "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define LABEL_TEXT_RE "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
#define ENDS "must start and end with an alphanumeric character"
static const char label_message[] =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and " ENDS " (e.g. 'my-name',  or '123-abc', regex used for validation is '" LABEL_RE "')";
static const char subdomain_message[] =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and " ENDS " (e.g. 'example.com', regex used for validation is '" LABEL_RE "(\\." LABEL_RE
    ")*')";
static const char label_1035_message[] =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
static const char key_name_message[] =
    "must consist of alphanumeric characters, '-', '_' or '.', and " ENDS
    " (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '" LABEL_TEXT_RE
    "')";
static const char value_message[] =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and " ENDS
    " (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(" LABEL_TEXT_RE
    ")?')";

static bool check_length(struct str s, size_t max, const char *part, struct error *err)
{
    if (s.len <= max)
        return true;
    return fail(err, ERR_INVALID, "%smust be no more than %zu bytes", part, max);
}

static bool check_subdomain(struct str s, const char *part, struct error *err)
{
    if (!check_length(s, NAME_SUBDOMAIN_MAX, part, err))
        return false;
    return is_subdomain(s) || fail(err, ERR_INVALID, "%s%s", part, subdomain_message);
}

static bool check_label(struct str s, struct error *err)
{
    if (!check_length(s, NAME_LABEL_MAX, "", err))
        return false;
    if (has_shape(s, &label))
        return true;
    return fail(err, ERR_INVALID, "%s", is_subdomain(s) ? "must not contain dots" : label_message);
}

static bool check_label_key(struct str s, struct error *err)
{
    struct str name = s, prefix = str_cut(&name, '/');
    if (!name.ptr) {
        name = prefix;
    } else if (memchr(name.ptr, '/', name.len)) {
        return fail(err,
            ERR_INVALID,
            "a valid label key %s with an optional DNS subdomain prefix and '/' (e.g. "
            "'example.com/MyName')",
            key_name_message);
    } else if (prefix.len == 0) {
        return fail(err, ERR_INVALID, "prefix part must be non-empty");
    } else if (!check_subdomain(prefix, "prefix part ", err)) {
        return false;
    }
    if (name.len == 0)
        return fail(err, ERR_INVALID, "name part must be non-empty");
    if (!check_length(name, NAME_LABEL_MAX, "name part ", err))
        return false;
    return has_shape(name, &label_text) || fail(err, ERR_INVALID, "name part %s", key_name_message);
}

bool name_check(enum name_kind kind, const char *text, struct error *err)
{
    struct str s = str_of(text ? text : "");
    switch (kind) {
    case NAME_DNS1123_LABEL:
        return check_label(s, err);
    case NAME_DNS1123_SUBDOMAIN:
        return check_subdomain(s, "", err);
    case NAME_DNS1035_LABEL:
        if (!check_length(s, NAME_LABEL_MAX, "", err))
            return false;
        return has_shape(s, &label_1035) || fail(err, ERR_INVALID, "%s", label_1035_message);
    case NAME_LABEL_KEY:
        return check_label_key(s, err);
    case NAME_LABEL_VALUE:
        if (!check_length(s, NAME_LABEL_MAX, "", err))
            return false;
        return s.len == 0 || has_shape(s, &label_text) ||
               fail(err, ERR_INVALID, "%s", value_message);
    }
    assert(!"a kind of name that is none");
}

#define HASH_DIGITS 8

/* Adds letters and digits in lower case, with one dash for everything between; begins with a
 * letter. */
static void add_readable_part(struct buf *b, const char *text, size_t max)
{
    bool gap = false;
    for (const char *c = text; *c && b->len < max; c++) {
        int kind_of = class_of(*c);
        if (!(kind_of & (LOWER | UPPER | DIGIT))) {
            gap = b->len > 0;
            continue;
        }
        if (b->len == 0 && kind_of == DIGIT)
            buf_add_char(b, 'n');
        if (b->len + gap >= max)
            break;
        if (gap)
            buf_add_char(b, '-');
        gap = false;
        buf_add_char(b, kind_of == UPPER ? (char)(*c - 'A' + 'a') : *c);
    }
    if (b->len == 0)
        buf_add_char(b, 'n');
}

const char *name_shorten(struct arena *a, const char *text, size_t max)
{
    assert(max > HASH_DIGITS + 1 && max <= NAME_LABEL_MAX);
    if (strlen(text) <= max && name_is_dns1123_label(text))
        return text;
    cleanup(buf_done) struct buf b = BUF_INIT(NAME_LABEL_MAX + 1);
    add_readable_part(&b, text, max - HASH_DIGITS - 1);
    buf_printf(&b, "-%.*s", HASH_DIGITS, sha256_hex(a, str_of(text)));
    return str_dup(a, buf_str(&b));
}

const char *name_join(struct arena *a, const char *base, const char *suffix, size_t max)
{
    const char *full = arena_printf(a, "%s%s", base, suffix);
    if (strlen(full) <= max && name_is_dns1123_label(full))
        return full;
    assert(strlen(suffix) < max);
    return arena_printf(a, "%s%s", name_shorten(a, base, max - strlen(suffix)), suffix);
}

static bool stays_in_file(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

const char *name_of_file(struct arena *a, const char *text)
{
    char *out = arena_alloc(a, strlen(text) + 1);
    size_t length = 0;
    for (const char *c = text; *c; c++) {
        char kept = stays_in_file(*c) ? *c : '-';
        bool skip = length == 0 && strchr("-._", kept);
        if (!skip && !(kept == '-' && out[length - 1] == '-'))
            out[length++] = kept;
    }
    while (length && strchr("-._", out[length - 1]))
        length--;
    out[length] = '\0';
    return out;
}
