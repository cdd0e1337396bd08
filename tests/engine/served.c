#include "tests/engine/toys.h"

TEST(a_crd_that_comes_late_is_served_as_soon_as_the_server_serves_it)
{
    struct toys b;
    toys_init(&b);
    struct error err;
    struct world_call *crds = toys_load(&b, &RESOURCE_CRD, NULL, 0);
    const char *missing = toys_status_text(404, "NotFound");
    world_answer(toys_request(&b, "GET", "/widgets?"), 404, missing);
    check_fails(engine_ready(b.engine, &err), err, "widgets.toys.example.com is not installed");
    world_advance(&b.w, 4000);
    check_int(toys_requests(&b, "GET", "/widgets?"), 0); /* nothing tells of it: no look so soon */

    toys_event(crds, "ADDED", toys_crd(1));
    world_answer(toys_request(&b, "GET", "/widgets?"), 404, missing); /* made, not served yet */
    check_int(toys_requests(&b, "GET", "/widgets?"), 0);
    world_advance(&b.w, 200);
    struct json one = toys_widget(&b, "a", "{'color': 'red'}");
    toys_load(&b, &TOYS_WIDGET, &one, 1);
    toys_load(&b, &RESOURCE_CONFIG_MAP, NULL, 0);
    toys_load(&b, &RESOURCE_PVC, NULL, 0);
    check(engine_ready(b.engine, &err));
    check_json(json_get(toys_body(toys_request(&b, "PATCH", "/configmaps/a?")), "data"),
        "{'color': 'red'}");
    toys_done(&b);
}

TEST(what_an_older_crd_does_not_declare_is_left_out_until_it_does)
{
    struct toys b;
    toys_init(&b);
    struct world_call *crds = toys_load(&b, &RESOURCE_CRD, NULL, 0);
    toys_event(crds, "ADDED", toys_crd(1));
    toys_load(&b, &TOYS_WIDGET, NULL, 0);
    toys_load(&b, &RESOURCE_CONFIG_MAP, NULL, 0);
    toys_load(&b, &RESOURCE_PVC, NULL, 0);
    toys_answer_openapi(&b, "'trouble': {'type': 'string'}");
    struct world_call *widgets = toys_request(&b, "GET", "/widgets?");
    toys_event(widgets, "ADDED", toys_widget(&b, "a", "{'color': 'red'}"));
    toys_accept(&b, toys_request(&b, "PATCH", "/configmaps/a?"), &RESOURCE_CONFIG_MAP, false);
    struct world_call *status = toys_request(&b, "PATCH", "/widgets/a/status?");
    struct json told = json_get(toys_body(status), "status");
    check(!json_present(json_get(told, "color")));
    check_text(json_get_text(told, "conditions.0.type"), "CRDOutdated");
    check(strstr(json_get_text(told, "conditions.0.message"), "lacks status.color;") != NULL);
    toys_accept(&b, status, &TOYS_WIDGET, true);
    check_int(toys_requests(&b, "PATCH", ""), 0);

    /* A new CRD: its document is asked for, and the whole status written. */
    toys_event(crds, "MODIFIED", toys_crd(1)); /* its own status only */
    world_advance(&b.w, 10000);
    check_int(toys_requests(&b, "GET", "/openapi/"), 0);
    toys_event(crds, "MODIFIED", toys_crd(2));
    world_advance(&b.w, 2000);
    toys_answer_openapi(&b, TOYS_ALL_FIELDS);
    status = toys_request(&b, "PATCH", "/widgets/a/status?");
    check_json(json_get(toys_body(status), "status"), "{'color': 'red'}");
    toys_accept(&b, status, &TOYS_WIDGET, true);
    check_int(engine_counts(b.engine).refused, 0);
    toys_done(&b);
}

TEST(a_crd_that_is_made_anew_is_read_anew_until_that_works)
{
    struct toys b;
    toys_init(&b);
    struct json crd = toys_crd(1), anew = toys_crd(2);
    struct world_call *crds = toys_load(&b, &RESOURCE_CRD, &crd, 1);
    toys_load(&b, &TOYS_WIDGET, NULL, 0);
    toys_answer_openapi(&b, "'trouble': {'type': 'string'}");
    toys_event(crds, "DELETED", crd);
    anew = json_with(test_arena(), anew, "metadata.generation", json_int(1));
    toys_event(crds, "ADDED", json_with(test_arena(), anew, "metadata.uid", json_str("other")));
    world_answer(toys_await(&b, "GET", "/openapi/", 3), 503, toys_status_text(503, "Unavailable"));
    toys_await(&b, "GET", "/openapi/", 3);
    toys_answer_openapi(&b, TOYS_ALL_FIELDS);
    toys_done(&b);
}

TEST(a_status_that_is_refused_makes_us_look_at_the_crd_again)
{
    struct toys b;
    toys_init(&b);
    struct json one = toys_widget(&b, "a", "{'color': 'red'}");
    toys_load(&b, &TOYS_WIDGET, &one, 1);
    toys_load(&b, &RESOURCE_CONFIG_MAP, NULL, 0);
    toys_load(&b, &RESOURCE_PVC, NULL, 0);
    world_answer(
        toys_request(&b, "GET", "/openapi/"), 503, toys_status_text(503, "ServiceUnavailable"));
    world_answer(toys_request(&b, "GET", "/customresourcedefinitions?"),
        403,
        toys_status_text(403, "Forbidden"));
    toys_accept(&b, toys_request(&b, "PATCH", "/configmaps/a?"), &RESOURCE_CONFIG_MAP, false);
    world_answer(
        toys_request(&b, "PATCH", "/widgets/a/status?"), 400, toys_status_text(400, "BadRequest"));
    world_advance(&b.w, 2000);
    toys_answer_openapi(&b, "'trouble': {'type': 'string'}");
    struct world_call *status = toys_request(&b, "PATCH", "/widgets/a/status?");
    check(!json_present(json_get(toys_body(status), "status.color")));
    toys_accept(&b, status, &TOYS_WIDGET, true);
    check_int(toys_requests(&b, "PATCH", ""), 0);
    toys_done(&b);
}

/* Found by the simulator, seed 880172. */
TEST(of_a_kind_that_came_during_a_run_nothing_is_written_before_it_is_loaded)
{
    struct toys b;
    toys_init_with(&b, &toys_gadget_kind);
    struct world_call *crds = toys_load(&b, &RESOURCE_CRD, NULL, 0);
    struct json one = toys_widget(&b, "a", "{}");
    toys_load(&b, &TOYS_WIDGET, &one, 1);
    world_answer(toys_request(&b, "GET", "/gadgets?"), 404, toys_status_text(404, "NotFound"));
    struct world_call *finalizer = toys_request(&b, "PATCH", "/widgets/a?");

    struct json came = json_with(
        test_arena(), toys_crd(1), "metadata.name", json_str("gadgets.tools.example.com"));
    toys_event(crds, "ADDED", came);
    world_break(
        toys_request(&b, "GET", "/gadgets?"), ERR_UNAVAILABLE, true); /* there, not loaded */
    one = toys_widget(&b, "a", "{}");
    one = json_with(
        test_arena(), one, "metadata.finalizers", test_json("['toys.example.com/gadget']"));
    world_answer(finalizer, 200, toys_print(one));
    check_int(toys_requests(&b, "PATCH", "/gadgets/"), 0);

    toys_await(&b, "GET", "/gadgets?", 60);
    toys_load(&b, &TOYS_GADGET, NULL, 0);
    toys_answer_gadget_schema(&b);
    check_int(toys_requests(&b, "PATCH", "/gadgets/"), 0);
    toys_load(&b, &TOYS_GADGET, NULL, 0);
    toys_accept(&b, toys_request(&b, "PATCH", "/gadgets/a?"), &TOYS_GADGET, false);
    check_int(engine_counts(b.engine).self_check, 0);

    /* A new schema: what is read anew is not gone meanwhile. */
    toys_event(crds, "MODIFIED", json_with(test_arena(), came, "metadata.generation", json_int(2)));
    world_advance(&b.w, 2000);
    toys_answer_gadget_schema(&b);
    for (int i = 0; i < 20; i++, world_advance(&b.w, 1000))
        check_int(toys_requests(&b, "PATCH", "/gadgets/"), 0);
    toys_done(&b);
}

/* Found by the simulator: nobody reads the gadgets yet, so nothing is to be read anew. */
TEST(a_changed_crd_of_what_is_not_watched_is_left_alone)
{
    struct toys b;
    toys_init_with(&b, &toys_gadget_kind);
    const char *name = "gadgets.tools.example.com";
    struct json crd = json_with(test_arena(), toys_crd(1), "metadata.name", json_str(name));
    struct world_call *crds = toys_load(&b, &RESOURCE_CRD, &crd, 1);
    world_answer(toys_request(&b, "GET", "/widgets?"), 404, toys_status_text(404, "NotFound"));
    crd = json_with(test_arena(), toys_crd(2), "metadata.name", json_str(name));
    toys_event(crds, "MODIFIED", crd);
    world_advance(&b.w, 2000);
    check_int(toys_requests(&b, "GET", "/openapi/"), 0);
    toys_done(&b);
}

/* Found by the simulator, seed 902209. */
TEST(a_refusal_that_comes_after_the_kind_went_is_no_trouble)
{
    struct toys b;
    toys_init_with(&b, &toys_gadget_kind);
    struct json one = toys_widget(&b, "a", "{'color': 'red'}");
    one = json_with(
        test_arena(), one, "metadata.finalizers", test_json("['toys.example.com/gadget']"));
    toys_load(&b, &TOYS_WIDGET, &one, 1);
    toys_load(&b, &TOYS_GADGET, NULL, 0);
    toys_answer_gadget_schema(&b);
    struct world_call *watch = toys_load(&b, &TOYS_GADGET, NULL, 0);
    struct world_call *create = toys_request(&b, "PATCH", "/gadgets/a?");
    world_end(watch);
    const char *missing = toys_status_text(404, "NotFound");
    for (int i = 0; i < 2; i++)
        world_answer(toys_await(&b, "GET", "/gadgets?", 20), 404, missing);
    world_answer(create, 404, missing);
    struct json told = toys_body(toys_request(&b, "PATCH", "/widgets/a/status?"));
    check_json(json_get(told, "status"), "{'color': 'red'}");
    toys_done(&b);
}
