#include "cedar/internal.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64

const char *value_type_name(enum value_type type)
{
    static const char *const names[] = {
        [VALUE_BOOL] = "bool",
        [VALUE_LONG] = "long",
        [VALUE_STRING] = "string",
        [VALUE_ENTITY] = "entity",
        [VALUE_SET] = "set",
        [VALUE_RECORD] = "record",
        [VALUE_DECIMAL] = "decimal",
        [VALUE_IP] = "ipaddr",
        [VALUE_BAD] = "a JSON value that Cedar does not have (null or a fraction)",
    };
    return names[type];
}

bool uid_equal(struct cedar_uid x, struct cedar_uid y)
{
    return str_eq(x.type, y.type) && str_eq(x.id, y.id);
}

/* ---- from JSON ---- */

static struct value of_json(struct arena *a, struct json v, int depth);

static bool of_escape(struct json v, struct value *ret)
{
    struct json entity = json_member(v, "__entity"), extension = json_member(v, "__extn");
    if (v.count != 1)
        return false;
    if (json_present(entity)) {
        const char *type = json_get_text(entity, "type"), *id = json_get_text(entity, "id");
        *ret = (struct value){ .type = VALUE_BAD };
        if (type && id)
            *ret = (struct value){ .type = VALUE_ENTITY, .uid = { str_of(type), str_of(id) } };
        return true;
    }
    if (!json_present(extension))
        return false;
    const char *name = json_get_text(extension, "fn"), *arg = json_get_text(extension, "arg");
    bool ok = arg && ((text_eq(name, "decimal") && value_decimal(str_of(arg), ret)) ||
                         (text_eq(name, "ip") && value_ip(str_of(arg), ret)));
    if (!ok)
        *ret = (struct value){ .type = VALUE_BAD };
    return true;
}

static struct value of_map(struct arena *a, struct json v, int depth)
{
    struct value out = { .type = VALUE_RECORD };
    if (of_escape(v, &out))
        return out;
    struct value_member *members = arena_array(a, v.count, sizeof *members);
    json_each_member (m, v)
        members[out.count++] =
            (struct value_member){ str_of(m->key), of_json(a, m->value, depth + 1) };
    out.members = members;
    return out;
}

static struct value of_list(struct arena *a, struct json v, int depth)
{
    struct value out = { .type = VALUE_SET };
    struct value *items = arena_array(a, v.count, sizeof *items);
    json_each (item, v)
        items[out.count++] = of_json(a, *item, depth + 1);
    out.items = items;
    return out;
}

static struct value of_json(struct arena *a, struct json v, int depth)
{
    if (depth > DEPTH_MAX)
        return (struct value){ .type = VALUE_BAD };
    switch ((enum json_type)v.type) {
    case JSON_BOOL:
        return (struct value){ .type = VALUE_BOOL, .boolean = v.boolean };
    case JSON_INT:
        return (struct value){ .type = VALUE_LONG, .number = v.integer };
    case JSON_STR:
        return (struct value){ .type = VALUE_STRING, .string = { v.string, v.count } };
    case JSON_LIST:
        return of_list(a, v, depth);
    case JSON_MAP:
        return of_map(a, v, depth);
    default:
        return (struct value){ .type = VALUE_BAD };
    }
}

struct value value_of_json(struct arena *a, struct json v)
{
    if (!json_present(v))
        return (struct value){ .type = VALUE_RECORD };
    return of_json(a, v, 0);
}

/* ---- comparing ---- */

const struct value *value_member_of(const struct value *record, struct str key)
{
    for (size_t i = 0; i < record->count; i++)
        if (str_eq(record->members[i].key, key))
            return &record->members[i].value;
    return NULL;
}

bool value_contains(const struct value *set, const struct value *item, int64_t *steps)
{
    for (size_t i = 0; i<set->count && * steps> 0; i++)
        if (value_equal(&set->items[i], item, steps))
            return true;
    return false;
}

/* Order and duplicates are ignored. */
static bool sets_equal(const struct value *x, const struct value *y, int64_t *steps)
{
    for (size_t i = 0; i < x->count; i++)
        if (!value_contains(y, &x->items[i], steps))
            return false;
    for (size_t i = 0; i < y->count; i++)
        if (!value_contains(x, &y->items[i], steps))
            return false;
    return true;
}

static bool records_equal(const struct value *x, const struct value *y, int64_t *steps)
{
    if (x->count != y->count)
        return false;
    for (size_t i = 0; i < x->count; i++) {
        const struct value *other = value_member_of(y, x->members[i].key);
        *steps -= (int64_t)y->count;
        if (!other || *steps < 0 || !value_equal(&x->members[i].value, other, steps))
            return false;
    }
    return true;
}

bool value_equal(const struct value *x, const struct value *y, int64_t *steps)
{
    if (--*steps < 0 || x->type != y->type)
        return false;
    switch (x->type) {
    case VALUE_BOOL:
        return x->boolean == y->boolean;
    case VALUE_LONG:
    case VALUE_DECIMAL:
        return x->number == y->number;
    case VALUE_STRING:
        return str_eq(x->string, y->string);
    case VALUE_ENTITY:
        return uid_equal(x->uid, y->uid);
    case VALUE_SET:
        return sets_equal(x, y, steps);
    case VALUE_RECORD:
        return records_equal(x, y, steps);
    case VALUE_IP:
        return x->ip.v6 == y->ip.v6 && x->ip.prefix == y->ip.prefix &&
               memcmp(x->ip.bytes, y->ip.bytes, sizeof x->ip.bytes) == 0;
    case VALUE_BAD:
        break;
    }
    return false;
}

/* ---- decimal ---- */

/* "-12.3456": one to four digits after the point. */
bool value_decimal(struct str text, struct value *ret)
{
    bool minus = text.len && text.ptr[0] == '-';
    struct str rest = { text.ptr + minus, text.len - minus };
    const char *point = rest.len ? memchr(rest.ptr, '.', rest.len) : NULL;
    size_t whole = point ? (size_t)(point - rest.ptr) : 0, parts = point ? rest.len - whole - 1 : 0;
    if (!whole || !parts || parts > 4)
        return false;
    __int128 number = 0;
    for (size_t i = 0; i < whole + 5; i++) {
        if (i == whole)
            continue;
        char digit = i < rest.len ? rest.ptr[i] : '0';
        if (!isdigit((unsigned char)digit))
            return false;
        number = number * 10 + (digit - '0');
        if (number > (__int128)INT64_MAX + 1)
            return false;
    }
    number = minus ? -number : number;
    if (number > INT64_MAX)
        return false;
    *ret = (struct value){ .type = VALUE_DECIMAL, .number = (int64_t)number };
    return true;
}

/* ---- addresses ---- */

/* Go and inet_pton() differ about leading zeros; Cedar refuses them. */
static bool has_leading_zero(const char *text)
{
    for (const char *at = text; *at; at++)
        if (*at == '0' && isdigit((unsigned char)at[1]) &&
            (at == text || !isdigit((unsigned char)at[-1])))
            return true;
    return false;
}

bool value_ip(struct str text, struct value *ret)
{
    char copy[64];
    if (!text.len || text.len >= sizeof copy || memchr(text.ptr, '\0', text.len))
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    struct value out = { .type = VALUE_IP };
    char *slash = strchr(copy, '/');
    int64_t prefix = -1;
    if (slash) {
        bool zeros = slash[1] == '0' && slash[2];
        if (!isdigit((unsigned char)slash[1]) || zeros || strlen(slash + 1) > 3 ||
            !str_to_int(str_of(slash + 1), &prefix))
            return false;
        *slash = '\0';
    }
    out.ip.v6 = strchr(copy, ':') != NULL;
    bool mixed = out.ip.v6 && strchr(copy, '.');
    if (mixed || (!out.ip.v6 && has_leading_zero(copy)) ||
        inet_pton(out.ip.v6 ? AF_INET6 : AF_INET, copy, out.ip.bytes) != 1)
        return false;
    int64_t most = out.ip.v6 ? 128 : 32;
    if (prefix > most)
        return false;
    out.ip.prefix = (uint8_t)(prefix < 0 ? most : prefix);
    *ret = out;
    return true;
}

static bool same_bits(const uint8_t *x, const uint8_t *y, size_t bits)
{
    if (memcmp(x, y, bits / 8) != 0)
        return false;
    uint8_t mask = (uint8_t)(0xff << (8 - bits % 8));
    return bits % 8 == 0 || (x[bits / 8] & mask) == (y[bits / 8] & mask);
}

bool ip_in_range(const struct ip *x, const struct ip *range)
{
    return x->v6 == range->v6 && x->prefix >= range->prefix &&
           same_bits(x->bytes, range->bytes, range->prefix);
}

bool ip_is_loopback(const struct ip *x)
{
    static const struct ip v4 = { { 127 }, 8, false }, v6 = { { [15] = 1 }, 128, true };
    return ip_in_range(x, x->v6 ? &v6 : &v4);
}

bool ip_is_multicast(const struct ip *x)
{
    static const struct ip v4 = { { 224 }, 4, false }, v6 = { { 0xff }, 8, true };
    return ip_in_range(x, x->v6 ? &v6 : &v4);
}
