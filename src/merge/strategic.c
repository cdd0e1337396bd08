#include "merge/strategic.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_index.h"
#include "merge/gojson.h"

#define DIRECTIVE "$patch"
#define RETAIN "$retainKeys"
#define ORDER "$setElementOrder/"
#define DELETE_FROM "$deleteFromPrimitiveList/"

struct merger {
    struct arena *arena;
    const struct schema *schema;
    struct error *err;
};

/* How a list is merged: by its key, or as a set of scalars. */
struct list_rule {
    bool merges;
    const char *key; /* "" for scalars */
    uint16_t item;
};

static bool merge_map(
    struct merger *m, uint16_t type, struct json live, struct json patch, struct json *ret);

/* ---- helpers ---- */

/* New values are added without directives and without nulls, which mean "remove". An item or member
 * that is a directive is absent. */
static struct json without_directives(struct arena *a, struct json v)
{
    struct json_builder b;
    json_builder_init(&b, a);
    if (v.type == JSON_LIST) {
        json_each (item, v)
            json_push(&b, without_directives(a, *item));
        return json_list_end(&b);
    }
    if (v.type != JSON_MAP)
        return v;
    if (json_present(json_member(v, DIRECTIVE)))
        return json_none;
    json_each_member (m, v)
        if (m->value.type != JSON_NULL)
            json_put(&b, m->key, without_directives(a, m->value));
    return json_map_end(&b);
}

static const char *suffix_of(const char *key, const char *prefix)
{
    return text_starts(key, prefix) ? key + strlen(prefix) : NULL;
}

static struct list_rule list_rule_of(const struct merger *m, uint16_t type, const char *name)
{
    const struct schema *s = m->schema;
    const struct schema_field *f =
        type == SCHEMA_NO_TYPE ? NULL : schema_field(s, schema_type(s, type), name);
    struct list_rule rule = { .key = "", .item = SCHEMA_NO_TYPE };
    if (!f)
        return rule;
    rule.item = schema_type(s, f->type)->item;
    rule.merges = f->flags & SCHEMA_PATCH_MERGE;
    rule.key = schema_name(s, f->patch_key);
    return rule;
}

static uint16_t member_type(const struct merger *m, uint16_t type, const char *name)
{
    if (type == SCHEMA_NO_TYPE)
        return SCHEMA_NO_TYPE;
    return schema_member_type(m->schema, schema_type(m->schema, type), name);
}

static struct json key_of(struct json item, const char *key)
{
    return *key ? json_member(item, key) : item;
}

static int64_t place_of(const struct json_index *x, struct json key)
{
    return json_present(key) ? json_index_find(x, key) : -1;
}

/* Like Go's %s. */
static const char *directive_shown(struct arena *a, struct json directive)
{
    if (directive.type == JSON_STR)
        return directive.string;
    return arena_printf(a,
        "%%!s(%s%s)",
        directive.type == JSON_INT    ? "int64="
        : directive.type == JSON_BOOL ? "bool="
                                      : "",
        gojson_shown(a, directive));
}

static bool fail_types(struct merger *m, struct json live, struct json patch)
{
    return fail(m->err,
        ERR_INTERNAL,
        "list element types are not identical: %s",
        gojson_shown(m->arena, json_list(m->arena, live, patch)));
}

/* In a list of maps, each item must have the key. */
static bool check_items(struct merger *m, struct json list, bool maps, const char *key)
{
    json_each (item, list) {
        if (item->type == JSON_LIST)
            return fail(m->err, ERR_INVALID, "lists of lists are not supported");
        if (maps && !json_present(json_member(*item, key)) &&
            !json_present(json_member(*item, DIRECTIVE)))
            return fail(m->err,
                ERR_INTERNAL,
                "map: %s does not contain declared merge key: %s",
                gojson_shown(m->arena, *item),
                key);
    }
    return true;
}

/* ---- order ---- */

struct ranked {
    struct json item;
    int64_t rank; /* position in the list that defines the order */
    size_t place;
};

static int compare_ranked(const void *x, const void *y)
{
    const struct ranked *l = x, *r = y;
    if (l->rank != r->rank)
        return l->rank < r->rank ? -1 : 1;
    return l->place < r->place ? -1 : 1;
}

/* The items that are in `order` (or those that are not), sorted by it (or by `live`). */
static struct ranked *ranked_part(struct arena *a, struct json items,
    const struct json_index *order, const struct json_index *live, const char *key, bool in_order,
    size_t *ret_count)
{
    struct ranked *part = arena_array(a, items.count + 1u, sizeof(*part));
    size_t count = 0;
    for (uint32_t i = 0; i < items.count; i++) {
        struct json wanted = key_of(items.items[i], key);
        int64_t rank = place_of(order, wanted);
        if ((rank >= 0) != in_order)
            continue;
        part[count++] = (struct ranked){
            .item = items.items[i],
            .rank = in_order ? rank : place_of(live, wanted),
            .place = i,
        };
    }
    qsort(part, count, sizeof(*part), compare_ranked);
    *ret_count = count;
    return part;
}

/* Items in the patch are in its order. Items that only the server has stay in front of the item
 * that they preceded. */
static struct json in_order(
    struct arena *a, struct json items, struct json order, struct json live, const char *key)
{
    size_t patch_count, live_count, i = 0, j = 0;
    struct json_index x = json_index_of(a, order, key), y = json_index_of(a, live, key);
    struct ranked *of_patch = ranked_part(a, items, &x, &y, key, true, &patch_count);
    struct ranked *of_live = ranked_part(a, items, &x, &y, key, false, &live_count);
    struct json_builder b;
    json_builder_init(&b, a);
    while (i < live_count || j < patch_count) {
        bool take_live = j >= patch_count;
        if (i < live_count && j < patch_count) {
            int64_t place = place_of(&y, key_of(of_patch[j].item, key));
            take_live = of_live[i].rank >= 0 && place >= 0 && of_live[i].rank < place;
        }
        json_push(&b, take_live ? of_live[i++].item : of_patch[j++].item);
    }
    return json_list_end(&b);
}

/* ---- lists ---- */

static struct json without_items(struct arena *a, struct json list, struct json gone)
{
    struct json_index x = json_index_of(a, gone, NULL);
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (item, list)
        if (json_index_find(&x, *item) < 0)
            json_push(&b, *item);
    return json_list_end(&b);
}

static struct json merge_scalars(struct arena *a, struct json live, struct json patch)
{
    struct json_builder all, merged;
    json_builder_init(&all, a);
    json_builder_init(&merged, a);
    json_push_all(&all, live);
    json_push_all(&all, patch);
    struct json list = json_list_end(&all);
    struct json_index x = json_index_of(a, list, NULL);
    for (uint32_t i = 0; i < list.count; i++)
        if (!json_index_again(&x, i))
            json_push(&merged, list.items[i]);
    return json_list_end(&merged);
}

static struct json without_keys(
    struct arena *a, struct json list, const char *key, struct json gone)
{
    if (!gone.count)
        return list;
    struct json_index x = json_index_of(a, gone, NULL);
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (item, list)
        if (place_of(&x, json_member(*item, key)) < 0)
            json_push(&b, *item);
    return json_list_end(&b);
}

/* Removes `$patch` items from the patch and applies them to live. */
static bool apply_directives(
    struct merger *m, const char *key, struct json *live, struct json *patch)
{
    struct json_builder plain, gone;
    json_builder_init(&plain, m->arena);
    json_builder_init(&gone, m->arena);
    bool replace = false;
    json_each (item, *patch) {
        struct json directive = json_member(*item, DIRECTIVE);
        if (!json_present(directive)) {
            json_push(&plain, *item);
        } else if (text_eq(json_text(directive), "replace")) {
            replace = true;
        } else if (text_eq(json_text(directive), "delete")) {
            struct json wanted = json_member(*item, key);
            if (!json_present(wanted))
                return fail(m->err,
                    ERR_INTERNAL,
                    "map: %s does not contain declared merge key: %s",
                    gojson_shown(m->arena, *item),
                    key);
            json_push(&gone, wanted);
        } else if (text_eq(json_text(directive), "merge")) {
            return fail(m->err, ERR_INTERNAL, "merging lists cannot yet be specified in the patch");
        } else {
            return fail(m->err,
                ERR_INTERNAL,
                "unknown patch type: %s in map: %s",
                directive_shown(m->arena, directive),
                gojson_shown(m->arena, *item));
        }
    }
    *live =
        replace ? json_list_end(&plain) : without_keys(m->arena, *live, key, json_list_end(&gone));
    *patch = replace ? json_empty_list() : json_list_end(&plain);
    return true;
}

static bool merge_items(struct merger *m, const struct list_rule *rule, struct json live,
    struct json patch, struct json *ret)
{
    struct json *items =
        arena_array(m->arena, (size_t)live.count + patch.count + 1, sizeof(*items));
    if (live.count)
        memcpy(items, live.items, live.count * sizeof(*items));
    struct json merged = { .type = JSON_LIST, .count = live.count, .items = items };
    struct json_index old = json_index_of(m->arena, live, rule->key);
    struct json_index fresh = json_index_of(m->arena, patch, rule->key);
    uint32_t *places = arena_array(m->arena, patch.count + 1u, sizeof(*places));
    for (uint32_t i = 0; i < patch.count; i++) {
        struct json item = patch.items[i], key = json_member(item, rule->key);
        int64_t at = place_of(&old, key), first = place_of(&fresh, key);
        if (at < 0 && first >= 0 && first < i)
            at = places[first];
        places[i] = at < 0 ? merged.count : (uint32_t)at;
        if (at < 0)
            items[merged.count++] = item;
        else if (!merge_map(m, rule->item, items[at], item, &items[at]))
            return false;
    }
    *ret = merged;
    return true;
}

static bool merge_list(struct merger *m, const struct list_rule *rule, struct json live,
    struct json patch, struct json *ret)
{
    struct json first = live.count ? live.items[0] : json_item(patch, 0);
    bool maps = first.type == JSON_MAP;
    if (!live.count && !patch.count) {
        *ret = live;
        return true;
    }
    json_each (item, live)
        if ((item->type == JSON_MAP) != maps)
            return fail_types(m, live, patch);
    json_each (item, patch)
        if ((item->type == JSON_MAP) != maps)
            return fail_types(m, live, patch);
    if (maps && !*rule->key)
        return fail(m->err, ERR_INTERNAL, "cannot merge lists without merge key");
    if (!check_items(m, live, maps, rule->key) || !check_items(m, patch, maps, rule->key))
        return false;
    if (!maps) {
        *ret = in_order(m->arena, merge_scalars(m->arena, live, patch), patch, live, "");
        return true;
    }
    struct json merged;
    if (!apply_directives(m, rule->key, &live, &patch) ||
        !merge_items(m, rule, live, patch, &merged))
        return false;
    *ret = in_order(m->arena, merged, patch, live, rule->key);
    return true;
}

/* The patched list must be in the order of $setElementOrder. */
static bool check_order(struct merger *m, const char *key, struct json patch, struct json order)
{
    uint32_t at = 0;
    if (!patch.count || !order.count)
        return true;
    json_each (item, patch) {
        if (json_present(json_member(*item, DIRECTIVE)))
            continue;
        while (at < order.count && !json_equal(key_of(order.items[at], key), key_of(*item, key)))
            at++;
        if (at++ >= order.count)
            return fail(m->err,
                ERR_INTERNAL,
                "The order in patch list:\n%s\n doesn't match %s list:\n%s\n",
                gojson_shown(m->arena, patch),
                "$setElementOrder",
                gojson_shown(m->arena, order));
    }
    return true;
}

static bool apply_order(struct merger *m, uint16_t type, const char *name, struct json order,
    struct json live, struct json patch, struct json *ret)
{
    struct list_rule rule = list_rule_of(m, type, name);
    struct json old = json_member(live, name), fresh = json_member(patch, name), merged;
    if (order.type != JSON_LIST)
        return fail(m->err,
            ERR_INTERNAL,
            "expected a []interface {}, but received a %s",
            order.type == JSON_STR ? "string" : json_type_name(order));
    if ((json_present(old) && old.type != JSON_LIST) ||
        (json_present(fresh) && fresh.type != JSON_LIST))
        return fail(m->err, ERR_INVALID, "invalid patch format of setElementOrder list");
    if (!check_order(m, rule.key, fresh, order))
        return false;
    *ret = json_none;
    if (!json_present(old) && !json_present(fresh))
        return true;
    if (!old.count && !fresh.count)
        return fail(m->err, ERR_INTERNAL, "no elements in any of the given slices");
    if (!json_present(fresh))
        merged = old;
    else if (!json_present(old))
        merged = without_directives(m->arena, fresh);
    else if (!rule.merges)
        merged = fresh;
    else if (!merge_list(m, &rule, old, fresh, &merged))
        return false;
    *ret = in_order(m->arena, merged, order, old, rule.key);
    return true;
}

/* ---- maps ---- */

static bool retain_keys(struct merger *m, struct json keys, struct json patch, struct json *live)
{
    if (keys.type != JSON_LIST)
        return fail(m->err, ERR_INVALID, "invalid patch format of retainKeys");
    json_each_member (p, patch) {
        if (p->value.type == JSON_NULL || text_starts(p->key, DELETE_FROM) ||
            text_starts(p->key, ORDER) || text_eq(p->key, RETAIN))
            continue;
        if (!json_list_has(keys, p->key))
            return fail(m->err, ERR_INVALID, "invalid patch format of retainKeys");
    }
    struct json_builder b;
    json_builder_init(&b, m->arena);
    json_each_member (old, *live)
        if (json_list_has(keys, old->key))
            json_put(&b, old->key, old->value);
    *live = json_map_end(&b);
    return true;
}

static bool same_shape(struct json x, struct json y)
{
    return (x.type == JSON_LIST && y.type == JSON_LIST) ||
           (x.type == JSON_MAP && y.type == JSON_MAP);
}

static bool merge_member(struct merger *m, uint16_t type, const char *name, struct json live,
    struct json patch, struct json *ret)
{
    if (!same_shape(live, patch)) {
        *ret = without_directives(m->arena, patch);
        return true;
    }
    if (patch.type == JSON_MAP)
        return merge_map(m, member_type(m, type, name), live, patch, ret);
    struct list_rule rule = list_rule_of(m, type, name);
    if (rule.merges)
        return merge_list(m, &rule, live, patch, ret);
    *ret = patch;
    return true;
}

/* The effect of one member of a patch: which member of the map changes, and its new value. */
static bool merge_entry(struct merger *m, uint16_t type, const struct json_member *p,
    struct json patch, struct json map, struct json_member *ret, bool *ret_changed)
{
    *ret_changed = false;
    const char *name = p->key, *part;
    struct json value = { 0 };
    if (text_eq(name, RETAIN))
        return true;
    if ((part = suffix_of(name, DELETE_FROM))) {
        name = part;
        value = json_member(map, name);
        if (value.type == JSON_LIST && p->value.type == JSON_LIST)
            value = without_items(m->arena, value, p->value);
    } else if ((part = suffix_of(name, ORDER))) {
        name = part;
        if (!apply_order(m, type, name, p->value, map, patch, &value))
            return false;
        if (!json_present(value))
            return true;
    } else if (p->value.type != JSON_NULL) {
        const char *order = arena_printf(m->arena, ORDER "%s", name);
        if (p->value.type == JSON_LIST && json_present(json_member(patch, order)))
            return true; /* merged together with its order */
        if (!merge_member(m, type, name, json_member(map, name), p->value, &value))
            return false;
    }
    *ret = (struct json_member){ name, value };
    *ret_changed = true;
    return true;
}

/* The map with new values for some members; an absent value removes one. Both are sorted by key. */
static struct json with_members(
    struct arena *a, struct json map, const struct json_member *fresh, size_t count)
{
    struct json_builder b;
    size_t at = 0;
    json_builder_init(&b, a);
    json_each_member (old, map) {
        int order = 1;
        while (at < count && (order = strcmp(fresh[at].key, old->key)) < 0)
            json_put(&b, fresh[at].key, fresh[at].value), at++;
        if (at < count && order == 0)
            json_put(&b, fresh[at].key, fresh[at].value), at++;
        else
            json_put(&b, old->key, old->value);
    }
    for (; at < count; at++)
        json_put(&b, fresh[at].key, fresh[at].value);
    return json_map_end(&b);
}

/* Directives for a member are first in a patch, and change what the member is merged with. */
static bool merge_entries(
    struct merger *m, uint16_t type, struct json patch, struct json live, struct json *ret)
{
    struct json_member *fresh = arena_array(m->arena, patch.count, sizeof(*fresh));
    size_t count = 0;
    json_each_member (p, patch) {
        bool changed;
        if (!merge_entry(m, type, p, patch, live, &fresh[count], &changed))
            return false;
        if (changed && p->key[0] == '$')
            live = json_with_member(m->arena, live, fresh[count].key, fresh[count].value);
        else
            count += changed;
    }
    *ret = with_members(m->arena, live, fresh, count);
    return true;
}

static bool merge_map(
    struct merger *m, uint16_t type, struct json live, struct json patch, struct json *ret)
{
    struct json directive = json_member(patch, DIRECTIVE), keys = json_member(patch, RETAIN);
    if (text_eq(json_text(directive), "replace")) {
        *ret = json_with_member(m->arena, patch, DIRECTIVE, json_none);
        return true;
    }
    if (text_eq(json_text(directive), "delete")) {
        *ret = json_empty_map();
        return true;
    }
    if (json_present(directive))
        return fail(m->err,
            ERR_INTERNAL,
            "unknown patch type: %s in map: %s",
            directive_shown(m->arena, directive),
            gojson_shown(m->arena, patch));
    if (json_present(keys) && !retain_keys(m, keys, patch, &live))
        return false;
    return merge_entries(m, type, patch, live, ret);
}

bool strategic_merge(struct arena *a, const struct schema *s, struct json live, struct json patch,
    struct json *ret, struct error *err)
{
    struct merger m = { .arena = a, .schema = s, .err = err };
    if (patch.type != JSON_MAP)
        return fail(err, ERR_INVALID, "invalid JSON document");
    return merge_map(&m, s->root, live, patch, ret);
}
