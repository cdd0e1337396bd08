#include "tests/engine/toys.h"

/* What the widget `a` made in the cluster's scope. */
static struct json gadget(struct toys *b)
{
    struct json left = toys_object(b, &TOYS_GADGET, "a");
    struct json mark =
        json_map(test_arena(), { "leeboard.dev/owner", json_str("Widget.toys.example.com/ns/a") });
    left = json_with(test_arena(), left, "metadata.annotations", mark);
    return json_with(test_arena(),
        left,
        "metadata.managedFields",
        test_json("[{'manager': 'leeboard', 'operation': 'Apply', 'fieldsType': 'FieldsV1',"
                  " 'apiVersion': 'tools.example.com/v1', 'fieldsV1': {'f:metadata':"
                  " {'f:annotations': {'f:leeboard.dev/owner': {}}}}}]"));
}

/* Found by the simulator, seed 880403. */
TEST(a_child_in_the_clusters_scope_goes_when_its_owner_is_gone_and_not_before)
{
    struct toys b;
    toys_init_with(&b, &toys_gadget_kind);
    struct json left = gadget(&b);
    toys_load(&b, &TOYS_WIDGET, NULL, 0);
    toys_load(&b, &TOYS_GADGET, &left, 1);
    toys_answer_gadget_schema(&b);
    toys_load(&b, &TOYS_GADGET, &left, 1);

    /* The watch of widgets is behind. */
    world_answer(
        toys_request(&b, "GET", "/widgets/a"), 200, toys_print(toys_widget(&b, "a", "{}")));
    check_int(toys_requests(&b, "DELETE", "/gadgets/"), 0);
    world_answer(
        toys_await(&b, "GET", "/widgets/a", 60), 503, toys_status_text(503, "ServiceUnavailable"));
    check_int(toys_requests(&b, "DELETE", "/gadgets/"), 0);
    world_answer(toys_await(&b, "GET", "/widgets/a", 60), 404, toys_gone_text("a"));
    struct world_call *goes = toys_request(&b, "DELETE", "/gadgets/a");
    check_text(json_get_text(toys_body(goes), "preconditions.uid"), "uid-gadgets-a");
    /* Nobody else would try again. */
    world_answer(goes, 403, toys_status_text(403, "Forbidden"));
    world_advance(&b.w, 4 * 60000);
    check_int(toys_requests(&b, "GET", "/widgets/a"), 0);
    world_answer(toys_await(&b, "GET", "/widgets/a", 120), 404, toys_gone_text("a"));
    goes = toys_request(&b, "DELETE", "/gadgets/a");
    world_answer(goes, 200, "{'kind': 'Status', 'apiVersion': 'v1', 'status': 'Success'}");
    world_advance(&b.w, 10 * 60000);
    check_int(toys_requests(&b, "GET", "/widgets/a") + toys_requests(&b, "DELETE", ""), 0);
    toys_done(&b);
}

TEST(an_owner_that_came_while_we_asked_for_it_keeps_its_child)
{
    struct toys b;
    toys_init_with(&b, &toys_gadget_kind);
    struct json left = gadget(&b);
    struct world_call *watch = toys_load(&b, &TOYS_WIDGET, NULL, 0);
    toys_load(&b, &TOYS_GADGET, &left, 1);
    toys_answer_gadget_schema(&b);
    toys_load(&b, &TOYS_GADGET, &left, 1);
    struct world_call *asked = toys_request(&b, "GET", "/widgets/a");
    toys_event(watch, "ADDED", toys_widget(&b, "a", "{}"));
    world_answer(asked, 404, toys_gone_text("a")); /* as it was before */
    check_int(toys_requests(&b, "DELETE", "/gadgets/"), 0);
    toys_done(&b);
}

/* Its finalizer was taken off by force, or what it left could not be deleted. */
TEST(what_an_object_left_in_the_clusters_scope_goes_after_a_time)
{
    struct toys b;
    toys_init_with(&b, &toys_gadget_kind);
    struct json left = gadget(&b), widget = toys_widget(&b, "a", "{}");
    struct world_call *watch = toys_load(&b, &TOYS_WIDGET, &widget, 1);
    toys_load(&b, &TOYS_GADGET, &left, 1);
    toys_answer_gadget_schema(&b);
    toys_load(&b, &TOYS_GADGET, &left, 1);
    toys_event(watch, "DELETED", widget);
    world_advance(&b.w, 4 * 60000);
    check_int(toys_requests(&b, "GET", "/widgets/a"), 0);
    world_answer(toys_await(&b, "GET", "/widgets/a", 120), 404, toys_gone_text("a"));
    toys_request(&b, "DELETE", "/gadgets/a");
    toys_done(&b);
}
