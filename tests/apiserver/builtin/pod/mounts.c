#include "tests/apiserver/builtin/pod/pod_case.h"

#define AT "spec.containers[0]."

TEST(wrong_mounts_and_devices_are_told_with_place_and_reason)
{
    static const struct pod_case cases[] = {
        { "'volumeMounts': [{'name': 'dir', 'mountPath': '/a', 'subPath': 'x', 'subPathExpr': "
          "'y'}]",
            AT "volumeMounts[0].subPathExpr",
            "Invalid value: \"y\": subPathExpr and subPath are mutually exclusive" },
        { "'volumeMounts': [{'name': 'dir', 'mountPath': '/a', 'subPathExpr': '../y'}]",
            AT "volumeMounts.subPathExpr",
            "Invalid value: \"../y\": must not contain '..'" },
        { "'volumeMounts': [{'name': 'dir', 'mountPath': '/a', 'subPath': '/y'}]",
            AT "volumeMounts.subPath",
            "Invalid value: \"/y\": must be a relative path" },
        { "'volumeMounts': [{'name': 'dir', 'mountPath': '/a', 'mountPropagation': ''}]",
            AT "volumeMounts.mountPropagation",
            "Unsupported value: \"\": supported values: \"Bidirectional\", \"HostToContainer\", "
            "\"None\"" },
        { "'volumeMounts': [{'name': 'dir', 'mountPath': '/a', 'mountPropagation': "
          "'Bidirectional'}]",
            AT "volumeMounts.mountPropagation",
            "Forbidden: Bidirectional mount propagation is available only to privileged "
            "containers" },
        { "'securityContext': {'privileged': true}, 'volumeMounts': [{'name': 'dir', 'mountPath': "
          "'/a', 'mountPropagation': 'Bidirectional'}]",
            NULL,
            NULL },
        { "'volumeMounts': [{'name': 'dir', 'mountPath': '/a', 'recursiveReadOnly': ''}]",
            AT "volumeMounts.recursiveReadOnly",
            "Unsupported value: \"\": supported values: \"Disabled\", \"Enabled\", "
            "\"IfPossible\"" },
        { "'volumeMounts': [{'name': 'dir', 'mountPath': '/a', 'recursiveReadOnly': 'Enabled'}]",
            AT "volumeMounts.recursiveReadOnly",
            "Forbidden: may only be specified when readOnly is true" },
        { "'volumeMounts': [{'name': 'dir', 'mountPath': '/a', 'readOnly': true, "
          "'recursiveReadOnly': 'Enabled', 'mountPropagation': 'HostToContainer'}]",
            AT "volumeMounts.recursiveReadOnly",
            "Forbidden: may only be specified when mountPropagation is None or not specified" },
        { "'volumeMounts': [{'name': 'dir', 'mountPath': '/a'}, {'name': 'disk', 'mountPath': "
          "'/a'}]",
            AT "volumeMounts[1].mountPath",
            "Invalid value: \"/a\": must be unique" },
        { "'volumeMounts': [{'name': 'disk', 'mountPath': '/a'}], 'volumeDevices': [{'name': "
          "'disk', 'devicePath': '/b'}]",
            AT "volumeMounts[0].name",
            "Invalid value: \"disk\": must not already exist in volumeDevices" },
        { "'volumeMounts': [{'name': 'dir', 'mountPath': '/a'}], 'volumeDevices': [{'name': "
          "'disk', 'devicePath': '/a'}]",
            AT "volumeMounts[0].mountPath",
            "Invalid value: \"/a\": must not already exist as a path in volumeDevices" },
        { "'volumeDevices': [{'name': 'disk', 'devicePath': 'a..b'}]", NULL, NULL },
        { "'volumeDevices': [{'devicePath': '/b'}]", AT "volumeDevices[0].name", "Required value" },
        { "'volumeDevices': [{'name': 'none', 'devicePath': '/b'}]",
            AT "volumeDevices[0].name",
            "Not found: \"none\"" },
        { "'volumeDevices': [{'name': 'dir', 'devicePath': '/b'}]",
            AT "volumeDevices[0].name",
            "Invalid value: \"dir\": can only use volume source type of PersistentVolumeClaim or "
            "Ephemeral for block mode" },
        { "'volumeDevices': [{'name': 'disk', 'devicePath': '/b'}, {'name': 'disk', 'devicePath': "
          "'/c'}]",
            AT "volumeDevices[1].name",
            "Invalid value: \"disk\": must be unique" },
        { "'volumeDevices': [{'name': 'disk'}]",
            AT "volumeDevices[0].devicePath",
            "Required value" },
        { "'volumeDevices': [{'name': 'disk', 'devicePath': '/a/../b'}]",
            AT "volumeDevices[0].devicePath",
            "Invalid value: \"/a/../b\": can not contain backsteps ('..')" },
        { 0 },
    };
    pod_cases_check(cases);
}
