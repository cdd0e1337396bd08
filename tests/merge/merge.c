#include "merge/merge.h"
#include "merge/apply.h"
#include "tests/test.h"

static struct schemas *kinds;

static const struct schema *deployments(void)
{
    if (!kinds)
        kinds = schemas_new();
    return schema_of(kinds, "apps", "v1", "Deployment");
}

static struct json deployment(const char *rest)
{
    return json_overlay(test_arena(),
        test_json("{'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': 'x'}}"),
        test_json(rest));
}

/* The object after we applied a configuration to it. */
static struct json applied(struct json live, struct json config, const char *manager)
{
    struct apply_request r = {
        .schema = deployments(),
        .api_version = "apps/v1",
        .manager = manager,
        .subresource = "",
        .now = "2026-01-01T00:00:00Z",
        .force = true,
    };
    struct apply_result result;
    struct error err;
    check(apply_config(test_arena(), &r, live, config, &result, &err));
    return result.object;
}

static const char wanted_text[] =
    "{'metadata': {'name': 'x', 'labels': {'a': 'b'}}, 'spec': {'replicas': 2, 'template': {'spec':"
    " {'containers': [{'name': 'one', 'image': 'i', 'args': ['-v'], 'tty': false,"
    " 'ports': [{'containerPort': 80}], 'resources': {'limits': {'cpu': '1000m'}}},"
    " {'name': 'two', 'image': 'j', 'env': [{'name': 'B', 'value': ''}, {'name': 'A'}]}]}}}}";

static const char *difference(struct json live, const char *wanted)
{
    struct merge_owned owned;
    struct json config = deployment(wanted);
    merge_owned(test_arena(), deployments(), live, "us", "", &owned);
    struct merge_differences d = merge_difference(test_arena(), deployments(), &owned, config);
    check(merge_equal(deployments(), &owned, config) == (d.count == 0));
    const char *text = "";
    for (size_t i = 0; i < d.count; i++)
        text = arena_printf(test_arena(),
            "%s%s%s %s",
            text,
            i ? ", " : "",
            merge_change_name(d.items[i].what),
            d.items[i].text);
    return text;
}

TEST(what_was_just_applied_needs_no_write)
{
    struct json live = applied(json_none, deployment(wanted_text), "us");
    check_text(difference(live, wanted_text), "");
    const struct fieldset *set;
    struct error err;
    check(merge_set_of(test_arena(), deployments(), deployment(wanted_text), &set, &err));
    check(merge_set_equal_entry(test_arena(), set, live, "us", "", NULL));
}

TEST(what_others_and_defaults_add_is_not_compared)
{
    struct json live = applied(json_none, deployment(wanted_text), "us");
    live = applied(live,
        deployment("{'metadata': {'name': 'x', 'labels': {'their': 's'}, 'annotations':"
                   " {'a': 'b'}}, 'spec': {'template': {'spec': {'containers': [{'name': 'side',"
                   " 'image': 's'}, {'name': 'one', 'env': [{'name': 'X'}]}]}}}}"),
        "them");
    live = json_with(test_arena(), live, "spec.progressDeadlineSeconds", json_int(600));
    check_text(difference(live, wanted_text), "");
}

TEST(the_same_in_other_words_needs_no_write)
{
    struct json live = applied(json_none, deployment(wanted_text), "us");
    check_text(difference(live,
                   "{'metadata': {'name': 'x', 'uid': 'u', 'labels': {'a': 'b'}}, 'spec':"
                   " {'replicas': 2, 'template': {'spec': {'containers': [{'name': 'one', 'image':"
                   " 'i', 'args': ['-v'], 'tty': false, 'ports': [{'containerPort': 80}],"
                   " 'volumeMounts': [], 'resources': {'limits': {'cpu': 1}}}, {'name': 'two',"
                   " 'image': 'j', 'env': [{'name': 'B', 'value': ''}, {'name': 'A'}]}]}}}}"),
        "");
}

TEST(an_empty_text_that_the_server_filled_in_needs_no_write)
{
#define VOLUME(type)                                                                               \
    "{'spec': {'template': {'spec': {'volumes': [{'name': 'v', 'scaleIO': {'gateway': 'g',"        \
    " 'fsType': '" type "'}}]}}}}"
    struct json xfs = applied(json_none, deployment(VOLUME("xfs")), "us");
    struct json ext4 = applied(json_none, deployment(VOLUME("ext4")), "us");
    check_text(difference(xfs, VOLUME("")), "");
    check_text(difference(ext4, VOLUME("")),
        "changed .spec.template.spec.volumes[name=\"v\"].scaleIO.fsType");
#undef VOLUME
}

/* Found by the simulator, seed 981117. */
TEST(a_zero_of_a_probe_that_the_server_filled_in_needs_no_write)
{
#define PROBE(seconds)                                                                             \
    "{'spec': {'template': {'spec': {'containers': [{'name': 'c', 'readinessProbe': {"             \
    "'timeoutSeconds': " seconds "}}]}}}}"
    struct json one = applied(json_none, deployment(PROBE("1")), "us");
    struct json two = applied(json_none, deployment(PROBE("2")), "us");
    check_text(difference(one, PROBE("0")), "");
    check_text(difference(two, PROBE("0")),
        "changed .spec.template.spec.containers[name=\"c\"].readinessProbe.timeoutSeconds");
#undef PROBE
}

TEST(each_kind_of_difference_is_named)
{
    struct json live = applied(json_none,
        deployment("{'spec': {'replicas': 2, 'paused': true, 'template': {'spec': {'containers':"
                   " [{'name': 'a', 'image': 'i'}, {'name': 'b', 'image': 'j'}]}}}}"),
        "us");
    check_text(difference(live,
                   "{'spec': {'replicas': 3, 'minReadySeconds': 1, 'template': {'spec':"
                   " {'containers': [{'name': 'b', 'image': 'j'}, {'name': 'a', 'image': 'k'},"
                   " {'name': 'c'}]}}}}"),
        "added .spec.minReadySeconds, removed .spec.paused, changed .spec.replicas, "
        "moved .spec.template.spec.containers, "
        "changed .spec.template.spec.containers[name=\"a\"].image, "
        "added .spec.template.spec.containers[name=\"c\"], "
        "added .spec.template.spec.containers[name=\"c\"].name");
}

TEST(an_entry_that_is_missing_foreign_or_moved_by_hand_is_written)
{
    struct json live = applied(json_none, deployment("{'spec': {'replicas': 1}}"), "them");
    check_text(difference(live, "{'spec': {'replicas': 1}}"), "added .spec.replicas");
    /* Somebody who owned more by update is made us. */
    struct json taken = test_json("[{'manager': 'us', 'operation': 'Apply', 'apiVersion': "
                                  "'apps/v1', 'fieldsType': 'FieldsV1',"
                                  " 'fieldsV1': {'f:spec': {'.': {}, 'f:replicas': {}}}}]");
    live = json_with(test_arena(), live, "metadata.managedFields", taken);
    check_text(difference(live, "{'spec': {'replicas': 1}}"), "removed .spec");
    /* Of another version. */
    live = applied(json_none, deployment("{'spec': {'replicas': 1}}"), "us");
    live = json_with(test_arena(), live, "apiVersion", json_str("apps/v2"));
    check_text(difference(live, "{'spec': {'replicas': 1}}"), "changed .");
    /* That nobody can read. */
    live = json_with(test_arena(),
        live,
        "metadata.managedFields",
        test_json("[{'manager': 'us', 'operation': 'Apply', 'fieldsV1': {'nonsense': {}}}]"));
    check_text(difference(live, "{'spec': {'replicas': 1}}"), "added .spec.replicas");
}

TEST(a_value_that_another_manager_changed_is_written)
{
    struct json live = applied(json_none, deployment(wanted_text), "us");
    live = json_with(test_arena(), live, "spec.replicas", json_int(5));
    check_text(difference(live, wanted_text), "changed .spec.replicas");
    live = applied(json_none, deployment(wanted_text), "us");
    live = applied(live, deployment("{'spec': {'replicas': 5}}"), "them");
    check_text(difference(live, wanted_text), "added .spec.replicas");
}

TEST(the_owners_of_a_field_are_found)
{
    struct json live = applied(json_none, deployment(wanted_text), "us");
    live = applied(live, deployment("{'metadata': {'name': 'x', 'labels': {'a': 'b'}}}"), "them");
    struct field_path path;
    struct error err;
    check(field_path_parse(test_arena(), ".metadata.labels.a", &path, &err));
    struct merge_managers who = merge_field_managers(test_arena(), live, &path);
    check_int((int64_t)who.count, 2);
    check_text(who.items[0].name, "them");
    check_text(who.items[1].name, "us");
    check(who.items[1].applies);
    /* Inside an atomic value. */
    check(field_path_parse(
        test_arena(), ".spec.template.spec.containers[name=\"one\"].args[0]", &path, &err));
    who = merge_field_managers(test_arena(), live, &path);
    check_int((int64_t)who.count, 1);
    check(field_path_parse(test_arena(), ".spec.paused", &path, &err));
    check_int((int64_t)merge_field_managers(test_arena(), live, &path).count, 0);
}

TEST(the_self_check_names_the_first_path_that_differs)
{
    struct json live = applied(json_none, deployment("{'spec': {'replicas': 1}}"), "us");
    const struct fieldset *set;
    const char *text;
    struct error err;
    struct json more = deployment("{'spec': {'replicas': 1, 'paused': true}}");
    check(merge_set_of(test_arena(), deployments(), more, &set, &err));
    check(!merge_set_equal_entry(test_arena(), set, live, "us", "", &text));
    check_text(text, "+.spec.paused");
    check(merge_set_of(test_arena(), deployments(), deployment("{}"), &set, &err));
    check(!merge_set_equal_entry(test_arena(), set, live, "us", "", &text));
    check_text(text, "-.spec.replicas");
    check(!merge_set_equal_entry(test_arena(), set, live, "us", "status", &text) ==
          !fieldset_is_empty(set));
    check_fails(merge_set_of(test_arena(),
                    deployments(),
                    deployment("{'spec': {'template': {'spec': {'containers': [{'name': 'a'},"
                               " {'name': 'a'}]}}}}"),
                    &set,
                    &err),
        err,
        "duplicate entries for key [name=\"a\"]");
}
