#include "merge/canonical.h"

#include <string.h>

#include "base/base64.h"
#include "base/quantity.h"
#include "base/time.h"
#include "merge/typed.h"

bool canonical_is_zero(struct json v)
{
    switch ((enum json_type)v.type) {
    case JSON_ABSENT:
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return !v.boolean;
    case JSON_INT:
        return v.integer == 0;
    case JSON_REAL:
        return v.real == 0;
    case JSON_STR:
    case JSON_LIST:
    case JSON_MAP:
        return v.count == 0;
    }
    return false;
}

/* A quantity may be written as a number. */
static const char *quantity_text(struct arena *a, struct json v)
{
    return v.type == JSON_STR ? v.string : json_to_text(a, v);
}

static bool bytes_equal(const char *x, const char *y)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct str left, right;
    return base64_decode(&a, str_of(x), &left) && base64_decode(&a, str_of(y), &right) &&
           str_eq(left, right);
}

bool canonical_scalar_equal(enum schema_format format, struct json x, struct json y)
{
    if (json_equal(x, y))
        return true;
    if (x.type == JSON_NULL || y.type == JSON_NULL || x.type >= JSON_LIST || y.type >= JSON_LIST)
        return false;
    int64_t left, right;
    if (format == FORMAT_QUANTITY) {
        cleanup(arena_done) struct arena a = ARENA_INIT;
        return quantity_text_equal(quantity_text(&a, x), quantity_text(&a, y));
    }
    if (x.type != JSON_STR || y.type != JSON_STR)
        return false;
    switch (format) {
    case FORMAT_TIME: /* only whole seconds are stored */
        return time_parse(x.string, &left) && time_parse(y.string, &right) &&
               left / 1000 == right / 1000;
    case FORMAT_MICRO_TIME:
        return time_parse_micro(x.string, &left) && time_parse_micro(y.string, &right) &&
               left == right;
    case FORMAT_DURATION:
        return time_duration_parse(x.string, &left) && time_duration_parse(y.string, &right) &&
               left == right;
    case FORMAT_BYTES:
        return bytes_equal(x.string, y.string);
    case FORMAT_PLAIN:
    case FORMAT_INT_OR_STRING: /* the server remembers which of the two it was */
    case FORMAT_QUANTITY:
        break;
    }
    return false;
}

static bool lists_equal(const struct schema *s, uint16_t item, struct json x, struct json y)
{
    for (uint32_t i = 0; i < x.count; i++)
        if (!canonical_equal(s, item, x.items[i], y.items[i]))
            return false;
    return true;
}

/* The server's defaults: for texts and numbers that are not pointers in Go, so that "" and 0 mean
 * nothing, and for members of atomic values, which are compared as a whole. Only for the parts of a
 * pod that users can set through our kinds. */
static const struct {
    const char *type, *member;
    const char *text; /* NULL: */
    int64_t number;
} defaults[] = {
    { "HTTPGetAction", "path", "/", 0 },
    { "HTTPGetAction", "scheme", "HTTP", 0 },
    { "ISCSIVolumeSource", "iscsiInterface", "default", 0 },
    { "ObjectFieldSelector", "apiVersion", "v1", 0 },
    { "Probe", "failureThreshold", NULL, 3 },
    { "Probe", "periodSeconds", NULL, 10 },
    { "Probe", "successThreshold", NULL, 1 },
    { "Probe", "timeoutSeconds", NULL, 1 },
    { "RBDVolumeSource", "keyring", "/etc/ceph/keyring", 0 },
    { "RBDVolumeSource", "pool", "rbd", 0 },
    { "RBDVolumeSource", "user", "admin", 0 },
    { "ResourceFieldSelector", "divisor", "0", 0 },
    { "ScaleIOVolumeSource", "fsType", "xfs", 0 },
    { "ScaleIOVolumeSource", "storageMode", "ThinProvisioned", 0 },
    { "ServiceAccountTokenProjection", "expirationSeconds", NULL, 3600 },
};

bool canonical_is_default(
    const struct schema *s, const struct schema_type *t, const char *member, struct json v)
{
    if (s->table.types != schema_builtin.types || !t->go)
        return false;
    for (size_t i = 0; i < lengthof(defaults); i++) {
        bool same = defaults[i].text ? text_eq(json_text(v), defaults[i].text)
                                     : v.type == JSON_INT && v.integer == defaults[i].number;
        if (same && strcmp(defaults[i].member, member) == 0 &&
            strcmp(defaults[i].type, schema_name(s, t->go)) == 0)
            return true;
    }
    return false;
}

/* The next member that makes a difference: in its own structs the server omits an empty text, list
 * or map, or replaces it by a default. */
static const struct json_member *next_stored(
    const struct schema *s, const struct schema_type *t, struct json v, uint32_t *at)
{
    bool of_server = s->table.types == schema_builtin.types;
    while (*at < v.count) {
        const struct json_member *m = &v.members[(*at)++];
        const struct schema_field *field = schema_field(s, t, m->key);
        /* An empty struct is stored, because it is behind a pointer. */
        bool empty =
            m->value.type >= JSON_STR && !m->value.count &&
            !(m->value.type == JSON_MAP && field && schema_type(s, field->type)->field_count);
        bool told = !empty && !canonical_is_default(s, t, m->key, m->value);
        if (!of_server || told || !field)
            return m;
    }
    return NULL;
}

static bool maps_equal(
    const struct schema *s, const struct schema_type *t, struct json x, struct json y)
{
    for (uint32_t i = 0, j = 0;;) {
        const struct json_member *m = next_stored(s, t, x, &i), *n = next_stored(s, t, y, &j);
        if (!m || !n)
            return m == n;
        if (schema_compare_names(m->key, n->key) != 0)
            return false;
        uint16_t type = schema_member_type(s, t, m->key);
        if (!(type == SCHEMA_NO_TYPE ? json_equal(m->value, n->value)
                                     : canonical_equal(s, type, m->value, n->value)))
            return false;
    }
}

bool canonical_equal(const struct schema *s, uint16_t type, struct json x, struct json y)
{
    const struct schema_type *t = schema_type(s, type);
    if (x.type < JSON_LIST || y.type < JSON_LIST)
        return canonical_scalar_equal((enum schema_format)t->format, x, y);
    if (x.type != y.type)
        return false;
    if (x.count == y.count && x.items == y.items)
        return true;
    if (x.type == JSON_LIST)
        return x.count == y.count && (t->list ? lists_equal(s, t->item, x, y) : json_equal(x, y));
    return t->map ? maps_equal(s, t, x, y) : json_equal(x, y);
}
