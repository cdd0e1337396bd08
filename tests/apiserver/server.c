#include "tests/apiserver/desk.h"

#define CONFIG_MAPS "/api/v1/namespaces/default/configmaps"

TEST(apiserver_creates_reads_changes_lists_watches_and_deletes_an_object)
{
    struct desk r;
    desk_init(&r);
    struct desk_stream *w = desk_watch(&r, CONFIG_MAPS "?watch=1");
    struct desk_answer got =
        desk_ask(&r, "POST", CONFIG_MAPS, "{'metadata':{'name':'a'},'data':{'k':'v'}}");
    check_int(got.status, 201);
    check_text(json_get_text(got.body, "kind"), "ConfigMap");
    check_text(json_get_text(got.body, "metadata.namespace"), "default");
    check(json_get_text(got.body, "metadata.uid"));
    check_text(json_get_text(got.body, "metadata.creationTimestamp"), "2026-11-15T00:00:00Z");
    check_text(json_get_text(got.body, "metadata.managedFields.0.manager"), "tester");
    check_text(desk_event(w, NULL), "ADDED a");

    struct desk_answer read = desk_ask(&r, "GET", CONFIG_MAPS "/a", NULL);
    check_int(read.status, 200);
    check(json_equal(read.body, got.body));

    check_int(
        desk_ask(&r, "PUT", CONFIG_MAPS "/a", "{'metadata':{'name':'a'},'data':{'k':'w'}}").status,
        200);
    check_text(desk_event(w, NULL), "MODIFIED a");
    struct json list = desk_do(&r, "GET", CONFIG_MAPS, NULL);
    check_text(json_get_text(list, "kind"), "ConfigMapList");
    check_int(json_get(list, "items").count, 1);
    check_text(json_get_text(list, "items.0.data.k"), "w");
    check(!json_present(json_get(list, "items.0.kind")));

    struct desk_answer gone = desk_ask(&r, "DELETE", CONFIG_MAPS "/a", NULL);
    check_int(gone.status, 200);
    check_text(json_get_text(gone.body, "status"), "Success");
    struct json last;
    check_text(desk_event(w, &last), "DELETED a");
    check_text(desk_event(w, NULL), "");
    check_int(desk_ask(&r, "GET", CONFIG_MAPS "/a", NULL).status, 404);
    desk_done(&r);
}

TEST(apiserver_writes_nothing_when_nothing_changes)
{
    struct desk r;
    desk_init(&r);
    struct json first =
        desk_do(&r, "POST", CONFIG_MAPS, "{'metadata':{'name':'a'},'data':{'k':'v'}}");
    struct desk_stream *w = desk_watch(&r, CONFIG_MAPS "?watch=1");
    check_text(desk_event(w, NULL), "ADDED a");
    desk_advance(&r, 5000);
    struct json again =
        desk_do(&r, "PUT", CONFIG_MAPS "/a", "{'metadata':{'name':'a'},'data':{'k':'v'}}");
    check(json_equal(first, again));
    check_text(desk_event(w, NULL), "");
    desk_done(&r);
}
