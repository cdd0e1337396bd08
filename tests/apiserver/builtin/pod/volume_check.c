#include "apiserver/builtin/pod/pod.h"
#include "apiserver/rules/field_errors.h"
#include "tests/test.h"

/* All of these were answered so by kube-apiserver 1.36.4. */

#define CLAIM "'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}"
#define SUBDOMAIN                                                                                  \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "   \
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "  \
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

static const struct {
    const char *source, *field, *message; /* field NULL: nothing is wrong */
} rows[] = {
    { "'emptyDir':{'sizeLimit':'-1'}",
        "emptyDir.sizeLimit",
        "Forbidden: SizeLimit field must be a valid resource quantity" },
    { "'hostPath':{'path':'/a/../b'}",
        "hostPath.path",
        "Invalid value: \"/a/../b\": must not contain '..'" },
    { "'secret':{'secretName':'s','items':[{'key':'k','path':'..a'}]}",
        "secret.items[0].path",
        "Invalid value: \"..a\": must not start with '..'" },
    { "'configMap':{'name':'c','items':[{'key':'k','path':'p','mode':512}]}",
        "configMap.items[0].mode",
        "Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive" },
    { "'csi':{'driver':'d','nodePublishSecretRef':{'name':'-1'}}",
        "csi.name",
        "Invalid value: \"-1\": " SUBDOMAIN },
    { "'image':{'reference':'r','pullPolicy':'x'}",
        "image.pullPolicy",
        "Unsupported value: \"x\": supported values: \"Always\", \"IfNotPresent\", \"Never\"" },
    { "'downwardAPI':{'items':[{'path':'p'}]}",
        "downwardAPI",
        "Required value: one of fieldRef and resourceFieldRef is required" },
    { "'downwardAPI':{'items':[{'path':'p','fieldRef':{'apiVersion':'v1','fieldPath':"
      "'spec.nodeName'}}]}",
        "downwardAPI.fieldRef.fieldPath",
        "Unsupported value: \"spec.nodeName\": supported values: \"metadata.annotations\", "
        "\"metadata.labels\", \"metadata.name\", \"metadata.namespace\", \"metadata.uid\"" },
    { "'downwardAPI':{'items':[{'path':'p','fieldRef':{'apiVersion':'v2','fieldPath':"
      "'metadata.name'}}]}",
        "downwardAPI.fieldRef.fieldPath",
        "Invalid value: \"metadata.name\": error converting fieldPath: unsupported pod version: "
        "v2" },
    { "'downwardAPI':{'items':[{'path':'p','fieldRef':{'apiVersion':'v1','fieldPath':"
      "'metadata.annotations[\\u0027A_x/b\\u0027]'}}]}",
        "downwardAPI.fieldRef",
        "Invalid value: \"a_x/b\": prefix part " SUBDOMAIN },
    { "'downwardAPI':{'items':[{'path':'p','resourceFieldRef':{'containerName':'c','resource':"
      "'limits.cpu','divisor':'2'}}]}",
        "downwardAPI.resourceFieldRef.divisor",
        "Invalid value: \"limits.cpu\": only divisor's values 1m and 1 are supported with the cpu "
        "resource" },
    { "'projected':{'sources':[{'secret':{'name':'s','items':[{'key':'k','path':'p'}]}},"
      "{'configMap':{'name':'c','items':[{'key':'k','path':'p'}]}}]}",
        "projected",
        "Invalid value: \"c\": conflicting duplicate paths" },
    { "'projected':{'sources':[{'serviceAccountToken':{'path':'p','expirationSeconds':599}}]}",
        "projected.sources[0].serviceAccountToken.expirationSeconds",
        "Invalid value: 599: may not specify a duration less than 10 minutes" },
    { "'projected':{'sources':[{'secret':{'name':'s'},'configMap':{'name':'c'}}]}",
        "projected.sources[0]",
        "Forbidden: may not specify more than 1 volume type per source" },
    { "'ephemeral':{}", "ephemeral.volumeClaimTemplate", "Required value" },
    { "'ephemeral':{'volumeClaimTemplate':{'metadata':{'uid':'u'},'spec':{" CLAIM "}}}",
        "ephemeral.volumeClaimTemplate.metadata.uID",
        "Forbidden: cannot be set" },
    { "'ephemeral':{'volumeClaimTemplate':{'spec':{" CLAIM ",'dataSource':{'kind':'A','apiGroup':"
      "'b','name':'c'},'dataSourceRef':{'kind':'A','apiGroup':'b','name':'d'}}}}",
        "ephemeral.volumeClaimTemplate.spec",
        "Invalid value: {}: must match dataSourceRef" },
    { "'ephemeral':{'volumeClaimTemplate':{'spec':{" CLAIM ",'volumeMode':''}}}",
        "ephemeral.volumeClaimTemplate.spec.volumeMode",
        "Unsupported value: \"\": supported values: \"Block\", \"Filesystem\"" },
    { "'ephemeral':{'volumeClaimTemplate':{'spec':{" CLAIM ",'storageClassName':''}}}",
        NULL,
        NULL },
    { "'hostPath':{'path':'/'},'cephfs':{}",
        "cephfs",
        "Forbidden: may not specify more than 1 volume type" },
    { "'rbd':{},'hostPath':{'path':'/'}",
        "rbd",
        "Forbidden: may not specify more than 1 volume type" },
    { "'azureDisk':{}", NULL, NULL },
};

TEST(volumes_are_refused_in_the_words_of_the_real_server)
{
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct field_errors e;
        field_errors_init(&e, test_arena());
        struct json spec =
            test_json(arena_printf(test_arena(), "{'volumes':[{'name':'v',%s}]}", rows[i].source));
        pod_volumes_check(&e, spec, "template.spec");
        const char *want = rows[i].field ? arena_printf(test_arena(),
                                               "template.spec.volumes[0].%s: %s",
                                               rows[i].field,
                                               rows[i].message)
                                         : "";
        check_text(field_errors_text(&e), want);
    }
}

TEST(only_a_pod_has_to_name_the_image_of_a_volume)
{
    struct json spec = test_json("{'volumes':[{'name':'v','image':{'pullPolicy':'Never'}}]}");
    struct field_errors e;
    field_errors_init(&e, test_arena());
    pod_volumes_check(&e, spec, "spec.template.spec");
    check_int(e.count, 0);
    pod_volumes_check(&e, spec, "spec");
    check_text(field_errors_text(&e), "spec.volumes[0].image.reference: Required value");
}

TEST(an_image_is_always_pulled_if_its_tag_is_latest_or_missing)
{
    static const char *const always[] = {
        "r", "r:latest", "a:5000/b", "A/b", "a_b/c", "[::1]:5/x", "a--b/c__d"
    };
    static const char *const seldom[] = { "",
        "r:1",
        "A",
        "a/B",
        "a..b",
        "a___b",
        " r",
        "a//b",
        "a:b:latest",
        "r@sha256:0123456789abcdef0123456789abcdef",
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" };
    for (size_t i = 0; i < lengthof(always) + lengthof(seldom); i++) {
        bool is_always = i < lengthof(always);
        const char *image = is_always ? always[i] : seldom[i - lengthof(always)];
        struct json spec = pod_spec_fill(test_arena(),
            test_json(arena_printf(
                test_arena(), "{'volumes':[{'name':'v','image':{'reference':'%s'}}]}", image)));
        check_text(json_get_text(spec, "volumes.0.image.pullPolicy"),
            is_always ? "Always" : "IfNotPresent");
    }
}
