#include "tests/apiserver/builtin/pod/pod_case.h"

#define AT "spec.containers[0]."

TEST(wrong_probes_and_hooks_are_told_with_place_and_reason)
{
    static const struct pod_case cases[] = {
        { "'livenessProbe': {'httpGet': {}}",
            AT "livenessProbe.httpGet.port",
            "Invalid value: 0: must be between 1 and 65535, inclusive" },
        { "'livenessProbe': {'tcpSocket': {'port': ''}}",
            AT "livenessProbe.tcpSocket.port",
            "Invalid value: \"\": must contain only alpha-numeric characters (a-z, 0-9), and "
            "hyphens (-)" },
        { "'livenessProbe': {'grpc': {'port': 0}}",
            AT "livenessProbe.grpc.port",
            "Invalid value: 0: must be between 1 and 65535, inclusive" },
        { "'livenessProbe': {'httpGet': {'port': 1, 'httpHeaders': [{'name': 'A-1'}]}}",
            NULL,
            NULL },
        { "'livenessProbe': {'httpGet': {'port': 1, 'httpHeaders': [{'name': 'a_b'}]}}",
            AT "livenessProbe.httpGet.httpHeaders",
            "Invalid value: \"a_b\": a valid HTTP header must consist of alphanumeric characters "
            "or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')" },
        { "'livenessProbe': {'httpGet': {'port': 1, 'httpHeaders': [{}]}}",
            AT "livenessProbe.httpGet.httpHeaders",
            "Invalid value: \"\": a valid HTTP header must consist of alphanumeric characters or "
            "'-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')" },
        { "'livenessProbe': {'exec': {'command': ['a']}, 'terminationGracePeriodSeconds': 0}",
            AT "livenessProbe.terminationGracePeriodSeconds",
            "Invalid value: 0: must be greater than 0" },
        { "'livenessProbe': {'exec': {'command': ['a']}, 'tcpSocket': {}}",
            AT "livenessProbe.tcpSocket",
            "Forbidden: may not specify more than 1 handler type" },
        { "'livenessProbe': {'exec': {'command': ['a']}, 'successThreshold': 2}",
            AT "livenessProbe.successThreshold",
            "Invalid value: 2: must be 1" },
        { "'lifecycle': {'preStop': {}}",
            AT "lifecycle.preStop",
            "Required value: must specify a handler type" },
        { "'lifecycle': {'preStop': {'sleep': {'seconds': 30}}}", NULL, NULL },
        { "'lifecycle': {'preStop': {'sleep': {'seconds': 31}}}",
            AT "lifecycle.preStop.sleep",
            "Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds "
            "(30)" },
        { "'lifecycle': {'postStart': {'sleep': {'seconds': -1}}}",
            AT "lifecycle.postStart.sleep",
            "Invalid value: -1: must be non-negative and less than terminationGracePeriodSeconds "
            "(7)",
            "'terminationGracePeriodSeconds': 7," },
        { 0 },
    };
    pod_cases_check(cases);
}
