#include "tests/apiserver/desk.h"

#include <string.h>

#define CONFIG_MAPS "/api/v1/namespaces/default/configmaps"

static void make_many(struct desk *d, int count)
{
    for (int i = 0; i < count; i++)
        desk_do(d,
            "POST",
            CONFIG_MAPS,
            arena_printf(test_arena(), "{'metadata':{'name':'a%03d'},'data':{'k':'v%d'}}", i, i));
}

TEST(a_list_in_pieces_is_that_of_its_first_version)
{
    struct desk d;
    desk_init(&d);
    make_many(&d, 10);
    struct json page = desk_do(&d, "GET", CONFIG_MAPS "?limit=4", NULL);
    check_int(json_get(page, "items").count, 4);
    check_int(json_get_int(page, "metadata.remainingItemCount", 0), 6);
    const char *version = json_get_text(page, "metadata.resourceVersion");
    desk_do(&d, "DELETE", CONFIG_MAPS "/a005", NULL);
    desk_do(&d, "POST", CONFIG_MAPS, "{'metadata':{'name':'a0045'}}");
    int seen = 4;
    while (json_present(json_get(page, "metadata.continue"))) {
        page = desk_do(&d,
            "GET",
            arena_printf(test_arena(),
                CONFIG_MAPS "?limit=4&continue=%s",
                json_get_text(page, "metadata.continue")),
            NULL);
        check_text(json_get_text(page, "metadata.resourceVersion"), version);
        json_each (item, json_get(page, "items"))
            check_text(
                json_get_text(*item, "metadata.name"), arena_printf(test_arena(), "a%03d", seen++));
    }
    check_int(seen, 10);
    desk_done(&d);
}

TEST(a_continue_token_of_a_forgotten_version_is_expired_and_says_how_to_go_on)
{
    struct desk d;
    desk_init_with(
        &d, (struct apiserver_options){ 0 }, (struct store_options){ .history_count = 2 });
    make_many(&d, 6);
    struct json page = desk_do(&d, "GET", CONFIG_MAPS "?limit=2", NULL);
    desk_do(&d, "DELETE", CONFIG_MAPS "/a005", NULL);
    desk_do(&d, "DELETE", CONFIG_MAPS "/a004", NULL);
    desk_do(&d, "POST", CONFIG_MAPS, "{'metadata':{'name':'z'}}");
    struct desk_answer gone = desk_ask(&d,
        "GET",
        arena_printf(test_arena(),
            CONFIG_MAPS "?limit=4&continue=%s",
            json_get_text(page, "metadata.continue")),
        NULL);
    check_int(gone.status, 410);
    check_text(json_get_text(gone.body, "reason"), "Expired");
    page = desk_do(&d,
        "GET",
        arena_printf(test_arena(),
            CONFIG_MAPS "?continue=%s",
            json_get_text(gone.body, "metadata.continue")),
        NULL);
    check_int(json_get(page, "items").count, 3);
    check_text(json_get_text(page, "items.0.metadata.name"), "a002");
    desk_done(&d);
}

TEST(a_list_that_nobody_takes_costs_no_copies_and_is_whole_in_the_end)
{
    struct desk d;
    desk_init(&d);
    char *big = arena_alloc(test_arena(), 20001);
    memset(big, 'x', 20000);
    for (int i = 0; i < 20; i++)
        desk_do(&d,
            "POST",
            CONFIG_MAPS,
            arena_printf(test_arena(), "{'metadata':{'name':'a%03d'},'data':{'k':'%s'}}", i, big));
    struct desk_stream *s = desk_open(&d, "GET", CONFIG_MAPS, NULL, NULL, (struct str){ NULL, 0 });
    s->blocked = true;
    desk_settle(&d);
    check(s->text.len < 100000);
    desk_do(&d, "DELETE", CONFIG_MAPS "/a010", NULL);
    s->blocked = false;
    apiserver_resume(d.server, s->call);
    desk_settle(&d);
    check(!s->call);
    struct json list;
    struct error err;
    check(json_parse(test_arena(), buf_str(&s->text), &list, &err));
    check_int(json_get(list, "items").count, 20);
    desk_done(&d);
}

TEST(lists_of_custom_kinds_have_kinds_in_their_items_and_serve_every_version)
{
    struct desk d;
    desk_init(&d);
    desk_do(&d,
        "POST",
        "/apis/example.com/v1/namespaces/default/widgets",
        "{'apiVersion':'example.com/v1','kind':'Widget','metadata':{'name':'w'},'spec':{'a':1}}");
    struct json list = desk_do(&d, "GET", "/apis/example.com/v2/widgets", NULL);
    check_text(json_get_text(list, "apiVersion"), "example.com/v2");
    check_text(json_get_text(list, "items.0.apiVersion"), "example.com/v2");
    check_text(json_get_text(list, "items.0.kind"), "Widget");
    struct json one = desk_do(&d, "GET", "/apis/example.com/v2/namespaces/default/widgets/w", NULL);
    check_text(json_get_text(one, "apiVersion"), "example.com/v2");
    check_int(json_get_int(one, "spec.a", 0), 1);
    desk_done(&d);
}

TEST(lists_select_by_labels_and_fields)
{
    struct desk d;
    desk_init(&d);
    desk_do(&d, "POST", CONFIG_MAPS, "{'metadata':{'name':'a','labels':{'x':'1'}}}");
    desk_do(&d, "POST", CONFIG_MAPS, "{'metadata':{'name':'b','labels':{'x':'2'}}}");
    check_int(
        json_get(desk_do(&d, "GET", CONFIG_MAPS "?labelSelector=x%3D2", NULL), "items").count, 1);
    check_int(json_get(desk_do(&d, "GET", CONFIG_MAPS "?labelSelector=x", NULL), "items").count, 2);
    struct json one =
        desk_do(&d, "GET", "/api/v1/configmaps?fieldSelector=metadata.name%3Db", NULL);
    check_int(json_get(one, "items").count, 1);
    struct json none = desk_do(&d,
        "GET",
        "/api/v1/configmaps?fieldSelector=metadata.name%3Db,metadata.namespace%3Dother",
        NULL);
    check_int(json_get(none, "items").count, 0);
    check_int(desk_ask(&d, "GET", CONFIG_MAPS "?fieldSelector=spec.x%3D1", NULL).status, 400);
    desk_done(&d);
}
