#include "apiserver/describe/openapi.h"

#include "apiserver/describe/openapi_paths.h"
#include "base/hash.h"

/* ---- documents ---- */

static struct json bearer_token(struct arena *a)
{
    return json_map(a,
        { "description", json_str("Bearer Token authentication") },
        { "in", json_str("header") },
        { "name", json_str("authorization") },
        { "type", json_str("apiKey") });
}

static struct json document(struct openapi_schemas *o, struct json_builder *paths, bool custom)
{
    struct arena *a = o->arena;
    return json_fields(a,
        { "openapi", json_str("3.0.0") },
        { "info.title", json_str(custom ? "Kubernetes CRD Swagger" : "Kubernetes") },
        { "info.version", json_str(custom ? "v0.1.0" : "1.36") },
        { "paths", json_map_end(paths) },
        { "components.schemas", json_or_absent(openapi_schemas_end(o)) },
        { "components.securitySchemes.BearerToken", custom ? json_none : bearer_token(a) });
}

static struct json document_of(
    struct apiserver *s, struct arena *a, const char *group, const char *version)
{
    const struct registry *registry = apiserver_registry(s);
    struct openapi_schemas schemas;
    openapi_schemas_init(&schemas, s, a, group, version);
    struct json_builder paths;
    json_builder_init(&paths, a);
    bool custom = true;
    const struct api_kind *k;
    for (size_t i = 0; (k = registry_at(registry, i)); i++)
        if (text_eq(k->resource.group, group) && text_eq(k->resource.version, version)) {
            openapi_schemas_add(&schemas, k);
            openapi_paths_add(&schemas, &paths, k);
            custom = k->custom;
        }
    if (!paths.count)
        return json_none;
    const char *tag = openapi_group_tag(a, group);
    const struct openapi_page page = {
        .path = *group ? arena_printf(a, "/apis/%s/%s/", group, version)
                       : arena_printf(a, "/api/%s/", version),
        .tag = arena_printf(a, "%s_%s", tag, version),
        .id = arena_printf(
            a, "get%s%sAPIResources", openapi_capital(a, tag), openapi_capital(a, version)),
        .schema = OPENAPI_META "APIResourceList",
    };
    if (!custom)
        openapi_paths_add_page(&schemas, &paths, &page);
    return document(&schemas, &paths, custom);
}

/* Documents other than those of groups and versions. */
static const struct openapi_page pages[] = {
    { "/api/", "core", "getCoreAPIVersions", OPENAPI_META "APIVersions", NULL },
    { "/apis/", "apis", "getAPIVersions", OPENAPI_META "APIGroupList", NULL },
    { "/version/",
        "version",
        "getCodeVersion",
        "io.k8s.apimachinery.pkg.version.Info",
        "application/json" },
};

/* The page for a path without slashes at its ends ("apis/apps"); false: not found. */
static bool page_of(
    struct apiserver *s, struct arena *a, const char *name, struct openapi_page *ret)
{
    const char *path = arena_printf(a, "/%s/", name);
    for (size_t i = 0; i < lengthof(pages); i++)
        if (text_eq(path, pages[i].path)) {
            *ret = pages[i];
            return true;
        }
    const struct api_kind *k;
    for (size_t i = 0; (k = registry_at(apiserver_registry(s), i)); i++)
        if (!k->custom && *k->resource.group &&
            text_eq(name, arena_printf(a, "apis/%s", k->resource.group))) {
            const char *tag = openapi_group_tag(a, k->resource.group);
            *ret = (struct openapi_page){
                .path = path,
                .tag = tag,
                .id = arena_printf(a, "get%sAPIGroup", openapi_capital(a, tag)),
                .schema = OPENAPI_META "APIGroup",
            };
            return true;
        }
    return false;
}

static struct json document_of_page(struct apiserver *s, struct arena *a, const char *name)
{
    struct openapi_page page;
    if (!page_of(s, a, name, &page))
        return json_none;
    struct openapi_schemas schemas;
    openapi_schemas_init(&schemas, s, a, "", "");
    struct json_builder paths;
    json_builder_init(&paths, a);
    openapi_paths_add_page(&schemas, &paths, &page);
    return document(&schemas, &paths, false);
}

static struct json document_v2(struct apiserver *s, struct arena *a)
{
    const struct registry *registry = apiserver_registry(s);
    struct openapi_schemas schemas;
    openapi_schemas_init(&schemas, s, a, NULL, NULL);
    openapi_schemas_add_all(&schemas);
    const struct api_kind *k;
    for (size_t i = 0; (k = registry_at(registry, i)); i++)
        openapi_schemas_add(&schemas, k);
    return json_fields(a,
        { "swagger", json_str("2.0") },
        { "info.title", json_str("Kubernetes") },
        { "info.version", json_str("1.36") },
        { "paths", json_empty_map() },
        { "definitions", openapi_schemas_end(&schemas) },
        { "securityDefinitions.BearerToken", bearer_token(a) },
        { "security", json_list(a, json_map(a, { "BearerToken", json_empty_list() })) });
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
        const char *text = k->custom ? json_to_text(a, openapi_crd_version(s, a, k)) : "";
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

static void put_index(struct apiserver *s, struct json_builder *paths, const char *name,
    const char *group, const char *version)
{
    struct arena *a = paths->arena;
    const char *digest = openapi_digest(s, a, group, version);
    json_put(paths,
        name,
        json_map(a, { "serverRelativeURL", json_strf(a, "/openapi/v3/%s?hash=%s", name, digest) }));
}

static struct json index_of(struct apiserver *s, struct arena *a)
{
    struct json_builder paths;
    json_builder_init(&paths, a);
    for (size_t i = 0; i < lengthof(pages); i++) {
        struct str path = str_of(pages[i].path);
        put_index(s, &paths, str_dup(a, (struct str){ path.ptr + 1, path.len - 2 }), "", "");
    }
    const struct api_kind *k;
    const char *group = NULL, *version = NULL;
    for (size_t i = 0; (k = registry_at(apiserver_registry(s), i)); i++) {
        const struct resource *r = &k->resource;
        if (text_eq(r->group, group) && text_eq(r->version, version))
            continue;
        group = r->group;
        version = r->version;
        const char *place = *group ? arena_printf(a, "apis/%s", group) : "api";
        if (!k->custom && *group)
            put_index(s, &paths, place, "", "");
        put_index(s, &paths, arena_printf(a, "%s/%s", place, version), group, version);
    }
    return json_map(a, { "paths", json_map_end(&paths) });
}

struct json openapi_document(struct apiserver *s, struct arena *a, const char *path)
{
    static const char v3[] = "/openapi/v3";
    if (text_eq(path, "/openapi/v2"))
        return document_v2(s, a);
    if (!text_starts(path, v3))
        return json_none;
    struct str rest = str_of(path + sizeof(v3) - 1), first = str_cut(&rest, '/');
    if (first.len || !rest.ptr || !rest.len)
        return first.len ? json_none : index_of(s, a);
    const char *name = str_dup(a, rest);
    first = str_cut(&rest, '/');
    struct str group = str_eq(first, STR("apis")) ? str_cut(&rest, '/') : STR("");
    bool versioned = rest.ptr && (str_eq(first, STR("api")) || group.len);
    return versioned ? document_of(s, a, str_dup(a, group), str_dup(a, rest))
                     : document_of_page(s, a, name);
}
