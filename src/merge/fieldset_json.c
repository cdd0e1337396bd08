/* Field sets as the API server stores them: FieldsV1. */

#include "merge/fieldset.h"

#include <string.h>

#include "base/buf.h"
#include "merge/gojson.h"

/* ---- reading ---- */

/* Nearly every key is {"name":"x"} without escapes; the rest goes to the JSON parser. */
static bool read_plain_key(struct arena *a, const char *text, struct json *ret)
{
    if (text[0] != '{' || text[1] != '"')
        return false;
    const char *name = text + 2;
    size_t name_length = strcspn(name, "\"\\");
    if (strncmp(name + name_length, "\":\"", 3) != 0)
        return false;
    const char *value = name + name_length + 3;
    size_t value_length = strcspn(value, "\"\\");
    if (strcmp(value + value_length, "\"}") != 0)
        return false;
    struct json_member *m = arena_new(a, struct json_member);
    m->key = arena_strndup(a, name, name_length);
    m->value = json_strn(a, value, value_length);
    *ret = (struct json){ .type = JSON_MAP, .count = 1, .members = m };
    return true;
}

static bool read_index(const char *text, struct path_element *ret, struct error *err)
{
    int64_t index;
    if (!str_to_int(str_of(text), &index))
        return fail(err, ERR_INVALID, "the index %s is no number", text);
    ret->value = json_int(index);
    return true;
}

/* *ret_known is false for a kind of element that only a later server knows. */
static bool read_element(
    struct arena *a, const char *text, struct path_element *ret, bool *ret_known, struct error *err)
{
    static const char kinds[] = { [PATH_FIELD] = 'f', 'k', 'v', 'i' };
    *ret_known = true;
    if (!text[0] || text[1] != ':')
        return fail(err, ERR_INVALID, "%s is no element of a field path", text);
    const char *found = memchr(kinds, text[0], sizeof(kinds));
    if (!found) {
        *ret_known = false;
        return true;
    }
    *ret = (struct path_element){ .kind = (uint8_t)(found - kinds) };
    text += 2;
    switch ((enum path_kind)ret->kind) {
    case PATH_FIELD:
        ret->value = json_str(text);
        return true;
    case PATH_KEY:
        if (read_plain_key(a, text, &ret->value))
            return true;
        if (!json_parse(a, str_of(text), &ret->value, err))
            return fail_in(err, "the key %s", text);
        if (ret->value.type != JSON_MAP)
            return fail(err, ERR_INVALID, "the key %s is no object", text);
        return true;
    case PATH_VALUE:
        return json_parse(a, str_of(text), &ret->value, err) || fail_in(err, "the value %s", text);
    case PATH_INDEX:
        return read_index(text, ret, err);
    }
    return false;
}

/* An object without elements, or with the element `.`, is itself a member. */
static bool read_set(struct arena *a, struct json v, int depth, bool *ret_member,
    const struct fieldset **ret, struct error *err)
{
    if (depth > FIELD_PATH_DEPTH_MAX)
        return fail(err, ERR_INVALID, "deeper than %d levels", FIELD_PATH_DEPTH_MAX);
    if (v.type != JSON_MAP && v.type != JSON_NULL)
        return fail(err, ERR_INVALID, "expected an object, got %s", json_type_name(v));
    struct fieldset_builder b;
    fieldset_builder_init(&b, a);
    *ret_member = false;
    json_each_member (m, v) {
        if (m->key[0] == '.' && !m->key[1]) {
            *ret_member = true;
            continue;
        }
        struct path_element e;
        bool known, member;
        const struct fieldset *below;
        if (!read_element(a, m->key, &e, &known, err))
            return false;
        if (!known)
            continue;
        if (!read_set(a, m->value, depth + 1, &member, &below, err))
            return false;
        fieldset_add(&b, e, member, below);
    }
    *ret = fieldset_end(&b);
    *ret_member |= !(*ret)->count;
    return true;
}

bool fieldset_from_json(
    struct arena *a, struct json fields_v1, const struct fieldset **ret, struct error *err)
{
    bool member;
    if (!json_present(fields_v1)) {
        *ret = fieldset_empty();
        return true;
    }
    return read_set(a, fields_v1, 1, &member, ret, err) || fail_in(err, "fieldsV1");
}

/* ---- writing ---- */

static const char *element_text(struct arena *a, const struct path_element *e)
{
    if (e->kind == PATH_FIELD)
        return arena_printf(a, "f:%s", e->value.string);
    if (e->kind == PATH_INDEX)
        return arena_printf(a, "i:%lld", (long long)e->value.integer);
    const char *prefix = e->kind == PATH_KEY ? "k:" : "v:";
    return arena_printf(a, "%s%s", prefix, gojson_text(a, e->value));
}

struct json fieldset_to_json(struct arena *a, const struct fieldset *s)
{
    struct json_builder map;
    json_builder_init(&map, a);
    for (uint32_t i = 0; i < s->count; i++) {
        const struct fieldset_entry *e = &s->entries[i];
        struct json below = e->below ? fieldset_to_json(a, e->below) : json_empty_map();
        if (e->member && e->below)
            below = json_with_member(a, below, ".", json_empty_map());
        json_put(&map, element_text(a, &e->element), below);
    }
    return json_map_end(&map);
}

static void print_entries(struct buf *b, struct arena *a, const struct fieldset *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct fieldset_entry *e = &s->entries[i];
        if (i)
            buf_add_char(b, ',');
        json_print(b, json_str(element_text(a, &e->element)));
        buf_add_text(b, e->below && e->member ? ":{\".\":{}," : ":{");
        if (e->below)
            print_entries(b, a, e->below);
        buf_add_char(b, '}');
    }
}

void fieldset_print(struct buf *b, const struct fieldset *s)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    buf_add_char(b, '{');
    print_entries(b, &a, s);
    buf_add_char(b, '}');
}
