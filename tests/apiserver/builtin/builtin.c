#include "apiserver/builtin/builtin.h"
#include "tests/apiserver/desk.h"

/* Most of what built-in kinds do is compared with a real server: tests/cluster/test_builtin.py. */

TEST(builtin_kinds_are_whole)
{
    struct registry *r = registry_new();
    struct builtin *b = builtin_register(r);
    const struct api_kind *k;
    size_t count = 0;
    for (; (k = registry_at(r, count)); count++)
        check(k->schema && k->table && k->column_count && k->behaviour->cells && k->singular);
    check(count > 40);
    check(registry_find(r, "apps", "v1", "deployments"));
    check(registry_find_kind(r, "", "v1", "Pod"));
    k = registry_find(r, "", "v1", "namespaces");
    check(k && !(k->verbs & API_DELETE_COLLECTION) && k->resource.cluster_scoped);
    registry_free(r);
    builtin_free(b);
}

/* What a create of this object would store, and what is wrong with it. */
static struct json created(const char *text, const char **ret_errors)
{
    struct registry *r = registry_new();
    struct builtin *b = builtin_register(r);
    struct json o = test_json(text);
    const char *version = json_get_text(o, "apiVersion"), *slash = strchr(version, '/');
    const char *group =
        slash ? arena_strndup(test_arena(), version, (size_t)(slash - version)) : "";
    const struct api_kind *k =
        registry_find_kind(r, group, slash ? slash + 1 : version, json_get_text(o, "kind"));
    struct api_write w = {
        .kind = k, .arena = test_arena(), .subresource = "", .now = "2026-01-01T00:00:00Z"
    };
    struct field_errors e;
    struct error err;
    field_errors_init(&e, test_arena());
    o = k->behaviour->prune(k, test_arena(), o, &e);
    o = k->behaviour->fill(k, test_arena(), o);
    check(k->behaviour->prepare(&w, &o, &err));
    k->behaviour->validate(&w, o, &e);
    *ret_errors = field_errors_text(&e);
    registry_free(r);
    builtin_free(b);
    return o;
}

TEST(builtin_services_get_addresses)
{
    const char *errors;
    struct json o = created("{'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': 'a'},"
                            " 'spec': {'type': 'NodePort', 'ports': [{'port': 80}]}}",
        &errors);
    check_text(errors, "");
    check(text_starts(json_get_text(o, "spec.clusterIP"), "10.96."));
    check(json_get_int(o, "spec.ports.0.nodePort", 0) >= 30000);
    check_json(json_get(o, "spec.ports.0.targetPort"), "80");
    check_json(json_member(o, "status"), "{'loadBalancer': {}}");
}

TEST(builtin_pods_are_filled_and_checked)
{
    const char *errors;
    struct json o = created("{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'a'},"
                            " 'spec': {'containers': [{'name': 'a', 'image': 'b:1',"
                            " 'resources': {'limits': {'cpu': 1, 'memory': '1Gi'}}}]},"
                            " 'status': {'phase': 'Running'}}",
        &errors);
    check_text(errors, "");
    check_json(json_member(o, "status"), "{'phase': 'Pending', 'qosClass': 'Guaranteed'}");
    check_text(json_get_text(o, "spec.containers.0.imagePullPolicy"), "IfNotPresent");
    created("{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'a'},"
            " 'spec': {'containers': [{'name': 'a', 'image': 'b', 'volumeMounts':"
            " [{'name': 'v', 'mountPath': '/v'}]}]}}",
        &errors);
    check_text(errors, "spec.containers[0].volumeMounts[0].name: Not found: \"v\"");
}

TEST(builtin_deployments_must_select_their_pods)
{
    const char *errors;
    created("{'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': 'a'}, 'spec':"
            " {'selector': {'matchLabels': {'a': 'b'}}, 'template': {'metadata': {'labels':"
            " {'a': 'c'}}, 'spec': {'containers': [{'name': 'a', 'image': 'b'}]}}}}",
        &errors);
    check_text(errors,
        "spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not match "
        "template `labels`");
}

TEST(builtin_stateful_sets_may_mount_their_claims)
{
    const char *const set =
        "{'apiVersion': 'apps/v1', 'kind': 'StatefulSet', 'metadata': {'name': 'a'}, 'spec': {"
        " 'selector': {'matchLabels': {'x': 'y'}}, 'volumeClaimTemplates': [{'metadata': {"
        "  'name': 'data'}, 'spec': {'accessModes': ['ReadWriteOnce'],"
        "  'resources': {'requests': {'storage': '1Gi'}}}}],"
        " 'template': {'metadata': {'labels': {'x': 'y'}}, 'spec': {'volumes': ["
        "  {'name': 'data', 'emptyDir': {}}, {'name': 'B', 'emptyDir': {}}],"
        "  'containers': [{'name': 'c', 'image': 'i', 'volumeMounts': ["
        "   {'name': 'data', 'mountPath': '/a'}, {'name': 'none', 'mountPath': '/b'}]}]}}}}";
    const char *errors;
    created(set, &errors);
    check(strstr(errors, "spec.template.spec.volumes[1].name: Invalid value: \"B\""));
    check(strstr(errors, "volumeMounts[1].name: Not found: \"none\""));
    check(!strstr(errors, "volumeMounts[0]"));
}

/* Behind a pointer an empty text is a value. Found by the simulator, seed 1400469. */
TEST(builtin_claims_with_an_empty_mode_are_refused)
{
    const char *errors;
    created("{'apiVersion': 'v1', 'kind': 'PersistentVolumeClaim', 'metadata': {'name': 'a'},"
            " 'spec': {'accessModes': ['ReadWriteOnce'], 'volumeMode': '',"
            " 'resources': {'requests': {'storage': '1Gi'}}}}",
        &errors);
    check_text(errors,
        "spec.volumeMode: Unsupported value: \"\": supported values: \"Block\", \"Filesystem\"");
}

#define CLAIMS "/api/v1/namespaces/default/persistentvolumeclaims"

static struct desk_answer patch_claim(struct desk *r, const char *path, const char *patch)
{
    return desk_ask_as(r, "PATCH", path, "application/merge-patch+json", NULL, patch);
}

/* RabbitMQ's operator resizes claims, and shows what it is told. */
TEST(builtin_claims_grow_once_they_are_bound_if_their_class_lets_them)
{
    struct desk r;
    desk_init_builtin(&r, (struct apiserver_options){ .allow_all = true });
    desk_do(&r,
        "POST",
        CLAIMS,
        "{'metadata':{'name':'c'},'spec':{'accessModes':['ReadWriteOnce'],'storageClassName':'s',"
        "'resources':{'requests':{'storage':'1Gi'}}}}");
    static const char more[] = "{'spec':{'resources':{'requests':{'storage':'2Gi'}}}}";
    struct desk_answer got = patch_claim(&r, CLAIMS "/c", more);
    check_int(got.status, 422);
    check(strstr(json_get_text(got.body, "message"), "for bound claims"));
    static const char bound[] = "{'status':{'phase':'Bound','capacity':{'storage':'1Gi'}}}";
    patch_claim(&r, CLAIMS "/c/status", bound);
    got = patch_claim(&r, CLAIMS "/c", more);
    check_int(got.status, 403);
    check_text(json_get_text(got.body, "message"),
        "persistentvolumeclaims \"c\" is forbidden: only dynamically provisioned pvc can be "
        "resized and the storageclass that provisions the pvc must support resize");
    desk_do(&r,
        "POST",
        "/apis/storage.k8s.io/v1/storageclasses",
        "{'metadata':{'name':'s'},'provisioner':'p','allowVolumeExpansion':true}");
    check_int(patch_claim(&r, CLAIMS "/c", more).status, 200);
    desk_done(&r);
}

TEST(builtin_events_are_selected_by_who_reported_them_where_no_source_is_named)
{
    struct desk r;
    desk_init_builtin(&r, (struct apiserver_options){ .allow_all = true });
    desk_do(&r,
        "POST",
        "/apis/events.k8s.io/v1/namespaces/default/events",
        "{'metadata':{'name':'e'},'eventTime':'2026-01-01T00:00:00.000000Z','action':'Do','reason':"
        "'Test','type':'Normal','reportingController':'me','reportingInstance':'me-1','regarding':{"
        "'namespace':'default'}}");
    desk_do(&r,
        "POST",
        "/api/v1/namespaces/default/events",
        "{'metadata':{'name':'f'},'involvedObject':{'namespace':'default'},'reason':'Test','type':"
        "'Normal','source':{'component':'me'}}");
    struct json list = desk_do(&r, "GET", "/api/v1/events?fieldSelector=source%3Dme", NULL);
    check_int(json_member(list, "items").count, 2);
    list = desk_do(&r, "GET", "/api/v1/events?fieldSelector=reportingComponent%3Dme", NULL);
    check_int(json_member(list, "items").count, 1);
    desk_done(&r);
}
