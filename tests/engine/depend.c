#include "engine/depend.h"
#include "base/resource.h"
#include "tests/test.h"

static void mark(void *ctx, void *owner)
{
    (void)ctx;
    ++*(int *)owner;
}

TEST(a_change_reaches_those_who_asked_and_nobody_else)
{
    struct depends d;
    depends_init(&d, 1, 2);
    struct depend_set one = { 0 }, two = { 0 };
    int runs_one = 0, runs_two = 0;
    uint64_t of_one[] = {
        depend_on_name(&d, &RESOURCE_SERVICE, "ns", "web"),
        depend_on_list(&d, &RESOURCE_POD, "ns", "app=web"),
        depend_on_name(&d, &RESOURCE_SERVICE, "ns", "web"),
    };
    uint64_t of_two[] = {
        depend_on_name(&d, &RESOURCE_SERVICE, "other", "web"),
        depend_on_list(&d, &RESOURCE_POD, NULL, NULL),
    };
    depend_replace(&d, &one, &runs_one, of_one, lengthof(of_one));
    depend_replace(&d, &two, &runs_two, of_two, lengthof(of_two));
    check_int(one.count, 2);

    depend_each_of_object(&d, &RESOURCE_SERVICE, "ns", "web", json_none, mark, NULL);
    check_int(runs_one, 1);
    check_int(runs_two, 0);
    struct json labels = test_json("{'app': 'web', 'x': 'y'}");
    depend_each_of_object(&d, &RESOURCE_POD, "ns", "p", labels, mark, NULL);
    check_int(runs_one, 2);
    check_int(runs_two, 1);
    depend_each_of_object(&d, &RESOURCE_POD, "ns", "p", test_json("{'app': 'db'}"), mark, NULL);
    check_int(runs_one, 2);
    check_int(runs_two, 2);

    uint64_t other = depend_on_name(&d, &RESOURCE_SERVICE, "other", "web");
    depend_replace(&d, &one, &runs_one, &other, 1);
    depend_each_of_object(&d, &RESOURCE_SERVICE, "ns", "web", json_none, mark, NULL);
    check_int(runs_one, 2);
    depend_each_of_object(&d, &RESOURCE_SERVICE, "other", "web", json_none, mark, NULL);
    check_int(runs_one, 3);
    check_int(runs_two, 3);
    uint64_t third = depend_on_name(&d, &RESOURCE_SERVICE, "third", "web"); /* as many as before */
    depend_replace(&d, &one, &runs_one, &third, 1);
    depend_each_of_object(&d, &RESOURCE_SERVICE, "third", "web", json_none, mark, NULL);
    check_int(runs_one, 4);
    depend_clear(&d, &one);
    depend_clear(&d, &two);
    depends_done(&d);
}

TEST(events_of_a_resource_reach_those_who_asked_by_the_same_constant)
{
    static const struct resource same = { "", "v1", "Service", "services" };
    struct depends d;
    depends_init(&d, 1, 2);
    struct depend_set set = { 0 };
    int runs = 0;
    uint64_t target = depend_on_name(&d, &RESOURCE_SERVICE, "ns", "web");
    depend_replace(&d, &set, &runs, &target, 1);
    depend_each_of_object(&d, &same, "ns", "web", json_none, mark, NULL);
    check_int(runs, 0);
    depend_each_of_object(&d, &RESOURCE_SERVICE, "ns", "web", json_none, mark, NULL);
    check_int(runs, 1);
    depend_clear(&d, &set);
    depends_done(&d);
}
