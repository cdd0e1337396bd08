#include "apiserver/openapi.h"

#include "apiserver/openapi_schema.h"
#include "base/hash.h"

/* ---- operations ---- */

static struct json group_version_kind(struct arena *a, const struct api_kind *k)
{
    return json_map(a,
        { "group", json_str(k->resource.group) },
        { "version", json_str(k->resource.version) },
        { "kind", json_str(k->resource.kind) });
}

static struct json parameter(
    struct arena *a, const char *name, const char *in, const char *type, bool required)
{
    return json_map(a,
        { "name", json_str(name) },
        { "in", json_str(in) },
        { "required", json_true_or_absent(required) },
        { "schema", json_map(a, { "type", json_str(type) }, { "uniqueItems", json_bool(true) }) });
}

struct operation {
    const char *method, *action;
    unsigned verb;
    bool collection;
    const char *const *parameters; /* a first '?' marks what is true or false, '#' a number */
};

static const char *const no_parameters[] = { NULL };
static const char *const list_parameters[] = { "?allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "#limit",
    "resourceVersion",
    "resourceVersionMatch",
    "?sendInitialEvents",
    "#timeoutSeconds",
    "?watch",
    NULL };
static const char *const write_parameters[] = { "dryRun", "fieldManager", "fieldValidation", NULL };
static const char *const patch_parameters[] = {
    "dryRun", "fieldManager", "fieldValidation", "?force", NULL
};
static const char *const delete_parameters[] = {
    "dryRun", "#gracePeriodSeconds", "?orphanDependents", "propagationPolicy", NULL
};

static const struct operation operations[] = {
    { "get", "list", API_LIST, true, list_parameters },
    { "post", "post", API_CREATE, true, write_parameters },
    { "delete", "deletecollection", API_DELETE_COLLECTION, true, list_parameters },
    { "get", "get", API_GET, false, no_parameters },
    { "put", "put", API_UPDATE, false, write_parameters },
    { "patch", "patch", API_PATCH, false, patch_parameters },
    { "delete", "delete", API_DELETE, false, delete_parameters },
};

static struct json content(struct arena *a, const char *const *types, struct json schema)
{
    struct json_builder b;
    json_builder_init(&b, a);
    for (; *types; types++)
        json_put(&b, *types, json_map(a, { "schema", schema }));
    return json_map(a, { "content", json_map_end(&b) });
}

static struct json request_body(
    struct arena *a, const struct api_kind *k, const struct operation *o)
{
    static const char *const any[] = { "*/*", NULL };
    static const char *const patches[] = { "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        NULL };
    static const char *const custom[] = { "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
        NULL };
    if (o->verb == API_PATCH)
        return content(a, k->custom ? custom : patches, openapi_ref(a, OPENAPI_META "Patch"));
    if (o->verb == API_CREATE || o->verb == API_UPDATE)
        return content(a, any, openapi_ref(a, openapi_kind_name(a, k)));
    if (o->verb == API_DELETE || o->verb == API_DELETE_COLLECTION)
        return content(a, any, openapi_ref(a, OPENAPI_META "DeleteOptions"));
    return (struct json){ 0 };
}

static struct json operation(
    struct arena *a, const struct api_kind *k, const struct operation *o, const char *schema)
{
    static const char *const answers[] = { "application/json", "application/yaml", NULL };
    struct json_builder parameters;
    json_builder_init(&parameters, a);
    for (const char *const *p = o->parameters; *p; p++) {
        const char *type = **p == '?' ? "boolean" : **p == '#' ? "integer" : "string";
        json_push(&parameters, parameter(a, *p + (**p == '?' || **p == '#'), "query", type, false));
    }
    struct json ok = json_overlay(a,
        json_map(a, { "description", json_str("OK") }),
        content(a, answers, openapi_ref(a, schema)));
    return json_map(a,
        { "operationId",
            json_strf(a,
                "%s_%s_%s_%s",
                o->action,
                k->resource.group,
                k->resource.version,
                k->resource.plural) },
        { "parameters", json_or_absent(json_list_end(&parameters)) },
        { "requestBody", request_body(a, k, o) },
        { "responses", json_map(a, { "200", ok }) },
        { "x-kubernetes-action", json_str(o->action) },
        { "x-kubernetes-group-version-kind", group_version_kind(a, k) });
}

static void put_path(struct json_builder *paths, const struct api_kind *k, const char *path,
    bool collection, unsigned verbs, bool named)
{
    struct arena *a = paths->arena;
    struct json_builder item, parameters;
    json_builder_init(&item, a);
    json_builder_init(&parameters, a);
    for (size_t i = 0; i < lengthof(operations); i++) {
        const struct operation *o = &operations[i];
        bool list = o->verb == API_LIST;
        if (o->collection == collection && (verbs & o->verb))
            json_put(&item,
                o->method,
                operation(a, k, o, list ? openapi_list_name(a, k) : openapi_kind_name(a, k)));
    }
    if (!item.count)
        return;
    if (named)
        json_push(&parameters, parameter(a, "name", "path", "string", true));
    if (strstr(path, "{namespace}"))
        json_push(&parameters, parameter(a, "namespace", "path", "string", true));
    json_push(&parameters, parameter(a, "pretty", "query", "string", false));
    json_put(&item, "parameters", json_list_end(&parameters));
    json_put(paths, path, json_map_end(&item));
}

static void put_paths(struct json_builder *paths, const struct api_kind *k)
{
    struct arena *a = paths->arena;
    const struct resource *r = &k->resource;
    const char *base = *r->group ? arena_printf(a, "/apis/%s/%s", r->group, r->version)
                                 : arena_printf(a, "/api/%s", r->version);
    const char *all = arena_printf(a, "%s/%s", base, r->plural);
    const char *collection =
        r->cluster_scoped ? all : arena_printf(a, "%s/namespaces/{namespace}/%s", base, r->plural);
    const char *item = arena_printf(a, "%s/{name}", collection);
    if (!r->cluster_scoped)
        put_path(paths, k, all, true, k->verbs & API_LIST, false);
    put_path(paths, k, collection, true, k->verbs, false);
    put_path(paths, k, item, false, k->verbs, true);
    if (k->has_status)
        put_path(paths,
            k,
            arena_printf(a, "%s/status", item),
            false,
            API_GET | API_UPDATE | API_PATCH,
            true);
}

/* ---- documents ---- */

static struct json document_of(
    struct apiserver *s, struct arena *a, const char *group, const char *version)
{
    const struct registry *registry = apiserver_registry(s);
    struct openapi_schemas schemas;
    openapi_schemas_init(&schemas, s, a, "#/components/schemas/");
    struct json_builder paths;
    json_builder_init(&paths, a);
    const struct api_kind *k;
    for (size_t i = 0; (k = registry_at(registry, i)); i++)
        if (text_eq(k->resource.group, group) && text_eq(k->resource.version, version)) {
            openapi_schemas_add(&schemas, k);
            put_paths(&paths, k);
        }
    if (!paths.count)
        return (struct json){ 0 };
    return json_fields(a,
        { "openapi", json_str("3.0.0") },
        { "info.title", json_str("Kubernetes") },
        { "info.version", json_str("1.36") },
        { "paths", json_map_end(&paths) },
        { "components.schemas", openapi_schemas_end(&schemas) });
}

static struct json document_v2(struct apiserver *s, struct arena *a)
{
    const struct registry *registry = apiserver_registry(s);
    struct openapi_schemas schemas;
    openapi_schemas_init(&schemas, s, a, "#/definitions/");
    const struct api_kind *k;
    for (size_t i = 0; (k = registry_at(registry, i)); i++)
        openapi_schemas_add(&schemas, k);
    return json_fields(a,
        { "swagger", json_str("2.0") },
        { "info.title", json_str("Kubernetes") },
        { "info.version", json_str("1.36") },
        { "paths", json_empty_map() },
        { "definitions", openapi_schemas_end(&schemas) });
}

const char *openapi_digest(
    struct apiserver *s, struct arena *a, const char *group, const char *version)
{
    const struct registry *registry = apiserver_registry(s);
    struct sha256 h;
    sha256_init(&h);
    sha256_add(&h, LEEBOARD_VERSION, sizeof(LEEBOARD_VERSION));
    const struct api_kind *k;
    for (size_t i = 0; (k = registry_at(registry, i)); i++) {
        if (group && (!text_eq(k->resource.group, group) || !text_eq(k->resource.version, version)))
            continue;
        const char *text = k->custom ? json_to_text(a, openapi_crd_schema(s, a, k)) : "";
        sha256_add(&h, k->resource.group, strlen(k->resource.group) + 1);
        sha256_add(&h, k->resource.version, strlen(k->resource.version) + 1);
        sha256_add(&h, k->resource.plural, strlen(k->resource.plural) + 1);
        sha256_add(&h, &k->verbs, sizeof(k->verbs));
        sha256_add(&h, text, strlen(text) + 1);
    }
    char *hex = arena_strdup(a, sha256_end_hex(&h, a));
    for (char *p = hex; *p; p++)
        *p = *p >= 'a' && *p <= 'f' ? (char)(*p - 'a' + 'A') : *p;
    return hex;
}

static struct json index_of(struct apiserver *s, struct arena *a)
{
    struct json_builder paths;
    json_builder_init(&paths, a);
    const struct api_kind *k;
    const char *group = NULL, *version = NULL;
    for (size_t i = 0; (k = registry_at(apiserver_registry(s), i)); i++) {
        const struct resource *r = &k->resource;
        if (text_eq(r->group, group) && text_eq(r->version, version))
            continue;
        group = r->group;
        version = r->version;
        const char *name = *group ? arena_printf(a, "apis/%s/%s", group, version)
                                  : arena_printf(a, "api/%s", version);
        json_put(&paths,
            name,
            json_map(a,
                { "serverRelativeURL",
                    json_strf(a,
                        "/openapi/v3/%s?hash=%s",
                        name,
                        openapi_digest(s, a, group, version)) }));
    }
    return json_map(a, { "paths", json_map_end(&paths) });
}

struct json openapi_document(struct apiserver *s, struct arena *a, const char *path)
{
    if (text_eq(path, "/openapi/v3") || text_eq(path, "/openapi/v3/"))
        return index_of(s, a);
    if (text_eq(path, "/openapi/v2"))
        return document_v2(s, a);
    static const char core[] = "/openapi/v3/api/", groups[] = "/openapi/v3/apis/";
    if (text_starts(path, core))
        return document_of(s, a, "", path + sizeof(core) - 1);
    if (!text_starts(path, groups))
        return (struct json){ 0 };
    struct str rest = str_of(path + sizeof(groups) - 1), group = str_cut(&rest, '/');
    return rest.ptr ? document_of(s, a, str_dup(a, group), str_dup(a, rest)) : (struct json){ 0 };
}
