#include "apiserver/rules/json_patch.h"

#include <string.h>

#include "tests/apiserver/desk.h"

#define CONFIG_MAPS "/api/v1/namespaces/default/configmaps"
#define APPLY "application/apply-patch+yaml"
#define MERGE "application/merge-patch+json"
#define JSON "application/json-patch+json"

static struct desk_answer patch(
    struct desk *d, const char *target, const char *form, const char *body)
{
    return desk_ask_as(d, "PATCH", target, form, NULL, body);
}

TEST(patches_change_what_they_name_and_nothing_else)
{
    static const struct {
        const char *form, *body, *data;
    } cases[] = {
        { MERGE, "{'data':{'a':'2','c':'3'}}", "{'a':'2','b':'1','c':'3'}" },
        { MERGE, "{'data':{'a':null}}", "{'b':'1'}" },
        { JSON, "[{'op':'add','path':'/data/a','value':'2'}]", "{'a':'2','b':'1'}" },
        { JSON, "[{'op':'remove','path':'/data/a'}]", "{'b':'1'}" },
        { JSON,
            "[{'op':'replace','path':'/data/new','value':'x'}]",
            "{'a':'1','b':'1','new':'x'}" },
        { JSON, "[{'op':'move','from':'/data/a','path':'/data/z'}]", "{'b':'1','z':'1'}" },
        { JSON, "[{'op':'copy','from':'/data/a','path':'/data/z'}]", "{'a':'1','b':'1','z':'1'}" },
        { JSON,
            "[{'op':'test','path':'/data/a','value':'1'},{'op':'remove','path':'/data/b'}]",
            "{'a':'1'}" },
        { JSON, "[{'op':'remove','path':'ignored/data/b'}]", "{'a':'1'}" },
        { JSON,
            "[{'op':'replace','path':'','value':{'apiVersion':'v1','kind':'ConfigMap',"
            "'metadata':{'name':'x'},'data':{'n':'1'}}}]",
            "{'n':'1'}" },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct desk d;
        desk_init(&d);
        desk_do(&d, "POST", CONFIG_MAPS, "{'metadata':{'name':'x'},'data':{'a':'1','b':'1'}}");
        struct desk_answer got = patch(&d, CONFIG_MAPS "/x", cases[i].form, cases[i].body);
        check_int(got.status, 200);
        check_json(json_get(got.body, "data"), cases[i].data);
        desk_done(&d);
    }
}

TEST(patches_that_cannot_be_done_are_refused_as_the_real_server_does)
{
    static const struct {
        const char *form, *body;
        int status;
        const char *message;
    } cases[] = {
        { JSON,
            "[{'op':'test','path':'/data/a','value':'c'}]",
            422,
            "the server rejected our request due to an error in our request" },
        { JSON,
            "[{'op':'remove','path':'/data/zz'}]",
            422,
            "the server rejected our request due to an error in our request" },
        { JSON, "{'op':'x'}", 400, "error decoding patch: " },
        { JSON, "[5]", 400, "error decoding patch: " },
        { JSON, "[{'op':'add','path':5}]", 400, "error decoding patch: " },
        { MERGE, "{'data':", 400, "error decoding patch: " },
        { MERGE,
            "{'metadata':{'name':'y'}}",
            400,
            "the name of the object (y) does not match the name on the URL (x)" },
        { "application/json", "{}", 415, "415: Unsupported Media Type" },
        { APPLY,
            "{}",
            422,
            "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: "
            "is required for apply patch" },
    };
    struct desk d;
    desk_init(&d);
    desk_do(&d, "POST", CONFIG_MAPS, "{'metadata':{'name':'x'},'data':{'a':'1'}}");
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct desk_answer got = patch(&d, CONFIG_MAPS "/x", cases[i].form, cases[i].body);
        check_int(got.status, cases[i].status);
        check(text_starts(json_get_text(got.body, "message"), cases[i].message));
    }
    check_int(patch(&d, CONFIG_MAPS "/nope", MERGE, "{}").status, 404);
    desk_done(&d);
}

TEST(a_json_patch_has_a_limit_of_operations)
{
    struct desk d;
    desk_init(&d);
    desk_do(&d, "POST", CONFIG_MAPS, "{'metadata':{'name':'x'}}");
    struct buf b = BUF_INIT((size_t)1 << 20);
    for (int i = 0; i < 10001; i++)
        buf_printf(&b, "%s{'op':'test','path':'/x'}", i ? "," : "[");
    buf_add_text(&b, "]");
    struct desk_answer got = patch(&d, CONFIG_MAPS "/x", JSON, buf_text(&b));
    buf_done(&b);
    check_int(got.status, 413);
    check_text(json_get_text(got.body, "message"),
        "The allowed maximum operations in a JSON patch is 10000, got 10001");
    desk_done(&d);
}

TEST(apply_creates_merges_and_names_conflicts)
{
    struct desk d;
    desk_init(&d);
    const char *mine = "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'x'},"
                       "'data':{'a':'1'}}";
    struct desk_answer got = patch(&d, CONFIG_MAPS "/x?fieldManager=m", APPLY, mine);
    check_int(got.status, 201);
    check_text(json_get_text(got.body, "metadata.managedFields.0.operation"), "Apply");
    struct json again = patch(&d, CONFIG_MAPS "/x?fieldManager=m", APPLY, mine).body;
    check_text(json_get_text(again, "metadata.resourceVersion"),
        json_get_text(got.body, "metadata.resourceVersion"));
    const char *theirs = "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'x'},"
                         "'data':{'a':'2'}}";
    got = patch(&d, CONFIG_MAPS "/x?fieldManager=n", APPLY, theirs);
    check_int(got.status, 409);
    check_text(json_get_text(got.body, "message"),
        "Apply failed with 1 conflict: conflict with \"m\": .data.a");
    check_text(json_get_text(got.body, "details.causes.0.field"), ".data.a");
    got = patch(&d, CONFIG_MAPS "/x?fieldManager=n&force=true", APPLY, theirs);
    check_int(got.status, 200);
    check_text(json_get_text(got.body, "data.a"), "2");
    desk_done(&d);
}

TEST(a_status_is_written_by_its_own_path_alone)
{
    struct desk d;
    desk_init(&d);
    const char *widgets = "/apis/example.com/v1/namespaces/default/widgets";
    struct json w = desk_do(&d,
        "POST",
        widgets,
        "{'apiVersion':'example.com/v1','kind':'Widget','metadata':{'name':'w'},'spec':{'a':1},"
        "'status':{'x':1}}");
    check(!json_present(json_get(w, "status")));
    check_int(json_get_int(w, "metadata.generation", 0), 1);
    const char *one = arena_printf(test_arena(), "%s/w", widgets);
    struct desk_answer got = patch(&d,
        arena_printf(test_arena(), "%s/status", one),
        MERGE,
        "{'status':{'x':2},'spec':{'a':9},'metadata':{'labels':{'l':'v'}}}");
    check_int(got.status, 200);
    check_json(json_get(got.body, "spec"), "{'a':1}");
    check_json(json_get(got.body, "status"), "{'x':2}");
    check(!json_present(json_get(got.body, "metadata.labels")));
    check_int(json_get_int(got.body, "metadata.generation", 0), 1);
    got = patch(&d, one, MERGE, "{'status':{'x':3},'spec':{'a':2}}");
    check_json(json_get(got.body, "status"), "{'x':2}");
    check_int(json_get_int(got.body, "metadata.generation", 0), 2);
    desk_done(&d);
}

TEST(a_dry_run_answers_as_if_and_changes_nothing)
{
    struct desk d;
    desk_init(&d);
    desk_do(&d, "POST", CONFIG_MAPS, "{'metadata':{'name':'x'},'data':{'a':'1'}}");
    struct json before = desk_do(&d, "GET", CONFIG_MAPS, NULL);
    check_int(
        desk_ask(&d, "POST", CONFIG_MAPS "?dryRun=All", "{'metadata':{'name':'y'}}").status, 201);
    struct json got = patch(&d, CONFIG_MAPS "/x?dryRun=All", MERGE, "{'data':{'a':'2'}}").body;
    check_text(json_get_text(got, "data.a"), "2");
    check_int(desk_ask(&d, "DELETE", CONFIG_MAPS "/x?dryRun=All", NULL).status, 200);
    check(json_equal(before, desk_do(&d, "GET", CONFIG_MAPS, NULL)));
    desk_done(&d);
}

TEST(an_owner_that_is_named_twice_counts_once)
{
    struct desk d;
    desk_init(&d);
    const char *body = "{'metadata':{'name':'x','ownerReferences':["
                       "{'apiVersion':'v1','kind':'ConfigMap','name':'o','uid':'u'},"
                       "{'apiVersion':'v1','kind':'ConfigMap','name':'o','uid':'u'}]}}";
    struct desk_answer got = desk_ask(&d, "POST", CONFIG_MAPS, body);
    check_int(got.status, 201);
    check_int(json_get(got.body, "metadata.ownerReferences").count, 1);
    check(got.warnings[0] && strstr(got.warnings[0], "duplicate UID(s) observed: u\""));
    desk_done(&d);
}

TEST(fields_that_a_kind_does_not_have_are_warned_of_or_refused)
{
    struct desk d;
    desk_init(&d);
    const char *body =
        "{'metadata':{'name':'x'},'data':{'a':'1','a':'2'},'zz':1,'bb':{'a':1,'a':2}}";
    struct desk_answer got = desk_ask(&d, "POST", CONFIG_MAPS "?fieldValidation=Strict", body);
    check_int(got.status, 400);
    check_text(json_get_text(got.body, "message"),
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: "
        "duplicate field \"data.a\", unknown field \"zz\", unknown field \"bb\"");
    got = desk_ask(&d, "POST", CONFIG_MAPS, body);
    check_int(got.status, 201);
    check_text(got.warnings[0], "299 - \"duplicate field \\\"data.a\\\"\"");
    check_text(got.warnings[1], "299 - \"unknown field \\\"zz\\\"\"");
    check_text(got.warnings[2], "299 - \"unknown field \\\"bb\\\"\"");
    check(!got.warnings[3]);
    got = desk_ask(&d, "PUT", CONFIG_MAPS "/x?fieldValidation=Ignore", body);
    check_int(got.status, 200);
    check(!got.warnings[0]);
    desk_done(&d);
}

/* Containers are changed in place, but not where a copy has them, too. */
TEST(a_json_patch_that_copies_changes_one_place_only)
{
    struct arena *a = test_arena();
    struct error err;
    struct json got, document = test_json("{'a': {'l': [1, 2], 'm': {'k': 1}}}");
    struct json operations = test_json(
        "[{'op': 'add', 'path': '/a/l/-', 'value': 3}, {'op': 'add', 'path': '/a/m/n', 'value': 2},"
        " {'op': 'copy', 'from': '/a', 'path': '/b'},"
        " {'op': 'add', 'path': '/a/l/0', 'value': 0}, {'op': 'remove', 'path': '/b/l/1'},"
        " {'op': 'replace', 'path': '/b/m/k', 'value': 9}, {'op': 'remove', 'path': '/a/m/n'},"
        " {'op': 'move', 'from': '/b/m', 'path': '/c'}, {'op': 'add', 'path': '/c/z', 'value': "
        "7}]");
    check(json_patch(a, document, operations, NULL, &got, &err));
    check_json(got,
        "{'a': {'l': [0, 1, 2, 3], 'm': {'k': 1}}, 'b': {'l': [1, 3]}, 'c': {'k': 9, 'n': 2, 'z': "
        "7}}");
    check_json(document, "{'a': {'l': [1, 2], 'm': {'k': 1}}}");
}
