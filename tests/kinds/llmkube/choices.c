#include "kinds/llmkube/isvc.h"

#include "tests/test.h"

static struct json completed(const char *spec)
{
    struct json template =
        test_json(arena_printf(test_arena(), "{'metadata': {}, 'spec': %s}", spec));
    return json_get(choices_complete(test_arena(), template), "spec");
}

TEST(defaults_inside_a_choice_are_written_out)
{
    check_json(completed("{'containers': [{'livenessProbe': {'httpGet': {'port': 1}}}]}"),
        "{'containers': [{'livenessProbe': {'httpGet': {'port': 1, 'scheme': 'HTTP'}}}]}");
    check_json(completed("{'volumes': [{'name': 'v', 'configMap': {'name': 'c'}}]}"),
        "{'volumes': [{'name': 'v', 'configMap': {'name': 'c', 'defaultMode': 420}}]}");
    check_json(
        completed("{'containers': [{'env': [{'name': 'A', 'valueFrom': {'fieldRef': {'fieldPath': "
                  "'x'}}}]}]}"),
        "{'containers': [{'env': [{'name': 'A', 'valueFrom': {'fieldRef': {'fieldPath': 'x', "
        "'apiVersion': 'v1'}}}]}]}");
}

TEST(what_the_user_chose_inside_a_choice_stays)
{
    static const char spec[] = "{'volumes': [{'name': 'v', 'secret': {'secretName': 's', "
                               "'defaultMode': 256}}, {'name': 'e', 'emptyDir': {}}]}";
    check_json(completed(spec), spec);
    static const char other[] = "{'volumes': [{'name': 'p', 'projected': {'defaultMode': 420, "
                                "'sources': [{'configMap': {'name': 'c'}}]}}]}";
    check_json(completed(other), other);
}
