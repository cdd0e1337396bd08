#include "apiserver/describe/openapi_schema.h"

#include "apiserver/describe/openapi_v2.h"
#include "apiserver/describe/openapi_words.h"
#include "base/embed.h"

EMBED(openapi_models, "src/apiserver/describe/openapi.json");

static const char kind_tag[] = "x-kubernetes-group-version-kind";
static const char selectable_tag[] = "x-kubernetes-selectable-fields";

/* ---- names and references ---- */

static struct json tag(struct arena *a, const char *group, const char *version, const char *kind)
{
    return json_map(a,
        { "group", json_str(group) },
        { "version", json_str(version) },
        { "kind", json_str(kind) });
}

static const char *custom_name(
    struct arena *a, const char *group, const char *version, const char *kind)
{
    const char *turned = "";
    for (struct str rest = str_of(group); rest.ptr;) {
        struct str part = str_cut(&rest, '.');
        turned = arena_printf(a, "%.*s%s%s", (int)part.len, part.ptr, *turned ? "." : "", turned);
    }
    return arena_printf(a, "%s.%s.%s", turned, version, kind);
}

const char *openapi_kind_name(
    struct openapi_schemas *o, const char *group, const char *version, const char *kind)
{
    json_each_member (m, o->known)
        json_each (t, json_member(m->value, kind_tag))
            if (text_eq(json_get_text(*t, "kind"), kind) &&
                text_eq(json_get_text(*t, "group"), group) &&
                text_eq(json_get_text(*t, "version"), version))
                return m->key;
    return custom_name(o->arena, group, version, kind);
}

static void want(struct openapi_schemas *o, const char *name)
{
    uint16_t at = 0;
    json_each_member (m, o->known) {
        if (!o->seen[at] && text_eq(m->key, name)) {
            o->seen[at] = 1;
            o->queue[o->queued++] = at;
            return;
        }
        at++;
    }
}

struct json openapi_ref(struct openapi_schemas *o, const char *name)
{
    want(o, name);
    const char *prefix = o->v2 ? "#/definitions/" : "#/components/schemas/";
    return json_map(o->arena, { "$ref", json_strf(o->arena, "%s%s", prefix, name) });
}

/* A reference from a field to a struct. */
static struct json field_ref(struct openapi_schemas *o, const char *name)
{
    struct json ref = openapi_ref(o, name);
    return o->v2 ? ref : json_map(o->arena, { "allOf", json_list(o->arena, ref) });
}

/* ---- built-in types ---- */

/* A model for the document. In v2 a reference is alone, and only the text of two types is kept. */
static struct json model(struct openapi_schemas *o, struct json v)
{
    struct json_builder b;
    json_builder_init_for(&b, o->arena, v.count);
    if (json_is(v, JSON_LIST)) {
        json_each (item, v)
            json_push(&b, model(o, *item));
        return json_list_end(&b);
    }
    if (!json_is(v, JSON_MAP))
        return v;
    json_each_member (m, v) {
        bool list = json_is(m->value, JSON_LIST);
        if (text_eq(m->key, "$ref") && json_is(m->value, JSON_STR))
            json_put_all(&b, openapi_ref(o, json_text(m->value)));
        else if (o->v2 && list && text_eq(m->key, "allOf"))
            json_put_all(&b, model(o, *m->value.items));
        else if (o->v2 && list && text_eq(m->key, "oneOf"))
            json_put(&b, "type", json_str("string"));
        else
            json_put(&b, m->key, model(o, m->value));
    }
    return json_map_end(&b);
}

/* Options and watch events are the same in all groups, and also tagged with a built-in group. */
static struct json tagged(struct openapi_schemas *o, const char *name, struct json schema)
{
    struct arena *a = o->arena;
    bool shared =
        text_eq(name, OPENAPI_META "DeleteOptions") || text_eq(name, OPENAPI_META "WatchEvent");
    if (!shared || text_empty(o->group) || o->custom)
        return schema;
    struct json_builder tags;
    json_builder_init(&tags, a);
    json_push_all(&tags, json_member(schema, kind_tag));
    json_push(&tags, tag(a, o->group, o->version, name + sizeof(OPENAPI_META) - 1));
    return json_with_member(a, schema, kind_tag, json_list_end(&tags));
}

/* ---- custom kinds ---- */

struct json openapi_crd_version(struct apiserver *s, struct arena *a, const struct api_kind *k)
{
    const struct api_kind *crd = registry_find(
        apiserver_registry(s), "apiextensions.k8s.io", "v1", "customresourcedefinitions");
    const char *name = arena_printf(a, "%s.%s", k->resource.plural, k->resource.group);
    struct json object = json_if(crd, apiserver_read(s, a, crd, "", name));
    return json_find(json_get(object, "spec.versions"), "name", k->resource.version);
}

/* Absent if there are none. */
static struct json selectable_fields(struct arena *a, struct json version)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (field, json_member(version, "selectableFields")) {
        const char *path = json_get_text(*field, "jsonPath");
        json_push(&b, json_map(a, { "fieldPath", json_str(path + (path[0] == '.')) }));
    }
    return json_or_absent(json_list_end(&b));
}

/* A text field, with its old description if it had one. */
static struct json text_field(struct arena *a, struct json properties, const char *name)
{
    struct json text = json_map(a, { "type", json_str("string") });
    struct json words = json_member(json_member(properties, name), "description");
    return json_with_member(a, text, "description", words);
}

/* Adds the fields of all objects to a schema. */
static struct json with_object_fields(struct openapi_schemas *o, struct json schema)
{
    struct arena *a = o->arena;
    struct json properties = json_member(schema, "properties");
    struct json fields = json_map(a,
        { "apiVersion", text_field(a, properties, "apiVersion") },
        { "kind", text_field(a, properties, "kind") },
        { "metadata", field_ref(o, OPENAPI_META "ObjectMeta") });
    return json_with_member(a, schema, "properties", json_overlay(a, properties, fields));
}

static struct json embedding(struct openapi_schemas *o, struct json v);

static struct json embedding_each(struct openapi_schemas *o, struct json map)
{
    struct json_builder b;
    json_builder_init_for(&b, o->arena, map.count);
    json_each_member (m, map)
        json_put(&b, m->key, embedding(o, m->value));
    return json_map_end(&b);
}

/* A CRD's schema, in which embedded objects have the fields of objects. */
static struct json embedding(struct openapi_schemas *o, struct json v)
{
    struct arena *a = o->arena;
    if (!json_is(v, JSON_MAP))
        return v;
    static const char *const inside[] = { "items", "additionalProperties" };
    for (size_t i = 0; i < lengthof(inside); i++)
        if (json_is(json_member(v, inside[i]), JSON_MAP))
            v = json_with_member(a, v, inside[i], embedding(o, json_member(v, inside[i])));
    struct json properties = json_member(v, "properties");
    if (json_is(properties, JSON_MAP))
        v = json_with_member(a, v, "properties", embedding_each(o, properties));
    bool any = json_get_bool(v, "x-kubernetes-preserve-unknown-fields", false);
    if (!json_get_bool(v, "x-kubernetes-embedded-resource", false) || (o->v2 && any))
        return v;
    struct json_builder required;
    json_builder_init(&required, a);
    json_push_all(&required, json_member(v, "required"));
    json_push(&required, json_str("kind"));
    json_push(&required, json_str("apiVersion"));
    return json_with_member(a, with_object_fields(o, v), "required", json_list_end(&required));
}

static struct json custom_schema(struct openapi_schemas *o, struct json version)
{
    struct arena *a = o->arena;
    struct json schema = json_get(version, "schema.openAPIV3Schema");
    if (!json_is(schema, JSON_MAP))
        schema = json_map(a, { "type", json_str("object") });
    bool any = json_get_bool(schema, "x-kubernetes-preserve-unknown-fields", false);
    if (o->v2 && any)
        return json_map(a, { "type", json_str("object") });
    schema = embedding(o, schema);
    if (o->v2)
        schema = json_with_member(a, openapi_v2_schema(a, schema), "type", json_str("object"));
    return with_object_fields(o, schema);
}

/* ---- documents ---- */

/* Lists have other metadata than objects. */
static struct json described(struct arena *a, const char *name, struct json schema)
{
    struct json properties = json_member(schema, "properties");
    if (text_eq(name, OPENAPI_META "ObjectMeta"))
        return openapi_describe_meta(a, schema);
    bool object = json_present(json_member(schema, kind_tag)) &&
                  json_present(json_member(properties, "metadata")) &&
                  !json_present(json_member(properties, "items"));
    return object ? openapi_describe_object(a, schema) : schema;
}

void openapi_schemas_init(struct openapi_schemas *o, struct apiserver *s, struct arena *a,
    const char *group, const char *version)
{
    *o = (struct openapi_schemas){
        .server = s, .arena = a, .v2 = !group, .group = group, .version = version
    };
    struct error err = { 0 };
    bool ok = json_parse(a, str_of(openapi_models), &o->known, &err);
    assert(ok);
    o->seen = arena_alloc(a, o->known.count);
    o->queue = arena_array(a, o->known.count, sizeof(uint16_t));
    json_builder_init(&o->map, a);
}

void openapi_schemas_add(struct openapi_schemas *o, const struct api_kind *k)
{
    struct arena *a = o->arena;
    const struct resource *r = &k->resource;
    if (!k->custom)
        return;
    o->custom = true;
    const char *name = custom_name(a, r->group, r->version, r->kind);
    struct json tags = json_list(a, tag(a, r->group, r->version, r->kind));
    struct json version = openapi_crd_version(o->server, a, k);
    struct json selectable = selectable_fields(a, version);
    struct json schema = openapi_describe_object(a, custom_schema(o, version));
    schema = json_with_member(a, schema, kind_tag, tags);
    json_put(&o->map, name, json_with_member(a, schema, selectable_tag, selectable));
    struct json text = json_map(a, { "type", json_str("string") });
    struct json items =
        json_map(a, { "type", json_str("array") }, { "items", openapi_ref(o, name) });
    json_put(&o->map,
        custom_name(a, r->group, r->version, k->list_kind),
        json_map(a,
            { "type", json_str("object") },
            { "required", json_list(a, json_str("items")) },
            { "properties",
                json_map(a,
                    { "apiVersion", text },
                    { "kind", text },
                    { "items", items },
                    { "metadata", field_ref(o, OPENAPI_META "ListMeta") }) },
            { kind_tag, json_list(a, tag(a, r->group, r->version, k->list_kind)) },
            { selectable_tag, selectable }));
}

void openapi_schemas_add_all(struct openapi_schemas *o)
{
    json_each_member (m, o->known)
        want(o, m->key);
}

struct json openapi_schemas_end(struct openapi_schemas *o)
{
    while (o->taken < o->queued) {
        const struct json_member *m = &o->known.members[o->queue[o->taken++]];
        struct json schema = tagged(o, m->key, model(o, m->value));
        schema = described(o->arena, m->key, schema);
        json_put(&o->map, m->key, o->v2 ? openapi_v2_schema(o->arena, schema) : schema);
    }
    return json_map_end(&o->map);
}
