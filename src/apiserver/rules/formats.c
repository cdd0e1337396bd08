#include "apiserver/rules/formats.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "apiserver/rules/patterns.h"
#include "base/names.h"
#include "base/time.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Copies the text and adds a NUL, if it fits and contains none. */
#define TEXT_MAX 512
static const char *copy_text(struct str s, char into[TEXT_MAX])
{
    if (s.len >= TEXT_MAX || memchr(s.ptr, 0, s.len))
        return NULL;
    memcpy(into, s.ptr, s.len);
    into[s.len] = '\0';
    return into;
}

/* ---- addresses ---- */

/* Leading zeros are decimal, as they always were in Kubernetes. */
static bool is_dotted(struct str s)
{
    int parts = 0;
    while (s.ptr) {
        struct str part = str_cut(&s, '.');
        int64_t value;
        if (!part.len || !is_digit(part.ptr[0]) || !str_to_int(part, &value) || value > 255)
            return false;
        parts++;
    }
    return parts == 4;
}

static bool is_ip(struct str s)
{
    char text[TEXT_MAX];
    uint8_t bytes[16];
    if (!memchr(s.ptr, ':', s.len))
        return is_dotted(s);
    return copy_text(s, text) && inet_pton(AF_INET6, text, bytes) == 1;
}

static bool is_ipv4(struct str s)
{
    return is_ip(s) && memchr(s.ptr, '.', s.len);
}

static bool is_ipv6(struct str s)
{
    return is_ip(s) && memchr(s.ptr, ':', s.len);
}

static bool is_cidr(struct str s)
{
    struct str rest = s, address = str_cut(&rest, '/');
    int64_t bits;
    if (!rest.ptr || !rest.len || !is_digit(rest.ptr[0]) || !str_to_int(rest, &bits))
        return false;
    return is_ip(address) && bits <= (memchr(address.ptr, ':', address.len) ? 128 : 32);
}

/* 6, 8 or 20 bytes: 00:11:22:33:44:55, 00-11-…, 0011.2233.4455. */
static bool is_mac(struct str s)
{
    if (s.len < 14)
        return false;
    size_t group = s.ptr[2] == ':' || s.ptr[2] == '-' ? 2 : 4;
    char mark = s.ptr[group];
    if (group == 4 && mark != '.')
        return false;
    size_t digits = 0;
    for (size_t i = 0; i < s.len; i++) {
        bool at_mark = i % (group + 1) == group;
        if (at_mark ? s.ptr[i] != mark : !is_hex(s.ptr[i]))
            return false;
        digits += !at_mark;
    }
    bool whole = (s.len + 1) % (group + 1) == 0;
    return whole && (digits == 12 || digits == 16 || digits == 40);
}

/* ---- time ---- */

static bool is_date(struct str s)
{
    char text[TEXT_MAX];
    int64_t ms;
    if (s.len != 10 || !copy_text(s, text))
        return false;
    memcpy(text + 10, "T00:00:00Z", 11);
    return time_parse(text, &ms);
}

/* Only the date must exist; the numbers of the time must only be in range. */
static bool is_date_time(struct str s)
{
    if (s.len < 19 || (s.ptr[10] != 'T' && s.ptr[10] != 't'))
        return false;
    struct str time = { s.ptr + 11, s.len - 11 };
    return is_date((struct str){ s.ptr, 10 }) &&
           pattern_matches("(?i)^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?"
                           "(z|[+-][0-9]{2}:[0-9]{2})$",
               time);
}

/* A Go duration, or a number and a unit (possibly spelled out) anywhere in the text. */
static bool is_duration(struct str s)
{
    char text[TEXT_MAX];
    int64_t ns;
    if (copy_text(s, text) && time_duration_parse(text, &ns))
        return true;
    return pattern_matches("(?i)[0-9]+[ \\t\\n\\f\\r]*("
                           "(nano|micro|milli|sec|min|hour|day|week)[a-z\xc2\xb5]*|"
                           "(ns|us|\xc2\xb5s|ms|s|m|h|hr|d|w|wk)([^a-z\xc2\xb5]|$))",
        s);
}

/* ---- ISBN and credit card numbers ---- */

/* Only the digits; at most max of them. */
static size_t strip(struct str s, char *digits, size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '-' || s.ptr[i] == ' ' || (s.ptr[i] >= '\t' && s.ptr[i] <= '\r'))
            continue;
        if (count == max)
            return max + 1;
        digits[count++] = s.ptr[i];
    }
    return count;
}

static bool is_isbn10(struct str s)
{
    char digits[10];
    int sum = 0;
    if (strip(s, digits, 10) != 10)
        return false;
    for (int i = 0; i < 10; i++) {
        bool ten = i == 9 && digits[i] == 'X';
        if (!ten && !is_digit(digits[i]))
            return false;
        sum += (i + 1) * (ten ? 10 : digits[i] - '0');
    }
    return sum % 11 == 0;
}

static bool is_isbn13(struct str s)
{
    char digits[13];
    int sum = 0;
    if (strip(s, digits, 13) != 13)
        return false;
    for (int i = 0; i < 13; i++) {
        if (!is_digit(digits[i]))
            return false;
        sum += (i % 2 ? 3 : 1) * (digits[i] - '0');
    }
    return sum % 10 == 0;
}

static bool is_isbn(struct str s)
{
    return is_isbn10(s) || is_isbn13(s);
}

static bool is_credit_card(struct str s)
{
    char digits[19];
    size_t count = strip(s, digits, sizeof(digits));
    if (count > sizeof(digits) ||
        !pattern_matches("^(4[0-9]{12}([0-9]{3})?|5[1-5][0-9]{14}|"
                         "(222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}|"
                         "6(011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|"
                         "3(0[0-5]|[68][0-9])[0-9]{11}|(2131|1800|35[0-9]{3})[0-9]{11}|"
                         "6[27][0-9]{14})$",
            (struct str){ digits, count }))
        return false;
    int sum = 0;
    for (size_t i = 0; i < count; i++) {
        int digit = digits[count - 1 - i] - '0';
        if (i % 2)
            digit = digit * 2 > 9 ? digit * 2 - 9 : digit * 2;
        sum += digit;
    }
    return sum % 10 == 0;
}

/* ---- network names and addresses ---- */

static bool is_hostname(struct str s)
{
#define CHAR "a-zA-Z0-9\\p{S}\\p{L}"
    if (s.len > 255 || !pattern_matches("^([" CHAR "](-?[" CHAR "]{0,62})?|"
                                        "([" CHAR "]([-" CHAR "]{0,61}[" CHAR "])?\\.)+"
                                        "[" CHAR "](-?[" CHAR "]){1,62})$",
                           s))
        return false;
#undef CHAR
    while (s.ptr)
        if (str_cut(&s, '.').len > 63)
            return false;
    return true;
}

/* An RFC 5322 address without comments; a name may precede <…>. */
static bool is_email(struct str s)
{
#define ATOM "[a-zA-Z0-9!#$%&'*+/=?^_`{|}~\\x{80}-\\x{10ffff}-]+"
#define QUOTED "\"([^\"\\\\\\r\\n]|\\\\.)*\""
#define ADDRESS "(" ATOM "(\\." ATOM ")*|" QUOTED ")@(" ATOM "(\\." ATOM ")*|\\[[^\\[\\]\\\\]*\\])"
    return pattern_matches("^[ \\t]*(" ADDRESS "|((" ATOM "|" QUOTED ")([ \\t.]*(" ATOM "|" QUOTED
                           "))*)?[ \\t.]*<" ADDRESS ">)[ \\t]*$",
        s);
#undef ADDRESS
#undef QUOTED
#undef ATOM
}

static bool escapes_are_whole(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] == '%' && !(i + 2 < s.len && is_hex(s.ptr[i + 1]) && is_hex(s.ptr[i + 2])))
            return false;
    return true;
}

/* userinfo@host:port, as accepted by Go's net/url. */
static bool is_authority(struct str s)
{
    const char *at = memrchr(s.ptr, '@', s.len);
    struct str user = { s.ptr, at ? (size_t)(at - s.ptr) : 0 };
    struct str host = at ? (struct str){ at + 1, s.len - user.len - 1 } : s;
    if (!escapes_are_whole(s) || !pattern_matches("^[a-zA-Z0-9._:~!$&'()*+,;=%@-]*$", user))
        return false;
    if (host.len && host.ptr[0] == '[')
        return pattern_matches("^\\[[^\\]]*\\](:[0-9]*)?$", host);
    if (!pattern_matches("^[a-zA-Z0-9_.~!$&'()*+,;=:\\[\\]<>\"%\\x{80}-\\x{10ffff}-]*$", host))
        return false;
    const char *colon = memrchr(host.ptr, ':', host.len);
    for (const char *c = colon ? colon + 1 : host.ptr + host.len; c < host.ptr + host.len; c++)
        if (!is_digit(*c))
            return false;
    return true;
}

/* Anything allowed in a request line: an absolute URI, or a path. */
static bool is_uri(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < 0x20 || s.ptr[i] == 0x7f)
            return false;
    if (str_eq(s, STR("*")))
        return true;
    size_t scheme = 0;
    while (scheme < s.len && (is_letter(s.ptr[scheme]) ||
                                 (scheme && (is_digit(s.ptr[scheme]) || s.ptr[scheme] == '+' ||
                                                s.ptr[scheme] == '-' || s.ptr[scheme] == '.'))))
        scheme++;
    bool has_scheme = scheme && scheme < s.len && s.ptr[scheme] == ':';
    if (s.len && s.ptr[0] == ':')
        return false;
    struct str rest = has_scheme ? (struct str){ s.ptr + scheme + 1, s.len - scheme - 1 } : s;
    rest = str_cut(&rest, '?');
    if (!rest.len || rest.ptr[0] != '/')
        return has_scheme;
    if (has_scheme && str_starts(rest, STR("//"))) {
        rest = (struct str){ rest.ptr + 2, rest.len - 2 };
        const char *slash = memchr(rest.ptr, '/', rest.len);
        struct str authority = { rest.ptr, slash ? (size_t)(slash - rest.ptr) : rest.len };
        if (!is_authority(authority))
            return false;
        rest = (struct str){ rest.ptr + authority.len, rest.len - authority.len };
    }
    return escapes_are_whole(rest);
}

static bool is_long_name(struct str s)
{
    char text[TEXT_MAX];
    return copy_text(s, text) && name_is_dns1123_subdomain(text);
}

static bool is_short_name(struct str s)
{
    char text[TEXT_MAX];
    return copy_text(s, text) && name_is_dns1123_label(text);
}

static bool is_anything(struct str s)
{
    (void)s;
    return true;
}

/* ---- the table ---- */

#define UUID_TAIL "-?[0-9a-f]{12}$"
#define COLOR "\\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\\s*"

static const struct {
    const char *name;    /* without dashes */
    const char *pattern; /* or */
    bool (*matches)(struct str s);
} formats[] = {
    [FORMAT_BSON_OBJECT_ID] = { "bsonobjectid", .pattern = "^[0-9a-fA-F]{24}$" },
    [FORMAT_BYTE_TEXT] = { "byte",
        .pattern = "^([A-Za-z0-9+\\\\/]{4})*([A-Za-z0-9+\\\\/]{2}==|[A-Za-z0-9+\\\\/]{3}=|"
                   "[A-Za-z0-9+\\\\/]{4})$" },
    [FORMAT_CIDR] = { "cidr", .matches = is_cidr },
    [FORMAT_CREDIT_CARD] = { "creditcard", .matches = is_credit_card },
    [FORMAT_DATE] = { "date", .matches = is_date },
    [FORMAT_DATE_TIME] = { "datetime", .matches = is_date_time },
    [FORMAT_DURATION_TEXT] = { "duration", .matches = is_duration },
    [FORMAT_EMAIL] = { "email", .matches = is_email },
    [FORMAT_HEX_COLOR] = { "hexcolor", .pattern = "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$" },
    [FORMAT_HOSTNAME] = { "hostname", .matches = is_hostname },
    [FORMAT_IPV4] = { "ipv4", .matches = is_ipv4 },
    [FORMAT_IPV6] = { "ipv6", .matches = is_ipv6 },
    [FORMAT_ISBN] = { "isbn", .matches = is_isbn },
    [FORMAT_ISBN10] = { "isbn10", .matches = is_isbn10 },
    [FORMAT_ISBN13] = { "isbn13", .matches = is_isbn13 },
    [FORMAT_LONG_NAME] = { "k8slongname", .matches = is_long_name },
    [FORMAT_MAC] = { "mac", .matches = is_mac },
    [FORMAT_PASSWORD] = { "password", .matches = is_anything },
    [FORMAT_RGB_COLOR] = { "rgbcolor", .pattern = "^rgb\\(" COLOR "," COLOR "," COLOR "\\)$" },
    [FORMAT_SHORT_NAME] = { "k8sshortname", .matches = is_short_name },
    [FORMAT_SSN] = { "ssn", .pattern = "^[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}$" },
    [FORMAT_URI] = { "uri", .matches = is_uri },
    [FORMAT_UUID] = { "uuid", .pattern = "(?i)^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$" },
    [FORMAT_UUID3] = { "uuid3",
        .pattern = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}" UUID_TAIL },
    [FORMAT_UUID4] = { "uuid4",
        .pattern = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}" UUID_TAIL },
    [FORMAT_UUID5] = { "uuid5",
        .pattern = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}" UUID_TAIL },
};

static const struct {
    const char *name, *type;
} number_formats[] = {
    [FORMAT_INT32 - FORMAT_NUMBERS] = { "int32", "integer" },
    [FORMAT_INT64 - FORMAT_NUMBERS] = { "int64", "integer" },
    [FORMAT_FLOAT - FORMAT_NUMBERS] = { "float", "number" },
    [FORMAT_DOUBLE - FORMAT_NUMBERS] = { "double", "number" },
};

static bool is_name(const char *name, const char *written)
{
    for (; *written; written++)
        if (*written != '-' && *written != *name++)
            return false;
    return !*name;
}

enum format format_of(const char *name, const char *type)
{
    for (size_t i = 0; name && i < lengthof(number_formats); i++)
        if (is_name(number_formats[i].name, name) && text_eq(number_formats[i].type, type))
            return (enum format)(FORMAT_NUMBERS + i);
    for (size_t i = 1; name && i < lengthof(formats) && (!type || text_eq(type, "string")); i++)
        if (is_name(formats[i].name, name))
            return (enum format)i;
    return FORMAT_UNKNOWN;
}

bool format_matches(enum format f, struct str text)
{
    if (f == FORMAT_UNKNOWN || f >= FORMAT_NUMBERS)
        return true;
    return formats[f].pattern ? pattern_matches(formats[f].pattern, text)
                              : formats[f].matches(text);
}
