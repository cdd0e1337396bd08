#include "tests/apiserver/desk.h"

#define CONFIG_MAPS "/api/v1/namespaces/default/configmaps"
#define MERGE "application/merge-patch+json"

TEST(finalizers_hold_an_object_until_the_last_is_gone)
{
    struct desk d;
    desk_init(&d);
    desk_do(&d, "POST", CONFIG_MAPS, "{'metadata':{'name':'x','finalizers':['a/b']}}");
    struct desk_stream *w = desk_watch(&d, CONFIG_MAPS "?watch=1");
    check_text(desk_event(w, NULL), "ADDED x");
    struct json marked = desk_do(&d, "DELETE", CONFIG_MAPS "/x", NULL);
    check_text(json_get_text(marked, "metadata.deletionTimestamp"), "2026-11-15T00:00:00Z");
    check_int(json_get_int(marked, "metadata.deletionGracePeriodSeconds", -1), 0);
    check_text(desk_event(w, NULL), "MODIFIED x");
    desk_do(&d, "DELETE", CONFIG_MAPS "/x", NULL);
    check_text(desk_event(w, NULL), "");
    struct desk_answer more = desk_ask_as(
        &d, "PATCH", CONFIG_MAPS "/x", MERGE, NULL, "{'metadata':{'finalizers':['a/b','c/d']}}");
    check_int(more.status, 422);
    struct desk_answer last =
        desk_ask_as(&d, "PATCH", CONFIG_MAPS "/x", MERGE, NULL, "{'metadata':{'finalizers':null}}");
    check_int(last.status, 200);
    check_text(desk_event(w, NULL), "DELETED x");
    check_int(desk_ask(&d, "GET", CONFIG_MAPS "/x", NULL).status, 404);
    desk_done(&d);
}

TEST(a_delete_asks_for_the_uid_and_version_that_were_seen)
{
    struct desk d;
    desk_init(&d);
    struct json x = desk_do(&d, "POST", CONFIG_MAPS, "{'metadata':{'name':'x'}}");
    struct desk_answer got =
        desk_ask(&d, "DELETE", CONFIG_MAPS "/x", "{'preconditions':{'uid':'abc'}}");
    check_int(got.status, 409);
    check_text(json_get_text(got.body, "message"),
        arena_printf(test_arena(),
            "Operation cannot be fulfilled on ConfigMap \"x\": the UID in the precondition (abc) "
            "does not match the UID in record (%s). The object might have been deleted and then "
            "recreated",
            json_get_text(x, "metadata.uid")));
    got = desk_ask(&d, "DELETE", CONFIG_MAPS "/x", "{'preconditions':{'resourceVersion':'1'}}");
    check_int(got.status, 409);
    got = desk_ask(&d,
        "DELETE",
        CONFIG_MAPS "/x",
        arena_printf(test_arena(),
            "{'preconditions':{'uid':'%s','resourceVersion':'%s'}}",
            json_get_text(x, "metadata.uid"),
            json_get_text(x, "metadata.resourceVersion")));
    check_int(got.status, 200);
    desk_done(&d);
}

TEST(a_collection_is_deleted_by_selector)
{
    struct desk d;
    desk_init(&d);
    desk_do(&d, "POST", CONFIG_MAPS, "{'metadata':{'name':'a','labels':{'x':'1'}}}");
    desk_do(&d, "POST", CONFIG_MAPS, "{'metadata':{'name':'b','labels':{'x':'1'}}}");
    desk_do(&d, "POST", CONFIG_MAPS, "{'metadata':{'name':'c'}}");
    struct json gone = desk_do(&d, "DELETE", CONFIG_MAPS "?labelSelector=x%3D1", NULL);
    check_text(json_get_text(gone, "kind"), "ConfigMapList");
    check_int(json_get(gone, "items").count, 2);
    struct json left = desk_do(&d, "GET", CONFIG_MAPS "?labelSelector=x", NULL);
    check_int(json_get(left, "items").count, 0);
    check_int(desk_ask(&d, "GET", CONFIG_MAPS "/c", NULL).status, 200);
    desk_done(&d);
}

TEST(a_put_loses_against_a_newer_version)
{
    struct desk d;
    desk_init(&d);
    struct json x = desk_do(&d, "POST", CONFIG_MAPS, "{'metadata':{'name':'x'},'data':{'a':'1'}}");
    desk_do(&d, "PUT", CONFIG_MAPS "/x", "{'metadata':{'name':'x'},'data':{'a':'2'}}");
    struct desk_answer got = desk_ask(&d,
        "PUT",
        CONFIG_MAPS "/x",
        arena_printf(test_arena(),
            "{'metadata':{'name':'x','resourceVersion':'%s'},'data':{'a':'3'}}",
            json_get_text(x, "metadata.resourceVersion")));
    check_int(got.status, 409);
    check_text(json_get_text(got.body, "reason"), "Conflict");
    desk_done(&d);
}

TEST(a_custom_object_needs_a_version_to_be_put)
{
    struct desk d;
    desk_init(&d);
    const char *widgets = "/apis/example.com/v1/namespaces/default/widgets";
    const char *body = "{'apiVersion':'example.com/v1','kind':'Widget','metadata':{'name':'w'}}";
    desk_do(&d, "POST", widgets, body);
    struct desk_answer got = desk_ask(&d, "PUT", arena_printf(test_arena(), "%s/w", widgets), body);
    check_int(got.status, 422);
    check_text(json_get_text(got.body, "message"),
        "widgets.example.com \"w\" is invalid: metadata.resourceVersion: Invalid value: 0: must be "
        "specified for an update");
    desk_done(&d);
}
