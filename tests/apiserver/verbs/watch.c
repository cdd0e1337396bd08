#include "tests/apiserver/desk.h"

#include <string.h>

#define CONFIG_MAPS "/api/v1/namespaces/default/configmaps"

static void make(struct desk *d, const char *name, const char *labels)
{
    desk_do(d,
        "POST",
        CONFIG_MAPS,
        arena_printf(test_arena(), "{'metadata':{'name':'%s','labels':%s}}", name, labels));
}

static void label(struct desk *d, const char *name, const char *value)
{
    struct desk_answer got = desk_ask_as(d,
        "PATCH",
        arena_printf(test_arena(), CONFIG_MAPS "/%s", name),
        "application/merge-patch+json",
        NULL,
        arena_printf(test_arena(), "{'metadata':{'labels':{'x':'%s'}}}", value));
    check_int(got.status, 200);
}

TEST(a_watch_with_a_selector_sees_objects_come_into_it_and_leave_it)
{
    struct desk d;
    desk_init(&d);
    make(&d, "a", "{'x':'1'}");
    struct desk_stream *w = desk_watch(&d, CONFIG_MAPS "?watch=1&labelSelector=x%3D2");
    check_text(desk_event(w, NULL), "");
    label(&d, "a", "2");
    check_text(desk_event(w, NULL), "ADDED a");
    desk_do(&d,
        "PUT",
        CONFIG_MAPS "/a",
        "{'metadata':{'name':'a','labels':{'x':'2'}},'data':{'k':'v'}}");
    check_text(desk_event(w, NULL), "MODIFIED a");
    struct json now = desk_do(&d, "GET", CONFIG_MAPS "/a", NULL), last;
    label(&d, "a", "3");
    check_text(desk_event(w, &last), "DELETED a");
    check_text(json_get_text(last, "metadata.labels.x"), "2");
    check(strcmp(json_get_text(last, "metadata.resourceVersion"),
              json_get_text(now, "metadata.resourceVersion")) != 0);
    desk_do(&d, "DELETE", CONFIG_MAPS "/a", NULL);
    check_text(desk_event(w, NULL), "");
    desk_done(&d);
}

TEST(a_watch_from_a_version_sees_what_came_after_it)
{
    struct desk d;
    desk_init(&d);
    make(&d, "a", "{}");
    struct json list = desk_do(&d, "GET", CONFIG_MAPS, NULL);
    make(&d, "b", "{}");
    desk_do(&d, "DELETE", CONFIG_MAPS "/a", NULL);
    struct desk_stream *w = desk_watch(&d,
        arena_printf(test_arena(),
            CONFIG_MAPS "?watch=1&resourceVersion=%s",
            json_get_text(list, "metadata.resourceVersion")));
    check_text(desk_event(w, NULL), "ADDED b");
    check_text(desk_event(w, NULL), "DELETED a");
    check_text(desk_event(w, NULL), "");
    desk_done(&d);
}

TEST(a_watch_from_too_far_back_says_so_and_ends)
{
    struct desk d;
    desk_init_with(
        &d, (struct apiserver_options){ 0 }, (struct store_options){ .history_count = 2 });
    for (int i = 0; i < 10; i++)
        make(&d, arena_printf(test_arena(), "a%d", i), "{}");
    struct desk_stream *w = desk_watch(&d, CONFIG_MAPS "?watch=1&resourceVersion=2");
    struct json status;
    check_int(w->status, 200);
    check_text(desk_event(w, &status), "ERROR Expired");
    check_int(json_get_int(status, "code", 0), 410);
    check_text(desk_event(w, NULL), "end");
    desk_done(&d);
}

TEST(a_streaming_list_ends_with_a_bookmark_that_says_so)
{
    struct desk d;
    desk_init(&d);
    make(&d, "a", "{}");
    struct desk_stream *w = desk_watch(&d,
        CONFIG_MAPS "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
                    "allowWatchBookmarks=true");
    struct json mark;
    check_text(desk_event(w, NULL), "ADDED a");
    check_text(desk_event(w, &mark), "BOOKMARK");
    check_text(
        json_text(json_member(json_get(mark, "metadata.annotations"), "k8s.io/initial-events-end")),
        "true");
    desk_advance(&d, 61000);
    check_text(desk_event(w, &mark), "BOOKMARK");
    check(!json_present(json_get(mark, "metadata.annotations")));
    make(&d, "b", "{}");
    check_text(desk_event(w, NULL), "ADDED b");
    desk_done(&d);
}

TEST(a_watch_ends_at_its_time)
{
    struct desk d;
    desk_init(&d);
    struct desk_stream *w = desk_watch(&d, CONFIG_MAPS "?watch=1&timeoutSeconds=5");
    desk_advance(&d, 4900);
    check_text(desk_event(w, NULL), "");
    desk_advance(&d, 200);
    check_text(desk_event(w, NULL), "end");
    desk_done(&d);
}

TEST(a_slow_watcher_is_ended_and_the_others_see_everything)
{
    struct desk d;
    desk_init_with(
        &d, (struct apiserver_options){ .watch_behind_bytes = 4000 }, (struct store_options){ 0 });
    struct desk_stream *slow = desk_watch(&d, CONFIG_MAPS "?watch=1");
    struct desk_stream *quick = desk_watch(&d, CONFIG_MAPS "?watch=1");
    slow->blocked = true;
    for (int i = 0; i < 40; i++)
        make(&d, arena_printf(test_arena(), "a%02d", i), "{'x':'y'}");
    for (int i = 0; i < 40; i++)
        check_text(desk_event(quick, NULL), arena_printf(test_arena(), "ADDED a%02d", i));
    check_int(slow->pieces, 1);
    check(!slow->call);
    desk_done(&d);
}

TEST(a_watcher_that_takes_a_break_misses_nothing)
{
    struct desk d;
    desk_init(&d);
    struct desk_stream *w = desk_watch(&d, CONFIG_MAPS "?watch=1");
    w->blocked = true;
    for (int i = 0; i < 10; i++)
        make(&d, arena_printf(test_arena(), "a%d", i), "{}");
    check_int(w->pieces, 1);
    w->blocked = false;
    apiserver_resume(d.server, w->call);
    for (int i = 0; i < 10; i++)
        check_text(desk_event(w, NULL), arena_printf(test_arena(), "ADDED a%d", i));
    desk_done(&d);
}

TEST(events_that_come_faster_than_the_pace_go_out_together)
{
    struct desk d;
    desk_init_with(
        &d, (struct apiserver_options){ .watch_pace_ms = 5 }, (struct store_options){ 0 });
    struct desk_stream *w = desk_watch(&d, CONFIG_MAPS "?watch=1");
    make(&d, "a", "{}");
    check_text(desk_event(w, NULL), "ADDED a");
    make(&d, "b", "{}");
    make(&d, "c", "{}");
    check_text(desk_event(w, NULL), "");
    desk_advance(&d, 4);
    check_text(desk_event(w, NULL), "");
    desk_advance(&d, 1);
    check_text(desk_event(w, NULL), "ADDED b");
    check_text(desk_event(w, NULL), "ADDED c");
    desk_advance(&d, 5);
    make(&d, "d", "{}");
    check_text(desk_event(w, NULL), "ADDED d");
    desk_done(&d);
}

/* Argo Workflows puts the answer into its cache and then overlooks the event. */
TEST(who_made_a_change_has_its_event_with_the_answer)
{
    struct desk d;
    desk_init_with(
        &d, (struct apiserver_options){ .watch_pace_ms = 5 }, (struct store_options){ 0 });
    struct desk_stream *other = desk_watch(&d, CONFIG_MAPS "?watch=1");
    d.connection = &d;
    struct desk_stream *own = desk_watch(&d, CONFIG_MAPS "?watch=1");
    make(&d, "a", "{}");
    check_text(desk_event(own, NULL), "ADDED a");
    check_text(desk_event(other, NULL), "ADDED a");
    make(&d, "b", "{}");
    check_text(desk_event(own, NULL), "ADDED b");
    check_text(desk_event(other, NULL), "");
    desk_done(&d);
}

TEST(watches_are_limited_in_number)
{
    struct desk d;
    desk_init_with(
        &d, (struct apiserver_options){ .watchers_max = 2 }, (struct store_options){ 0 });
    struct desk_stream *first = desk_watch(&d, CONFIG_MAPS "?watch=1");
    desk_watch(&d, CONFIG_MAPS "?watch=1");
    check_int(desk_ask(&d, "GET", CONFIG_MAPS "?watch=1", NULL).status, 429);
    desk_cancel(first);
    check_int(desk_watch(&d, CONFIG_MAPS "?watch=1")->status, 200);
    desk_done(&d);
}
