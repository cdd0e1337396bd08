#include "tests/apiserver/builtin/pod/pod_case.h"

#define AT "spec.containers[0]."

TEST(wrong_containers_are_told_with_place_and_reason)
{
    static const struct pod_case cases[] = {
        { "'restartPolicy': ''",
            AT "restartPolicy",
            "Unsupported value: \"\": supported values: \"Always\", \"Never\", \"OnFailure\"" },
        { "'restartPolicyRules': [{'action': 'Restart', 'exitCodes': {'operator': 'In', 'values': "
          "[1]}}]",
            AT "restartPolicy",
            "Required value: must specify restartPolicy when restart rules are used" },
        { "'restartPolicy': 'Never', 'restartPolicyRules': [{'action': 'RestartAllContainers', "
          "'exitCodes': {'operator': 'NotIn'}}]",
            NULL,
            NULL },
        { "'restartPolicy': 'Never', 'restartPolicyRules': [{'exitCodes': {'operator': 'In'}}]",
            AT "restartPolicyRules[0].action",
            "Unsupported value: \"\": supported values: \"Restart\", \"RestartAllContainers\"" },
        { "'restartPolicy': 'Never', 'restartPolicyRules': [{'action': 'Restart'}]",
            AT "restartPolicyRules[0].exitCodes",
            "Required value: must be specified" },
        { "'restartPolicy': 'Never', 'restartPolicyRules': [{'action': 'Restart', 'exitCodes': "
          "{'operator': 'X'}}]",
            AT "restartPolicyRules[0].exitCodes.operator",
            "Unsupported value: \"X\": supported values: \"In\", \"NotIn\"" },
        { "'imagePullPolicy': 'X'",
            AT "imagePullPolicy",
            "Unsupported value: \"X\": supported values: \"Always\", \"IfNotPresent\", \"Never\"" },
        { "'ports': [{'containerPort': 1, 'hostPort': 2}, {'containerPort': 3, 'hostPort': 2}]",
            AT "ports[1].hostPort",
            "Duplicate value: \"TCP//2\"" },
        { 0 },
    };
    pod_cases_check(cases);
}

/* The first thing that is wrong with these init containers, beside a container `c`. */
static const char *wrong(const char *init)
{
    const char *text = arena_printf(test_arena(),
        "{'containers': [{'name': 'c', 'image': 'i'}], 'initContainers': [%s]}",
        init);
    struct field_errors e;
    field_errors_init(&e, test_arena());
    pod_spec_check(&e, pod_spec_fill(test_arena(), test_json(text)), "spec");
    return field_errors_text(&e);
}

TEST(init_containers_have_probes_only_if_they_stay)
{
    check_text(wrong("{'name': 'a', 'image': 'i', 'livenessProbe': {'exec': {}}}"),
        "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers "
        "without restartPolicy=Always");
    check_text(wrong("{'name': 'a', 'image': 'i', 'livenessProbe': {'exec': {}},"
                     " 'restartPolicy': 'Always'}"),
        "spec.initContainers[0].livenessProbe.exec.command: Required value");
    check_text(wrong("{'name': 'c', 'image': 'i'}"),
        "spec.initContainers[0].name: Duplicate value: \"c\"");
    /* One after the other they can have the same port. */
    const char *ports =
        "{'name': 'a', 'image': 'i', 'ports': [{'containerPort': 1, 'hostPort': 1}]}"
        ", {'name': 'b', 'image': 'i', 'ports': [{'containerPort': 1, 'hostPort': "
        "1}]}";
    check_text(wrong(ports), "");
}

TEST(pod_templates_keep_host_ports_unsaid_and_have_no_ephemeral_containers)
{
    struct field_errors e;
    struct json object = test_json(
        "{'template': {'spec': {'hostNetwork': true, 'containers': [{'name': 'c', 'image': 'i',"
        " 'ports': [{'containerPort': 1}]}], 'ephemeralContainers': [{'name': 'e'}]}}}");
    object = pod_template_fill(test_arena(), object, "template");
    check(!json_present(json_get(object, "template.spec.containers.0.ports.0.hostPort")));
    field_errors_init(&e, test_arena());
    pod_template_check(&e, json_member(object, "template"), "template");
    check_text(field_errors_text(&e),
        "template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod "
        "template");
}
