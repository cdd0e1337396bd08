#include "merge/strategic.h"
#include "tests/test.h"

/* A patch of a Pod's spec. */
static struct json patched(const char *live, const char *patch)
{
    struct error err;
    struct json ret;
    struct schemas *all = schemas_new();
    const struct schema *s = schema_of(all, "", "v1", "Pod");
    struct json spec = json_map(test_arena(), { "spec", test_json(live) });
    struct json change = json_map(test_arena(), { "spec", test_json(patch) });
    bool ok = strategic_merge(test_arena(), s, spec, change, &ret, &err);
    schemas_free(all);
    return ok ? json_member(ret, "spec") : json_strf(test_arena(), "%s", err.text);
}

TEST(strategic_merges_lists_by_key_and_replaces_others)
{
    check_json(patched("{'containers': [{'name': 'a', 'image': 'x', 'args': ['1', '2']}]}",
                   "{'containers': [{'name': 'b', 'image': 'y'}, {'name': 'a', 'args': ['3']}]}"),
        "{'containers': [{'name': 'b', 'image': 'y'}, {'name': 'a', 'image': 'x', 'args': "
        "['3']}]}");
    check_json(patched("{'tolerations': [{'key': 'a'}]}", "{'tolerations': [{'key': 'b'}]}"),
        "{'tolerations': [{'key': 'b'}]}");
    check_json(patched("{'nodeSelector': {'a': '1', 'b': '2'}}", "{'nodeSelector': {'a': null}}"),
        "{'nodeSelector': {'b': '2'}}");
}

TEST(strategic_keeps_what_only_the_server_has_where_it_stood)
{
    check_json(patched("{'volumes': [{'name': 'a'}, {'name': 'b'}, {'name': 'c'}]}",
                   "{'volumes': [{'name': 'd'}, {'name': 'c'}]}"),
        "{'volumes': [{'name': 'd'}, {'name': 'a'}, {'name': 'b'}, {'name': 'c'}]}");
}

TEST(strategic_obeys_directives)
{
    check_json(patched("{'volumes': [{'name': 'a'}, {'name': 'b'}]}",
                   "{'volumes': [{'name': 'a', '$patch': 'delete'}]}"),
        "{'volumes': [{'name': 'b'}]}");
    check_json(patched("{'volumes': [{'name': 'a'}]}",
                   "{'volumes': [{'name': 'b'}, {'$patch': 'replace'}]}"),
        "{'volumes': [{'name': 'b'}]}");
    check_json(patched("{'nodeSelector': {'a': '1'}}",
                   "{'nodeSelector': {'b': '2', '$patch': 'replace'}}"),
        "{'nodeSelector': {'b': '2'}}");
    check_json(patched("{'volumes': [{'name': 'a'}, {'name': 'b'}]}",
                   "{'$setElementOrder/volumes': [{'name': 'b'}, {'name': 'a'}]}"),
        "{'volumes': [{'name': 'b'}, {'name': 'a'}]}");
    check_json(patched("{'nodeSelector': {'a': '1', 'b': '2'}}",
                   "{'nodeSelector': {'b': '3', '$retainKeys': ['b']}}"),
        "{'nodeSelector': {'b': '3'}}");
}

TEST(strategic_takes_scalars_out_of_a_list)
{
    struct error err;
    struct json ret,
        live = test_json("{'metadata': {'finalizers': ['a', 'b']}}"),
        patch = test_json("{'metadata': {'$deleteFromPrimitiveList/finalizers': ['a']}}");
    struct schemas *all = schemas_new();
    const struct schema *s = schema_of(all, "", "v1", "Pod");
    check(strategic_merge(test_arena(), s, live, patch, &ret, &err));
    check_json(ret, "{'metadata': {'finalizers': ['b']}}");
    schemas_free(all);
}

TEST(strategic_refuses_what_it_cannot_place)
{
    check_json(patched("{'volumes': [{'name': 'a'}]}", "{'volumes': [{'emptyDir': {}}]}"),
        "'map: map[emptyDir:map[]] does not contain declared merge key: name'");
    check_json(patched("{}", "{'$patch': 'x'}"), "'unknown patch type: x in map: map[$patch:x]'");
    check_json(patched("{'volumes': [{'name': 'a'}]}",
                   "{'volumes': [{'name': 'b'}], '$setElementOrder/volumes': 'x'}"),
        "'expected a []interface {}, but received a string'");
    check_json(
        patched("{'nodeSelector': {}}", "{'nodeSelector': {'b': '3', '$retainKeys': ['a']}}"),
        "'invalid patch format of retainKeys'");
}
