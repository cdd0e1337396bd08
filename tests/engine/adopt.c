#include "engine/adopt.h"

#include "tests/test.h"

static const char *const upstream[] = { "manager", NULL };

static struct json object_of(const char *managed_fields)
{
    return json_fields(test_arena(),
        { "metadata.resourceVersion", json_str("7") },
        { "metadata.managedFields", test_json(managed_fields) });
}

TEST(what_an_older_operator_updated_becomes_ours_by_apply)
{
    struct json object =
        object_of("[{'manager': 'other', 'operation': 'Update', 'fieldsV1': {'f:data': {}}},"
                  " {'manager': 'manager', 'operation': 'Update', 'apiVersion': 'v1',"
                  "  'fieldsV1': {'f:spec': {'f:a': {}}}},"
                  " {'manager': 'manager', 'operation': 'Update', 'subresource': 'status',"
                  "  'fieldsV1': {'f:status': {'f:x': {}}}}]");
    check(adopt_wanted(object, upstream, "") && adopt_wanted(object, upstream, "status"));
    struct json patch = adopt_patch(test_arena(), object, upstream, "", "us");
    check_json(patch,
        "[{'op': 'replace', 'path': '/metadata/managedFields', 'value': ["
        "  {'manager': 'other', 'operation': 'Update', 'fieldsV1': {'f:data': {}}},"
        "  {'manager': 'manager', 'operation': 'Update', 'subresource': 'status',"
        "   'fieldsV1': {'f:status': {'f:x': {}}}},"
        "  {'manager': 'us', 'operation': 'Apply', 'apiVersion': 'v1',"
        "   'fieldsV1': {'f:spec': {'f:a': {}}}}]},"
        " {'op': 'replace', 'path': '/metadata/resourceVersion', 'value': '7'}]");
}

TEST(what_is_taken_over_is_added_to_what_is_ours_already)
{
    struct json object = object_of("[{'manager': 'us', 'operation': 'Apply',"
                                   "  'fieldsV1': {'f:spec': {'f:b': {}}}},"
                                   " {'manager': 'manager', 'operation': 'Update',"
                                   "  'fieldsV1': {'f:spec': {'.': {}, 'f:a': {}}}}]");
    struct json patch = adopt_patch(test_arena(), object, upstream, "", "us");
    check_json(json_get(patch, "0.value"),
        "[{'manager': 'us', 'operation': 'Apply',"
        "  'fieldsV1': {'f:spec': {'.': {}, 'f:a': {}, 'f:b': {}}}}]");
}

TEST(there_is_nothing_to_take_over_from_strangers_or_from_ourselves)
{
    check(!adopt_wanted(object_of("[]"), upstream, ""));
    check(!adopt_wanted(
        object_of("[{'manager': 'manager', 'operation': 'Apply', 'fieldsV1': {}},"
                  " {'manager': 'kubectl', 'operation': 'Update', 'fieldsV1': {}},"
                  " {'manager': 'manager', 'operation': 'Update', 'subresource': 'status',"
                  "  'fieldsV1': {}}]"),
        upstream,
        ""));
}
