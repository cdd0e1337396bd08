#include "apiserver/describe/openapi.h"

#include "tests/apiserver/desk.h"

static struct json document(struct desk *r, const char *name)
{
    return desk_do(r, "GET", arena_printf(test_arena(), "/openapi/v3/%s", name), NULL);
}

static struct json schema_in(struct json document, const char *name)
{
    return json_member(json_get(document, "components.schemas"), name);
}

TEST(openapi_says_of_a_built_in_kind_what_the_api_server_says)
{
    struct desk r;
    desk_init_builtin(&r, (struct apiserver_options){ .allow_all = true });
    struct json apps = document(&r, "apis/apps/v1");
    struct json spec = schema_in(apps, "io.k8s.api.apps.v1.DeploymentSpec");
    struct arena *a = test_arena();
    check_text(json_to_text(a, json_member(spec, "required")), "[\"selector\",\"template\"]");
    check_text(json_get_text(spec, "properties.template.allOf.0.$ref"),
        "#/components/schemas/io.k8s.api.core.v1.PodTemplateSpec");
    struct json container = schema_in(apps, "io.k8s.api.core.v1.Container");
    check_text(json_to_text(a, json_get(container, "properties.imagePullPolicy.enum")),
        "[\"Always\",\"IfNotPresent\",\"Never\"]");
    check(!json_present(schema_in(apps, "io.k8s.api.core.v1.Node"))); /* nothing leads there */
    struct json v2 = json_get(desk_do(&r, "GET", "/openapi/v2", NULL), "definitions");
    check_text(json_to_text(a, json_member(v2, "io.k8s.apimachinery.pkg.api.resource.Quantity")),
        "{\"type\":\"string\"}");
    check_text(json_get_text(json_member(v2, "io.k8s.api.apps.v1.DeploymentSpec"),
                   "properties.template.$ref"),
        "#/definitions/io.k8s.api.core.v1.PodTemplateSpec");
    desk_done(&r);
}

TEST(openapi_describes_the_fields_that_all_objects_have)
{
    struct desk r;
    desk_init_builtin(&r, (struct apiserver_options){ .allow_all = true });
    struct json apps = document(&r, "apis/apps/v1");
    struct json meta = schema_in(apps, "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
    json_each_member (m, json_member(meta, "properties"))
        if (!json_get_text(m->value, "description"))
            check_text(m->key, "described");
    struct json kind = schema_in(apps, "io.k8s.api.apps.v1.Deployment");
    check(text_starts(json_get_text(kind, "properties.apiVersion.description"), "APIVersion"));
    check(text_starts(json_get_text(kind, "properties.metadata.description"), "Standard object's"));
    struct json list = schema_in(apps, "io.k8s.api.apps.v1.DeploymentList");
    check(!json_get_text(list, "properties.metadata.description"));
    struct json v2 = json_get(desk_do(&r, "GET", "/openapi/v2", NULL), "definitions");
    kind = json_member(v2, "io.k8s.api.apps.v1.Deployment");
    check(text_starts(json_get_text(kind, "properties.metadata.description"), "Standard object's"));
    desk_done(&r);
}

TEST(openapi_names_the_operations_of_each_path)
{
    static const struct {
        const char *document, *path, *method, *id;
    } cases[] = {
        { "apis/apps/v1",
            "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale",
            "patch",
            "patchAppsV1NamespacedDeploymentScale" },
        { "apis/apps/v1",
            "/apis/apps/v1/deployments",
            "get",
            "listAppsV1DeploymentForAllNamespaces" },
        { "apis/rbac.authorization.k8s.io/v1",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            "delete",
            "deleteRbacAuthorizationV1CollectionClusterRole" },
        { "api/v1",
            "/api/v1/namespaces/{namespace}/pods/{name}/exec",
            "post",
            "connectCoreV1PostNamespacedPodExec" },
        { "api/v1",
            "/api/v1/watch/namespaces/{namespace}/pods",
            "get",
            "watchCoreV1NamespacedPodList" },
        { "api/v1", "/api/v1/", "get", "getCoreV1APIResources" },
        { "apis/apps", "/apis/apps/", "get", "getAppsAPIGroup" },
        { "version", "/version/", "get", "getCodeVersion" },
    };
    struct desk r;
    desk_init_builtin(&r, (struct apiserver_options){ .allow_all = true });
    struct json index = json_member(desk_do(&r, "GET", "/openapi/v3", NULL), "paths");
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct json paths = json_member(document(&r, cases[i].document), "paths");
        struct json path = json_member(paths, cases[i].path);
        check_text(json_get_text(json_member(path, cases[i].method), "operationId"), cases[i].id);
        check(json_present(json_member(index, cases[i].document)));
    }
    static const char *const none[] = { "nonsense", "apis/nonsense", "apis/apps/v9", "api/v2" };
    for (size_t i = 0; i < lengthof(none); i++)
        check_int(
            desk_ask(&r, "GET", arena_printf(test_arena(), "/openapi/v3/%s", none[i]), NULL).status,
            404);
    desk_done(&r);
}
