#include "apiserver/rules/json_patch.h"

#include <string.h>

#include "base/table.h"

#define TOKENS_MAX (JSON_DEPTH_MAX + 1)
#define MOVED_A_STEP 128 /* array entries that are moved in the time of one step */

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

/* Text before the first slash is ignored, as in the library. */
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

/* An index in a list; -1 is the last item, as in the library. */
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

/* ---- modification ---- */

/* An array that this patch created and that occurs only once in the document. It is changed in
 * place, so that n operations on n members do not copy them n times. */
struct own {
    struct table_node node;
    const void *items;
    size_t size;
};

/* The state of a patch. */
struct patching {
    struct arena *arena;
    struct json_givens *givens;
    size_t copied;     /* bytes created by copy operations, to limit repeated doubling */
    struct table owns; /* struct own, by items */
};

enum edit { EDIT_ADD, EDIT_REPLACE, EDIT_REMOVE };

static bool is_own(const struct table_node *n, const void *key)
{
    return container_of(n, struct own, node)->items == key;
}

/* Its own array, with room for one more item. */
static void *own_items(struct patching *p, const void *items, uint32_t count, size_t bytes)
{
    uint64_t hash = table_hash(&p->owns, &items, sizeof(items));
    struct table_node *n = items ? table_find(&p->owns, hash, is_own, items) : NULL;
    struct own *own = n ? container_of(n, struct own, node) : NULL;
    if (own && own->size > count)
        return (void *)items;
    if (own)
        table_remove(&p->owns, n);
    else
        own = arena_new(p->arena, struct own);
    own->size = own->size ? own->size * 2 : (size_t)count + 8;
    own->items = arena_grow(p->arena, items, count, own->size, bytes);
    table_add(&p->owns, &own->node, table_hash(&p->owns, &own->items, sizeof(own->items)));
    return (void *)own->items;
}

/* The position of a key in a map, or the position at which it would be inserted. */
static uint32_t position(struct json map, const char *key, bool *ret_found)
{
    uint32_t from = 0, to = map.count;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (strcmp(map.members[middle].key, key) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    *ret_found = from < map.count && text_eq(map.members[from].key, key);
    return from;
}

static bool edit_list(struct patching *p, struct json *list, const char *token, enum edit edit,
    struct json value, struct error *err)
{
    int64_t at = list->count;
    bool end = edit == EDIT_ADD && strcmp(token, "-") == 0;
    if (!end && !list_index(token, list->count + (edit == EDIT_ADD), &at))
        return fail(err, ERR_INVALID, "no place %s in a list of %u", token, list->count);
    struct json *items = own_items(p, list->items, list->count, sizeof(*items));
    size_t after = list->count - (size_t)at;
    if (edit == EDIT_ADD)
        memmove(&items[at + 1], &items[at], after * sizeof(*items));
    if (edit == EDIT_REMOVE)
        memmove(&items[at], &items[at + 1], (after - 1) * sizeof(*items));
    else
        items[at] = value;
    budget_work(edit == EDIT_REPLACE ? 1 : after / MOVED_A_STEP);
    list->items = items;
    list->count += edit == EDIT_ADD ? 1 : edit == EDIT_REMOVE ? -1 : 0;
    return true;
}

static bool edit_map(struct patching *p, struct json *map, const char *key, enum edit edit,
    struct json value, struct error *err)
{
    bool found;
    uint32_t at = position(*map, key, &found);
    if (edit == EDIT_REMOVE && !found)
        return fail(err, ERR_INVALID, "no member %s to remove", key);
    struct json_member *members = own_items(p, map->members, map->count, sizeof(*members));
    size_t after = map->count - at;
    if (edit == EDIT_REMOVE)
        memmove(&members[at], &members[at + 1], (after - 1) * sizeof(*members));
    else if (!found)
        memmove(&members[at + 1], &members[at], after * sizeof(*members));
    if (edit != EDIT_REMOVE)
        members[at] = (struct json_member){ found ? members[at].key : key, value };
    budget_work(found && edit != EDIT_REMOVE ? 1 : after / MOVED_A_STEP);
    map->members = members;
    map->count += edit == EDIT_REMOVE ? -1 : !found;
    return true;
}

/* The value at a token in a container, in an array that may be changed; NULL: none. */
static struct json *slot(struct patching *p, struct json *v, const char *token)
{
    bool found;
    int64_t index;
    if (v->type == JSON_LIST) {
        if (!list_index(token, v->count, &index))
            return NULL;
        struct json *items = own_items(p, v->items, v->count, sizeof(*items));
        v->items = items;
        return &items[index];
    }
    uint32_t at = position(*v, token, &found);
    if (!found)
        return NULL;
    struct json_member *members = own_items(p, v->members, v->count, sizeof(*members));
    v->members = members;
    return &members[at].value;
}

static bool edit_at(struct patching *p, struct json *v, const struct pointer *to, enum edit edit,
    struct json value, struct error *err)
{
    for (size_t depth = 0; depth + 1 < to->count; depth++) {
        const char *token = to->tokens[depth];
        bool container = v->type == JSON_MAP || v->type == JSON_LIST;
        v = container ? slot(p, v, token) : NULL;
        if (!v || (v->type != JSON_MAP && v->type != JSON_LIST))
            return fail(err, ERR_INVALID, "no container at %s", token);
    }
    const char *last = to->tokens[to->count - 1];
    if (v->type == JSON_LIST)
        return edit_list(p, v, last, edit, value, err);
    if (v->type == JSON_MAP)
        return edit_map(p, v, last, edit, value, err);
    return fail(err, ERR_INVALID, "nothing is below a %s", json_type_name(*v));
}

/* The value at a path; null for a missing member. Fails if there is no container. */
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

/* The approximate length of a value's text; stops counting at limit. */
static size_t text_bytes(struct json v, size_t limit)
{
    size_t bytes = json_is(v, JSON_STR) ? v.count + 2 : 4;
    json_each (item, v)
        bytes += bytes > limit ? 0 : text_bytes(*item, limit - bytes);
    json_each_member (m, v)
        bytes += bytes > limit ? 0 : strlen(m->key) + 4 + text_bytes(m->value, limit - bytes);
    return bytes;
}

/* The value will occur twice, so it must not be changed in place any more. */
static void disown(struct patching *p, struct json v)
{
    if (v.type != JSON_LIST && v.type != JSON_MAP)
        return;
    uint64_t hash = table_hash(&p->owns, &v.items, sizeof(v.items));
    struct table_node *n = table_find(&p->owns, hash, is_own, v.items);
    if (n)
        table_remove(&p->owns, n);
    json_each (item, v)
        disown(p, *item);
    json_each_member (m, v)
        disown(p, m->value);
}

static bool copy_or_move(struct json op, const struct pointer *to, bool move, struct patching *p,
    struct json *document, struct error *err)
{
    struct pointer from;
    struct json value;
    if (!pointer_parse(p->arena, json_get_text(op, "from"), &from, err) ||
        !read_at(*document, &from, p->givens, &value, err))
        return false;
    if (!move)
        p->copied += text_bytes(value, JSON_PATCH_COPY_BYTES_MAX - p->copied);
    if (p->copied > JSON_PATCH_COPY_BYTES_MAX)
        return fail(err,
            ERR_TOO_LARGE,
            "the copy operations of a JSON patch may make at most %zu bytes",
            JSON_PATCH_COPY_BYTES_MAX);
    if (move && !edit_at(p, document, &from, EDIT_REMOVE, json_none, err))
        return false;
    if (!move)
        disown(p, value);
    return edit_at(p, document, to, EDIT_ADD, value, err);
}

static bool operate(struct json op, struct patching *p, struct json *document, struct error *err)
{
    struct pointer path;
    struct json value = json_member(op, "value"), there;
    const char *name = json_get_text(op, "op"), *to = json_get_text(op, "path");
    bool whole = to && !*to && text_eq(name, "replace");
    if (whole && (json_is(value, JSON_MAP) || json_is(value, JSON_LIST))) {
        *document = value;
        return true;
    }
    if (!pointer_parse(p->arena, to, &path, err))
        return false;
    if (!json_present(value))
        value = json_null();
    if (text_eq(name, "add"))
        return edit_at(p, document, &path, EDIT_ADD, value, err);
    if (text_eq(name, "remove"))
        return edit_at(p, document, &path, EDIT_REMOVE, value, err);
    if (text_eq(name, "replace"))
        return edit_at(p, document, &path, EDIT_REPLACE, value, err);
    if (text_eq(name, "copy") || text_eq(name, "move"))
        return copy_or_move(op, &path, *name == 'm', p, document, err);
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
    struct patching p = { .arena = a, .givens = givens ? givens : &none };
    bool done = true;
    table_init(&p.owns, 0, 0);
    for (uint32_t i = 0; i < operations.count && done; i++)
        done = operate(operations.items[i], &p, &document, err);
    table_done(&p.owns);
    *ret = document;
    return done;
}

/* ---- merge patches ---- */

/* Also removes nulls from objects inside of lists; list items that are null stay. */
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
