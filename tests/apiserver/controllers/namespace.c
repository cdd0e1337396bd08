#include "tests/apiserver/desk.h"

#define IN "/api/v1/namespaces/other/"

TEST(namespaces_that_end_take_their_contents_with_them)
{
    struct desk d;
    desk_init(&d);
    desk_do(&d, "POST", IN "configmaps", "{'metadata':{'name':'a'}}");
    desk_do(&d,
        "POST",
        "/apis/example.com/v1/namespaces/other/widgets",
        "{'apiVersion':'example.com/v1','kind':'Widget','metadata':{'name':'w'}}");
    struct desk_stream *w =
        desk_watch(&d, "/api/v1/namespaces?watch=1&fieldSelector=metadata.name%3Dother");
    check_text(desk_event(w, NULL), "ADDED other");
    struct json got = desk_do(&d, "DELETE", "/api/v1/namespaces/other", NULL);
    check_text(json_get_text(got, "status.phase"), "Terminating");
    check(json_present(json_get(got, "metadata.deletionTimestamp")));
    check_text(desk_event(w, NULL), "MODIFIED other");
    check_text(desk_event(w, NULL), "DELETED other");
    check_int(desk_ask(&d, "GET", IN "configmaps/a", NULL).status, 404);
    check_int(
        desk_ask(&d, "GET", "/apis/example.com/v1/namespaces/other/widgets/w", NULL).status, 404);
    desk_done(&d);
}

TEST(namespaces_that_end_wait_for_finalizers_and_take_nothing_new)
{
    struct desk d;
    desk_init(&d);
    desk_do(&d, "POST", IN "configmaps", "{'metadata':{'name':'a','finalizers':['a/b']}}");
    desk_do(&d, "DELETE", "/api/v1/namespaces/other", NULL);
    struct json ns = desk_do(&d, "GET", "/api/v1/namespaces/other", NULL);
    struct json remaining =
        json_find(json_get(ns, "status.conditions"), "type", "NamespaceContentRemaining");
    check_text(json_get_text(remaining, "status"), "True");
    check_text(json_get_text(remaining, "message"),
        "Some resources are remaining: configmaps. has 1 resource instances");
    remaining =
        json_find(json_get(ns, "status.conditions"), "type", "NamespaceFinalizersRemaining");
    check_text(json_get_text(remaining, "message"),
        "Some content in the namespace has finalizers remaining: a/b in 1 resource instances");
    struct desk_answer no = desk_ask(&d, "POST", IN "configmaps", "{'metadata':{'name':'b'}}");
    check_int(no.status, 403);
    check_text(json_get_text(no.body, "message"),
        "configmaps \"b\" is forbidden: unable to create new content in namespace other because it "
        "is being terminated");
    check_text(json_get_text(no.body, "details.causes.0.reason"), "NamespaceTerminating");
    desk_ask_as(&d,
        "PATCH",
        IN "configmaps/a",
        "application/merge-patch+json",
        NULL,
        "{'metadata':{'finalizers':null}}");
    check_int(desk_ask(&d, "GET", "/api/v1/namespaces/other", NULL).status, 404);
    struct desk_answer gone = desk_ask(&d, "POST", IN "configmaps", "{'metadata':{'name':'b'}}");
    check_int(gone.status, 404);
    check_text(json_get_text(gone.body, "message"), "namespaces \"other\" not found");
    desk_done(&d);
}

TEST(namespaces_that_end_delete_their_pods_first_and_give_them_time)
{
    static const struct {
        const char *node;
        int grace_s; /* 0: there is nobody who would give it */
    } cases[] = { { "there", 30 }, { "gone", 0 } };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct desk d;
        desk_init_builtin(&d, (struct apiserver_options){ .allow_all = true });
        desk_do(&d, "POST", "/api/v1/nodes", "{'metadata':{'name':'there'}}");
        desk_do(&d, "POST", IN "configmaps", "{'metadata':{'name':'a'}}");
        cleanup(buf_done) struct buf b = BUF_INIT(1024);
        buf_printf(&b,
            "{'metadata':{'name':'p','finalizers':['a/b']},'spec':{'nodeName':'%s','containers':[{"
            "'name':'c','image':'i'}]}}",
            cases[i].node);
        desk_do(&d, "POST", IN "pods", buf_text(&b));
        desk_do(&d, "DELETE", "/api/v1/namespaces/other", NULL);
        struct json pod = desk_do(&d, "GET", IN "pods/p", NULL);
        check_int(json_get_int(pod, "metadata.deletionGracePeriodSeconds", -1), cases[i].grace_s);
        check_int(desk_ask(&d, "GET", IN "configmaps/a", NULL).status, 200);
        desk_ask_as(&d,
            "PATCH",
            IN "pods/p",
            "application/merge-patch+json",
            NULL,
            "{'metadata':{'finalizers':null}}");
        desk_ask(&d, "DELETE", IN "pods/p?gracePeriodSeconds=0", NULL);
        check_int(desk_ask(&d, "GET", "/api/v1/namespaces/other", NULL).status, 404);
        desk_done(&d);
    }
}
