#include "merge/managers.h"
#include "tests/test.h"

static struct json entry(const char *manager, const char *operation, const char *fields)
{
    return json_map(test_arena(),
        { "manager", json_str(manager) },
        { "operation", json_str(operation) },
        { "apiVersion", json_str("apps/v1") },
        { "fieldsType", json_str("FieldsV1") },
        { "fieldsV1", test_json(fields) });
}

TEST(replicas_are_owned_through_the_scale)
{
    struct arena *a = test_arena();
    struct managers_scale_path path = { .api_version = "apps/v1" };
    struct error err;
    struct json scale, after;
    check(field_path_parse(a, ".spec.replicas", &path.path, &err));
    const struct managers_scale_paths paths = { &path, 1 };
    struct json parent = json_list(a,
        entry("us", "Apply", "{'f:spec': {'f:paused': {}, 'f:replicas': {}}}"),
        entry("else", "Apply", "{'f:spec': {'f:paused': {}}}"));
    check(managers_to_scale(a, parent, &paths, &scale, &err));
    check_int(scale.count, 1);
    check_text(json_get_text(scale, "0.manager"), "us");
    check_text(json_get_text(scale, "0.apiVersion"), "autoscaling/v1");
    check_json(json_get(scale, "0.fieldsV1"), "{'f:spec': {'f:replicas': {}}}");
    /* Nobody changed it. */
    check(managers_from_scale(a, parent, scale, &paths, "apps/v1", &after, &err));
    check_int(after.count, 2);
    check_json(json_get(after, "1.fieldsV1"), "{'f:spec': {'f:paused': {}, 'f:replicas': {}}}");
    /* An autoscaler took it. */
    struct json taken = json_with_member(a,
        entry("hpa", "Update", "{'f:spec': {'f:replicas': {}}}"),
        "subresource",
        json_str("scale"));
    check(managers_from_scale(a, parent, json_list(a, taken), &paths, "apps/v1", &after, &err));
    check_int(after.count, 3);
    check_json(json_get(after, "1.fieldsV1"), "{'f:spec': {'f:paused': {}}}");
    check_text(json_get_text(after, "2.manager"), "hpa");
    check_text(json_get_text(after, "2.subresource"), "scale");
}
