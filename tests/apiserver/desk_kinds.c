/* A few kinds, so that tests of what all kinds share do not depend on any kind's own rules. */

#include "merge/schema.h"
#include "tests/apiserver/desk.h"

#include <string.h>

/* A map of texts, as Go would read it. */
static struct json check_texts(struct arena *a, struct json texts, struct field_errors *unknown)
{
    struct json_builder b;
    json_builder_init(&b, a);
    if (!json_is(texts, JSON_MAP))
        field_error_add(unknown,
            FIELD_TYPE_INVALID,
            "data",
            json_none,
            "json: cannot unmarshal array into Go struct field ConfigMap.data of type "
            "map[string]string");
    json_each_member (m, texts) {
        if (json_is(m->value, JSON_INT))
            field_error_add(unknown,
                FIELD_TYPE_INVALID,
                "data",
                json_none,
                "json: cannot unmarshal number into Go struct field ConfigMap.data of type string");
        json_put(&b, m->key, json_is(m->value, JSON_NULL) ? json_str("") : m->value);
    }
    return json_or_absent(json_map_end(&b));
}

static struct json prune(
    const struct api_kind *k, struct arena *a, struct json object, struct field_errors *unknown)
{
    static const char *const known[] = {
        "apiVersion", "kind", "metadata", "spec", "status", "data"
    };
    (void)k;
    struct json_builder b;
    json_builder_init(&b, a);
    json_each_member (m, object) {
        bool is_known = false;
        for (size_t i = 0; i < lengthof(known); i++)
            is_known |= strcmp(m->key, known[i]) == 0;
        bool texts = strcmp(m->key, "data") == 0;
        if (is_known && !json_is(m->value, JSON_NULL))
            json_put(&b, m->key, texts ? check_texts(a, m->value, unknown) : m->value);
        else if (!is_known)
            field_invalid(unknown, m->key, json_none, "unknown field");
    }
    return json_map_end(&b);
}

static struct json fill_namespace(const struct api_kind *k, struct arena *a, struct json object)
{
    (void)k;
    if (!json_present(json_get(object, "spec.finalizers")) &&
        !json_present(json_get(object, "metadata.uid")))
        object = json_with(a, object, "spec.finalizers", json_list(a, json_str("kubernetes")));
    return object;
}

static bool prepare_namespace(const struct api_write *w, struct json *object, struct error *err)
{
    (void)err;
    if (!json_present(w->old))
        *object = json_with(w->arena, *object, "status", test_json("{'phase': 'Active'}"));
    return true;
}

static const char *field(
    const struct api_kind *k, struct arena *a, struct json object, const char *path)
{
    (void)k;
    (void)a;
    const char *text = json_get_text(object, path);
    return strcmp(path, "status.phase") == 0 ? (text ? text : "") : NULL;
}

static const struct api_behaviour plain = { .prune = prune };
static const struct api_behaviour with_field = { .prune = prune, .field = field };
static const struct api_behaviour namespaces = {
    .prune = prune, .fill = fill_namespace, .prepare = prepare_namespace
};

static struct api_kind kinds[] = {
    {
        .resource = { "", "v1", "ConfigMap", "configmaps", false },
        .list_kind = "ConfigMapList",
        .verbs = API_ALL_VERBS,
        .unconditional = true,
        .table = "/configmaps",
        .storage_version = "v1",
        .behaviour = &plain,
    },
    {
        .resource = { "", "v1", "Pod", "pods", false },
        .list_kind = "PodList",
        .verbs = API_ALL_VERBS,
        .unconditional = true,
        .has_status = true,
        .generation = true,
        .returns_deleted = true,
        .table = "/pods",
        .storage_version = "v1",
        .behaviour = &with_field,
    },
    {
        .resource = { "", "v1", "Namespace", "namespaces", true },
        .list_kind = "NamespaceList",
        .verbs = API_ALL_VERBS & ~API_DELETE_COLLECTION,
        .unconditional = true,
        .has_status = true,
        .name_form = API_NAME_LABEL,
        .table = "/namespaces",
        .storage_version = "v1",
        .behaviour = &namespaces,
    },
    {
        .resource = { "apps", "v1", "Deployment", "deployments", false },
        .list_kind = "DeploymentList",
        .verbs = API_ALL_VERBS,
        .unconditional = true,
        .has_status = true,
        .generation = true,
        .scale = { "spec.replicas", "status.replicas", "spec.selector" },
        .table = "apps/deployments",
        .storage_version = "apps/v1",
        .behaviour = &plain,
    },
    {
        .resource = { "example.com", "v1", "Widget", "widgets", false },
        .list_kind = "WidgetList",
        .verbs = API_ALL_VERBS,
        .custom = true,
        .has_status = true,
        .generation = true,
        .table = "example.com/widgets",
        .storage_version = "example.com/v1",
        .behaviour = &plain,
    },
    {
        .resource = { "example.com", "v2", "Widget", "widgets", false },
        .list_kind = "WidgetList",
        .verbs = API_ALL_VERBS,
        .custom = true,
        .has_status = true,
        .generation = true,
        .table = "example.com/widgets",
        .storage_version = "example.com/v1",
        .behaviour = &plain,
    },
};

bool desk_kinds(struct registry *r)
{
    static struct schemas *schemas;
    if (!schemas)
        schemas = schemas_new();
    for (size_t i = 0; i < lengthof(kinds); i++) {
        const struct resource *x = &kinds[i].resource;
        kinds[i].schema = schema_of(schemas, x->group, x->version, x->kind);
        if (!registry_add(r, &kinds[i]))
            return false;
    }
    return true;
}
