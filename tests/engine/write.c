#include "tests/engine/toys.h"

#include "engine/plan.h"
#include "engine/view.h"

TEST(a_child_that_was_refused_is_told_of_and_no_more_when_it_was_accepted)
{
    struct toys b;
    toys_init(&b);
    struct json one = toys_widget(&b, "a", "{'color': 'red'}");
    toys_load(&b, &RESOURCE_CRD, NULL, 0);
    toys_load(&b, &TOYS_WIDGET, &one, 1);
    toys_load(&b, &RESOURCE_CONFIG_MAP, NULL, 0);
    toys_load(&b, &RESOURCE_PVC, NULL, 0);
    toys_answer_openapi(&b, TOYS_ALL_FIELDS);
    world_answer(
        toys_request(&b, "PATCH", "/configmaps/a?"), 422, toys_status_text(422, "Invalid"));
    struct world_call *status = toys_request(&b, "PATCH", "/widgets/a/status?");
    check(strstr(status->body, "said so") != NULL);
    toys_accept(&b, status, &TOYS_WIDGET, true);
    world_advance(&b.w, 100000);
    check_int(
        toys_requests(&b, "PATCH", "/configmaps/a?"), 0); /* the same would be refused again */

    struct world_call *widgets = toys_request(&b, "GET", "/widgets?");
    toys_event(widgets, "MODIFIED", toys_widget(&b, "a", "{'color': 'blue'}"));
    toys_accept(&b, toys_request(&b, "PATCH", "/configmaps/a?"), &RESOURCE_CONFIG_MAP, false);
    status = toys_request(&b, "PATCH", "/widgets/a/status?");
    check_json(json_get(toys_body(status), "status"), "{'color': 'blue'}");
    toys_accept(&b, status, &TOYS_WIDGET, true);
    check_int(engine_counts(b.engine).self_check, 0);
    toys_done(&b);
}

TEST(a_shared_object_is_created_by_one_and_awaited_by_the_others)
{
    struct toys b;
    toys_init(&b);
    const char *spec = "{'color': 'red', 'shares': true}";
    struct json all[] = {
        toys_widget(&b, "a", spec), toys_widget(&b, "b", spec), toys_widget(&b, "c", spec)
    };
    toys_load(&b, &TOYS_WIDGET, all, lengthof(all));
    toys_load(&b, &RESOURCE_CONFIG_MAP, NULL, 0);
    toys_load(&b, &RESOURCE_PVC, NULL, 0);
    check_int(toys_requests(&b, "POST", "/persistentvolumeclaims?"), 1);
    check_int(toys_requests(&b, "PATCH", "/configmaps/"), 3);
    for (size_t i = 0; i < lengthof(all); i++)
        toys_accept(&b, toys_request(&b, "PATCH", "/configmaps/"), &RESOURCE_CONFIG_MAP, false);
    check_int(toys_requests(&b, "PATCH", "/status?"), 0); /* all wait for the claim */

    /* Whoever creates it fails: the next one tries, and one alone. */
    world_answer(toys_request(&b, "POST", "/persistentvolumeclaims?"),
        403,
        toys_status_text(403, "Forbidden"));
    check_int(toys_requests(&b, "POST", "/persistentvolumeclaims?"), 1);
    struct json claim = toys_object(&b, &RESOURCE_PVC, "store");
    world_answer(toys_request(&b, "POST", "/persistentvolumeclaims?"), 201, toys_print(claim));
    check_int(toys_requests(&b, "POST", "/persistentvolumeclaims?"), 0);
    for (size_t i = 0; i < lengthof(all); i++)
        toys_accept(&b, toys_request(&b, "PATCH", "/status?"), &TOYS_WIDGET, true);
    check_int(toys_requests(&b, "PATCH", ""), 0);
    check_int(engine_counts(b.engine).created_twice, 0);
    toys_done(&b);
}

/* Found by the simulator, seed 44. */
TEST(a_list_that_is_older_than_our_own_write_does_not_forget_it)
{
    struct toys b;
    toys_init(&b);
    struct json one = toys_widget(&b, "a", "{'color': 'red'}");
    toys_load(&b, &TOYS_WIDGET, &one, 1);
    int listed = b.version;
    struct world_call *watch = toys_load(&b, &RESOURCE_CONFIG_MAP, NULL, 0);
    toys_load(&b, &RESOURCE_PVC, NULL, 0);
    toys_accept(&b, toys_request(&b, "PATCH", "/configmaps/a?"), &RESOURCE_CONFIG_MAP, false);
    toys_accept(&b, toys_request(&b, "PATCH", "/widgets/a/status?"), &TOYS_WIDGET, true);
    toys_event(watch, "ERROR", test_json(toys_status_text(410, "Expired")));
    world_advance(&b.w, 5000);
    b.version = listed; /* a cache that has not seen the write yet */
    toys_load(&b, &RESOURCE_CONFIG_MAP, NULL, 0);
    world_advance(&b.w, 5000);
    check_int(toys_requests(&b, "PATCH", "/configmaps/a?"), 0);
    toys_done(&b);
}

TEST(what_a_list_names_and_cannot_be_read_is_there)
{
    struct toys b;
    toys_init(&b);
    struct world_call *watch = toys_settle(&b);
    toys_event(watch, "ERROR", test_json(toys_status_text(410, "Expired")));
    world_advance(&b.w, 5000);
    struct json deep = json_str("x");
    for (int i = 0; i < 250; i++)
        deep = json_list(test_arena(), deep);
    struct json one = toys_object(&b, &RESOURCE_CONFIG_MAP, "a");
    one = json_with(test_arena(), one, "data.deep", deep);
    toys_load(&b, &RESOURCE_CONFIG_MAP, &one, 1);
    world_advance(&b.w, 5000);
    check_int(engine_counts(b.engine).unreadable, 1);
    check_int(toys_requests(&b, "PATCH", ""), 0);
    toys_done(&b);
}

/* Found by the simulator, seed 901263. */
TEST(a_refused_object_that_somebody_else_made_is_no_trouble_any_more)
{
    struct toys b;
    toys_init(&b);
    struct json one = toys_widget(&b, "a", "{'color': 'red', 'shares': true, 'frank': true}");
    toys_load(&b, &TOYS_WIDGET, &one, 1);
    toys_load(&b, &RESOURCE_CONFIG_MAP, NULL, 0);
    struct world_call *claims = toys_load(&b, &RESOURCE_PVC, NULL, 0);
    toys_accept(&b, toys_request(&b, "PATCH", "/configmaps/a?"), &RESOURCE_CONFIG_MAP, false);
    world_answer(toys_request(&b, "POST", "/persistentvolumeclaims?"),
        403,
        toys_status_text(403, "Forbidden"));
    struct world_call *status = toys_request(&b, "PATCH", "/widgets/a/status?");
    check(strstr(json_get_text(toys_body(status), "status.trouble"), "said so") != NULL);
    world_answer(status,
        200,
        toys_print(json_with(test_arena(),
            one,
            "metadata.resourceVersion",
            json_strf(test_arena(), "%d", ++b.version))));
    toys_event(claims, "ADDED", toys_object(&b, &RESOURCE_PVC, "store"));
    status = toys_request(&b, "PATCH", "/widgets/a/status?");
    check_json(json_get(toys_body(status), "status"), "{'color': 'red'}");
    toys_done(&b);
}

/* Found by the simulator, seeds 123, 259 and 271. */
TEST(for_an_object_that_the_server_has_not_nothing_is_made_whatever_the_watch_says)
{
    struct toys b;
    toys_init(&b);
    struct world_call *watch = toys_settle(&b);
    struct world_call *widgets = toys_request(&b, "GET", "/widgets?");
    toys_event(widgets, "MODIFIED", toys_widget(&b, "a", "{'color': 'blue'}")); /* its last word */
    toys_accept(&b, toys_request(&b, "PATCH", "/configmaps/a?"), &RESOURCE_CONFIG_MAP, false);
    world_answer(
        toys_request(&b, "PATCH", "/widgets/a/status?"), 409, toys_status_text(409, "Conflict"));
    world_answer(toys_request(&b, "GET", "/widgets/a"), 404, toys_gone_text("a"));
    toys_event(watch, "DELETED", toys_object(&b, &RESOURCE_CONFIG_MAP, "a"));
    for (int i = 0; i < 60; i++, world_advance(&b.w, 1000))
        check_int(toys_requests(&b, "PATCH", ""), 0);
    toys_done(&b);
}

/* Its watch is behind: that says when it is gone, and what came after it. */
TEST(an_object_that_is_gone_when_its_status_comes_is_waited_for_in_silence)
{
    struct toys b;
    toys_init(&b);
    toys_settle(&b);
    struct world_call *widgets = toys_request(&b, "GET", "/widgets?");
    struct json last = toys_widget(&b, "a", "{'color': 'blue'}");
    toys_event(widgets, "MODIFIED", last);
    toys_accept(&b, toys_request(&b, "PATCH", "/configmaps/a?"), &RESOURCE_CONFIG_MAP, false);
    world_answer(toys_request(&b, "PATCH", "/widgets/a/status?"), 404, toys_gone_text("a"));
    for (int i = 0; i < 60; i++, world_advance(&b.w, 1000))
        check_int(toys_requests(&b, "PATCH", "") + toys_requests(&b, "GET", "/widgets/a"), 0);
    check_int(engine_counts(b.engine).refused, 0);
    toys_event(widgets, "DELETED", last);
    struct json next = toys_widget(&b, "a", "{'color': 'green', 'waits': true}");
    toys_event(widgets,
        "ADDED",
        json_with(test_arena(), next, "metadata.uid", json_str("uid-of-another")));
    check_json(json_get(toys_body(toys_request(&b, "PATCH", "/widgets/a/status?")), "status"),
        "{'color': 'green'}");
    toys_done(&b);
}

/* Found by the simulator, seed 950141; only the sanitizer sees it for sure. */
TEST(who_leads_no_more_when_it_may_take_over_is_through_with_that)
{
    struct toys b;
    toys_init(&b);
    struct json one = toys_widget(&b, "a", "{'color': 'red', 'shares': true}");
    struct json of_predecessor = json_with(test_arena(),
        toys_taken(&b),
        "metadata.managedFields",
        test_json("[{'manager': 'manager', 'operation': 'Update', 'apiVersion': 'v1',"
                  " 'fieldsV1': {'f:data': {'f:color': {}}}}]"));
    toys_load(&b, &TOYS_WIDGET, &one, 1);
    toys_load(&b, &RESOURCE_CONFIG_MAP, &of_predecessor, 1);
    toys_load(&b, &RESOURCE_PVC, NULL, 0);
    check_int(toys_requests(&b, "POST", "/persistentvolumeclaims?"), 1);
    b.follows = true;
    world_answer(toys_request(&b, "GET", "/configmaps/a"), 200, toys_print(of_predecessor));
    check_int(toys_requests(&b, "PATCH", ""), 0);
    toys_done(&b); /* ends what is under way: the claim, and nothing else */
}

/* Found by the simulator, seed 511. */
TEST(an_engine_that_ends_starts_nothing_for_those_who_waited_for_one_another)
{
    struct toys b;
    toys_init(&b);
    const char *spec = "{'color': 'red', 'shares': true}";
    struct json all[8];
    for (size_t n = 0; n < lengthof(all); n++)
        all[n] = toys_widget(&b, arena_printf(test_arena(), "w%zu", n), spec);
    toys_load(&b, &TOYS_WIDGET, all, lengthof(all));
    toys_load(&b, &RESOURCE_CONFIG_MAP, NULL, 0);
    struct world_call *claims = toys_load(&b, &RESOURCE_PVC, NULL, 0);
    for (size_t n = 0; n < lengthof(all); n++)
        toys_accept(&b, toys_request(&b, "PATCH", "/configmaps/"), &RESOURCE_CONFIG_MAP, false);
    check_int(toys_requests(&b, "POST", "/persistentvolumeclaims?"), 1);
    toys_event(claims, "ADDED", toys_object(&b, &RESOURCE_PVC, "store")); /* before the answer */
    check_int(toys_requests(&b, "PATCH", ""), 0);
    unsigned opened = b.w.opened;
    engine_free(take(b.engine));
    check_int(b.w.opened, opened);
    toys_done(&b);
}

static void make_service(const struct view *in, struct plan *out)
{
    struct arena *a = in->arena;
    struct json port =
        json_fields(a, { "port", json_int(80) }, { "nodePort", json_get(in->object, "spec.port") });
    plan_child(out,
        &RESOURCE_SERVICE,
        json_fields(
            a, { "metadata.name", json_str(view_name(in)) }, { "spec.ports", json_list(a, port) }));
    plan_exclusive(out, "spec.ports", "nodePort");
    plan_status(out, json_fields(a, { "color", json_str("red") }), NULL);
    plan_done(out);
}

/* CI met it on a slow machine: the server heard the second one first. */
TEST(of_two_that_ask_for_one_node_port_the_earlier_is_served_first)
{
    static const char *const spec[] = { "spec", NULL };
    static const struct kind_watch watches[] = {
        { .resource = &RESOURCE_SERVICE, .child = true, .keep = spec },
        { 0 },
    };
    static const struct kind kind = {
        .resource = &TOYS_WIDGET,
        .watches = watches,
        .reconcile = make_service,
    };
    struct toys b;
    toys_init_with(&b, &kind);
    struct json all[] = {
        toys_widget(&b, "a", "{'port': 30125}"),
        toys_widget(&b, "b", "{'port': 30125}"),
        toys_widget(&b, "c", "{'port': 30126}"),
        toys_widget(&b, "d", "{}"),
        toys_widget(&b, "e", "{}"),
    };
    toys_load(&b, &TOYS_WIDGET, all, lengthof(all));
    toys_load(&b, &RESOURCE_SERVICE, NULL, 0);
    check_int(toys_requests(&b, "PATCH", "/services/"), 4);
    check_int(toys_requests(&b, "PATCH", "/services/b?"), 0);
    toys_accept(&b, toys_request(&b, "PATCH", "/services/a?"), &RESOURCE_SERVICE, false);
    toys_await(&b, "PATCH", "/services/b?", 2); /* the server says no to this one, then */
    toys_done(&b);
}

/* Found by the simulator, seed 2000406: the answer was eight seconds old. */
TEST(what_came_while_we_looked_is_not_gone_because_it_was_not_there_before)
{
    struct toys b;
    toys_init(&b);
    struct json one = toys_widget(&b, "a", "{'color': 'red'}");
    toys_load(&b, &TOYS_WIDGET, &one, 1);
    struct world_call *watch = toys_load(&b, &RESOURCE_CONFIG_MAP, NULL, 0);
    toys_load(&b, &RESOURCE_PVC, NULL, 0);
    struct world_call *lost = toys_request(&b, "PATCH", "/configmaps/a?");
    struct json made = toys_store(&b, lost, &RESOURCE_CONFIG_MAP, false);
    world_break(lost, ERR_UNAVAILABLE, true);
    struct world_call *look = toys_await(&b, "GET", "/configmaps/a", 60);
    toys_event(watch, "ADDED", made);
    world_answer(look, 404, toys_gone_text("a"));
    toys_accept(&b, toys_await(&b, "PATCH", "/widgets/a/status?", 60), &TOYS_WIDGET, true);
    check_int(toys_requests(&b, "PATCH", "/configmaps/a?"), 0);
    check_int(engine_counts(b.engine).created_twice, 0);
    toys_done(&b);
}

TEST(a_404_that_names_nothing_is_tried_again)
{
    struct toys b;
    toys_init(&b);
    toys_settle(&b);
    b.spec = "{'color': 'blue', 'bare': true}";
    const char *not_here = toys_status_text(404, "NotFound");
    toys_event(toys_request(&b, "GET", "/widgets?"), "MODIFIED", toys_widget(&b, "a", b.spec));
    world_answer(toys_request(&b, "DELETE", "/configmaps/a"), 404, not_here);
    world_answer(toys_await(&b, "DELETE", "/configmaps/a", 60), 404, toys_gone_text("a"));
    world_answer(toys_request(&b, "PATCH", "/widgets/a/status?"), 404, not_here);
    toys_await(&b, "PATCH", "/widgets/a/status?", 60);
    toys_done(&b);
}
