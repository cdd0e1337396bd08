#include "mcp/middleware/patch.h"

#include "base/str.h"

enum change { CHANGE_ADD, CHANGE_REPLACE, CHANGE_REMOVE };

/* One step of a pointer with ~0 and ~1 resolved. */
static const char *next_token(struct arena *a, struct str *rest)
{
    struct str raw = str_cut(rest, '/');
    char *text = arena_alloc(a, raw.len + 1), *out = text;
    for (size_t i = 0; i < raw.len; i++) {
        bool escaped = raw.ptr[i] == '~' && i + 1 < raw.len;
        *out++ = !escaped ? raw.ptr[i] : raw.ptr[++i] == '1' ? '/' : '~';
    }
    return text;
}

static bool list_index(
    struct json list, const char *token, bool may_append, size_t *ret, struct error *err)
{
    int64_t index = list.count;
    bool is_end = text_eq(token, "-");
    if ((!is_end && !str_to_int(str_of(token), &index)) || index < 0 ||
        index > (int64_t)list.count || (!may_append && index == (int64_t)list.count))
        return fail(err, ERR_INVALID, "there is no item \"%s\"", token);
    *ret = (size_t)index;
    return true;
}

static bool find(
    struct arena *a, struct json v, struct str rest, struct json *ret, struct error *err)
{
    while (rest.ptr) {
        const char *token = next_token(a, &rest);
        size_t index;
        if (json_is(v, JSON_LIST)) {
            if (!list_index(v, token, false, &index, err))
                return false;
            v = json_item(v, index);
            continue;
        }
        v = json_member(v, token);
        if (!json_present(v))
            return fail(err, ERR_INVALID, "there is no member \"%s\"", token);
    }
    *ret = v;
    return true;
}

static bool change(struct arena *a, struct json v, struct str rest, enum change what,
    struct json value, struct json *ret, struct error *err);

static bool change_list(struct arena *a, struct json list, const char *token, struct str rest,
    enum change what, struct json value, struct json *ret, struct error *err)
{
    struct json_builder all;
    size_t at, i = 0;
    bool is_last = !rest.ptr;
    if (!list_index(list, token, is_last && what == CHANGE_ADD, &at, err))
        return false;
    if (!is_last && !change(a, json_item(list, at), rest, what, value, &value, err))
        return false;
    json_builder_init(&all, a);
    json_each (item, list) {
        if (i == at && (!is_last || what != CHANGE_REMOVE))
            json_push(&all, value);
        if (i++ != at || (is_last && what == CHANGE_ADD))
            json_push(&all, *item);
    }
    if (at == list.count)
        json_push(&all, value);
    *ret = json_list_end(&all);
    return true;
}

static bool change(struct arena *a, struct json v, struct str rest, enum change what,
    struct json value, struct json *ret, struct error *err)
{
    const char *token = next_token(a, &rest);
    if (json_is(v, JSON_LIST))
        return change_list(a, v, token, rest, what, value, ret, err);
    if (!json_is(v, JSON_MAP))
        return fail(err, ERR_INVALID, "\"%s\" is below a value that has no members", token);
    struct json old = json_member(v, token);
    bool is_last = !rest.ptr;
    if (!json_present(old) && (!is_last || what != CHANGE_ADD))
        return fail(err, ERR_INVALID, "there is no member \"%s\"", token);
    if (!is_last && !change(a, old, rest, what, value, &value, err))
        return false;
    *ret = json_with_member(a, v, token, is_last && what == CHANGE_REMOVE ? json_none : value);
    return true;
}

static bool below(const char *path, const char *root, struct str *ret, struct error *err)
{
    if (!text_starts(path, root))
        return fail(err, ERR_INVALID, "the path \"%s\" is not below %s", path ? path : "", root);
    *ret = str_of(path + strlen(root));
    return true;
}

static bool apply_one(struct arena *a, struct json v, struct json step, const char *root,
    struct json *ret, struct error *err)
{
    const char *op = json_text(json_member(step, "op"));
    struct json value = json_member(step, "value"), found;
    struct str path, from = { 0 };
    bool is_copy = text_eq(op, "copy"), is_move = text_eq(op, "move");
    if (!below(json_text(json_member(step, "path")), root, &path, err))
        return false;
    if (is_copy || is_move) {
        if (!below(json_text(json_member(step, "from")), root, &from, err) ||
            !find(a, v, from, &value, err) ||
            (is_move && !change(a, v, from, CHANGE_REMOVE, value, &v, err)))
            return false;
        op = "add";
    }
    if (text_eq(op, "remove"))
        return change(a, v, path, CHANGE_REMOVE, value, ret, err);
    if (!json_present(value))
        return fail(err, ERR_INVALID, "\"%s\" needs a value", op ? op : "");
    if (text_eq(op, "add"))
        return change(a, v, path, CHANGE_ADD, value, ret, err);
    if (text_eq(op, "replace"))
        return change(a, v, path, CHANGE_REPLACE, value, ret, err);
    if (!text_eq(op, "test"))
        return fail(err, ERR_INVALID, "the operation \"%s\" is not known", op ? op : "");
    *ret = v;
    return find(a, v, path, &found, err) &&
           (json_equal(found, value) || fail(err, ERR_INVALID, "a test failed"));
}

bool patch_apply(struct arena *a, struct json document, struct json patch, const char *root,
    struct json *ret, struct error *err)
{
    size_t i = 0;
    if (!json_is(patch, JSON_LIST) || patch.count > PATCH_STEPS_MAX)
        return fail(
            err, ERR_INVALID, "a patch is a list of at most %d operations", PATCH_STEPS_MAX);
    json_each (step, patch) {
        if (!apply_one(a, document, *step, root, &document, err))
            return fail_in(err, "patch[%zu]", i);
        i++;
    }
    *ret = document;
    return true;
}
