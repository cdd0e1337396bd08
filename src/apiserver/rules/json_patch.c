#include "apiserver/rules/json_patch.h"

#include <string.h>

#define TOKENS_MAX (JSON_DEPTH_MAX + 1)

/* ---- pointers ---- */

struct pointer {
    const char *tokens[TOKENS_MAX];
    size_t count;
};

static char *unescape(struct arena *a, struct str token)
{
    char *text = str_dup(a, token), *to = text;
    for (const char *from = text; *from; from++) {
        bool escape = *from == '~' && (from[1] == '0' || from[1] == '1');
        *to++ = escape ? (from[1] == '1' ? '/' : '~') : *from;
        from += escape;
    }
    *to = '\0';
    return text;
}

/* What stands before the first slash does not count, as the library has it. */
static bool pointer_parse(struct arena *a, const char *text, struct pointer *ret, struct error *err)
{
    struct str rest = str_of(text ? text : "");
    str_cut(&rest, '/');
    if (!rest.ptr)
        return fail(err, ERR_INVALID, "a path without a slash");
    ret->count = 0;
    while (rest.ptr) {
        if (ret->count == TOKENS_MAX)
            return fail(err, ERR_INVALID, "a path of more than %d steps", TOKENS_MAX);
        ret->tokens[ret->count++] = unescape(a, str_cut(&rest, '/'));
    }
    return true;
}

/* A place in a list; -1 is the last one, as the library has it. */
static bool list_index(const char *token, uint32_t count, int64_t *ret)
{
    if (!str_to_int(str_of(token), ret))
        return false;
    *ret += *ret < 0 ? count : 0;
    return *ret >= 0 && *ret < count;
}

static struct json step(struct json v, const char *token)
{
    int64_t index;
    if (v.type == JSON_LIST)
        return json_if(list_index(token, v.count, &index), v.items[index]);
    return json_member(v, token);
}

/* ---- changing ---- */

/* What one patch has done so far. */
struct patching {
    struct json_givens *givens;
    size_t copied; /* bytes that copy operations made: doubling must end */
};

enum edit { EDIT_ADD, EDIT_REPLACE, EDIT_REMOVE };

static bool edit_list(struct arena *a, struct json list, const char *token, enum edit edit,
    struct json value, struct json *ret, struct error *err)
{
    int64_t at;
    if (edit == EDIT_ADD && strcmp(token, "-") == 0)
        at = list.count;
    else if (!list_index(token, list.count + (edit == EDIT_ADD), &at))
        return fail(err, ERR_INVALID, "no place %s in a list of %u", token, list.count);
    struct json_builder b;
    json_builder_init(&b, a);
    for (uint32_t i = 0; i < list.count; i++) {
        if (i == at && edit != EDIT_REMOVE)
            json_push(&b, value);
        if (i != at || edit == EDIT_ADD)
            json_push(&b, list.items[i]);
    }
    if (at == list.count)
        json_push(&b, value);
    *ret = json_list_end(&b);
    return true;
}

static bool edit_here(struct arena *a, struct json container, const char *token, enum edit edit,
    struct json value, struct json *ret, struct error *err)
{
    if (container.type == JSON_LIST)
        return edit_list(a, container, token, edit, value, ret, err);
    if (container.type != JSON_MAP)
        return fail(err, ERR_INVALID, "nothing is below a %s", json_type_name(container));
    if (edit == EDIT_REMOVE && !json_present(json_member(container, token)))
        return fail(err, ERR_INVALID, "no member %s to remove", token);
    *ret = json_with_member(a, container, token, edit == EDIT_REMOVE ? json_none : value);
    return true;
}

static bool edit_at(struct arena *a, struct json v, const struct pointer *p, size_t depth,
    enum edit edit, struct json value, struct json *ret, struct error *err)
{
    const char *token = p->tokens[depth];
    if (depth + 1 == p->count)
        return edit_here(a, v, token, edit, value, ret, err);
    struct json below = step(v, token), changed;
    if (below.type != JSON_MAP && below.type != JSON_LIST)
        return fail(err, ERR_INVALID, "no container at %s", token);
    return edit_at(a, below, p, depth + 1, edit, value, &changed, err) &&
           edit_here(a, v, token, EDIT_REPLACE, changed, ret, err);
}

/* What stands there; null for a member that does not. Fails where there is no container. */
static bool read_at(struct json v, const struct pointer *p, struct json_givens *givens,
    struct json *ret, struct error *err)
{
    for (size_t i = 0; i < p->count; i++) {
        if (v.type != JSON_MAP && v.type != JSON_LIST)
            return fail(err, ERR_INVALID, "no container at %s", p->tokens[i]);
        bool list = v.type == JSON_LIST;
        json_given_forget(givens, v, false);
        v = step(v, p->tokens[i]);
        if (list && !json_present(v))
            return fail(err, ERR_INVALID, "no place %s in a list", p->tokens[i]);
    }
    *ret = json_present(v) ? v : json_null();
    return true;
}

/* How long the text of a value is, roughly; counts no further than limit. */
static size_t text_bytes(struct json v, size_t limit)
{
    size_t bytes = json_is(v, JSON_STR) ? v.count + 2 : 4;
    json_each (item, v)
        bytes += bytes > limit ? 0 : text_bytes(*item, limit - bytes);
    json_each_member (m, v)
        bytes += bytes > limit ? 0 : strlen(m->key) + 4 + text_bytes(m->value, limit - bytes);
    return bytes;
}

static bool copy_or_move(struct arena *a, struct json op, const struct pointer *to, bool move,
    struct patching *p, struct json *document, struct error *err)
{
    struct pointer from;
    struct json value;
    if (!pointer_parse(a, json_get_text(op, "from"), &from, err) ||
        !read_at(*document, &from, p->givens, &value, err))
        return false;
    if (!move)
        p->copied += text_bytes(value, JSON_PATCH_COPY_BYTES_MAX - p->copied);
    if (p->copied > JSON_PATCH_COPY_BYTES_MAX)
        return fail(err,
            ERR_TOO_LARGE,
            "the copy operations of a JSON patch may make at most %zu bytes",
            JSON_PATCH_COPY_BYTES_MAX);
    if (move && !edit_at(a, *document, &from, 0, EDIT_REMOVE, json_none, document, err))
        return false;
    return edit_at(a, *document, to, 0, EDIT_ADD, value, document, err);
}

static bool operate(
    struct arena *a, struct json op, struct patching *p, struct json *document, struct error *err)
{
    struct pointer path;
    struct json value = json_member(op, "value"), there;
    const char *name = json_get_text(op, "op"), *to = json_get_text(op, "path");
    bool whole = to && !*to && text_eq(name, "replace");
    if (whole && (json_is(value, JSON_MAP) || json_is(value, JSON_LIST))) {
        *document = value;
        return true;
    }
    if (!pointer_parse(a, to, &path, err))
        return false;
    if (!json_present(value))
        value = json_null();
    if (text_eq(name, "add"))
        return edit_at(a, *document, &path, 0, EDIT_ADD, value, document, err);
    if (text_eq(name, "remove"))
        return edit_at(a, *document, &path, 0, EDIT_REMOVE, value, document, err);
    if (text_eq(name, "replace"))
        return edit_at(a, *document, &path, 0, EDIT_REPLACE, value, document, err);
    if (text_eq(name, "copy") || text_eq(name, "move"))
        return copy_or_move(a, op, &path, *name == 'm', p, document, err);
    if (!text_eq(name, "test"))
        return fail(err, ERR_INVALID, "an operation that is none");
    if (!read_at(*document, &path, p->givens, &there, err))
        return false;
    json_given_forget(p->givens, there, true);
    return json_equal(there, value) || fail(err, ERR_INVALID, "a test that fails");
}

bool json_patch(struct arena *a, struct json document, struct json operations,
    struct json_givens *givens, struct json *ret, struct error *err)
{
    struct json_givens none = { 0 };
    struct patching p = { .givens = givens ? givens : &none };
    json_each (op, operations)
        if (!operate(a, *op, &p, &document, err))
            return false;
    *ret = document;
    return true;
}

/* ---- merge patches ---- */

/* In lists, too, what is null inside of an object stands for nothing; an item that is null stays.
 */
static struct json without_nulls(struct arena *a, struct json list)
{
    struct json_builder b;
    json_builder_init_for(&b, a, list.count);
    json_each (item, list)
        json_push(&b, json_merge_patch(a, json_none, *item));
    return json_list_end(&b);
}

struct json json_merge_patch(struct arena *a, struct json document, struct json patch)
{
    if (json_is(patch, JSON_LIST))
        return without_nulls(a, patch);
    if (!json_is(patch, JSON_MAP))
        return patch;
    struct json_builder b;
    json_builder_init(&b, a);
    bool map = json_is(document, JSON_MAP);
    json_each_member (m, document)
        if (!json_present(json_member(patch, m->key)))
            json_put(&b, m->key, m->value);
    json_each_member (m, patch) {
        struct json old = json_if(map, json_member(document, m->key));
        if (!json_is(m->value, JSON_NULL))
            json_put(&b, m->key, json_merge_patch(a, old, m->value));
    }
    return json_map_end(&b);
}
