#include "tests/apiserver/builtin/pod/pod_case.h"

#define AT "spec.containers[0].securityContext"

TEST(wrong_security_contexts_of_containers_are_told_with_place_and_reason)
{
    static const struct pod_case cases[] = {
        { "'securityContext': {'procMount': ''}",
            AT ".procMount",
            "Unsupported value: \"\": supported values: \"Default\", \"Unmasked\"" },
        { "'securityContext': {'procMount': 'Unmasked'}",
            AT ".procMount",
            "Invalid value: \"Unmasked\": `hostUsers` must be false to use `Unmasked`" },
        { "'securityContext': {'procMount': 'Unmasked'}", NULL, NULL, "'hostUsers': false," },
        { "'securityContext': {'runAsUser': 1, 'allowPrivilegeEscalation': false, 'privileged': "
          "true}",
            AT "",
            "Invalid value: "
            "{\"Capabilities\":null,\"Privileged\":true,\"SELinuxOptions\":null,\"WindowsOptions\":"
            "null,\"RunAsUser\":1,\"RunAsGroup\":null,\"RunAsNonRoot\":null,"
            "\"ReadOnlyRootFilesystem\":null,\"AllowPrivilegeEscalation\":false,\"ProcMount\":null,"
            "\"SeccompProfile\":null,\"AppArmorProfile\":null}: cannot set "
            "`allowPrivilegeEscalation` to false and `privileged` to true" },
        { "'securityContext': {'runAsUser': 1, 'allowPrivilegeEscalation': false, 'capabilities': "
          "{'add': ['CAP_SYS_ADMIN']}}",
            AT "",
            "Invalid value: "
            "{\"Capabilities\":{\"Add\":[\"CAP_SYS_ADMIN\"],\"Drop\":null},\"Privileged\":null,"
            "\"SELinuxOptions\":null,\"WindowsOptions\":null,\"RunAsUser\":1,\"RunAsGroup\":null,"
            "\"RunAsNonRoot\":null,\"ReadOnlyRootFilesystem\":null,\"AllowPrivilegeEscalation\":"
            "false,\"ProcMount\":null,\"SeccompProfile\":null,\"AppArmorProfile\":null}: cannot "
            "set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN" },
        { 0 },
    };
    pod_cases_check(cases);
}
