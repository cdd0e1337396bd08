#include "apiserver/openapi_schema.h"

#include "apiserver/openapi_v2.h"

/* ---- names ---- */

const char *openapi_kind_name(struct arena *a, const struct api_kind *k)
{
    const struct resource *r = &k->resource;
    struct str group = str_of(r->group);
    if (!k->custom) {
        struct str first = *r->group ? str_cut(&group, '.') : STR("core");
        return arena_printf(
            a, "io.k8s.api.%.*s.%s.%s", (int)first.len, first.ptr, r->version, r->kind);
    }
    const char *turned = "";
    while (group.ptr) {
        struct str part = str_cut(&group, '.');
        turned = arena_printf(a, "%.*s%s%s", (int)part.len, part.ptr, *turned ? "." : "", turned);
    }
    return arena_printf(a, "%s.%s.%s", turned, r->version, r->kind);
}

const char *openapi_list_name(struct arena *a, const struct api_kind *k)
{
    return arena_printf(a, "%sList", openapi_kind_name(a, k));
}

struct json openapi_ref(struct arena *a, const char *name)
{
    return json_map(a, { "$ref", json_strf(a, "#/components/schemas/%s", name) });
}

static struct json ref(struct openapi_schemas *o, const char *name)
{
    struct json r = json_map(o->arena, { "$ref", json_strf(o->arena, "%s%s", o->prefix, name) });
    return o->v2 ? r : json_map(o->arena, { "allOf", json_list(o->arena, r) });
}

/* ---- built-in types ---- */

/* Types with fields are described apart, under the name that Go gives them; the number tells two of
 * one name apart. */
static const char *type_name(struct openapi_schemas *o, uint16_t type)
{
    const char *go = schema_builtin.names + schema_builtin.types[type].go;
    if (text_eq(go, "ObjectMeta"))
        return OPENAPI_META "ObjectMeta";
    return arena_printf(o->arena, "io.k8s.type%u.%s", type, *go ? go : "Object");
}

static struct json type_schema(struct openapi_schemas *o, uint16_t type, const char *go);

static struct json scalar_schema(
    struct arena *a, const struct schema_type *t, const char *go, bool v2)
{
    switch (t->format) {
    case FORMAT_QUANTITY:
        return v2 ? json_map(a, { "type", json_str("string") })
                  : json_map(a,
                        { "oneOf",
                            json_list(a,
                                json_map(a, { "type", json_str("string") }),
                                json_map(a, { "type", json_str("number") })) });
    case FORMAT_INT_OR_STRING:
        return json_map(a, { "type", json_str("string") }, { "format", json_str("int-or-string") });
    case FORMAT_TIME:
    case FORMAT_MICRO_TIME:
        return json_map(a, { "type", json_str("string") }, { "format", json_str("date-time") });
    case FORMAT_BYTES:
        return json_map(a, { "type", json_str("string") }, { "format", json_str("byte") });
    case FORMAT_DURATION:
        return json_map(a, { "type", json_str("string") });
    default:
        break;
    }
    if (t->scalar == SCALAR_BOOL)
        return json_map(a, { "type", json_str("boolean") });
    if (t->scalar == SCALAR_STRING)
        return json_map(a, { "type", json_str("string") });
    if (t->scalar != SCALAR_NUMBER)
        return json_empty_map();
    bool real = go && strstr(go, "float");
    bool wide = go && (strstr(go, "int64") || text_ends(go, "int"));
    return json_map(a,
        { "type", json_str(real ? "number" : "integer") },
        { "format",
            json_str(real   ? "double"
                     : wide ? "int64"
                            : "int32") });
}

static struct json list_schema(
    struct openapi_schemas *o, const struct schema_type *t, const char *go)
{
    struct arena *a = o->arena;
    static const char *const types[] = {
        [LIST_ATOMIC] = "atomic", [LIST_SET] = "set", [LIST_MAP] = "map"
    };
    struct json_builder keys;
    json_builder_init(&keys, a);
    for (uint16_t i = 0; t->list == LIST_MAP && i < t->key_count; i++)
        json_push(&keys, json_str(schema_builtin.names + schema_builtin.keys[t->keys + i].name));
    return json_map(a,
        { "type", json_str("array") },
        { "items", type_schema(o, t->item, go) },
        { "x-kubernetes-list-type", json_str(types[t->list]) },
        { "x-kubernetes-list-map-keys", json_or_absent(json_list_end(&keys)) });
}

/* What a field of this type says; structs are referred to. */
static struct json type_schema(struct openapi_schemas *o, uint16_t type, const char *go)
{
    struct arena *a = o->arena;
    const struct schema_type *t = &schema_builtin.types[type];
    if (type == SCHEMA_TYPE_DEDUCED || type == SCHEMA_TYPE_ATOMIC)
        return json_map(a, { "type", json_str("object") });
    if (t->format != FORMAT_PLAIN || (t->scalar && !t->list && !t->map))
        return scalar_schema(a, t, go, o->v2);
    if (t->scalar)
        return json_empty_map();
    if (t->list)
        return list_schema(o, t, go);
    if (!t->field_count)
        return json_map(a,
            { "type", json_str("object") },
            { "additionalProperties",
                t->member == SCHEMA_NO_TYPE ? (struct json){ 0 } : type_schema(o, t->member, go) });
    if (!o->seen[type]) {
        o->seen[type] = 1;
        o->queue[o->queued++] = type;
    }
    return ref(o, type_name(o, type));
}

static struct json field_schema(struct openapi_schemas *o, const struct schema_field *f)
{
    struct arena *a = o->arena;
    struct json v = type_schema(o, f->type, schema_builtin.names + f->go);
    if (f->flags & SCHEMA_PATCH_MERGE)
        v = json_with_member(a,
            v,
            "x-kubernetes-patch-strategy",
            json_str(f->flags & SCHEMA_PATCH_RETAIN ? "merge,retainKeys" : "merge"));
    else if (f->flags & SCHEMA_PATCH_RETAIN)
        v = json_with_member(a, v, "x-kubernetes-patch-strategy", json_str("retainKeys"));
    if (f->patch_key)
        v = json_with_member(
            a, v, "x-kubernetes-patch-merge-key", json_str(schema_builtin.names + f->patch_key));
    return v;
}

static struct json struct_schema(struct openapi_schemas *o, uint16_t type)
{
    const struct schema_type *t = &schema_builtin.types[type];
    struct json_builder properties;
    json_builder_init(&properties, o->arena);
    for (uint16_t i = 0; i < t->field_count; i++) {
        const struct schema_field *f = &schema_builtin.fields[t->fields + i];
        json_put(&properties, schema_builtin.names + f->name, field_schema(o, f));
    }
    return json_map(o->arena,
        { "type", json_str("object") },
        { "properties", json_map_end(&properties) },
        { "x-kubernetes-map-type", json_str(t->map == MAP_ATOMIC ? "atomic" : NULL) });
}

/* The root of a built-in kind by "group/version/kind"; false: there is none. */
static bool builtin_root(
    struct arena *a, const char *group, const char *version, const char *kind, uint16_t *ret)
{
    const char *name = arena_printf(a, "%s/%s/%s", group, version, kind);
    for (uint32_t i = 0; i < schema_builtin_kind_count; i++)
        if (text_eq(schema_builtin.names + schema_builtin_kinds[i].name, name)) {
            *ret = (uint16_t)schema_builtin_kinds[i].root;
            return true;
        }
    return false;
}

/* ---- custom kinds ---- */

struct json openapi_crd_schema(struct apiserver *s, struct arena *a, const struct api_kind *k)
{
    const struct api_kind *crd = registry_find(
        apiserver_registry(s), "apiextensions.k8s.io", "v1", "customresourcedefinitions");
    const char *name = arena_printf(a, "%s.%s", k->resource.plural, k->resource.group);
    struct json object = crd ? apiserver_read(s, a, crd, "", name) : (struct json){ 0 };
    struct json version = json_find(json_get(object, "spec.versions"), "name", k->resource.version);
    return json_get(version, "schema.openAPIV3Schema");
}

static struct json metadata_ref(struct openapi_schemas *o)
{
    uint16_t root;
    if (!builtin_root(o->arena, "", "v1", "ConfigMap", &root))
        return json_map(o->arena, { "type", json_str("object") });
    const struct schema_type *t = &schema_builtin.types[root];
    for (uint16_t i = 0; i < t->field_count; i++) {
        const struct schema_field *f = &schema_builtin.fields[t->fields + i];
        if (text_eq(schema_builtin.names + f->name, "metadata"))
            return type_schema(o, f->type, "");
    }
    return json_map(o->arena, { "type", json_str("object") });
}

static struct json custom_schema(struct openapi_schemas *o, const struct api_kind *k)
{
    struct arena *a = o->arena;
    struct json schema = openapi_crd_schema(o->server, a, k);
    struct json properties = json_member(schema, "properties");
    if (!json_is(schema, JSON_MAP))
        schema = json_map(a, { "type", json_str("object") });
    if (o->v2) {
        /* Whatever else it says, the object itself has metadata. */
        schema = openapi_v2_schema(a, schema);
        properties = json_member(schema, "properties");
        schema = json_with_member(a, schema, "type", json_str("object"));
    }
    struct json text = json_map(a, { "type", json_str("string") });
    properties = json_overlay(a,
        properties,
        json_map(a, { "apiVersion", text }, { "kind", text }, { "metadata", metadata_ref(o) }));
    return json_with_member(a, schema, "properties", properties);
}

/* ---- documents ---- */

void openapi_schemas_init(
    struct openapi_schemas *o, struct apiserver *s, struct arena *a, const char *prefix)
{
    *o = (struct openapi_schemas){
        .server = s,
        .arena = a,
        .prefix = prefix,
        .v2 = text_starts(prefix, "#/definitions"),
        .seen = arena_alloc(a, schema_builtin.type_count),
        .queue = arena_array(a, schema_builtin.type_count, sizeof(uint16_t)),
    };
    json_builder_init(&o->map, a);
}

static struct json kind_tag(struct openapi_schemas *o, const struct resource *r, const char *kind)
{
    return json_list(o->arena,
        json_map(o->arena,
            { "group", json_str(r->group) },
            { "version", json_str(r->version) },
            { "kind", json_str(kind) }));
}

void openapi_schemas_add(struct openapi_schemas *o, const struct api_kind *k)
{
    struct arena *a = o->arena;
    const struct resource *r = &k->resource;
    static const char tag[] = "x-kubernetes-group-version-kind";
    uint16_t root;
    const char *name = openapi_kind_name(a, k);
    struct json schema = k->custom ? custom_schema(o, k)
                         : builtin_root(a, r->group, r->version, r->kind, &root)
                             ? struct_schema(o, root)
                             : json_map(a, { "type", json_str("object") });
    json_put(&o->map, name, json_with_member(a, schema, tag, kind_tag(o, r, r->kind)));
    if (!(k->verbs & API_LIST))
        return;
    struct json text = json_map(a, { "type", json_str("string") });
    struct json items = json_map(a, { "type", json_str("array") }, { "items", ref(o, name) });
    json_put(&o->map,
        openapi_list_name(a, k),
        json_map(a,
            { "type", json_str("object") },
            { "required", json_list(a, json_str("items")) },
            { "properties",
                json_map(a,
                    { "apiVersion", text },
                    { "kind", text },
                    { "items", items },
                    { "metadata", ref(o, OPENAPI_META "ListMeta") }) },
            { tag, kind_tag(o, r, k->list_kind) }));
}

static void put_meta(struct openapi_schemas *o)
{
    struct arena *a = o->arena;
    struct json text = json_map(a, { "type", json_str("string") });
    struct json number =
        json_map(a, { "type", json_str("integer") }, { "format", json_str("int64") });
    struct json yes = json_map(a, { "type", json_str("boolean") });
    json_put(&o->map,
        OPENAPI_META "ListMeta",
        json_map(a,
            { "type", json_str("object") },
            { "properties",
                json_map(a,
                    { "continue", text },
                    { "remainingItemCount", number },
                    { "resourceVersion", text }) }));
    json_put(&o->map, OPENAPI_META "Patch", json_map(a, { "type", json_str("object") }));
    json_put(&o->map,
        OPENAPI_META "DeleteOptions",
        json_map(a,
            { "type", json_str("object") },
            { "properties",
                json_map(a,
                    { "apiVersion", text },
                    { "kind", text },
                    { "dryRun", json_map(a, { "type", json_str("array") }, { "items", text }) },
                    { "gracePeriodSeconds", number },
                    { "orphanDependents", yes },
                    { "propagationPolicy", text },
                    { "preconditions",
                        json_map(a,
                            { "type", json_str("object") },
                            { "properties",
                                json_map(a, { "resourceVersion", text }, { "uid", text }) }) }) }));
}

struct json openapi_schemas_end(struct openapi_schemas *o)
{
    while (o->taken < o->queued) {
        uint16_t type = o->queue[o->taken++];
        json_put(&o->map, type_name(o, type), struct_schema(o, type));
    }
    put_meta(o);
    return json_map_end(&o->map);
}
