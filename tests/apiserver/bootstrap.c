#include "apiserver/bootstrap.h"

#include "tests/test.h"

TEST(a_new_cluster_has_namespaces_and_the_roles_of_the_system)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json list = bootstrap_objects(&a, "10.7.0.0/16");
    const char *last_namespace = NULL;
    bool admin = false, masters = false;
    json_each (o, list) {
        check(json_get_text(*o, "apiVersion") && json_get_text(*o, "kind"));
        if (text_eq(json_get_text(*o, "kind"), "Namespace"))
            last_namespace = json_get_text(*o, "metadata.name");
        if (text_eq(json_get_text(*o, "kind"), "Service"))
            check_text(json_get_text(*o, "spec.clusterIP"), "10.7.0.1");
        admin |= text_eq(json_get_text(*o, "metadata.name"), "cluster-admin");
        masters |= text_eq(json_get_text(*o, "subjects.0.name"), "system:masters");
    }
    check_text(last_namespace, "kube-node-lease");
    check(admin && masters);
    list = bootstrap_namespace_objects(&a, "ns", STR("PEM"));
    check_text(json_get_text(list, "0.metadata.name"), "default");
    check_text(json_get_text(json_item(list, 1), "metadata.namespace"), "ns");
}
