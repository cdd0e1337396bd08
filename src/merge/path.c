/* Field paths: their order, and their readable text, printed and parsed. */

#include "merge/fieldset.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/* The API server's order of values in path elements, which differs from the one in base/json. */
static int value_rank(struct json v)
{
    static const uint8_t ranks[] = {
        [JSON_INT] = 1,
        [JSON_REAL] = 1,
        [JSON_STR] = 2,
        [JSON_BOOL] = 3,
        [JSON_LIST] = 4,
        [JSON_MAP] = 5,
        [JSON_NULL] = 6,
        [JSON_ABSENT] = 7,
    };
    return ranks[v.type];
}

static int value_compare(struct json a, struct json b)
{
    int x = value_rank(a), y = value_rank(b);
    return x != y ? x - y : json_compare(a, b);
}

static int keys_compare(struct json a, struct json b)
{
    for (uint32_t i = 0; i < a.count && i < b.count; i++) {
        int order = strcmp(a.members[i].key, b.members[i].key);
        if (!order)
            order = value_compare(a.members[i].value, b.members[i].value);
        if (order)
            return order;
    }
    return (a.count > b.count) - (a.count < b.count);
}

int path_element_compare(const struct path_element *a, const struct path_element *b)
{
    if (a->kind != b->kind)
        return (int)a->kind - (int)b->kind;
    if (a->kind == PATH_FIELD) {
        const char *x = a->value.string, *y = b->value.string;
        int order = (unsigned char)*x - (unsigned char)*y;
        return x == y ? 0 : order ? order : strcmp(x, y);
    }
    return a->kind == PATH_KEY ? keys_compare(a->value, b->value)
                               : value_compare(a->value, b->value);
}

/* Like Go's %q, except for its escapes of unprintable Unicode. */
static void print_quoted(struct buf *b, const char *text)
{
    static const char characters[] = "\a\b\f\n\r\t\v\"\\", letters[] = "abfnrtv\"\\";
    buf_add_char(b, '"');
    for (; *text; text++) {
        const char *found = strchr(characters, *text);
        if (found)
            buf_add(b, (char[]){ '\\', letters[found - characters] }, 2);
        else if ((unsigned char)*text < 0x20 || *text == 0x7f)
            buf_printf(b, "\\x%02x", (unsigned)(unsigned char)*text);
        else
            buf_add_char(b, *text);
    }
    buf_add_char(b, '"');
}

static void print_value(struct buf *b, struct json v)
{
    if (v.type == JSON_STR)
        print_quoted(b, v.string);
    else
        json_print(b, v);
}

void path_element_print(struct buf *b, const struct path_element *e)
{
    switch ((enum path_kind)e->kind) {
    case PATH_FIELD:
        buf_add_char(b, '.');
        buf_add_text(b, e->value.string);
        return;
    case PATH_KEY:
        for (uint32_t i = 0; i < e->value.count; i++) {
            buf_add_char(b, i ? ',' : '[');
            buf_add_text(b, e->value.members[i].key);
            buf_add_char(b, '=');
            print_value(b, e->value.members[i].value);
        }
        break;
    case PATH_VALUE:
        buf_add_text(b, "[=");
        print_value(b, e->value);
        break;
    case PATH_INDEX:
        buf_printf(b, "[%lld", (long long)e->value.integer);
        break;
    }
    buf_add_char(b, ']');
}

char *field_path_text(struct arena *a, const struct field_path *path)
{
    cleanup(buf_done) struct buf b = BUF_INIT(1 << 20);
    for (size_t i = 0; i < path->count; i++)
        path_element_print(&b, &path->elements[i]);
    return arena_strdup(a, buf_text(&b));
}

/* ---- parsing ---- */

struct path_reader {
    struct arena *arena;
    const char *text;
    const char *at;
    struct error *err;
};

static bool read_fail(struct path_reader *r, const char *what)
{
    return fail(
        r->err, ERR_INVALID, "field path %s: %s at %d", r->text, what, (int)(r->at - r->text) + 1);
}

/* A JSON scalar, up to the `,` or `]` after it. */
static bool read_value(struct path_reader *r, struct json *ret)
{
    const char *end = r->at;
    if (*end == '"')
        for (end++; *end && *end != '"'; end++)
            end += end[0] == '\\' && end[1];
    end += strcspn(end, ",]");
    struct str text = { r->at, (size_t)(end - r->at) };
    struct error why;
    if (!json_parse(r->arena, text, ret, &why) || ret->type >= JSON_LIST)
        return read_fail(r, "expected a text in quotes, a number, true, false or null");
    r->at = end;
    return true;
}

static bool read_keys(struct path_reader *r, struct path_element *ret)
{
    struct json_builder keys;
    json_builder_init(&keys, r->arena);
    for (;;) {
        size_t length = strcspn(r->at, "=,]");
        if (r->at[length] != '=' || length == 0)
            return read_fail(r, "expected a key and =");
        const char *name = arena_strndup(r->arena, r->at, length);
        r->at += length + 1;
        struct json value;
        if (!read_value(r, &value))
            return false;
        json_put(&keys, name, value);
        if (*r->at != ',')
            break;
        r->at++;
    }
    *ret = (struct path_element){ .kind = PATH_KEY, .value = json_map_end(&keys) };
    return true;
}

/* The text between [ and ]: a key, a value, an index, or a name in quotes (for names with dots). */
static bool read_brackets(struct path_reader *r, struct path_element *ret)
{
    bool ok;
    if (*r->at == '=') {
        r->at++;
        ret->kind = PATH_VALUE;
        ok = read_value(r, &ret->value);
    } else if (*r->at == '"' || r->at[strspn(r->at, "0123456789")] == ']') {
        ok = read_value(r, &ret->value);
        ret->kind = ret->value.type == JSON_STR ? PATH_FIELD : PATH_INDEX;
        if (ok && ret->kind == PATH_INDEX && ret->value.type != JSON_INT)
            return read_fail(r, "expected an index");
    } else {
        ok = read_keys(r, ret);
    }
    if (ok && *r->at != ']')
        return read_fail(r, "expected ]");
    r->at += ok;
    return ok;
}

static bool read_element(struct path_reader *r, bool first, struct path_element *ret)
{
    *ret = (struct path_element){ 0 };
    if (*r->at == '[') {
        r->at++;
        return read_brackets(r, ret);
    }
    if (*r->at == '.')
        r->at++;
    else if (!first)
        return read_fail(r, "expected . or [");
    size_t length = strcspn(r->at, ".[]");
    if (!length)
        return read_fail(r, "expected a name");
    ret->value = json_strn(r->arena, r->at, length);
    r->at += length;
    return true;
}

bool field_path_parse(struct arena *a, const char *text, struct field_path *ret, struct error *err)
{
    struct path_reader r = { .arena = a, .text = text, .at = text, .err = err };
    struct path_element elements[FIELD_PATH_DEPTH_MAX];
    size_t count = 0;
    while (*r.at) {
        if (count == FIELD_PATH_DEPTH_MAX)
            return read_fail(&r, "too deep");
        if (!read_element(&r, count == 0, &elements[count]))
            return false;
        count++;
    }
    struct path_element *copy = arena_array(a, count, sizeof(*copy));
    memcpy(copy, elements, count * sizeof(*copy));
    *ret = (struct field_path){ .elements = copy, .count = count };
    return true;
}
