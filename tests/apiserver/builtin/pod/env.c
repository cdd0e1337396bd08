#include "tests/apiserver/builtin/pod/pod_case.h"

#define ENV(from) "'env': [{'name': 'A', 'valueFrom': {" from "}}]"
#define FIELD_REF(ref) ENV("'fieldRef': {" ref "}")
#define AT "spec.containers[0].env[0].valueFrom."

TEST(wrong_environments_of_containers_are_told_with_place_and_reason)
{
    static const struct pod_case cases[] = {
        { ENV("'fieldRef': {'fieldPath': 'spec.host'}"), NULL, NULL },
        { FIELD_REF("'apiVersion': 'v2', 'fieldPath': 'metadata.name'"),
            AT "fieldRef.fieldPath",
            "Invalid value: \"metadata.name\": error converting fieldPath: unsupported pod "
            "version: v2" },
        { FIELD_REF("'fieldPath': 'metadata.name[\\u0027a\\u0027]'"),
            AT "fieldRef.fieldPath",
            "Invalid value: \"metadata.name['a']\": error converting fieldPath: field label does "
            "not support subscript: metadata.name['a']" },
        { FIELD_REF("'fieldPath': 'metadata.labels[\\u0027a\\u0027'"),
            AT "fieldRef.fieldPath",
            "Invalid value: \"metadata.labels['a'\": error converting fieldPath: field label not "
            "supported: metadata.labels['a'" },
        { FIELD_REF("'fieldPath': 'metadata.annotations[\\u0027A/b\\u0027]'"), NULL, NULL },
        { FIELD_REF("'fieldPath': 'metadata.annotations[\\u0027\\u0027]'"),
            AT "fieldRef",
            "Invalid value: \"\": name part must be non-empty" },
        { FIELD_REF("'fieldPath': 'spec.schedulerName'"),
            AT "fieldRef.fieldPath",
            "Unsupported value: \"spec.schedulerName\": supported values: \"metadata.name\", "
            "\"metadata.namespace\", \"metadata.uid\", \"spec.nodeName\", "
            "\"spec.serviceAccountName\", \"status.hostIP\", \"status.hostIPs\", "
            "\"status.podIP\", \"status.podIPs\"" },
        { ENV("'resourceFieldRef': {'resource': 'limits.cpu', 'divisor': '1000m'}"), NULL, NULL },
        { ENV("'resourceFieldRef': {'resource': 'limits.cpu', 'divisor': '2'}"),
            AT "resourceFieldRef.divisor",
            "Invalid value: \"limits.cpu\": only divisor's values 1m and 1 are supported with the "
            "cpu resource" },
        { ENV("'resourceFieldRef': {'resource': 'limits.hugepages-2Mi', 'divisor': '7'}"),
            AT "resourceFieldRef.divisor",
            "Invalid value: \"limits.hugepages-2Mi\": only divisor's values 1, 1k, 1M, 1G, 1T, 1P, "
            "1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the hugepages resource" },
        { ENV("'fileKeyRef': {'volumeName': 'dir', 'path': '/p', 'key': 'K'}"), NULL, NULL },
        { ENV("'fileKeyRef': {'volumeName': 'disk', 'path': 'p', 'key': 'K'}"),
            AT "fileKeyRef.volumeName",
            "Invalid value: \"disk\": referenced volume must be of type emptyDir" },
        { ENV("'fileKeyRef': {'volumeName': 'none', 'path': 'p', 'key': 'K'}"),
            AT "fileKeyRef.volumeName",
            "Not found: \"none\"" },
        { ENV("'fileKeyRef': {'volumeName': 'dir', 'path': 'a/../p', 'key': 'K'}"),
            AT "fileKeyRef.path",
            "Invalid value: \"a/../p\": must not contain '..'" },
        { "'envFrom': [{'prefix': '=', 'secretRef': {'name': 'a'}}]",
            "spec.containers[0].envFrom[0].prefix",
            "Invalid value: \"=\": a valid environment variable name must consist only of "
            "printable ASCII characters other than '='" },
        { "'envFrom': [{'configMapRef': {'name': ''}}]",
            "spec.containers[0].envFrom[0].configMapRef.name",
            "Required value" },
        { "'envFrom': [{}]",
            "spec.containers[0].envFrom",
            "Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`" },
        { 0 },
    };
    pod_cases_check(cases);
}
