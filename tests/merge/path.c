#include "merge/fieldset.h"
#include "tests/test.h"

static const char *again(const char *text)
{
    struct field_path path;
    struct error err;
    if (!field_path_parse(test_arena(), text, &path, &err))
        return arena_strdup(test_arena(), err.text);
    return field_path_text(test_arena(), &path);
}

TEST(field_paths_print_as_they_were_typed)
{
    static const char *const texts[] = {
        ".spec.template.spec.containers[name=\"x\"].image",
        ".spec.ports[port=80,protocol=\"TCP\"].targetPort",
        ".metadata.finalizers[=\"a.b/c\"]",
        ".spec.numbers[=-3]",
        ".list[0]",
        ".a[k=true]",
        ".a[k=\"quote \\\" and \\\\\"]",
    };
    for (size_t i = 0; i < lengthof(texts); i++)
        check_text(again(texts[i]), texts[i]);
}

TEST(field_paths_may_be_typed_in_other_ways)
{
    check_text(again("spec.replicas"), ".spec.replicas");
    check_text(again(".metadata.labels[\"app.kubernetes.io/name\"]"),
        ".metadata.labels.app.kubernetes.io/name");
    check_text(
        again(".spec.ports[protocol=\"TCP\",port=80]"), ".spec.ports[port=80,protocol=\"TCP\"]");
}

TEST(field_paths_that_are_none_say_where)
{
    struct field_path path;
    struct error err;
    struct arena *a = test_arena();
    check_fails(field_path_parse(a, ".spec..x", &path, &err), err, "expected a name at 7");
    check_fails(field_path_parse(a, ".a[b]", &path, &err), err, "expected a key and =");
    check_fails(field_path_parse(a, ".a[b=]", &path, &err), err, "expected a text in quotes");
    check_fails(field_path_parse(a, ".a[b=1", &path, &err), err, "expected ]");
    check_fails(field_path_parse(a, ".a[=\"x\"", &path, &err), err, "expected ]");
    check_fails(field_path_parse(a, ".a[b={}]", &path, &err), err, "expected a text in quotes");
    check_fails(field_path_parse(a, ".a[99999999999999999999]", &path, &err), err, "an index");
    check_fails(field_path_parse(a, ".a]b", &path, &err), err, "expected . or [");
    char deep[2 * FIELD_PATH_DEPTH_MAX + 5] = "";
    for (size_t i = 0; i + 2 < sizeof(deep); i += 2)
        memcpy(deep + i, ".a", 3);
    check_fails(field_path_parse(a, deep, &path, &err), err, "too deep");
}

TEST(path_elements_sort_as_in_the_api_server)
{
    const struct path_element sorted[] = {
        path_field("a"),
        path_field("b"),
        { .kind = PATH_KEY, .value = test_json("{'a': 1}") },
        { .kind = PATH_KEY, .value = test_json("{'a': 1, 'b': 0}") },
        { .kind = PATH_KEY, .value = test_json("{'a': 2}") },
        { .kind = PATH_KEY, .value = test_json("{'a': 'x'}") },
        { .kind = PATH_KEY, .value = test_json("{'a': true}") },
        { .kind = PATH_VALUE, .value = json_int(1) },
        { .kind = PATH_VALUE, .value = json_real(1.5) },
        { .kind = PATH_VALUE, .value = json_int(2) },
        { .kind = PATH_VALUE, .value = json_str("1") },
        { .kind = PATH_VALUE, .value = json_bool(false) },
        { .kind = PATH_VALUE, .value = json_null() },
        { .kind = PATH_INDEX, .value = json_int(0) },
        { .kind = PATH_INDEX, .value = json_int(10) },
    };
    for (size_t i = 0; i < lengthof(sorted); i++)
        for (size_t j = 0; j < lengthof(sorted); j++) {
            int order = path_element_compare(&sorted[i], &sorted[j]);
            check_int((order > 0) - (order < 0), (i > j) - (i < j));
        }
}
