#include "engine/file_view.h"

#include "base/resource.h"
#include "engine/plan.h"
#include "tests/test.h"

static const struct resource THING = { "x.test", "v1", "Thing", "things", false };
static const struct resource STRANGER = { "y.test", "v1", "Stranger", "strangers", false };

static struct file_view world(const char *objects)
{
    struct file_view w;
    file_view_init(&w, test_arena(), 1794000000000);
    struct error err;
    struct json list = test_json(objects);
    json_each (object, list)
        check(file_view_add(&w, *object, &err));
    return w;
}

#define THINGS                                                                                     \
    "[{'apiVersion': 'x.test/v1', 'kind': 'Thing', 'metadata': {'name': 'b', 'labels': {'l': "     \
    "'1'}}},"                                                                                      \
    " {'apiVersion': 'x.test/v1', 'kind': 'Thing', 'metadata': {'name': 'a', 'namespace': "        \
    "'other'}},"                                                                                   \
    " {'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', 'metadata':"   \
    " {'name': 'things.x.test'}, 'spec': {'group': 'x.test', 'names': {'kind': 'Thing'},"          \
    " 'versions': [{'name': 'v1', 'schema': {'openAPIV3Schema': {'properties': {'spec':"           \
    " {'default': {}, 'properties': {'n': {'default': 7}}}}}}}]}}]"

TEST(manifests_are_seen_with_their_defaults)
{
    struct file_view w = world(THINGS);
    struct view in = file_view_of(&w, &THING, "default", "b", NULL);
    check_int(json_get_int(in.object, "spec.n", 0), 7);
    check_text(view_namespace(&in), "default");
    check(!text_empty(json_get_text(in.object, "metadata.uid")));
    check(json_present(view_get_in(&in, &THING, "other", "a")));
    check(!json_present(view_get(&in, &THING, "a")));
    check_int(view_list(&in, &THING, NULL, NULL).count, 2);
    check_text(json_get_text(view_list(&in, &THING, NULL, NULL), "0.metadata.name"), "b");
    check_int(view_list(&in, &THING, "other", NULL).count, 1);
    check_int(view_list(&in, &THING, NULL, "l=1").count, 1);
    check(view_served(&in, &THING) && view_served(&in, &RESOURCE_JOB));
    check(!view_served(&in, &STRANGER));
    w.served = (const struct resource *const[]){ &STRANGER, NULL };
    check(view_served(&in, &STRANGER));
    check(!json_present(view_fact(&in, "model.probe", json_empty_map())));
}

TEST(a_plan_is_put_back_into_the_world)
{
    struct file_view w = world(THINGS);
    struct view in = file_view_of(&w, &THING, "default", "b", NULL);
    struct plan p;
    plan_init(&p, test_arena());
    struct json child = test_json("{'metadata': {'name': 'c'}, 'spec': {'x': 1}}");
    plan_child(&p, &RESOURCE_CONFIG_MAP, child);
    plan_status(&p, test_json("{'phase': 'Ready'}"), "lastUpdated");
    plan_condition(&p, "Available", true, "Fine", "all is well");
    plan_done(&p);
    file_view_apply(&w, &in, &p);
    in = file_view_of(&w, &THING, "default", "b", NULL);
    check_json(json_get(in.object, "status"),
        "{'phase': 'Ready', 'lastUpdated': '2026-11-06T21:20:00Z', 'conditions': [{'type':"
        " 'Available', 'status': 'True', 'reason': 'Fine', 'message': 'all is well',"
        " 'lastTransitionTime': '2026-11-06T21:20:00Z'}]}");
    check(json_present(view_child(&in, &RESOURCE_CONFIG_MAP, "c")));
    /* Later, with nothing new: no time moves. */
    w.now_ms += 60000;
    struct json before = json_get(in.object, "status");
    file_view_apply(&w, &in, &p);
    check(json_equal(json_get(file_view_get(&w, &THING, "default", "b"), "status"), before));
    file_view_remove(&w, &RESOURCE_CONFIG_MAP, "default", "c");
    check(!json_present(view_get(&in, &RESOURCE_CONFIG_MAP, "c")));
}

TEST(what_is_no_object_is_refused)
{
    struct file_view w = world("[]");
    struct error err;
    check_fails(file_view_add(&w, test_json("{'kind': 'X'}"), &err), err, "apiVersion: required");
    check_fails(file_view_add(&w, test_json("{'apiVersion': 'v1', 'kind': 'X'}"), &err),
        err,
        "metadata.name: required");
}
