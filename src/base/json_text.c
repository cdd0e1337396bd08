/* Parses and prints JSON text. The only file that uses yyjson. */

#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/utf8.h"

struct conversion {
    struct arena *arena;
    struct error *err;
    bool may_hold_nul;          /* \u0000 occurs in the text */
    bool joins;                 /* merges maps under the same key */
    bool twice;                 /* some map has a duplicate key */
    struct json_givens *givens; /* NULL: not requested */
};

static bool convert(struct conversion *c, yyjson_val *from, int depth, struct json *ret);

static bool convert_list(struct conversion *c, yyjson_val *from, int depth, struct json *ret)
{
    size_t count = yyjson_arr_size(from), at = 0;
    struct json *items = arena_array(c->arena, count, sizeof(*items));
    yyjson_arr_iter iter = yyjson_arr_iter_with(from);
    for (yyjson_val *item; (item = yyjson_arr_iter_next(&iter));)
        if (!convert(c, item, depth + 1, &items[at++]))
            return false;
    *ret = (struct json){ .type = JSON_LIST, .count = (uint32_t)count, .items = items };
    return true;
}

/* Our strings end with a NUL, so they cannot contain one. */
static bool holds_nul(const struct conversion *c, yyjson_val *text)
{
    return c->may_hold_nul && memchr(yyjson_get_str(text), '\0', yyjson_get_len(text));
}

static struct json joined(struct arena *a, struct json old, struct json fresh)
{
    if (old.type != JSON_MAP || fresh.type != JSON_MAP)
        return fresh;
    struct json_builder b;
    json_builder_init(&b, a);
    json_put_all(&b, old);
    json_each_member (m, fresh)
        json_put(&b, m->key, joined(a, json_member(old, m->key), m->value));
    return json_map_end(&b);
}

static int compare_keys(const void *x, const void *y)
{
    return strcmp(((const struct json_member *)x)->key, ((const struct json_member *)y)->key);
}

/* map has the last value of each key; given has all of them, in the order of the text. */
static struct json join_twice(
    struct arena *a, struct json map, const struct json_member *given, uint32_t count)
{
    struct json_member *members = arena_array(a, map.count, sizeof(*members));
    for (uint32_t i = 0; i < map.count; i++)
        members[i] = (struct json_member){ .key = map.members[i].key };
    for (uint32_t i = 0; i < count; i++) {
        struct json_member *m =
            bsearch(&given[i], members, map.count, sizeof(*members), compare_keys);
        m->value = joined(a, m->value, given[i].value);
    }
    return (struct json){ .type = JSON_MAP, .count = map.count, .members = members };
}

static void remember_given(
    struct conversion *c, struct json map, const struct json_member *members, uint32_t count)
{
    struct json_givens *g = c->givens;
    arena_room(c->arena, g->items, g->count, g->size);
    g->items[g->count++] = (struct json_given){ map.members, members, count };
}

static bool convert_map(struct conversion *c, yyjson_val *from, int depth, struct json *ret)
{
    struct json_builder b;
    json_builder_init_for(&b, c->arena, (uint32_t)yyjson_obj_size(from));
    yyjson_obj_iter iter = yyjson_obj_iter_with(from);
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&iter));) {
        struct json value;
        if (!convert(c, yyjson_obj_iter_get_val(key), depth + 1, &value))
            return false;
        if (holds_nul(c, key))
            return fail(c->err, ERR_INVALID, "a key holds a NUL character");
        json_put(&b, yyjson_get_str(key), value);
    }
    uint32_t count = b.count;
    struct json_member *given = NULL;
    if ((c->joins || c->givens) && count) {
        given = arena_array(c->arena, count, sizeof(*given));
        memcpy(given, b.members, count * sizeof(*given));
    }
    *ret = json_map_end(&b);
    c->twice |= ret->count < count;
    if (c->joins && ret->count < count)
        *ret = join_twice(c->arena, *ret, given, count);
    if (c->givens && count)
        remember_given(c, *ret, given, count);
    return true;
}

static bool convert(struct conversion *c, yyjson_val *from, int depth, struct json *ret)
{
    if (depth > JSON_DEPTH_MAX)
        return fail(c->err, ERR_INVALID, "nested deeper than %d levels", JSON_DEPTH_MAX);
    switch (yyjson_get_type(from)) {
    case YYJSON_TYPE_STR:
        if (holds_nul(c, from))
            return fail(c->err, ERR_INVALID, "a string holds a NUL character");
        *ret = (struct json){ .type = JSON_STR,
            .count = (uint32_t)yyjson_get_len(from),
            .string = yyjson_get_str(from) };
        return true;
    case YYJSON_TYPE_ARR:
        return convert_list(c, from, depth, ret);
    case YYJSON_TYPE_OBJ:
        return convert_map(c, from, depth, ret);
    case YYJSON_TYPE_BOOL:
        *ret = json_bool(yyjson_get_bool(from));
        return true;
    case YYJSON_TYPE_NUM:
        if (yyjson_is_sint(from) || (yyjson_is_uint(from) && yyjson_get_uint(from) <= INT64_MAX))
            *ret = json_int(yyjson_get_sint(from));
        else
            *ret = json_real(yyjson_get_num(from));
        return true;
    default:
        *ret = json_null();
        return true;
    }
}

static void doc_free(yyjson_doc **doc)
{
    yyjson_doc_free(*doc);
}

static bool fail_at(struct error *err, struct str text, const yyjson_read_err *why)
{
    size_t line = 1, column = 1;
    for (size_t i = 0; i < why->pos && i < text.len; i++) {
        column = text.ptr[i] == '\n' ? 1 : column + 1;
        line += text.ptr[i] == '\n';
    }
    return fail(err, ERR_INVALID, "not JSON: %s at line %zu column %zu", why->msg, line, column);
}

/* The text is copied once and read in place: keys and strings are parts of the copy. */
bool json_parse(struct arena *a, struct str text, struct json *ret, struct error *err)
{
    bool twice;
    return json_parse_keys(a, text, ret, &twice, err);
}

static bool parse(struct arena *a, struct str text, bool joins, struct json_givens *givens,
    struct json *ret, bool *ret_twice, struct error *err)
{
    yyjson_read_err why = { 0 };
    if (text.len > UINT32_MAX)
        return fail(err, ERR_TOO_LARGE, "%zu bytes of JSON are too many", text.len);
    char *copy = arena_alloc(a, text.len + YYJSON_PADDING_SIZE);
    if (text.len)
        memcpy(copy, text.ptr, text.len);
    cleanup(doc_free) yyjson_doc *doc =
        yyjson_read_opts(copy, text.len, YYJSON_READ_INSITU, NULL, &why);
    if (!doc)
        return fail_at(err, text, &why);
    /* Most texts have no escapes at all, which is quick to check. */
    const char *escape = text.len ? memchr(text.ptr, '\\', text.len) : NULL;
    size_t rest = escape ? text.len - (size_t)(escape - text.ptr) : 0;
    struct conversion c = {
        .arena = a,
        .err = err,
        .joins = joins,
        .givens = givens,
        .may_hold_nul = escape && memmem(escape, rest, "\\u0000", 6),
    };
    bool ok = convert(&c, yyjson_doc_get_root(doc), 0, ret);
    *ret_twice = c.twice;
    return ok;
}

bool json_parse_keys(
    struct arena *a, struct str text, struct json *ret, bool *ret_twice, struct error *err)
{
    return parse(a, text, false, NULL, ret, ret_twice, err);
}

bool json_parse_joined(struct arena *a, struct str text, struct json *ret, struct error *err)
{
    bool twice;
    return parse(a, text, true, NULL, ret, &twice, err);
}

/* ---- maps as they were written ---- */

static int by_map(const void *x, const void *y)
{
    uintptr_t left = (uintptr_t)((const struct json_given *)x)->map;
    uintptr_t right = (uintptr_t)((const struct json_given *)y)->map;
    return left < right ? -1 : left > right;
}

bool json_parse_given(struct arena *a, struct str text, struct json *ret,
    struct json_givens *ret_givens, struct error *err)
{
    bool twice;
    *ret_givens = (struct json_givens){ 0 };
    if (!parse(a, text, false, ret_givens, ret, &twice, err))
        return false;
    if (ret_givens->count)
        qsort(ret_givens->items, ret_givens->count, sizeof(*ret_givens->items), by_map);
    return true;
}

static struct json_given *find_given(const struct json_givens *givens, struct json v)
{
    struct json_given key = { .map = v.members };
    if (!json_is(v, JSON_MAP) || !v.count || !givens->count)
        return NULL;
    return bsearch(&key, givens->items, givens->count, sizeof(key), by_map);
}

void json_given_forget(struct json_givens *givens, struct json v, bool deep)
{
    struct json_given *given = find_given(givens, v);
    if (given)
        given->count = 0;
    if (!deep)
        return;
    json_each (item, v)
        json_given_forget(givens, *item, true);
    json_each_member (m, v)
        json_given_forget(givens, m->value, true);
}

static void print_given(struct buf *b, struct json v, const struct json_givens *givens)
{
    const struct json_given *given = find_given(givens, v);
    bool as_given = given && given->count, map = json_is(v, JSON_MAP);
    const struct json_member *members = as_given ? given->members : v.members;
    uint32_t count = as_given ? given->count : v.count;
    if (!map && !json_is(v, JSON_LIST)) {
        json_print(b, v);
        return;
    }
    buf_add_char(b, map ? '{' : '[');
    for (uint32_t i = 0; i < count; i++) {
        buf_add_text(b, i ? "," : "");
        if (map) {
            json_print(b, json_str(members[i].key));
            buf_add_char(b, ':');
        }
        print_given(b, map ? members[i].value : v.items[i], givens);
    }
    buf_add_char(b, map ? '}' : ']');
}

char *json_given_to_text(struct arena *a, struct json v, const struct json_givens *givens)
{
    cleanup(buf_done) struct buf b = BUF_INIT(SIZE_MAX / 2);
    print_given(&b, v, givens);
    return arena_strndup(a, b.ptr, b.len);
}

/* ---- keys in the order of the text ---- */

struct key_walk {
    bool (*key)(void *ctx, const char *path, bool again);
    void *ctx;
    struct buf path;
};

static void walk_value(struct key_walk *w, yyjson_val *v);

struct walk_key {
    yyjson_val *key;
    size_t place;
};

static int by_key_and_place(const void *x, const void *y)
{
    const struct walk_key *l = x, *r = y;
    size_t left = yyjson_get_len(l->key), right = yyjson_get_len(r->key);
    int order = memcmp(yyjson_get_str(l->key), yyjson_get_str(r->key), left < right ? left : right);
    if (order == 0)
        order = left < right ? -1 : left > right;
    return order ? order : l->place < r->place ? -1 : l->place > r->place;
}

/* Whether each key of a map is a duplicate. */
static const bool *find_again(struct arena *a, yyjson_val *map)
{
    size_t count = 0;
    struct walk_key *keys = arena_array(a, yyjson_obj_size(map) + 1, sizeof(*keys));
    bool *again = arena_array(a, yyjson_obj_size(map) + 1, sizeof(*again));
    yyjson_obj_iter iter = yyjson_obj_iter_with(map);
    for (yyjson_val *k; (k = yyjson_obj_iter_next(&iter)); count++)
        keys[count] = (struct walk_key){ k, count };
    if (count)
        qsort(keys, count, sizeof(*keys), by_key_and_place);
    for (size_t i = 1; i < count; i++)
        again[keys[i].place] = yyjson_equals_strn(
            keys[i].key, yyjson_get_str(keys[i - 1].key), yyjson_get_len(keys[i - 1].key));
    return again;
}

static void walk_map(struct key_walk *w, yyjson_val *map)
{
    size_t length = w->path.len;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const bool *again = find_again(&a, map);
    yyjson_obj_iter iter = yyjson_obj_iter_with(map);
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&iter));) {
        buf_printf(&w->path, "%s%s", length ? "." : "", yyjson_get_str(key));
        if (w->key(w->ctx, buf_text(&w->path), *again++))
            walk_value(w, yyjson_obj_iter_get_val(key));
        w->path.len = length;
    }
}

static void walk_value(struct key_walk *w, yyjson_val *v)
{
    size_t length = w->path.len, index = 0;
    if (yyjson_is_obj(v))
        walk_map(w, v);
    if (!yyjson_is_arr(v))
        return;
    yyjson_arr_iter iter = yyjson_arr_iter_with(v);
    for (yyjson_val *item; (item = yyjson_arr_iter_next(&iter));) {
        buf_printf(&w->path, "[%zu]", index++);
        walk_value(w, item);
        w->path.len = length;
    }
}

static void walk_done(struct key_walk *w)
{
    buf_done(&w->path);
}

void json_walk_keys(
    struct str text, bool (*key)(void *ctx, const char *path, bool again), void *ctx)
{
    cleanup(doc_free) yyjson_doc *doc = yyjson_read(text.ptr, text.len, 0);
    cleanup(walk_done) struct key_walk w = {
        .key = key, .ctx = ctx, .path = BUF_INIT((size_t)1 << 20)
    };
    if (doc)
        walk_value(&w, yyjson_doc_get_root(doc));
}

static void print_string(struct buf *b, const char *text, size_t length)
{
    static const char hex[] = "0123456789abcdef";
    static const bool special[256] = {
        [0 ... 0x1f] = true, ['"'] = true, ['\\'] = true, [0x80 ... 0xff] = true
    };
    buf_add_char(b, '"');
    size_t clean = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (!special[c])
            continue;
        uint32_t character;
        size_t bytes = c < 0x80 ? 0 : utf8_first((struct str){ text + i, length - i }, &character);
        if (bytes) {
            i += bytes - 1;
            continue;
        }
        buf_add(b, text + clean, i - clean);
        clean = i + 1;
        if (c >= 0x80) { /* for example a request's path, quoted in a message */
            buf_add_text(b, "\xef\xbf\xbd");
            continue;
        }
        const char *found = strchr("\"\"\\\\\nn\rr\tt", c);
        if (found && c) {
            buf_add(b, (char[]){ '\\', found[1] }, 2);
        } else {
            buf_add(b, (char[]){ '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] }, 6);
        }
    }
    buf_add(b, text + clean, length - clean);
    buf_add_char(b, '"');
}

/* The shortest form that reads back as the same number, with an exponent where Go uses one. */
static void print_real(struct buf *b, double value)
{
    char text[40], digits[24];
    if (!isfinite(value)) {
        buf_add_text(b, "null");
        return;
    }
    for (int precision = 14; precision <= 16; precision++) {
        snprintf(text, sizeof(text), "%.*e", precision, fabs(value));
        if (strtod(text, NULL) == fabs(value))
            break;
    }
    int exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10), count = 0;
    for (const char *c = text; *c != 'e'; c++)
        if (*c != '.')
            digits[count++] = *c;
    while (count > 1 && digits[count - 1] == '0')
        count--;
    bool fixed = value == 0 || (exponent >= -6 && exponent < 21);
    int point = fixed ? exponent + 1 : 1; /* number of digits before the point */
    if (signbit(value))
        buf_add_char(b, '-');
    for (int i = point < 1 ? point - 1 : 0; i < (count > point ? count : point); i++) {
        if (i == point && i > (point < 1 ? point - 1 : 0))
            buf_add_char(b, '.');
        buf_add_char(b, i < 0 || i >= count ? '0' : digits[i]);
    }
    if (!fixed)
        buf_printf(b, "e%c%d", exponent < 0 ? '-' : '+', abs(exponent));
}

static void print_break(struct buf *b, int indent, int depth)
{
    if (indent < 0)
        return;
    buf_add_char(b, '\n');
    for (int i = 0; i < indent * depth; i++)
        buf_add_char(b, ' ');
}

static void print(struct buf *b, struct json v, int indent, int depth);

static void print_container(struct buf *b, struct json v, int indent, int depth)
{
    bool map = v.type == JSON_MAP;
    buf_add_char(b, map ? '{' : '[');
    for (uint32_t i = 0; i < v.count; i++) {
        if (i)
            buf_add_char(b, ',');
        print_break(b, indent, depth + 1);
        if (map) {
            print_string(b, v.members[i].key, strlen(v.members[i].key));
            buf_add_text(b, indent < 0 ? ":" : ": ");
        }
        print(b, map ? v.members[i].value : v.items[i], indent, depth + 1);
    }
    if (v.count)
        print_break(b, indent, depth);
    buf_add_char(b, map ? '}' : ']');
}

static void print(struct buf *b, struct json v, int indent, int depth)
{
    switch ((enum json_type)v.type) {
    case JSON_ABSENT:
    case JSON_NULL:
        buf_add_text(b, "null");
        break;
    case JSON_BOOL:
        buf_add_text(b, v.boolean ? "true" : "false");
        break;
    case JSON_INT:
        buf_printf(b, "%lld", (long long)v.integer);
        break;
    case JSON_REAL:
        print_real(b, v.real);
        break;
    case JSON_STR:
        print_string(b, v.string, v.count);
        break;
    case JSON_LIST:
    case JSON_MAP:
        print_container(b, v, indent, depth);
        break;
    }
}

void json_print(struct buf *b, struct json v)
{
    print(b, v, -1, 0);
}

void json_print_pretty(struct buf *b, struct json v, int indent)
{
    assert(indent >= 0);
    print(b, v, indent, 0);
}

char *json_to_text(struct arena *a, struct json v)
{
    cleanup(buf_done) struct buf b = BUF_INIT(SIZE_MAX / 2);
    json_print(&b, v);
    return arena_strndup(a, b.ptr, b.len);
}
