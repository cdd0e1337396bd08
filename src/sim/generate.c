#include "sim/generate.h"

#include "sim/coverage.h"

/* Realistic values for fields of these names: without them, hardly any object would work. */
static const struct hint {
    const char *field;
    const char *const *values; /* NULL-terminated */
} hints[] = {
    { "source",
        (const char *const[]){ "https://models.example/a.gguf",
            "https://models.example/b.gguf",
            "hf://org/repo",
            "pvc://claim/model.gguf",
            "/models/x.gguf",
            NULL } },
    { "modelRef", (const char *const[]){ "m0", "m-1", "m.1", "not-there", NULL } },
    { "image", (const char *const[]){ "example/server:1", "example/server:2", NULL } },
    { "cpu", (const char *const[]){ "1", "500m", "2", "two", NULL } },
    { "memory", (const char *const[]){ "1Gi", "512Mi", "1.5Gi", "lots", NULL } },
    { "size", (const char *const[]){ "1Gi", "10G", "none", NULL } },
    { "name", (const char *const[]){ "a", "b", "c-d", NULL } },
    { "operator", (const char *const[]){ "Exists", "Equal", "In", NULL } },
    { "effect", (const char *const[]){ "NoSchedule", "", "NoExecute", NULL } },
    { "value", (const char *const[]){ "", "a", NULL } },
    { "key", (const char *const[]){ "a", "b", NULL } },
    { "fsType", (const char *const[]){ "", "xfs", "ext4", NULL } },
    { "objective", (const char *const[]){ "99.5", "50", "100", NULL } },
    { "latencyThreshold", (const char *const[]){ "0.5", "2", "fast", NULL } },
    { "window", (const char *const[]){ "4w", "28d", "forever", NULL } },
    { "sha256",
        (const char *const[]){
            "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF", "00", NULL } },
};
static const char *const words[] = { "a",
    "b",
    "x-y",
    "1Gi",
    "100m",
    "80%",
    "http",
    "x.example/y",
    "ümlaut",
    "",
    "",
    "",
    "A_LONG_NAME",
    "1",
    NULL };
static const int64_t numbers[] = { 0, 1, 2, 3, 80, 8080, 65536, -1 };

#define DEPTH_MAX 6
#define AIMED_DEPTH_MAX 20

static const char *pick(struct sim *s, const char *const *from)
{
    uint32_t count = 0;
    while (from[count])
        count++;
    return from[sim_below(s, SIM_INPUTS, count)];
}

static struct json any_text(struct sim *s, struct json schema, const char *field)
{
    struct json choices = json_member(schema, "enum");
    if (choices.count && !sim_chance(s, SIM_INPUTS, 30))
        return json_item(choices, sim_below(s, SIM_INPUTS, choices.count));
    for (size_t i = 0; i < lengthof(hints); i++)
        if (text_eq(hints[i].field, field))
            return json_str(pick(s, hints[i].values));
    return json_str(pick(s, words));
}

static struct json any_number(struct sim *s, struct json schema)
{
    struct json low = json_member(schema, "minimum"), high = json_member(schema, "maximum");
    if (json_is(low, JSON_INT) && sim_chance(s, SIM_INPUTS, 400))
        return json_int(low.integer + sim_below(s, SIM_INPUTS, 3));
    if (json_is(high, JSON_INT) && sim_chance(s, SIM_INPUTS, 200))
        return high;
    return json_int(numbers[sim_below(s, SIM_INPUTS, lengthof(numbers))]);
}

static struct json any_value(
    struct sim *s, struct arena *a, struct json schema, const char *field, unsigned depth);

/* ---- one of all fields ---- */

/* The number of fields in a schema, including itself. */
static uint32_t weigh(struct json schema, unsigned depth)
{
    uint32_t weight = 1;
    if (depth > AIMED_DEPTH_MAX || !json_is(schema, JSON_MAP))
        return 0;
    json_each_member (m, json_member(schema, "properties"))
        weight += weigh(m->value, depth + 1);
    return weight + weigh(json_member(schema, "items"), depth + 1) +
           weigh(json_member(schema, "additionalProperties"), depth + 1);
}

/* Each field of a whole schema has the same probability, however deep it is. */
static const struct json_member *pick_member(struct sim *s, struct json properties)
{
    uint32_t total = 0;
    json_each_member (m, properties)
        total += weigh(m->value, 0);
    uint32_t at = sim_below(s, SIM_INPUTS, total);
    json_each_member (m, properties) {
        uint32_t weight = weigh(m->value, 0);
        if (at < weight)
            return m;
        at -= weight;
    }
    return &properties.members[0];
}

/* The first name in ".a.b[].c", or a random one if there is no such path; advances path. */
static const struct json_member *aim_at(struct sim *s, struct json properties, const char **path)
{
    size_t length = **path == '.' ? strcspn(*path + 1, ".[{") : 0;
    json_each_member (m, properties)
        if (length && strlen(m->key) == length && memcmp(m->key, *path + 1, length) == 0) {
            *path += 1 + length;
            return m;
        }
    *path = "";
    return pick_member(s, properties);
}

/* Values that lead to one field somewhere below, plus required ones. path: "", or which field. */
static struct json aimed_value(struct sim *s, struct arena *a, struct json schema,
    const char *field, const char *path, unsigned depth)
{
    struct json properties = json_member(schema, "properties");
    struct json more = json_member(schema, "additionalProperties");
    struct json items = json_member(schema, "items");
    struct json_builder b;
    json_builder_init(&b, a);
    if (depth > AIMED_DEPTH_MAX)
        return json_none;
    if (text_starts(path, "[]") || text_starts(path, "{}"))
        path += 2;
    if (json_is(items, JSON_MAP)) {
        json_push(&b, aimed_value(s, a, items, field, path, depth + 1));
        return json_list_end(&b);
    }
    if (!properties.count && !json_is(more, JSON_MAP))
        return any_value(s, a, schema, field, 0);
    const struct json_member *aim = properties.count ? aim_at(s, properties, &path) : NULL;
    struct json required = json_member(schema, "required");
    uint32_t beside = properties.count < 8 ? 150 : 0; /* some are only allowed together */
    json_each_member (m, properties)
        if (m == aim)
            json_put(&b, m->key, aimed_value(s, a, m->value, m->key, path, depth + 1));
        else if (json_list_has(required, m->key) || sim_chance(s, SIM_INPUTS, beside))
            json_put(&b, m->key, any_value(s, a, m->value, m->key, 0));
    if (!aim)
        json_put(&b, pick(s, words), aimed_value(s, a, more, "", path, depth + 1));
    return json_map_end(&b);
}

/* ---- any of the fields ---- */

static struct json any_map(struct sim *s, struct arena *a, struct json schema, unsigned depth)
{
    struct json_builder map;
    json_builder_init(&map, a);
    struct json required = json_member(schema, "required");
    /* A few of many: over many runs, a handful of fields at a time covers all of them. */
    struct json properties = json_member(schema, "properties");
    uint32_t chance = properties.count > 4 ? 2000 / properties.count : 500;
    json_each_member (m, properties)
        if (json_list_has(required, m->key) || sim_chance(s, SIM_INPUTS, chance))
            json_put(&map, m->key, any_value(s, a, m->value, m->key, depth + 1));
    struct json others = json_member(schema, "additionalProperties");
    for (uint32_t i = json_is(others, JSON_MAP) ? sim_below(s, SIM_INPUTS, 3) : 0; i; i--)
        json_put(&map, pick(s, words), any_value(s, a, others, "", depth + 1));
    return json_map_end(&map);
}

static struct json any_value(
    struct sim *s, struct arena *a, struct json schema, const char *field, unsigned depth)
{
    const char *type = json_get_text(schema, "type");
    if (depth > DEPTH_MAX)
        return json_none;
    if (json_get_bool(schema, "x-kubernetes-int-or-string", false))
        return sim_below(s, SIM_INPUTS, 2) ? json_int(80) : any_text(s, schema, field);
    if (text_eq(type, "string"))
        return any_text(s, schema, field);
    if (text_eq(type, "integer") || text_eq(type, "number"))
        return any_number(s, schema);
    if (text_eq(type, "boolean"))
        return json_bool(sim_below(s, SIM_INPUTS, 2));
    if (text_eq(type, "array")) {
        struct json_builder list;
        json_builder_init(&list, a);
        for (uint32_t i = sim_below(s, SIM_INPUTS, 3); i; i--)
            json_push(&list, any_value(s, a, json_member(schema, "items"), field, depth + 1));
        return json_list_end(&list);
    }
    return any_map(s, a, schema, depth);
}

/* A common value: the first hint, the first choice, the smallest number. */
static struct json plain_value(
    struct sim *s, struct arena *a, struct json schema, const char *field)
{
    const char *type = json_get_text(schema, "type");
    if (text_eq(type, "object")) {
        struct json_builder map;
        json_builder_init(&map, a);
        json_each (name, json_member(schema, "required"))
            json_put(&map,
                name->string,
                plain_value(s,
                    a,
                    json_member(json_member(schema, "properties"), name->string),
                    name->string));
        /* "Exactly one of these": the first. */
        struct json properties = json_member(schema, "properties");
        if (json_present(json_member(schema, "x-kubernetes-validations")) && properties.count &&
            !json_present(json_member(schema, "required")))
            json_put(&map,
                properties.members[0].key,
                plain_value(s, a, properties.members[0].value, properties.members[0].key));
        return json_map_end(&map);
    }
    if (text_eq(type, "array"))
        return json_list(a, plain_value(s, a, json_member(schema, "items"), field));
    if (text_eq(type, "integer") || text_eq(type, "number"))
        return json_int(json_get_int(schema, "minimum", 1));
    if (text_eq(type, "boolean"))
        return json_bool(false);
    struct json choices = json_member(schema, "enum");
    if (choices.count)
        return json_item(choices, 0);
    for (size_t i = 0; i < lengthof(hints); i++)
        if (text_eq(hints[i].field, field))
            return json_str(hints[i].values[0]);
    return json_str("a");
}

static struct json spec_schema(struct json crd)
{
    return json_get(crd, "spec.versions.0.schema.openAPIV3Schema.properties.spec");
}

/* Kinds with rules that are not in their schema. */
static const struct {
    const char *kind, *spec;
} plain_specs[] = {
    { "MCPServer", "{\"image\":\"example/server:1\",\"transport\":\"streamable-http\"}" },
    { "MCPRemoteProxy", "{\"remoteUrl\":\"https://mcp.example/mcp\"}" },
    { "VirtualMCPServer",
        "{\"groupRef\":{\"name\":\"tools\"},\"incomingAuth\":{\"type\":\"anonymous\"}}" },
    { "MCPServerEntry",
        "{\"remoteUrl\":\"https://mcp.example/mcp\",\"transport\":\"sse\",\"groupRef\":{\"name\":"
        "\"tools\"}}" },
    { "MCPToolConfig", "{\"toolsFilter\":[\"a\"]}" },
    { "MCPTelemetryConfig", "{\"prometheus\":{\"enabled\":true}}" },
    { "MCPOIDCConfig", "{\"type\":\"inline\",\"inline\":{\"issuer\":\"https://login.example\"}}" },
    { "MCPAuthzConfig",
        "{\"type\":\"cedarv1\",\"config\":{\"policies\":[\"permit(principal, action, "
        "resource);\"]}}" },
    { "MCPExternalAuthConfig", "{\"type\":\"unauthenticated\"}" },
    { "MCPWebhookConfig",
        "{\"validating\":[{\"name\":\"a\",\"url\":\"https://hook.example/a\"}]}" },
    { "VirtualMCPCompositeToolDefinition",
        "{\"name\":\"flow\",\"description\":\"d\",\"steps\":[{\"id\":\"a\",\"tool\":\"x.y\"}]}" },
};

/* false: the schema's required fields are enough. */
static bool plain_spec(struct arena *a, const char *kind, struct json *ret)
{
    for (size_t i = 0; i < lengthof(plain_specs); i++)
        if (text_eq(plain_specs[i].kind, kind)) {
            struct error err;
            bool ok = json_parse(a, str_of(plain_specs[i].spec), ret, &err);
            assert(ok);
            return true;
        }
    return false;
}

struct json sim_plainest(
    struct sim *s, struct arena *a, struct json crd, const char *ns, const char *name)
{
    struct json schema = spec_schema(crd), known;
    struct json_builder spec;
    json_builder_init(&spec, a);
    if (plain_spec(a, json_get_text(crd, "spec.names.kind"), &known)) {
        json_put_all(&spec, known);
        schema = json_none;
    }
    json_each (field, json_member(schema, "required"))
        json_put(&spec,
            field->string,
            plain_value(s,
                a,
                json_member(json_member(schema, "properties"), field->string),
                field->string));
    return json_fields(a,
        { "apiVersion",
            json_strf(a,
                "%s/%s",
                json_get_text(crd, "spec.group"),
                json_get_text(crd, "spec.versions.0.name")) },
        { "kind", json_get(crd, "spec.names.kind") },
        { "metadata.name", json_str(name) },
        { "metadata.namespace", json_str(ns) },
        { "metadata.annotations", json_map(a, { "example.com/team", json_str("owls") }) },
        { "spec", json_map_end(&spec) });
}

struct json sim_generate(
    struct sim *s, struct arena *a, struct json crd, const char *ns, const char *name)
{
    struct json object = sim_plainest(s, a, crd, ns, name);
    for (uint32_t i = sim_below(s, SIM_INPUTS, 5); i; i--)
        object = sim_mutate(s, a, crd, object);
    return object;
}

struct json sim_mutate(struct sim *s, struct arena *a, struct json crd, struct json object)
{
    struct json schema = spec_schema(crd), properties = json_member(schema, "properties");
    if (!properties.count)
        return object;
    bool aimed = sim_chance(s, SIM_INPUTS, 600);
    /* A person in a hurry chooses fields that were not used yet. */
    const char *path = s->reached && aimed ? sim_coverage_missing(s->reached,
                                                 json_get_text(object, "kind"),
                                                 (uint32_t)sim_random(s, SIM_INPUTS))
                                           : "";
    const struct json_member *m =
        aimed ? aim_at(s, properties, &path)
              : &properties.members[sim_below(s, SIM_INPUTS, properties.count)];
    bool drop = !*path && sim_chance(s, SIM_INPUTS, 200) &&
                !json_list_has(json_member(schema, "required"), m->key);
    struct json value = drop    ? json_none
                        : aimed ? aimed_value(s, a, m->value, m->key, path, 0)
                                : any_value(s, a, m->value, m->key, 0);
    struct json spec = json_with_member(a, json_member(object, "spec"), m->key, value);
    return json_with_member(a, object, "spec", spec);
}
