/* The API server with a few kinds that have hardly any rules: the verbs, patches, watches. */

#include "fuzz/apiserver.h"
#include "merge/schema.h"

static struct json drop_unknown(
    const struct api_kind *k, struct arena *a, struct json object, struct field_errors *unknown)
{
    (void)k;
    json_each_member (m, object)
        if (strcmp(m->key, "unknown") == 0)
            field_invalid(unknown, "unknown", json_none, "");
    return json_with_member(a, object, "unknown", json_none);
}

static bool add_kinds(struct registry *r)
{
    static const struct api_behaviour behaviour = { .prune = drop_unknown };
    static struct schemas *schemas;
    static struct api_kind kinds[] = {
        { .resource = { "", "v1", "ConfigMap", "configmaps", false }, .table = "/configmaps" },
        { .resource = { "", "v1", "Namespace", "namespaces", true }, .table = "/namespaces" },
        { .resource = { "apps", "v1", "Deployment", "deployments", false },
            .table = "apps/deployments",
            .scale = { "spec.replicas", "status.replicas", "spec.selector" } },
        { .resource = { "example.com", "v1", "Widget", "widgets", false },
            .table = "example.com/widgets",
            .custom = true },
    };
    if (!schemas)
        schemas = schemas_new();
    for (size_t i = 0; i < lengthof(kinds); i++) {
        struct api_kind *k = &kinds[i];
        k->verbs = API_ALL_VERBS;
        k->has_status = k->generation = i > 0;
        k->unconditional = !k->custom;
        k->list_kind = "SomeList";
        k->behaviour = &behaviour;
        k->schema = schema_of(schemas, k->resource.group, k->resource.version, k->resource.kind);
        if (!registry_add(r, k))
            return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_requests(data, size, add_kinds);
}
