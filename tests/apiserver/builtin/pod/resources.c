#include "tests/apiserver/builtin/pod/pod_case.h"

#define AT "spec.containers[0]."

TEST(wrong_resources_and_resizing_are_told_with_place_and_reason)
{
    static const struct pod_case cases[] = {
        { "'resources': {'limits': {'x.io/y': '1', 'count/z': '2', 'hugepages-2Mi': '4Mi', 'cpu': "
          "'1n'}}",
            NULL,
            NULL },
        { "'resources': {'limits': {'pods': '1'}}",
            AT "resources.limits[pods]",
            "Invalid value: \"pods\": must be a standard resource for containers" },
        { "'resources': {'limits': {'swap': '1'}}",
            AT "resources.limits[swap]",
            "Invalid value: \"swap\": must be a standard resource type or fully qualified" },
        { "'resources': {'limits': {'/a': '1'}}",
            AT "resources.limits[/a]",
            "Invalid value: \"/a\": prefix part must be non-empty" },
        { "'resources': {'limits': {'requests.x.io/y': '1'}}",
            AT "resources.limits[requests.x.io/y]",
            "Invalid value: \"requests.x.io/y\": doesn't follow extended resource name standard" },
        { "'resources': {'limits': {'cpu': '1', 'hugepages-2Mi': '3Mi'}}",
            AT "resources.limits[hugepages-2Mi]",
            "Invalid value: \"3Mi\": 3Mi is not positive integer multiple of hugepages-2Mi" },
        { "'resizePolicy': [{'resourceName': 'cpu', 'restartPolicy': 'NotRequired'}]", NULL, NULL },
        { "'resizePolicy': [{'resourceName': '', 'restartPolicy': 'NotRequired'}]",
            AT "resizePolicy",
            "Required value" },
        { "'resizePolicy': [{'resourceName': 'x', 'restartPolicy': 'NotRequired'}]",
            AT "resizePolicy",
            "Unsupported value: \"x\": supported values: \"cpu\", \"memory\"" },
        { "'resizePolicy': [{'resourceName': 'cpu', 'restartPolicy': ''}]",
            AT "resizePolicy",
            "Required value" },
        { "'resizePolicy': [{'resourceName': 'cpu', 'restartPolicy': 'x'}]",
            AT "resizePolicy",
            "Unsupported value: \"x\": supported values: \"NotRequired\", \"RestartContainer\"" },
        { "'resizePolicy': [{'resourceName': 'cpu', 'restartPolicy': 'RestartContainer'}]",
            AT "resizePolicy",
            "Invalid value: \"RestartContainer\": must be 'NotRequired' when pod `restartPolicy` "
            "is 'Never'",
            "'restartPolicy': 'Never'," },
        { "'resizePolicy': [{'resourceName': 'cpu', 'restartPolicy': 'NotRequired'}, "
          "{'resourceName': 'cpu', 'restartPolicy': 'NotRequired'}]",
            AT "resizePolicy[1]",
            "Duplicate value: \"cpu\"" },
        { 0 },
    };
    pod_cases_check(cases);
}
