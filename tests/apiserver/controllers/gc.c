#include "tests/apiserver/desk.h"

#define CONFIG_MAPS "/api/v1/namespaces/default/configmaps"

static const char *uid_of(struct json object)
{
    return json_get_text(object, "metadata.uid");
}

static struct json make(struct desk *d, const char *name, struct json owner, const char *more)
{
    const char *ref = "";
    if (json_present(owner))
        ref = arena_printf(test_arena(),
            ",'ownerReferences':[{'apiVersion':'v1','kind':'ConfigMap','name':'%s','uid':'%s'%s}]",
            json_get_text(owner, "metadata.name"),
            uid_of(owner),
            more);
    return desk_do(d,
        "POST",
        CONFIG_MAPS,
        arena_printf(test_arena(), "{'metadata':{'name':'%s'%s}}", name, ref));
}

static bool is_there(struct desk *d, const char *name)
{
    return desk_ask(d, "GET", arena_printf(test_arena(), CONFIG_MAPS "/%s", name), NULL).status ==
           200;
}

TEST(gc_deletes_what_nobody_owns_any_more)
{
    struct desk d;
    desk_init(&d);
    struct json owner = make(&d, "owner", json_none, "");
    struct json child = make(&d, "child", owner, "");
    make(&d, "grandchild", child, "");
    desk_do(&d, "DELETE", CONFIG_MAPS "/owner", NULL);
    check(!is_there(&d, "child"));
    check(!is_there(&d, "grandchild"));
    desk_done(&d);
}

TEST(gc_deletes_what_points_to_an_owner_that_never_was)
{
    struct desk d;
    desk_init(&d);
    struct json ghost = test_json("{'metadata':{'name':'ghost','uid':'1-2-3'}}");
    make(&d, "child", ghost, "");
    check(!is_there(&d, "child"));
    desk_done(&d);
}

TEST(gc_keeps_what_has_another_owner)
{
    struct desk d;
    desk_init(&d);
    struct json one = make(&d, "one", json_none, "");
    struct json two = make(&d, "two", json_none, "");
    desk_do(&d,
        "POST",
        CONFIG_MAPS,
        arena_printf(test_arena(),
            "{'metadata':{'name':'child','ownerReferences':["
            "{'apiVersion':'v1','kind':'ConfigMap','name':'one','uid':'%s'},"
            "{'apiVersion':'v1','kind':'ConfigMap','name':'two','uid':'%s'}]}}",
            uid_of(one),
            uid_of(two)));
    desk_do(&d, "DELETE", CONFIG_MAPS "/one", NULL);
    struct json child = desk_do(&d, "GET", CONFIG_MAPS "/child", NULL);
    check_int(json_get(child, "metadata.ownerReferences").count, 1);
    check_text(json_get_text(child, "metadata.ownerReferences.0.name"), "two");
    desk_do(&d, "DELETE", CONFIG_MAPS "/two", NULL);
    check(!is_there(&d, "child"));
    desk_done(&d);
}

/* Found by the simulator, seed 115. */
TEST(gc_deletes_what_is_owned_by_something_whose_definition_goes_with_it)
{
    struct desk d;
    desk_init(&d);
    desk_do(&d,
        "POST",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "{'metadata':{'name':'toys.example.com'},'spec':{'group':'example.com','scope':"
        "'Namespaced','names':{'plural':'toys','kind':'Toy'},'versions':[{'name':'v1','served':"
        "true,'storage':true,'schema':{'openAPIV3Schema':{'type':'object'}}}]}}");
    /* More than are looked at in one turn; the definition is gone after it. */
    for (int i = 0; i < 300; i++) {
        struct json toy = desk_do(&d,
            "POST",
            "/apis/example.com/v1/namespaces/default/toys",
            arena_printf(test_arena(),
                "{'apiVersion':'example.com/v1','kind':'Toy','metadata':{'name':'owner-%d'}}",
                i));
        desk_do(&d,
            "POST",
            CONFIG_MAPS,
            arena_printf(test_arena(),
                "{'metadata':{'name':'child-%d','ownerReferences':[{'apiVersion':'example.com/v1',"
                "'kind':'Toy','name':'owner-%d','uid':'%s'}]}}",
                i,
                i,
                uid_of(toy)));
    }
    check(is_there(&d, "child-0"));
    desk_do(&d,
        "DELETE",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/toys.example.com",
        NULL);
    for (int i = 0; i < 300; i++)
        check(!is_there(&d, arena_printf(test_arena(), "child-%d", i)));
    desk_done(&d);
}

TEST(gc_waits_for_dependents_that_block_a_foreground_deletion)
{
    struct desk d;
    desk_init(&d);
    struct json owner = make(&d, "owner", json_none, "");
    make(&d, "child", owner, ",'blockOwnerDeletion':true");
    desk_ask_as(&d,
        "PATCH",
        CONFIG_MAPS "/child",
        "application/merge-patch+json",
        NULL,
        "{'metadata':{'finalizers':['a/b']}}");
    struct json got =
        desk_do(&d, "DELETE", CONFIG_MAPS "/owner", "{'propagationPolicy':'Foreground'}");
    check_json(json_get(got, "metadata.finalizers"), "['foregroundDeletion']");
    check(is_there(&d, "owner"));
    struct json child = desk_do(&d, "GET", CONFIG_MAPS "/child", NULL);
    check(json_present(json_get(child, "metadata.deletionTimestamp")));
    desk_ask_as(&d,
        "PATCH",
        CONFIG_MAPS "/child",
        "application/merge-patch+json",
        NULL,
        "{'metadata':{'finalizers':null}}");
    check(!is_there(&d, "child"));
    check(!is_there(&d, "owner"));
    desk_done(&d);
}

TEST(gc_opens_a_circle_in_which_each_waits_for_the_next)
{
    struct desk d;
    desk_init(&d);
    struct json a = make(&d, "a", json_none, "");
    struct json b = make(&d, "b", a, ",'blockOwnerDeletion':true");
    struct json c = make(&d, "c", b, ",'blockOwnerDeletion':true");
    desk_ask_as(&d,
        "PATCH",
        CONFIG_MAPS "/a",
        "application/merge-patch+json",
        NULL,
        arena_printf(test_arena(),
            "{'metadata':{'ownerReferences':[{'apiVersion':'v1','kind':'ConfigMap','name':'c',"
            "'uid':'%s','blockOwnerDeletion':true}]}}",
            uid_of(c)));
    desk_do(&d, "DELETE", CONFIG_MAPS "/a", "{'propagationPolicy':'Foreground'}");
    check(!is_there(&d, "a"));
    check(!is_there(&d, "b"));
    check(!is_there(&d, "c"));
    desk_done(&d);
}

TEST(gc_does_not_wait_for_dependents_that_do_not_block)
{
    struct desk d;
    desk_init(&d);
    struct json owner = make(&d, "owner", json_none, "");
    make(&d, "child", owner, "");
    desk_do(&d, "DELETE", CONFIG_MAPS "/owner", "{'propagationPolicy':'Foreground'}");
    check(!is_there(&d, "owner"));
    check(!is_there(&d, "child"));
    desk_done(&d);
}

TEST(gc_lets_orphans_live)
{
    struct desk d;
    desk_init(&d);
    struct json owner = make(&d, "owner", json_none, "");
    make(&d, "child", owner, "");
    desk_do(&d, "DELETE", CONFIG_MAPS "/owner", "{'propagationPolicy':'Orphan'}");
    check(!is_there(&d, "owner"));
    struct json child = desk_do(&d, "GET", CONFIG_MAPS "/child", NULL);
    check(!json_present(json_get(child, "metadata.ownerReferences")));
    desk_done(&d);
}

TEST(gc_takes_an_owner_of_the_same_name_and_another_uid_for_gone)
{
    struct desk d;
    desk_init(&d);
    struct json owner = make(&d, "owner", json_none, "");
    desk_do(&d, "DELETE", CONFIG_MAPS "/owner", NULL);
    make(&d, "owner", json_none, "");
    make(&d, "child", owner, "");
    check(!is_there(&d, "child"));
    desk_done(&d);
}
