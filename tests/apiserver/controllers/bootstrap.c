#include "apiserver/controllers/bootstrap.h"

#include "tests/apiserver/desk.h"

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

/* The path of an object of bootstrap.json, which are of kinds whose plural has an s more. */
static const char *path_of(struct arena *a, struct json o)
{
    const char *version = json_get_text(o, "apiVersion"), *kind = json_get_text(o, "kind");
    const char *ns = json_get_text(o, "metadata.namespace");
    char *plural = arena_printf(a, "%s%s", kind, text_ends(kind, "s") ? "es" : "s");
    for (char *p = plural; *p; p++)
        *p = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
    return arena_printf(a,
        "/%s/%s%s%s/%s/%s",
        strchr(version, '/') ? "apis" : "api",
        version,
        ns ? "/namespaces/" : "",
        ns ? ns : "",
        plural,
        json_get_text(o, "metadata.name"));
}

TEST(whatever_a_new_cluster_has_is_stored)
{
    struct desk r;
    desk_init_builtin(&r, (struct apiserver_options){ .allow_all = true });
    cleanup(arena_done) struct arena a = ARENA_INIT;
    json_each (o, bootstrap_objects(&a, "10.96.0.0/16")) {
        const char *path = path_of(&a, *o);
        if (desk_ask(&r, "GET", path, NULL).status != 200)
            check_text("not there", path);
    }
    desk_done(&r);
}
