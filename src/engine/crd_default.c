#include "engine/crd_default.h"

struct json crd_schema(struct json crd, const char *version)
{
    struct json found = json_find(json_get(crd, "spec.versions"), "name", version);
    return json_get(found, "schema.openAPIV3Schema");
}

static struct json default_member(struct arena *a, struct json schema, struct json value)
{
    bool null = json_is(value, JSON_NULL) && !json_get_bool(schema, "nullable", false);
    struct json standard = json_member(schema, "default");
    if (json_present(standard) && (null || !json_present(value)))
        value = standard;
    return json_present(value) ? crd_default(a, schema, value) : value;
}

static struct json default_map(struct arena *a, struct json schema, struct json map)
{
    struct json properties = json_member(schema, "properties");
    struct json others = json_member(schema, "additionalProperties");
    struct json_builder b;
    json_builder_init(&b, a);
    for (uint32_t i = 0; i < map.count; i++) {
        struct json_member m = map.members[i];
        bool other = json_is(others, JSON_MAP) && !json_present(json_member(properties, m.key));
        json_put(&b, m.key, other ? default_member(a, others, m.value) : m.value);
    }
    for (uint32_t i = 0; json_is(properties, JSON_MAP) && i < properties.count; i++) {
        struct json_member p = properties.members[i];
        json_put(&b, p.key, default_member(a, p.value, json_member(map, p.key)));
    }
    return json_map_end(&b);
}

struct json crd_default(struct arena *a, struct json schema, struct json value)
{
    if (json_is(value, JSON_MAP))
        return default_map(a, schema, value);
    struct json items = json_member(schema, "items");
    if (!json_is(value, JSON_LIST) || !json_is(items, JSON_MAP))
        return value;
    struct json_builder b;
    json_builder_init(&b, a);
    for (uint32_t i = 0; i < value.count; i++)
        json_push(&b, default_member(a, items, value.items[i]));
    return json_list_end(&b);
}
