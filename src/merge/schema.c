/* Lookup of types and fields, the kinds of a process, and the object that a create starts from. */

#include "merge/schema.h"

#include <stdlib.h>
#include <string.h>

/* ---- walking ---- */

const struct schema_field *schema_field(
    const struct schema *s, const struct schema_type *t, const char *name)
{
    uint32_t low = 0, high = t->field_count;
    const struct schema_field *fields = high ? s->table.fields + t->fields : NULL;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = schema_compare_names(s->table.names + fields[middle].name, name);
        if (order == 0)
            return &fields[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

uint16_t schema_member_type(const struct schema *s, const struct schema_type *t, const char *name)
{
    const struct schema_field *f = schema_field(s, t, name);
    return f ? f->type : t->member;
}

/* ---- the empty object ---- */

static struct json filled_struct(struct arena *a, const struct schema *s, uint16_t type, int depth)
{
    const struct schema_type *t = schema_type(s, type);
    assert(depth < JSON_DEPTH_MAX); /* Go structs do not contain themselves */
    struct json_builder b;
    json_builder_init(&b, a);
    for (uint32_t i = 0; i < t->field_count; i++) {
        const struct schema_field *f = &s->table.fields[t->fields + i];
        struct json values[] = {
            [FILLED_NULL] = json_null(),
            [FILLED_TEXT] = json_str(""),
            [FILLED_NUMBER] = json_int(0),
            [FILLED_BOOL] = json_bool(false),
        };
        json_put(&b,
            schema_name(s, f->name),
            f->filled == FILLED_STRUCT ? filled_struct(a, s, f->type, depth + 1)
                                       : values[f->filled]);
    }
    return json_map_end(&b);
}

struct json schema_empty_object(struct arena *a, const struct schema *s)
{
    return filled_struct(a, s, s->root, 0);
}

/* ---- the kinds of a process ---- */

struct kind_entry {
    struct kind_entry *next;
    char *name; /* group/version/kind */
    struct schema schema;
    struct arena arena; /* for a custom kind's tables */
};

struct schemas {
    struct kind_entry *entries; /* the kinds looked up so far, and the custom ones */
};

struct schemas *schemas_new(void)
{
    return mem_new_of(struct schemas);
}

static void free_entry(struct kind_entry *e)
{
    arena_done(&e->arena);
    free(e->name);
    free(e);
}

void schemas_free(struct schemas *s)
{
    while (s && s->entries) {
        struct kind_entry *next = s->entries->next;
        free_entry(s->entries);
        s->entries = next;
    }
    free(s);
}

/* Compares "group/version/kind" with its three parts. */
static int compare_kind(const char *name, const char *group, const char *version, const char *kind)
{
    const char *const parts[] = { group, "/", version, "/", kind };
    for (size_t i = 0; i < lengthof(parts); i++) {
        size_t length = strlen(parts[i]);
        int order = strncmp(name, parts[i], length);
        if (order)
            return order;
        name += length;
    }
    return *name != '\0';
}

static const struct schema_kind *find_builtin(
    const char *group, const char *version, const char *kind)
{
    uint32_t low = 0, high = schema_builtin_kind_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct schema_kind *k = &schema_builtin_kinds[middle];
        int order = compare_kind(schema_builtin.names + k->name, group, version, kind);
        if (order == 0)
            return k;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static struct kind_entry *add_entry(struct schemas *s, char *name)
{
    struct kind_entry *e = mem_new_of(struct kind_entry);
    e->name = name;
    e->next = s->entries;
    arena_init(&e->arena, ARENA_LIMIT_DEFAULT);
    s->entries = e;
    return e;
}

static char *kind_name(const char *group, const char *version, const char *kind)
{
    size_t size = strlen(group) + strlen(version) + strlen(kind) + 3;
    char *name = mem_new(size);
    snprintf(name, size, "%s/%s/%s", group, version, kind);
    return name;
}

const struct schema *schema_of(
    struct schemas *s, const char *group, const char *version, const char *kind)
{
    for (struct kind_entry *e = s->entries; e; e = e->next)
        if (compare_kind(e->name, group, version, kind) == 0)
            return &e->schema;
    const struct schema_kind *k = find_builtin(group, version, kind);
    if (!k)
        return schema_deduced();
    struct kind_entry *e = add_entry(s, kind_name(group, version, kind));
    e->schema = (struct schema){ .table = schema_builtin, .root = (uint16_t)k->root };
    return &e->schema;
}

const struct schema *schema_of_object(struct schemas *s, struct json object)
{
    const char *api_version = json_get_text(object, "apiVersion");
    const char *kind = json_get_text(object, "kind");
    char group[256];
    if (!api_version || !kind)
        return schema_deduced();
    const char *slash = strchr(api_version, '/');
    size_t length = slash ? (size_t)(slash - api_version) : 0;
    if (length >= sizeof(group))
        return schema_deduced();
    memcpy(group, api_version, length);
    group[length] = '\0';
    return schema_of(s, group, slash ? slash + 1 : api_version, kind);
}

void schemas_remove(struct schemas *s, const char *group, const char *kind)
{
    size_t length = strlen(group);
    for (struct kind_entry **at = &s->entries; *at;) {
        struct kind_entry *e = *at;
        bool same = strncmp(e->name, group, length) == 0 && e->name[length] == '/' &&
                    text_eq(strrchr(e->name, '/') + 1, kind);
        if (!same) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        free_entry(e);
    }
}

static bool add_version(
    struct schemas *s, const char *group, const char *kind, struct json version, struct error *err)
{
    const char *name = json_get_text(version, "name");
    if (!name)
        return fail(err, ERR_INVALID, "a version has no name");
    struct kind_entry *e = add_entry(s, kind_name(group, name, kind));
    const struct schema *compiled;
    struct json schema = json_get(version, "schema.openAPIV3Schema");
    if (!schema_from_crd(&e->arena, schema, &compiled, err))
        return fail_in(err, "version %s", name);
    e->schema = *compiled;
    return true;
}

bool schemas_add_crd(struct schemas *s, struct json crd, struct error *err)
{
    const char *group = json_get_text(crd, "spec.group");
    const char *kind = json_get_text(crd, "spec.names.kind");
    if (!group || !kind)
        return fail(err, ERR_INVALID, "a CustomResourceDefinition needs spec.group and a kind");
    schemas_remove(s, group, kind);
    struct json versions = json_get(crd, "spec.versions");
    json_each (version, versions) {
        if (json_get_bool(*version, "served", true) &&
            !add_version(s, group, kind, *version, err)) {
            schemas_remove(s, group, kind);
            return fail_in(err, "CustomResourceDefinition of %s in %s", kind, group);
        }
    }
    return true;
}
