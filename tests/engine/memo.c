#include "tests/engine/toys.h"

/* Found by the simulator, seed 1212. */
TEST(writes_that_fail_are_no_fight)
{
    struct toys b;
    toys_init(&b);
    struct world_call *watch = toys_settle(&b);
    toys_event(watch, "MODIFIED", toys_taken(&b));
    for (int i = 0; i < 8; i++) {
        struct world_call *c = toys_await(&b, "PATCH", "/configmaps/a?", 300);
        world_answer(c, 429, toys_status_text(429, "TooManyRequests"));
    }
    toys_accept(&b, toys_await(&b, "PATCH", "/configmaps/a?", 300), &RESOURCE_CONFIG_MAP, false);
    check_int(engine_counts(b.engine).contested, 0);
    toys_done(&b);
}

/* The widget's ConfigMap was taken once more than we write it; returns how it is then. */
static struct json taken_again(struct toys *b)
{
    struct world_call *watch = toys_settle(b);
    for (int i = 0; i < 5; i++) {
        toys_event(watch, "MODIFIED", toys_taken(b));
        toys_accept(b, toys_request(b, "PATCH", "/configmaps/a?"), &RESOURCE_CONFIG_MAP, false);
    }
    struct json last = toys_taken(b);
    toys_event(watch, "MODIFIED", last);
    return last;
}

/* … and the status says so. */
static void fight(struct toys *b)
{
    struct json last = taken_again(b);
    world_answer(toys_request(b, "GET", "/configmaps/a"), 200, toys_print(last));
    struct world_call *status = toys_request(b, "PATCH", "/widgets/a/status?");
    check_text(json_get_text(toys_body(status), "status.conditions.0.reason"), "FieldTaken");
    toys_accept(b, status, &TOYS_WIDGET, true);
    check_int(engine_counts(b->engine).contested, 1);
}

TEST(who_takes_a_field_is_asked_for_again_if_that_fails)
{
    struct toys b;
    toys_init(&b);
    struct json last = taken_again(&b);
    world_answer(
        toys_request(&b, "GET", "/configmaps/a"), 500, toys_status_text(500, "InternalError"));
    world_answer(toys_await(&b, "GET", "/configmaps/a", 60), 200, toys_print(last));
    check_int(engine_counts(b.engine).contested, 1);
    toys_done(&b);
}

/* Found by the simulator, seeds 880476 and 900033. */
TEST(what_is_not_wanted_any_more_is_not_told_to_be_fought_over)
{
    struct toys b;
    toys_init(&b);
    fight(&b);
    struct world_call *widgets = toys_request(&b, "GET", "/widgets?");
    toys_event(widgets, "MODIFIED", toys_widget(&b, "a", "{'color': 'red', 'waits': true}"));
    struct world_call *status = toys_request(&b, "PATCH", "/widgets/a/status?");
    check(!json_present(json_get(toys_body(status), "status.conditions")));
    toys_done(&b);
}

/* Found by the simulator, seed 1212. */
TEST(what_is_fought_over_is_tried_again_after_its_time_though_nobody_asks)
{
    struct toys b;
    toys_init(&b);
    fight(&b);
    world_advance(&b.w, 9 * 60000);
    check_int(toys_requests(&b, "PATCH", "/configmaps/a?"), 0);
    toys_await(&b, "PATCH", "/configmaps/a?", 180);
    toys_done(&b);
}

/* Found by the simulator, seed 900361. */
TEST(who_deletes_a_child_again_and_again_is_given_way_to_though_no_status_can_tell_it)
{
    struct toys b;
    toys_init(&b);
    struct json one = toys_widget(&b, "a", "{'color': 'red'}");
    toys_load(&b, &TOYS_WIDGET, &one, 1);
    struct world_call *watch = toys_load(&b, &RESOURCE_CONFIG_MAP, NULL, 0);
    toys_load(&b, &RESOURCE_PVC, NULL, 0);
    int made = 0;
    for (int i = 0; i < 300; i++, world_advance(&b.w, 1000)) {
        if (toys_requests(&b, "PATCH", "/configmaps/a?")) {
            made++;
            toys_accept(
                &b, toys_request(&b, "PATCH", "/configmaps/a?"), &RESOURCE_CONFIG_MAP, false);
            toys_event(watch, "DELETED", toys_object(&b, &RESOURCE_CONFIG_MAP, "a"));
        }
        if (toys_requests(&b, "PATCH", "/status?"))
            world_answer(
                toys_request(&b, "PATCH", "/status?"), 500, toys_status_text(500, "InternalError"));
        if (toys_requests(&b, "GET", "/widgets/a"))
            world_answer(toys_request(&b, "GET", "/widgets/a"), 200, toys_print(one));
    }
    check_int(engine_counts(b.engine).contested, 1);
    check(made <= 22);
    toys_done(&b);
}

TEST(a_leftover_that_may_not_be_deleted_is_told_and_tried_again_after_its_time)
{
    struct toys b;
    toys_init(&b);
    toys_settle(&b);
    struct world_call *widgets = toys_request(&b, "GET", "/widgets?");
    b.spec = "{'color': 'red', 'bare': true}";
    toys_event(widgets, "MODIFIED", toys_widget(&b, "a", b.spec));
    world_answer(
        toys_request(&b, "DELETE", "/configmaps/a"), 403, toys_status_text(403, "Forbidden"));
    struct world_call *status = toys_request(&b, "PATCH", "/widgets/a/status?");
    check_text(json_get_text(toys_body(status), "status.conditions.0.type"), "Leftover");
    toys_accept(&b, status, &TOYS_WIDGET, true);
    world_advance(&b.w, 4 * 60000);
    check_int(toys_requests(&b, "DELETE", ""), 0);
    world_answer(toys_await(&b, "DELETE", "/configmaps/a", 120),
        200,
        "{'kind': 'Status', 'apiVersion': 'v1', 'status': 'Success'}");
    check_int(toys_requests(&b, "DELETE", ""), 0);
    status = toys_request(&b, "PATCH", "/widgets/a/status?");
    check(!json_present(json_get(toys_body(status), "status.conditions")));
    toys_done(&b);
}

/* Found by the simulator, seed 6500036. */
TEST(what_became_of_a_write_is_looked_up_though_the_child_was_not_planned_meanwhile)
{
    struct toys b;
    toys_init(&b);
    struct json one = toys_widget(&b, "a", "{'color': 'red'}");
    struct world_call *widgets = toys_load(&b, &TOYS_WIDGET, &one, 1);
    toys_load(&b, &RESOURCE_CONFIG_MAP, NULL, 0);
    toys_load(&b, &RESOURCE_PVC, NULL, 0);
    world_break(toys_request(&b, "PATCH", "/configmaps/a?"), ERR_UNAVAILABLE, true);
    struct world_call *look = toys_await(&b, "GET", "/configmaps/a", 60);
    b.spec = "{'color': 'red', 'bare': true}";
    toys_event(widgets, "MODIFIED", toys_widget(&b, "a", b.spec));
    world_answer(look, 500, toys_status_text(500, "InternalError"));
    toys_accept(&b, toys_await(&b, "PATCH", "/widgets/a/status?", 60), &TOYS_WIDGET, true);
    b.spec = "{'color': 'red'}";
    toys_event(widgets, "MODIFIED", toys_widget(&b, "a", b.spec));
    toys_await(&b, "GET", "/configmaps/a", 3);
    check_int(toys_requests(&b, "PATCH", "/configmaps/a?"), 0);
    toys_done(&b);
}
