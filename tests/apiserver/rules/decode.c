#include "apiserver/rules/decode.h"
#include "tests/test.h"

static struct field_errors found;

/* A Deployment's spec, read and printed. */
static struct json decoded(const char *spec)
{
    struct schemas *all = schemas_new();
    field_errors_init(&found, test_arena());
    struct json object = json_map(test_arena(), { "spec", test_json(spec) });
    struct json got =
        decode_object(test_arena(), schema_of(all, "apps", "v1", "Deployment"), object, &found);
    schemas_free(all);
    return json_member(got, "spec");
}

TEST(decode_prints_zero_values_as_go_does)
{
    check_json(decoded("{'replicas': 0, 'paused': false, 'selector': {'matchLabels': {}},"
                       " 'template': {'spec': {'containers': [{'name': 'a', 'command': []}]}}}"),
        "{'replicas': 0, 'selector': {}, 'strategy': {}, 'template': {'metadata': {}, 'spec':"
        " {'containers': [{'name': 'a', 'resources': {}}]}}}");
    check_json(decoded("{'template': {'spec': {}}}"),
        "{'selector': null, 'strategy': {}, 'template': {'metadata': {}, 'spec':"
        " {'containers': null}}}");
    check_int((int64_t)found.count, 0);
}

TEST(decode_makes_quantities_and_nulls_canonical)
{
    struct json got =
        decoded("{'template': {'spec': {'containers': [{'name': 'a', 'args': [null],"
                " 'resources': {'limits': {'cpu': 1.5, 'memory': '1024Mi', 'x/y': null}}}]}}}");
    check_json(json_get(got, "template.spec.containers.0"),
        "{'name': 'a', 'args': [''], 'resources': {'limits': {'cpu': '1500m', 'memory': '1Gi',"
        " 'x/y': '0'}}}");
}

TEST(decode_tells_unknown_fields)
{
    decoded("{'nonsense': 1, 'template': {'spec': {'containers': [{'name': 'a', 'imag': 'b'}]}}}");
    check_int((int64_t)found.count, 2);
    check_text(found.items[0].path, "spec.template.spec.containers[0].imag");
    check_text(found.items[1].path, "spec.nonsense");
}

TEST(decode_says_what_go_says_of_wrong_types)
{
    static const struct {
        const char *spec, *message;
    } cases[] = {
        { "{'replicas': '3'}",
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of "
            "type int32" },
        { "{'replicas': 99999999999}",
            "json: cannot unmarshal number 99999999999 into Go struct field "
            "DeploymentSpec.spec.replicas of type int32" },
        { "{'template': {'spec': {'restartPolicy': 5}}}",
            "json: cannot unmarshal number into Go struct field "
            "PodSpec.spec.template.spec.restartPolicy of type v1.RestartPolicy" },
        { "{'template': {'spec': {'containers': [5]}}}",
            "json: cannot unmarshal number into Go struct field "
            "PodSpec.spec.template.spec.containers of type v1.Container" },
        { "{'template': {'metadata': {'labels': {'a': true}}}}",
            "json: cannot unmarshal bool into Go struct field "
            "ObjectMeta.spec.template.metadata.labels of type string" },
        { "{'template': {'metadata': {'creationTimestamp': '2026-1'}}}",
            "\"2026-1\" is not a time such as 2026-01-02T03:04:05Z" },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        decoded(cases[i].spec);
        check_int((int64_t)found.count, 1);
        check_int(found.items[0].type, FIELD_TYPE_INVALID);
        check_text(found.items[0].message, cases[i].message);
    }
}
