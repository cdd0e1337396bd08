#include "apiserver/rules/check.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/quantity.h"
#include "base/selector.h"

const char *check_item_path(struct arena *a, const char *path, const char *list, size_t index)
{
    return field_index(a, field_child(a, path, list), index);
}

/* ---- names ---- */

const char *check_shortened(struct arena *a, const char *text, size_t max)
{
    size_t length = strlen(text), out = 0, left = length;
    char *copy = arena_alloc(a, length + 1);
    for (size_t i = 0; i < length; i++) {
        bool plain = (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= '0' && text[i] <= '9');
        if (plain && left > max && i > 0 && i + 1 < length)
            left--;
        else
            copy[out++] = text[i];
    }
    copy[out < max ? out : max] = '\0';
    return copy;
}

const char *check_lower(struct arena *a, const char *text)
{
    char *copy = arena_strdup(a, text);
    for (char *at = copy; *at; at++)
        *at = (char)(*at >= 'A' && *at <= 'Z' ? *at + 32 : *at);
    return copy;
}

static void check_key_prefix(
    struct field_errors *e, struct json v, const char *path, const char *prefix)
{
    struct error why;
    if (!*prefix)
        field_invalid(e, path, v, "prefix part must be non-empty");
    else if (!name_check(NAME_DNS1123_SUBDOMAIN, prefix, &why))
        field_invalid(e, path, v, arena_printf(e->arena, "prefix part %s", why.text));
}

void check_label_key(struct field_errors *e, struct json v, const char *path, const char *key)
{
    struct error why;
    const char *slash = strchr(key, '/'), *name = slash ? slash + 1 : key;
    bool is_one = !strchr(name, '/');
    if (slash && is_one)
        check_key_prefix(e, v, path, arena_strndup(e->arena, key, (size_t)(slash - key)));
    if (!*name)
        field_invalid(e, path, v, "name part must be non-empty");
    if (is_one && strlen(name) > NAME_LABEL_MAX)
        field_invalid(e, path, v, "name part must be no more than 63 bytes");
    const char *part = !*name    ? "-"
                       : !is_one ? key
                                 : check_shortened(e->arena, name, NAME_LABEL_MAX);
    if (!name_check(NAME_LABEL_KEY, part, &why))
        field_invalid(e, path, v, why.text);
}

void check_label_value(struct field_errors *e, struct json v, const char *path)
{
    struct error why;
    if (v.count > NAME_LABEL_MAX)
        field_invalid(e, path, v, "must be no more than 63 bytes");
    if (!name_check(
            NAME_LABEL_VALUE, check_shortened(e->arena, json_text(v), NAME_LABEL_MAX), &why))
        field_invalid(e, path, v, why.text);
}

void check_name(struct field_errors *e, struct json v, const char *path, enum name_kind kind)
{
    struct error err;
    v = check_is_set(v) ? v : json_str("");
    if (kind == NAME_LABEL_KEY) {
        check_label_key(e, v, path, json_text(v));
        return;
    }
    size_t max = kind == NAME_DNS1123_SUBDOMAIN ? NAME_SUBDOMAIN_MAX : NAME_LABEL_MAX;
    if (v.count > max)
        field_invalid(
            e, path, v, arena_printf(e->arena, "must be no more than %zu characters", max));
    if (!name_check(kind, check_shortened(e->arena, json_text(v), max), &err))
        field_invalid(e, path, v, err.text);
}

void check_labels(struct field_errors *e, struct json labels, const char *path)
{
    json_each_member (m, labels) {
        check_label_key(e, json_str(m->key), path, m->key);
        check_label_value(e, m->value, path);
    }
}

bool check_selector_operator(struct field_errors *e, struct json r, const char *path)
{
    const char *op = json_get_text(r, "operator");
    size_t values = json_member(r, "values").count;
    const char *values_path = field_child(e->arena, path, "values");
    bool in = text_eq(op, "In") || text_eq(op, "NotIn");
    bool exists = text_eq(op, "Exists") || text_eq(op, "DoesNotExist");
    if (in && !values)
        field_required(e, values_path, "must be specified when `operator` is 'In' or 'NotIn'");
    if (exists && values)
        field_forbidden(
            e, values_path, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    return in || exists;
}

void check_requirement(struct field_errors *e, struct json r, const char *path)
{
    struct json key = json_member(r, "key");
    check_name(e,
        json_present(key) ? key : json_str(""),
        field_child(e->arena, path, "key"),
        NAME_LABEL_KEY);
    size_t i = 0;
    json_each (value, json_member(r, "values"))
        check_label_value(e, *value, check_item_path(e->arena, path, "values", i++));
}

void check_selector(struct field_errors *e, struct json selector, const char *path)
{
    check_labels(
        e, json_member(selector, "matchLabels"), field_child(e->arena, path, "matchLabels"));
    size_t i = 0;
    json_each (r, json_member(selector, "matchExpressions")) {
        const char *here = check_item_path(e->arena, path, "matchExpressions", i++);
        const char *op = json_get_text(*r, "operator");
        if (!check_selector_operator(e, *r, here))
            field_invalid(e,
                field_child(e->arena, here, "operator"),
                json_str(op ? op : ""),
                "not a valid selector operator");
        check_requirement(e, *r, here);
    }
}

const char *check_selector_text(struct arena *a, struct json selector)
{
    static const char *const parts[] = { "matchLabels", "matchExpressions" };
    const char *text = "";
    for (size_t i = 0; i < lengthof(parts); i++) {
        struct json part = json_member(selector, parts[i]);
        if (part.count)
            text = arena_printf(
                a, "%s%s\"%s\":%s", text, *text ? "," : "", parts[i], json_to_text(a, part));
    }
    return arena_printf(a, "{%s}", text);
}

void check_domain_path(struct field_errors *e, struct json v, const char *path)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                  "/-._~%!$&'()*+,;=:";
    struct str name = str_of(json_text(v)), domain = str_cut(&name, '/');
    if (check_is_empty(v)) {
        field_required(e, path, NULL);
        return;
    }
    if (!name.len || !domain.len) {
        field_invalid(e, path, v, "must be a domain-prefixed path (such as \"acme.io/foo\")");
        return;
    }
    check_name(e, json_str(str_dup(e->arena, domain)), path, NAME_DNS1123_SUBDOMAIN);
    if (strspn(name.ptr, allowed) < name.len)
        field_invalid(e,
            path,
            json_str(name.ptr),
            "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')");
}

void check_at_most(struct field_errors *e, struct json list, const char *path, size_t max)
{
    if (list.count > max)
        field_error_add(e,
            FIELD_TOO_MANY,
            path,
            json_int(list.count),
            arena_printf(e->arena, "must have at most %zu items", max));
}

void check_segment(struct field_errors *e, struct json v, const char *path, const char *text)
{
    if (text_eq(text, ".") || text_eq(text, "..")) {
        field_invalid(e, path, v, arena_printf(e->arena, "may not be '%s'", text));
        return;
    }
    for (const char *c = "/%"; *c; c++)
        if (strchr(text, *c))
            field_invalid(e, path, v, arena_printf(e->arena, "may not contain '%c'", *c));
}

static bool has_letter(const char *s)
{
    for (; *s; s++)
        if (*s >= 'a' && *s <= 'z')
            return true;
    return false;
}

static void check_port_name(struct field_errors *e, struct json v, const char *path)
{
    const char *s = v.string;
    bool odd = !*s;
    for (const char *c = s; *c; c++)
        odd = odd || !((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '-');
    if (v.count > 15)
        field_invalid(e, path, v, "must be no more than 15 characters");
    if (odd || !v.count)
        field_invalid(
            e, path, v, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    if (!has_letter(s))
        field_invalid(e, path, v, "must contain at least one letter (a-z)");
    if (strstr(s, "--"))
        field_invalid(e, path, v, "must not contain consecutive hyphens");
    if (v.count && (s[0] == '-' || s[v.count - 1] == '-'))
        field_invalid(e, path, v, "must not begin or end with a hyphen");
}

static void check_key(struct field_errors *e, struct json v, const char *path)
{
    const char *s = json_text(v) ? json_text(v) : "";
    bool odd = !*s;
    for (const char *c = s; *c; c++)
        odd = odd || !((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                         (*c >= '0' && *c <= '9') || strchr("-_.", *c));
    if (strlen(s) > NAME_SUBDOMAIN_MAX)
        field_invalid(e, path, v, "must be no more than 253 characters");
    if (odd)
        field_invalid(e,
            path,
            v,
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
            "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
            "'[-._a-zA-Z0-9]+')");
    if (text_eq(s, "."))
        field_invalid(e, path, v, "must not be '.'");
    else if (text_eq(s, ".."))
        field_invalid(e, path, v, "must not be '..'");
    else if (text_starts(s, ".."))
        field_invalid(e, path, v, "must not start with '..'");
}

/* ---- other rules ---- */

void check_enum(struct field_errors *e, struct json v, const char *path, const char *const *allowed)
{
    for (const char *const *a = allowed; *a; a++)
        if (text_eq(json_text(v), *a))
            return;
    cleanup(buf_done) struct buf b = BUF_INIT(1 << 16);
    for (const char *const *a = allowed; *a; a++)
        buf_printf(&b, "%s\"%s\"", a == allowed ? "supported values: " : ", ", *a);
    field_error_add(e, FIELD_NOT_SUPPORTED, path, v, buf_text(&b));
}

void check_invalid_text(struct field_errors *e, enum field_error_type type, const char *path,
    const char *text, const char *detail)
{
    field_error_add(e, type, path, json_none, arena_printf(e->arena, "%s: %s", text, detail));
}

void check_immutable(struct field_errors *e, struct json old, struct json fresh, const char *path)
{
    if (!json_equal(old, fresh))
        field_invalid(e, path, json_present(fresh) ? fresh : json_null(), "field is immutable");
}

bool check_quantity(struct field_errors *e, struct json v, const char *path)
{
    struct quantity q, zero;
    if (!quantity_parse(str_of(json_text(v)), &q, NULL) || !quantity_parse(STR("0"), &zero, NULL) ||
        quantity_compare(q, zero) >= 0)
        return true;
    field_invalid(e, path, v, "must be greater than or equal to 0");
    return false;
}

bool check_is_ip(const char *text)
{
    struct in6_addr in;
    return inet_pton(AF_INET, text, &in) == 1 || inet_pton(AF_INET6, text, &in) == 1;
}

/* 010.0.0.1: valid, but some programs read the first part as octal. */
static bool has_leading_zeros(const char *text)
{
    char plain[16];
    size_t out = 0;
    bool zeros = false;
    for (const char *at = text ? text : ""; *at && out < sizeof(plain) - 1; at++) {
        bool first = !out || plain[out - 1] == '.';
        bool needless = first && *at == '0' && at[1] >= '0' && at[1] <= '9';
        zeros |= needless;
        if (!needless)
            plain[out++] = *at;
    }
    plain[out] = '\0';
    return zeros && check_is_ip(plain);
}

/* An IPv4 address in IPv6 notation. */
static bool is_mapped(const char *text)
{
    struct in6_addr in;
    return inet_pton(AF_INET6, text, &in) == 1 && IN6_IS_ADDR_V4MAPPED(&in);
}

static void check_ip(struct field_errors *e, struct json v, const char *path)
{
    const char *text = json_text(v) ? json_text(v) : "";
    if (has_leading_zeros(text))
        field_invalid(e, path, v, "must not have leading 0s");
    else if (!check_is_ip(text))
        field_invalid(e, path, v, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
    else if (is_mapped(text))
        field_invalid(e, path, v, "must not be an IPv4-mapped IPv6 address");
}

bool check_is_cidr(const char *text)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct str rest = str_of(text), ip = str_cut(&rest, '/');
    int64_t bits;
    const char *address = str_dup(&a, ip);
    return rest.ptr && check_is_ip(address) && str_to_int(rest, &bits) && bits >= 0 &&
           bits <= (strchr(address, ':') ? 128 : 32);
}

unsigned check_read_cidr(struct arena *a, const char *cidr, uint8_t ret_bytes[16])
{
    struct str rest = str_of(cidr);
    const char *ip = str_dup(a, str_cut(&rest, '/'));
    inet_pton(strchr(ip, ':') ? AF_INET6 : AF_INET, ip, ret_bytes);
    return (unsigned)strtoul(rest.ptr, NULL, 10);
}

static bool has_bits_beyond(struct arena *a, const char *cidr)
{
    uint8_t bytes[16] = { 0 };
    for (unsigned i = check_read_cidr(a, cidr, bytes); i < 8 * sizeof(bytes); i++)
        if (bytes[i / 8] >> (7 - i % 8) & 1)
            return true;
    return false;
}

void check_cidr(struct field_errors *e, struct json v, const char *path)
{
    const char *text = json_text(v) ? json_text(v) : "";
    struct str rest = str_of(text), ip = str_cut(&rest, '/');
    const char *address = str_dup(e->arena, ip);
    bool zeros = has_leading_zeros(address) || (rest.len > 1 && *rest.ptr == '0');
    if (!check_is_cidr(text) && !zeros)
        field_invalid(
            e, path, v, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    else if (zeros)
        field_invalid(e, path, v, "must not have leading 0s in IP or prefix length");
    else if (is_mapped(address))
        field_invalid(e, path, v, "must not have an IPv4-mapped IPv6 address");
    else if (has_bits_beyond(e->arena, text))
        field_invalid(e, path, v, "must not have bits set beyond the prefix length");
}

bool check_steps_back(const char *path)
{
    struct str rest = str_of(path);
    while (rest.ptr)
        if (str_eq(str_cut(&rest, '/'), STR("..")))
            return true;
    return false;
}

static void check_local_path(struct field_errors *e, struct json v, const char *path)
{
    const char *s = json_text(v) ? json_text(v) : "";
    if (*s == '/')
        field_invalid(e, path, v, "must be a relative path");
    if (check_steps_back(s))
        field_invalid(e, path, v, "must not contain '..'");
}

static void check_range(
    struct field_errors *e, struct json v, const char *path, int64_t low, int64_t high)
{
    if (v.type == JSON_INT && (v.integer < low || v.integer > high))
        field_invalid(e,
            path,
            v,
            arena_printf(e->arena,
                "must be between %lld and %lld, inclusive",
                (long long)low,
                (long long)high));
}

static void check_number(
    struct field_errors *e, struct json v, const char *path, const struct check *rule)
{
    if (v.type != JSON_INT)
        return;
    if (rule->kind == CHECK_POSITIVE && v.integer <= 0)
        field_invalid(e, path, v, "must be greater than 0");
    if (rule->kind == CHECK_MIN && v.integer < rule->min)
        field_invalid(e,
            path,
            v,
            arena_printf(e->arena, "must be greater than or equal to %lld", (long long)rule->min));
}

void check_value(struct field_errors *e, struct json v, const char *path, const struct check *rule)
{
    switch (rule->kind) {
    case CHECK_REQUIRED:
        if (check_is_empty(v))
            field_required(e, path, rule->detail);
        return;
    case CHECK_ENUM:
        check_enum(e, v, path, rule->allowed);
        return;
    case CHECK_MIN:
    case CHECK_POSITIVE:
        check_number(e, v, path, rule);
        return;
    case CHECK_PORT:
        check_range(e, v, path, 1, 65535);
        return;
    case CHECK_PORT_OR_NAME:
        if (v.type == JSON_STR)
            check_port_name(e, v, path);
        else
            check_range(e, v, path, 1, 65535);
        return;
    case CHECK_PORT_NAME:
        check_port_name(e, v, path);
        return;
    case CHECK_LABEL:
        check_name(e, v, path, NAME_DNS1123_LABEL);
        return;
    case CHECK_SUBDOMAIN:
        check_name(e, v, path, NAME_DNS1123_SUBDOMAIN);
        return;
    case CHECK_SEGMENT:
        check_segment(e, v, path, json_text(v) ? json_text(v) : "");
        return;
    case CHECK_LABEL_KEY:
        check_name(e, v, path, NAME_LABEL_KEY);
        return;
    case CHECK_LABELS:
        check_labels(e, v, path);
        return;
    case CHECK_SELECTOR:
        check_selector(e, v, path);
        return;
    case CHECK_KEY:
        check_key(e, v, path);
        return;
    case CHECK_IP:
        check_ip(e, v, path);
        return;
    case CHECK_FILE_MODE:
        if (v.type == JSON_INT && (v.integer < 0 || v.integer > 0777))
            field_invalid(
                e, path, v, "must be a number between 0 and 0777 (octal), both inclusive");
        return;
    case CHECK_LOCAL_PATH:
        check_local_path(e, v, path);
        return;
    case CHECK_RESERVED_PATH:
        check_local_path(e, v, path);
        if (text_starts(json_text(v), "..") && !text_starts(json_text(v), "../"))
            field_invalid(e, path, v, "must not start with '..'");
        return;
    case CHECK_USER_ID:
        check_range(e, v, path, 0, INT32_MAX);
        return;
    }
}

static void walk(struct field_errors *e, struct json v, const char *path, struct str rest,
    const struct check *rule)
{
    struct str step = str_cut(&rest, '.');
    if (str_eq(step, STR("*"))) {
        for (size_t i = 0; v.type == JSON_LIST && i < v.count; i++) {
            const char *here = field_index(e->arena, path, i);
            if (rest.ptr)
                walk(e, v.items[i], here, rest, rule);
            else
                check_value(e, v.items[i], here, rule);
        }
        return;
    }
    if (v.type != JSON_MAP)
        return;
    struct json member = json_member_n(v, step);
    const char *here = field_child(e->arena, path, str_dup(e->arena, step));
    if (rest.ptr)
        walk(e, member, here, rest, rule);
    else if (rule->kind == CHECK_REQUIRED || (json_present(member) && member.type != JSON_NULL))
        check_value(e, member, here, rule);
}

void check_table(struct field_errors *e, struct json v, const char *path, const struct check *table)
{
    for (; table->path; table++)
        walk(e, v, path, str_of(table->path), table);
}
