/* The list of owners: reading, writing, folding, comparing. */

#include "merge/managers.h"

#include <stdlib.h>
#include <string.h>

#include "base/time.h"

const char *const managers_stripped_root[] = { "apiVersion", "kind", NULL };
const char *const managers_stripped_metadata[] = {
    "clusterName",
    "creationTimestamp",
    "generation",
    "managedFields",
    "name",
    "namespace",
    "resourceVersion",
    "selfLink",
    "uid",
    NULL,
};

static const struct fieldset *names_set(
    struct arena *a, const char *const *names, const struct fieldset *metadata)
{
    struct fieldset_builder b;
    fieldset_builder_init(&b, a);
    for (; *names; names++)
        fieldset_add(&b, path_field(*names), true, NULL);
    if (metadata)
        fieldset_add(&b, path_field("metadata"), true, metadata);
    return fieldset_end(&b);
}

const struct fieldset *managers_strip(struct arena *a, const struct fieldset *set)
{
    const struct fieldset *metadata = names_set(a, managers_stripped_metadata, NULL);
    return fieldset_difference(a, set, names_set(a, managers_stripped_root, metadata));
}

/* ---- entries ---- */

static int compare_texts(const char *x, const char *y)
{
    return strcmp(x ? x : "", y ? y : "");
}

/* The server sorts the JSON texts of the identities: member by member, and an entry with one more
 * member (the subresource) comes before one without it. */
int managers_compare_identity(const struct managers_entry *x, const struct managers_entry *y)
{
    int order = compare_texts(x->manager, y->manager);
    if (!order)
        order = (int)y->applies - (int)x->applies;
    if (!order && !x->applies)
        order = compare_texts(x->api_version, y->api_version);
    bool left = !text_empty(x->subresource), right = !text_empty(y->subresource);
    if (!order)
        order = (int)right - (int)left;
    return order ? order : compare_texts(x->subresource, y->subresource);
}

struct managers_entry *managers_find(const struct managers *m, const struct managers_entry *like)
{
    for (size_t i = 0; i < m->count; i++)
        if (managers_compare_identity(&m->entries[i], like) == 0)
            return &m->entries[i];
    return NULL;
}

struct managers_entry *managers_add(struct managers *m, struct managers_entry e)
{
    arena_room(m->arena, m->entries, m->count, m->size);
    m->entries[m->count] = e;
    return &m->entries[m->count++];
}

void managers_delete(struct managers *m, struct managers_entry *e)
{
    *e = m->entries[--m->count];
}

void managers_delete_empty(struct managers *m)
{
    for (size_t i = m->count; i-- > 0;)
        if (fieldset_is_empty(m->entries[i].set))
            managers_delete(m, &m->entries[i]);
}

const char *managers_entry_text(struct arena *a, const struct managers_entry *e)
{
    const char *text = arena_printf(a, "\"%s\"", e->manager);
    if (*e->subresource)
        text = arena_printf(a, "%s with subresource \"%s\"", text, e->subresource);
    return e->applies ? text : arena_printf(a, "%s using %s", text, e->api_version);
}

/* ---- reading and writing ---- */

static const char *text_or_empty(struct json map, const char *key)
{
    const char *text = json_text(json_member(map, key));
    return text ? text : "";
}

static bool decode_entry(
    struct arena *a, struct json v, struct managers_entry *ret, struct error *err)
{
    const char *operation = text_or_empty(v, "operation");
    *ret = (struct managers_entry){
        .manager = text_or_empty(v, "manager"),
        .api_version = text_or_empty(v, "apiVersion"),
        .subresource = text_or_empty(v, "subresource"),
        .time = json_text(json_member(v, "time")),
        .applies = text_eq(operation, "Apply"),
    };
    if (!ret->applies && !text_eq(operation, "Update"))
        return fail(err, ERR_INVALID, "operation must be `Apply` or `Update`");
    if (!*ret->api_version)
        return fail(err, ERR_INVALID, "apiVersion must not be empty");
    if (!text_eq(text_or_empty(v, "fieldsType"), "FieldsV1"))
        return fail(err, ERR_INVALID, "invalid fieldsType \"%s\"", text_or_empty(v, "fieldsType"));
    return fieldset_from_json(a, json_member(v, "fieldsV1"), &ret->set, err);
}

bool managers_readable(struct json managed_fields)
{
    static const char *const texts[] = {
        "manager", "operation", "apiVersion", "fieldsType", "subresource", "time"
    };
    int64_t ms;
    json_each (entry, managed_fields) {
        if (!json_is(*entry, JSON_MAP))
            return false;
        for (size_t i = 0; i < lengthof(texts); i++) {
            struct json v = json_member(*entry, texts[i]);
            if (json_present(v) && !json_is(v, JSON_STR) && !json_is(v, JSON_NULL))
                return false;
        }
        const char *time = json_get_text(*entry, "time");
        if (time && !time_parse(time, &ms))
            return false;
    }
    return json_is(managed_fields, JSON_LIST);
}

bool managers_decode(
    struct arena *a, struct json managed_fields, struct managers *ret, struct error *err)
{
    *ret = (struct managers){ .arena = a };
    if (managed_fields.count > MANAGERS_MAX)
        return fail(err,
            ERR_TOO_LARGE,
            "%u entries: at most %d managers can be kept apart",
            managed_fields.count,
            MANAGERS_MAX);
    json_each (item, managed_fields) {
        struct managers_entry e;
        if (!decode_entry(a, *item, &e, err))
            return fail_in(err, "managed fields entry %zu", ret->count);
        struct managers_entry *same = managers_find(ret, &e);
        if (same)
            *same = e;
        else
            managers_add(ret, e);
    }
    return true;
}

static int64_t seconds_of(const char *time)
{
    int64_t ms;
    return time_parse(time, &ms) ? ms / 1000 : 0;
}

static int compare_entries(const void *left, const void *right)
{
    const struct managers_entry *l = left, *r = right;
    if (l->applies != r->applies)
        return l->applies ? -1 : 1;
    int64_t x = seconds_of(l->time), y = seconds_of(r->time);
    if (x != y)
        return x < y ? -1 : 1;
    int order = compare_texts(l->manager, r->manager);
    if (!order)
        order = compare_texts(l->api_version, r->api_version);
    return order ? order : compare_texts(l->subresource, r->subresource);
}

struct json managers_encode(const struct managers *m)
{
    if (!m->count)
        return json_none;
    struct json_builder list;
    json_builder_init(&list, m->arena);
    struct managers_entry *sorted = arena_array(m->arena, m->count, sizeof(*sorted));
    memcpy(sorted, m->entries, m->count * sizeof(*sorted));
    qsort(sorted, m->count, sizeof(*sorted), compare_entries);
    for (size_t i = 0; i < m->count; i++) {
        const struct managers_entry *e = &sorted[i];
        json_push(&list,
            json_map(m->arena,
                { "apiVersion", json_str(e->api_version) },
                { "fieldsType", json_str("FieldsV1") },
                { "fieldsV1", fieldset_to_json(m->arena, e->set) },
                { "manager", json_str_or_absent(e->manager) },
                { "operation", json_str(e->applies ? "Apply" : "Update") },
                { "subresource", json_str_or_absent(e->subresource) },
                { "time", json_str(e->time) }));
    }
    return json_list_end(&list);
}

bool managers_is_reset(struct json managed_fields)
{
    if (managed_fields.type != JSON_LIST || managed_fields.count > 1)
        return false;
    json_each (item, managed_fields) {
        json_each_member (m, *item) {
            bool empty =
                m->value.type == JSON_NULL || (m->value.type == JSON_STR && !m->value.count);
            if (!empty)
                return false;
        }
    }
    return true;
}

/* ---- folding ---- */

static int compare_ages(const void *left, const void *right)
{
    const struct managers_entry *l = left, *r = right;
    int64_t x = seconds_of(l->time), y = seconds_of(r->time);
    if (x != y)
        return x < y ? -1 : 1;
    return managers_compare_identity(l, r);
}

/* The oldest entry of a version is kept until there is a second one; then both are merged. */
static bool fold(
    struct managers *m, const struct managers_entry *e, const struct managers_entry *first)
{
    struct managers_entry bucket = {
        .manager = "ancient-changes",
        .api_version = e->api_version,
        .subresource = "",
        .set = fieldset_empty(),
    };
    if (!first)
        return false;
    struct managers_entry *into = managers_find(m, &bucket);
    if (!into) {
        struct managers_entry *old = managers_find(m, first);
        bucket.set = old->set;
        managers_delete(m, old);
        into = managers_add(m, bucket);
    }
    into->set = fieldset_union(m->arena, e->set, into->set);
    into->time = e->time;
    struct managers_entry *gone = managers_find(m, e);
    if (gone != into)
        managers_delete(m, gone);
    return true;
}

void managers_cap(struct managers *m)
{
    struct managers_entry *updates = arena_array(m->arena, m->count, sizeof(*updates));
    size_t count = 0;
    for (size_t i = 0; i < m->count; i++)
        if (!m->entries[i].applies)
            updates[count++] = m->entries[i];
    if (count <= MANAGERS_UPDATES_MAX)
        return;
    qsort(updates, count, sizeof(*updates), compare_ages);
    size_t left = count;
    for (size_t i = 0; i < count && left > MANAGERS_UPDATES_MAX; i++) {
        const struct managers_entry *first = NULL;
        for (size_t j = 0; j < i && !first; j++)
            if (text_eq(updates[j].api_version, updates[i].api_version))
                first = &updates[j];
        left -= fold(m, &updates[i], first);
    }
}

/* ---- times ---- */

static struct json without_time(struct arena *a, struct json entry)
{
    return json_with_member(a, entry, "time", json_none);
}

static bool same_owners(struct arena *a, struct json x, struct json y)
{
    if (x.type != JSON_LIST || y.type != JSON_LIST || x.count != y.count || !x.count)
        return false;
    for (uint32_t i = 0; i < x.count; i++)
        if (!json_equal(without_time(a, x.items[i]), without_time(a, y.items[i])))
            return false;
    return true;
}

struct json managers_keep_times(struct arena *a, struct json live, struct json object)
{
    struct json before = json_get(live, "metadata.managedFields");
    struct json after = json_get(object, "metadata.managedFields");
    if (!same_owners(a, before, after))
        return object;
    struct json kept = json_with(a, object, "metadata.managedFields", before);
    return json_equal(kept, live) ? kept : object;
}
