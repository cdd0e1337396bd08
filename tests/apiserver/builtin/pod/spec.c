#include "apiserver/builtin/pod/pod.h"
#include "tests/test.h"

#define SUBDOMAIN                                                                                  \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "   \
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "  \
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define KEY                                                                                        \
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "  \
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " \
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define VALUE                                                                                      \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "    \
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value', " \
    " or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

/* A part of a spec, and the one thing that is wrong with it. */
struct row {
    const char *part, *field, *message;
};

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct field_errors e;
        field_errors_init(&e, test_arena());
        struct json spec = test_json(arena_printf(
            test_arena(), "{%s, 'containers': [{'name': 'c', 'image': 'i'}]}", rows[i].part));
        pod_spec_check(&e, spec, "spec");
        check_text(field_errors_text(&e),
            rows[i].field
                ? arena_printf(test_arena(), "spec.%s: %s", rows[i].field, rows[i].message)
                : "");
    }
}

#define CONTEXT(part) "'securityContext': {" part "}"

TEST(pod_spec_names_what_is_wrong_with_its_rights)
{
    static const struct row rows[] = {
        { CONTEXT("'sysctls': [{'name': 'net/ipv4.a_b'}, {'name': 'kernel.sem'}]"), NULL, NULL },
        { CONTEXT("'sysctls': [{}]"), "securityContext.sysctls[0].name", "Required value" },
        { CONTEXT("'sysctls': [{'name': 'a..b'}]"),
            "securityContext.sysctls[0].name",
            "Invalid value: \"a..b\": must have at most 253 characters and match regex "
            "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$" },
        { CONTEXT("'sysctls': [{'name': 'a'}, {'name': 'a'}]"),
            "securityContext.sysctls[1].name",
            "Duplicate value: \"a\"" },
        { CONTEXT("'sysctls': [{'name': 'kernel/sem'}]") ", 'hostIPC': true",
            "securityContext.sysctls[0].name",
            "Invalid value: \"kernel/sem\": may not be specified when 'hostIPC' is true" },
        { CONTEXT("'sysctls': [{'name': 'net.a'}]") ", 'hostNetwork': true",
            "securityContext.sysctls[0].name",
            "Invalid value: \"net.a\": may not be specified when 'hostNetwork' is true" },
        { CONTEXT("'supplementalGroupsPolicy': ''"),
            "securityContext.supplementalGroupsPolicy",
            "Unsupported value: \"\": supported values: \"Merge\", \"Strict\"" },
        { CONTEXT("'seLinuxChangePolicy': 'MountOption'"),
            "securityContext.seLinuxChangePolicy",
            "Unsupported value: \"MountOption\": supported values: \"Recursive\"" },
        { CONTEXT("'seccompProfile': {}"),
            "securityContext.seccompProfile.type",
            "Required value: type is required when seccompProfile is set" },
        { CONTEXT("'seccompProfile': {'type': 'Localhost', 'localhostProfile': '/x'}"),
            "securityContext.seccompProfile.localhostProfile",
            "Invalid value: \"/x\": must be a relative path" },
        { CONTEXT("'seccompProfile': {'type': 'Unconfined', 'localhostProfile': 'x'}"),
            "securityContext.seccompProfile.localhostProfile",
            "Invalid value: \"x\": can only be set when seccomp type is Localhost" },
        { CONTEXT("'appArmorProfile': {'type': 'Localhost', 'localhostProfile': ' x'}"),
            "securityContext.appArmorProfile.localhostProfile",
            "Invalid value: \" x\": must not be padded with whitespace" },
        { CONTEXT("'appArmorProfile': {'type': 'Localhost'}"),
            "securityContext.appArmorProfile.localhostProfile",
            "Required value: must be set when AppArmor type is Localhost" },
        { CONTEXT("'appArmorProfile': {'type': 'Unconfined', 'localhostProfile': ''}"),
            "securityContext.appArmorProfile.localhostProfile",
            "Invalid value: \"\": can only be set when AppArmor type is Localhost" },
    };
    check_rows(rows, lengthof(rows));
}

TEST(pod_spec_refuses_unknown_systems)
{
    static const struct row rows[] = {
        { "'os': {}", "os.name", "Required value" },
        { "'os': {'name': 'x'}",
            "os",
            "Unsupported value: \"x\": supported values: \"linux\", \"windows\"" },
        { "'hostUsers': false, 'hostPID': true",
            "HostPID",
            "Forbidden: when `hostUsers` is false" },
    };
    check_rows(rows, lengthof(rows));
}

#define NODES "affinity.nodeAffinity." REQUIRED ".nodeSelectorTerms[0]"
#define NODE_TERM(part)                                                                            \
    "'affinity': {'nodeAffinity': {'" REQUIRED "': {'nodeSelectorTerms': [{" part "}]}}}"
#define PODS "affinity.podAffinity." REQUIRED "[0]"
#define POD_TERM(part)                                                                             \
    "'affinity': {'podAffinity': {'" REQUIRED "': [{'topologyKey': 'k', " part "}]}}"

TEST(pod_spec_names_what_is_wrong_with_its_place)
{
    static const struct row rows[] = {
        { NODE_TERM("'matchExpressions': [{'key': 'a', 'operator': 'In', 'values': ['-']}]"),
            NODES ".matchExpressions[0].values[0]",
            "Invalid value: \"-\": " VALUE },
        { "'affinity': {'nodeAffinity': {'" PREFERRED
          "': [{'weight': 1, 'preference': {'matchExpressions': [{'key': 'a', 'operator': 'In', "
          "'values': ['-']}]}}]}}",
            NULL,
            NULL },
        { NODE_TERM("'matchFields': [{'key': 'metadata.name', 'operator': 'Exists'}]"),
            NODES ".matchFields[0].operator",
            "Invalid value: \"Exists\": not a valid selector operator" },
        { NODE_TERM("'matchFields': [{'key': 'x', 'operator': 'In', 'values': ['-']}]"),
            NODES ".matchFields[0].key",
            "Invalid value: \"x\": not a valid field selector key" },
        { NODE_TERM("'matchFields': [{'key': 'metadata.name', 'operator': 'In'}]"),
            NODES ".matchFields[0].values",
            "Required value: must be only one value when `operator` is 'In' or 'NotIn' for node "
            "field selector" },
        { NODE_TERM("'matchFields': [{'key': 'metadata.name', 'operator': 'In', 'values': ['-']}]"),
            NODES ".matchFields[0].values[0]",
            "Invalid value: \"-\": " SUBDOMAIN },
        { POD_TERM("'namespaceSelector': {'matchExpressions': [{'key': 'a', 'operator': 'x'}]}"),
            PODS ".namespaceSelector.matchExpressions[0].operator",
            "Invalid value: \"x\": not a valid selector operator" },
        { POD_TERM("'mismatchLabelKeys': ['-']"),
            PODS ".mismatchLabelKeys",
            "Forbidden: must not be specified when labelSelector is not set" },
        { POD_TERM("'matchLabelKeys': ['-'], 'labelSelector': {}"),
            PODS ".matchLabelKeys[0]",
            "Invalid value: \"-\": " KEY },
        { POD_TERM("'matchLabelKeys': ['x'], 'mismatchLabelKeys': ['x'], 'labelSelector': {}"),
            PODS ".matchLabelKeys[0]",
            "Invalid value: \"x\": exists in both matchLabelKeys and mismatchLabelKeys" },
        { POD_TERM("'matchLabelKeys': ['y', 'x'], 'labelSelector': {'matchLabels': {'x': 'b'}, "
                   "'matchExpressions': [{'key': 'x', 'operator': 'Exists'}]}"),
            PODS "[1]",
            "Invalid value: \"x\": exists in both matchLabelKeys and labelSelector" },
        { "'tolerations': [{'key': 'k', 'value': '-'}]",
            "tolerations[0].operator",
            "Invalid value: \"-\": " VALUE },
        { "'tolerations': [{'key': 'k', 'operator': 'Lt', 'value': '1'}]",
            "tolerations[0].operator",
            "Unsupported value: \"Lt\": supported values: \"Equal\", \"Exists\", \"Lt\", \"Gt\"" },
    };
    check_rows(rows, lengthof(rows));
}

TEST(pod_spec_names_what_is_wrong_with_its_names)
{
    static const struct row rows[] = {
        { "'dnsConfig': {'searches': ['.', 'a.', '_a._b', 'a_b']}", NULL, NULL },
        { "'dnsConfig': {'searches': ['..']}",
            "dnsConfig.searches[0]",
            "Invalid value: \".\": a lowercase RFC 1123 subdomain must consist of lower case "
            "alphanumeric characters, '_', '-' or '.', and must start and end with an "
            "alphanumeric character (e.g. 'example.com', regex used for validation is "
            "'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')" },
        { "'dnsConfig': {'nameservers': ['::1', '::2', '::3', '::4']}",
            "dnsConfig.nameservers",
            "Invalid value: [\"::1\",\"::2\",\"::3\",\"::4\"]: must not have more than 3 "
            "nameservers" },
        { "'dnsConfig': {'options': [{'value': 'x'}]}",
            "dnsConfig.options[0]",
            "Required value: must not be empty" },
        { "'hostAliases': [{'ip': '::ffff:1.2.3.4'}]",
            "hostAliases[0].ip",
            "Invalid value: \"::ffff:1.2.3.4\": must not be an IPv4-mapped IPv6 address" },
        { "'hostAliases': [{'ip': '::1', 'hostnames': ['A']}]",
            "hostAliases[0].hostnames[0]",
            "Invalid value: \"A\": " SUBDOMAIN },
        { "'readinessGates': [{'conditionType': '-'}]",
            "readinessGates[0].conditionType",
            "Invalid value: \"-\": " KEY },
        { "'schedulingGates': [{'name': 'a'}, {'name': 'a'}]",
            "schedulingGates[1]",
            "Duplicate value: \"a\"" },
        { "'runtimeClassName': ''", "runtimeClassName", "Invalid value: \"\": " SUBDOMAIN },
        { "'priorityClassName': '-'", "priorityClassName", "Invalid value: \"-\": " SUBDOMAIN },
        { "'preemptionPolicy': ''", "preemptionPolicy", "Required value" },
        { "'preemptionPolicy': 'x'",
            "preemptionPolicy",
            "Unsupported value: \"x\": supported values: \"PreemptLowerPriority\", \"Never\"" },
        { "'overhead': {'cpu': '-1'}",
            "overhead.limits[cpu]",
            "Invalid value: \"-1\": must be greater than or equal to 0" },
        { "'resources': {'limits': {'a/b': '1'}}",
            "resources.limits[a/b]",
            "Unsupported value: \"a/b\": supported values: \"cpu\", \"hugepages-\", "
            "\"memory\"" },
        { "'resources': {}, 'os': {'name': 'windows'}",
            "resources",
            "Forbidden: may not be set for a windows pod" },
        { "'resources': {'requests': {'cpu': '1'}}, 'initContainers': [{'name': 'i', 'image': 'i', "
          "'resources': {'requests': {'cpu': '1500m'}}}]",
            "resources.requests[cpu]",
            "Invalid value: \"1\": must be greater than or equal to aggregate container requests "
            "of 1500m" },
        { "'hostnameOverride': 'a', 'hostNetwork': true",
            "hostnameOverride",
            "Forbidden: may not be specified when hostNetwork is true" },
    };
    check_rows(rows, lengthof(rows));
}

TEST(pod_spec_selectors_get_the_labels_of_the_pod)
{
    struct json pod = test_json(
        "{'metadata': {'labels': {'x': '1', 'y': '2'}}, 'spec': {'affinity': {'podAntiAffinity': "
        "{'" PREFERRED "': [{'weight': 1, 'podAffinityTerm': {'topologyKey': 'k', "
        "'matchLabelKeys': ['x', 'none'], 'mismatchLabelKeys': ['y'], 'labelSelector': {}}}]}}, "
        "'topologySpreadConstraints': [{'matchLabelKeys': ['x'], 'labelSelector': "
        "{'matchExpressions': [{'key': 'z', 'operator': 'Exists'}]}}, {'matchLabelKeys': "
        "['x']}]}}");
    pod = pod_keys_merge(test_arena(), pod);
    struct json terms = json_get(pod, "spec.affinity.podAntiAffinity." PREFERRED);
    check_text(json_to_text(test_arena(),
                   json_get(terms.items[0], "podAffinityTerm.labelSelector.matchExpressions")),
        "[{\"key\":\"x\",\"operator\":\"In\",\"values\":[\"1\"]},"
        "{\"key\":\"y\",\"operator\":\"NotIn\",\"values\":[\"2\"]}]");
    struct json spread = json_get(pod, "spec.topologySpreadConstraints");
    check_text(
        json_to_text(test_arena(), json_get(spread.items[0], "labelSelector.matchExpressions")),
        "[{\"key\":\"z\",\"operator\":\"Exists\"},"
        "{\"key\":\"x\",\"operator\":\"In\",\"values\":[\"1\"]}]");
    check(!json_present(json_member(spread.items[1], "labelSelector")));
}

TEST(pod_spec_resources_of_the_whole_request_what_the_containers_do)
{
    struct json spec =
        test_json("{'resources': {'limits': {'cpu': '4', 'hugepages-2Mi': '2Mi'}}, 'containers': ["
                  "{'resources': {'requests': {'cpu': '1', 'memory': '1Gi'}}}, "
                  "{'resources': {'requests': {'cpu': '500m', 'memory': '1Gi'}}}]}");
    check_text(json_to_text(test_arena(),
                   json_get(pod_level_fill(test_arena(), spec), "resources.requests")),
        "{\"cpu\":\"1500m\",\"hugepages-2Mi\":\"2Mi\",\"memory\":\"2Gi\"}");
    spec = test_json("{'resources': {}, 'containers': []}");
    check(json_equal(pod_level_fill(test_arena(), spec), spec));
}
