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
