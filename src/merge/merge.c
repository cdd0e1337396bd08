/* Whether a write is needed: compares the owned part of a live object with a wanted
 * configuration. */

#include "merge/merge.h"

#include <stdlib.h>
#include <string.h>

#include "merge/canonical.h"
#include "merge/managers.h"
#include "merge/typed.h"

/* ---- our fields ---- */

static struct json find_entry(struct json live, const char *manager, const char *subresource)
{
    struct json entries = json_get(live, "metadata.managedFields");
    json_each (entry, entries) {
        const char *sub = json_text(json_member(*entry, "subresource"));
        if (text_eq(json_text(json_member(*entry, "manager")), manager) &&
            text_eq(json_text(json_member(*entry, "operation")), "Apply") &&
            text_eq(sub ? sub : "", subresource ? subresource : ""))
            return *entry;
    }
    return json_none;
}

void merge_owned(struct arena *a, const struct schema *s, struct json live, const char *manager,
    const char *subresource, struct merge_owned *ret)
{
    *ret = (struct merge_owned){ .fields = json_empty_map(), .set = fieldset_empty() };
    struct json entry = find_entry(live, manager, subresource);
    ret->found = json_present(entry);
    struct error err;
    if (!ret->found || !fieldset_from_json(a, json_member(entry, "fieldsV1"), &ret->set, &err))
        return;
    ret->fields = typed_extract(a, s, live, ret->set, EXTRACT_KEYS | EXTRACT_GONE);
    bool same_version =
        json_equal(json_member(entry, "apiVersion"), json_member(live, "apiVersion"));
    ret->exact = same_version && typed_set_is_of(a, s, ret->fields, ret->set);
}

/* ---- equality ---- */

/* Members without owners: fields of the root, and of its metadata. */
static bool is_stripped(const char *const *names, const char *key)
{
    for (; *names; names++)
        if (strcmp(*names, key) == 0)
            return true;
    return false;
}

static const char *const no_names[] = { NULL };

/* The position in an object. In parts that the server keeps in Go structs, zero values are lost:
 * all of a built-in kind, the metadata of a custom one. */
enum where {
    AT_ROOT,
    AT_METADATA,
    IN_STRUCT,
    IN_CUSTOM,
};

static const char *const *stripped_at(enum where where)
{
    return where == AT_ROOT       ? managers_stripped_root
           : where == AT_METADATA ? managers_stripped_metadata
                                  : no_names;
}

static enum where where_below(const struct schema *s, enum where where, bool metadata)
{
    if (where == AT_METADATA)
        return IN_STRUCT;
    if (where != AT_ROOT)
        return where;
    if (metadata)
        return AT_METADATA;
    return s->table.types == schema_builtin.types ? IN_STRUCT : IN_CUSTOM;
}

/* A declared list that is a set or a map and is empty has no fields, so it has no effect. */
static bool says_nothing(const struct schema *s, const struct schema_field *f, struct json v)
{
    return v.type == JSON_LIST && !v.count && f && schema_type(s, f->type)->list > LIST_ATOMIC;
}

/* A field that we own and that is missing: the server omitted it because it is Go's zero value. Not
 * so for an empty struct, which is behind a pointer. */
static bool is_left_out(const struct schema_type *t, struct json wanted)
{
    return canonical_is_zero(wanted) && !(wanted.type == JSON_MAP && t->field_count);
}

static bool owned_equal(
    const struct schema *s, uint16_t type, struct json owned, struct json wanted, enum where where);

static bool maps_equal(const struct schema *s, const struct schema_type *t, struct json owned,
    struct json wanted, enum where where)
{
    const char *const *stripped = stripped_at(where);
    uint32_t i = 0;
    json_each_member (m, wanted) {
        const struct schema_field *field = schema_field(s, t, m->key);
        uint16_t type = field ? field->type : t->member;
        bool metadata = where == AT_ROOT && schema_compare_names(m->key, "metadata") == 0;
        if (is_stripped(stripped, m->key) || says_nothing(s, field, m->value))
            continue;
        bool there = i < owned.count && schema_compare_names(owned.members[i].key, m->key) == 0;
        struct json left = json_if(there, owned.members[i++].value);
        /* A struct without any field that can be owned is not owned itself. */
        bool hollow = metadata || (field && m->value.type == JSON_MAP && m->value.count &&
                                      schema_type(s, type)->map == MAP_GRANULAR);
        if (!there && hollow)
            left = json_empty_map();
        else if (!there || type == SCHEMA_NO_TYPE)
            return false;
        bool filled = canonical_is_zero(m->value) && canonical_is_default(s, t, m->key, left);
        if (!filled && !owned_equal(s, type, left, m->value, where_below(s, where, metadata)))
            return false;
    }
    return i == owned.count;
}

static bool owned_equal(
    const struct schema *s, uint16_t type, struct json owned, struct json wanted, enum where where)
{
    const struct schema_type *t = schema_type(s, type);
    enum typed_shape shape = typed_shape(t, wanted);
    if (owned.type == JSON_NULL)
        return wanted.type == JSON_NULL || (where != IN_CUSTOM && is_left_out(t, wanted));
    if (typed_is_atomic(t, shape))
        return canonical_equal(s, type, owned, wanted);
    if (owned.type != wanted.type || wanted.type == JSON_NULL)
        return false;
    if (shape == SHAPE_MAP)
        return maps_equal(s, t, owned, wanted, where);
    if (owned.count != wanted.count)
        return false;
    for (uint32_t i = 0; i < wanted.count; i++)
        if (!owned_equal(s, t->item, owned.items[i], wanted.items[i], where))
            return false;
    return true;
}

bool merge_equal(const struct schema *s, const struct merge_owned *owned, struct json wanted)
{
    /* A manager that applies nothing has no entry. */
    return (owned->exact || !owned->found) &&
           owned_equal(s, s->root, owned->fields, wanted, AT_ROOT);
}

/* ---- differences ---- */

const char *merge_change_name(enum merge_change what)
{
    static const char *const names[] = {
        [MERGE_ADDED] = "added",
        [MERGE_REMOVED] = "removed",
        [MERGE_CHANGED] = "changed",
        [MERGE_MOVED] = "moved",
    };
    return names[what];
}

struct difference_walk {
    struct arena *arena;
    const struct schema *schema;
    struct path_element path[FIELD_PATH_DEPTH_MAX];
    size_t depth;
    enum where where;
    struct merge_difference *items;
    size_t count, size;
};

static void add_difference(struct difference_walk *w, const struct field_path *path,
    enum merge_change what, struct json owned, struct json wanted)
{
    arena_room(w->arena, w->items, w->count, w->size);
    struct path_element *elements = arena_array(w->arena, path->count, sizeof(*elements));
    if (path->count)
        memcpy(elements, path->elements, path->count * sizeof(*elements));
    w->items[w->count++] = (struct merge_difference){
        .path = { .elements = elements, .count = path->count },
        .text = path->count ? field_path_text(w->arena, path) : ".",
        .what = what,
        .owned = owned,
        .wanted = wanted,
    };
}

static void add_here(
    struct difference_walk *w, enum merge_change what, struct json owned, struct json wanted)
{
    add_difference(w, &(struct field_path){ w->path, w->depth }, what, owned, wanted);
}

static void find_changes(
    struct difference_walk *w, uint16_t type, struct json owned, struct json wanted);

/* Pairs items by key; items that only one side has are known from the sets. */
static void list_changes(
    struct difference_walk *w, const struct schema_type *t, struct json owned, struct json wanted)
{
    struct typed_items x, y;
    if (!typed_items(w->arena, w->schema, t, owned, &x, NULL) ||
        !typed_items(w->arena, w->schema, t, wanted, &y, NULL)) {
        add_here(w, MERGE_CHANGED, owned, wanted);
        return;
    }
    uint32_t last = 0, first;
    bool moved = false;
    for (uint32_t i = 0; i < y.count; i++) {
        uint32_t found = typed_items_find(&x, &y.elements[i], &first);
        if (!found)
            continue;
        moved |= first < last || found > 1;
        last = first;
        w->path[w->depth++] = y.elements[i];
        find_changes(w, t->item, x.items[first], y.items[i]);
        w->depth--;
    }
    if (moved)
        add_here(w, MERGE_MOVED, owned, wanted);
}

static void find_changes(
    struct difference_walk *w, uint16_t type, struct json owned, struct json wanted)
{
    const struct schema_type *t = schema_type(w->schema, type);
    enum typed_shape shape = typed_shape(t, wanted);
    bool same_type = owned.type == wanted.type && wanted.type != JSON_NULL;
    if (typed_is_atomic(t, shape) || !same_type) {
        if (!owned_equal(w->schema, type, owned, wanted, w->where))
            add_here(w, MERGE_CHANGED, owned, wanted);
        return;
    }
    if (shape == SHAPE_LIST) {
        list_changes(w, t, owned, wanted);
        return;
    }
    json_each_member (m, wanted) {
        struct json there = json_member(owned, m->key);
        uint16_t below = schema_member_type(w->schema, t, m->key);
        if (!json_present(there) || below == SCHEMA_NO_TYPE ||
            (canonical_is_default(w->schema, t, m->key, there) && canonical_is_zero(m->value)))
            continue;
        enum where above = w->where;
        w->where = where_below(w->schema, above, schema_compare_names(m->key, "metadata") == 0);
        w->path[w->depth++] = path_field(m->key);
        find_changes(w, below, there, m->value);
        w->depth--;
        w->where = above;
    }
}

/* The value at a path; items of lists are found by key. */
static struct json value_at(
    struct arena *a, const struct schema *s, struct json v, const struct field_path *path)
{
    uint16_t type = s->root;
    for (size_t i = 0; i < path->count && json_present(v); i++) {
        const struct path_element *e = &path->elements[i];
        const struct schema_type *t = type == SCHEMA_NO_TYPE ? NULL : schema_type(s, type);
        if (e->kind == PATH_FIELD) {
            v = json_member(v, e->value.string);
            type = t && t->map ? schema_member_type(s, t, e->value.string) : SCHEMA_NO_TYPE;
            continue;
        }
        struct typed_items items;
        uint32_t first;
        bool found = t && t->list > LIST_ATOMIC && typed_items(a, s, t, v, &items, NULL) &&
                     typed_items_find(&items, e, &first);
        v = json_if(found, items.items[first]);
        type = t && t->list ? t->item : SCHEMA_NO_TYPE;
    }
    return v;
}

static void add_paths(struct difference_walk *w, const struct fieldset *set, enum merge_change what,
    struct json owned, struct json wanted)
{
    size_t count;
    const struct field_path *paths = fieldset_paths(w->arena, set, &count);
    for (size_t i = 0; i < count; i++)
        add_difference(w,
            &paths[i],
            what,
            value_at(w->arena, w->schema, owned, &paths[i]),
            value_at(w->arena, w->schema, wanted, &paths[i]));
}

static int compare_differences(const void *left, const void *right)
{
    const struct merge_difference *l = left, *r = right;
    for (size_t i = 0; i < l->path.count && i < r->path.count; i++) {
        int order = path_element_compare(&l->path.elements[i], &r->path.elements[i]);
        if (order)
            return order;
    }
    return (l->path.count > r->path.count) - (l->path.count < r->path.count);
}

struct merge_differences merge_difference(
    struct arena *a, const struct schema *s, const struct merge_owned *owned, struct json wanted)
{
    struct difference_walk w = { .arena = a, .schema = s };
    if (merge_equal(s, owned, wanted))
        return (struct merge_differences){ 0 };
    const struct fieldset *set = managers_strip(a, typed_set(a, s, wanted));
    const struct fieldset *had = owned->set ? owned->set : typed_set(a, s, owned->fields);
    add_paths(&w, fieldset_difference(a, set, had), MERGE_ADDED, owned->fields, wanted);
    add_paths(&w, fieldset_difference(a, had, set), MERGE_REMOVED, owned->fields, wanted);
    if (owned->found)
        find_changes(&w, s->root, owned->fields, wanted);
    if (!w.count) /* the entry differs only in its apiVersion, or cannot be read */
        add_difference(&w, &(struct field_path){ 0 }, MERGE_CHANGED, owned->fields, wanted);
    qsort(w.items, w.count, sizeof(*w.items), compare_differences);
    return (struct merge_differences){ .items = w.items, .count = w.count };
}

/* ---- managers, and the self-check ---- */

/* A member at the path, or above it: an atomic value is owned as a whole. */
static bool owns(const struct fieldset *set, const struct field_path *path)
{
    for (size_t i = 0; i < path->count; i++) {
        const struct fieldset_entry *e = fieldset_entry(set, &path->elements[i]);
        if (!e)
            return false;
        if (!e->below)
            return e->member;
        if (i + 1 == path->count)
            return e->member;
        set = e->below;
    }
    return false;
}

struct merge_managers merge_field_managers(
    struct arena *a, struct json live, const struct field_path *path)
{
    struct json entries = json_get(live, "metadata.managedFields");
    struct merge_manager *found =
        arena_array(a, entries.type == JSON_LIST ? entries.count : 0, sizeof(*found));
    size_t count = 0;
    json_each (entry, entries) {
        const struct fieldset *set;
        struct error err;
        const char *name = json_text(json_member(*entry, "manager"));
        const char *subresource = json_text(json_member(*entry, "subresource"));
        if (!fieldset_from_json(a, json_member(*entry, "fieldsV1"), &set, &err) || !owns(set, path))
            continue;
        found[count++] = (struct merge_manager){
            .name = name ? name : "",
            .subresource = subresource ? subresource : "",
            .applies = text_eq(json_text(json_member(*entry, "operation")), "Apply"),
        };
    }
    return (struct merge_managers){ .items = found, .count = count };
}

bool merge_set_of(struct arena *a, const struct schema *s, struct json wanted,
    const struct fieldset **ret, struct error *err)
{
    if (!typed_validate(s, wanted, false, err))
        return false;
    *ret = managers_strip(a, typed_set(a, s, wanted));
    return true;
}

bool merge_set_equal_entry(struct arena *a, const struct fieldset *set, struct json live,
    const char *manager, const char *subresource, const char **ret_text)
{
    struct json entry = find_entry(live, manager, subresource);
    const struct fieldset *stored = fieldset_empty();
    struct error err;
    bool readable = fieldset_from_json(a, json_member(entry, "fieldsV1"), &stored, &err);
    if (readable && fieldset_equal(set, stored))
        return true;
    const struct fieldset *sides[] = {
        fieldset_difference(a, set, stored),
        fieldset_difference(a, stored, set),
    };
    for (size_t i = 0; ret_text && i < lengthof(sides); i++) {
        size_t count;
        const struct field_path *paths = fieldset_paths(a, sides[i], &count);
        if (count) {
            *ret_text = arena_printf(a, "%c%s", "+-"[i], field_path_text(a, &paths[0]));
            return false;
        }
    }
    if (ret_text)
        *ret_text = readable ? "" : arena_strdup(a, err.text);
    return false;
}
