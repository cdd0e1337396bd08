#include "node/fields.h"

#include "tests/node/shelf.h"

static struct pod_view view_of(struct shelf *s)
{
    return (
        struct pod_view){ .pod = test_json("{'metadata': {'name': 'web', 'namespace': 'ns',"
                                           " 'uid': 'u1', 'labels': {'a/b': 'x', 'c': 'y\\\"'}},"
                                           " 'spec': {'serviceAccountName': 'sa',"
                                           " 'containers': [{'name': 'other',"
                                           " 'resources': {'limits': {'memory': '1Gi'}}}]}}"),
        .objects = s->objects,
        .pod_ip = "127.1.2.3",
        .host_ip = "127.0.0.1",
        .node_name = "here",
        .allocatable = test_json("{'cpu': '4', 'memory': '8Gi'}") };
}

TEST(fields_of_the_downward_api)
{
    struct shelf s;
    shelf_open(&s);
    struct pod_view v = view_of(&s);
    struct error err;
    static const char *const rows[][2] = {
        { "metadata.name", "web" },
        { "status.podIP", "127.1.2.3" },
        { "spec.nodeName", "here" },
        { "metadata.labels['a/b']", "x" },
        { "metadata.labels['none']", "" },
        { "metadata.labels", "a/b=\"x\"\nc=\"y\\\"\"" },
    };
    const char *text;
    for (size_t i = 0; i < lengthof(rows); i++) {
        check(fields_get(test_arena(), &v, rows[i][0], &text, &err));
        check_text(text, rows[i][1]);
    }
    check_fails(fields_get(test_arena(), &v, "spec.other", &text, &err), err, "spec.other");
    static const char *const resources[][3] = {
        { "{'resource': 'limits.cpu'}", "{'resources': {'limits': {'cpu': '1500m'}}}", "2" },
        { "{'resource': 'limits.cpu', 'divisor': '1m'}", "{}", "4000" },
        { "{'resource': 'limits.memory', 'divisor': '1Mi', 'containerName': 'other'}",
            "{}",
            "1024" },
        { "{'resource': 'requests.memory'}", "{}", "0" },
    };
    for (size_t i = 0; i < lengthof(resources); i++) {
        check(fields_resource(
            test_arena(), &v, test_json(resources[i][0]), test_json(resources[i][1]), &text, &err));
        check_text(text, resources[i][2]);
    }
    shelf_close(&s);
}

TEST(fields_env_comes_from_everywhere_in_order)
{
    struct shelf s;
    shelf_open(&s);
    shelf_put(&s, "ConfigMap", "cm", "{'data': {'K': 'from-map', 'PORT': '1'}}");
    shelf_put(&s, "Secret", "sec", "{'data': {'T': 'aHVzaA=='}}");
    struct pod_view v = view_of(&s);
    struct error err;
    struct json env;
    check(fields_env(test_arena(),
        &v,
        test_json("{'envFrom': [{'configMapRef': {'name': 'cm'}},"
                  " {'prefix': 'S_', 'secretRef': {'name': 'sec'}},"
                  " {'secretRef': {'name': 'none', 'optional': true}}],"
                  " 'env': [{'name': 'PORT', 'value': '8080'},"
                  " {'name': 'URL', 'value': 'http://$(IP):$(PORT)/$$(PORT)/$(NONE)'},"
                  " {'name': 'IP', 'valueFrom': {'fieldRef': {'fieldPath': 'status.podIP'}}},"
                  " {'name': 'TOKEN', 'valueFrom': {'secretKeyRef': {'name': 'sec', 'key': 'T'}}},"
                  " {'name': 'GONE', 'valueFrom': {'configMapKeyRef': {'name': 'cm', 'key': 'x',"
                  " 'optional': true}}},"
                  " {'name': 'EMPTY'}]}"),
        test_json("{'PATH': '/bin', 'PORT': '0'}"),
        &env,
        &err));
    check_json(env,
        "{'EMPTY': '', 'IP': '127.1.2.3', 'K': 'from-map', 'PATH': '/bin', 'PORT': '8080',"
        " 'S_T': 'hush', 'TOKEN': 'hush', 'URL': 'http://$(IP):8080/$(PORT)/$(NONE)'}");
    check_json(fields_expand_list(test_arena(), test_json("['$(K)', 'a$', '$(PORT']"), env),
        "['from-map', 'a$', '$(PORT']");
    shelf_close(&s);
}

TEST(fields_env_says_what_is_missing_in_the_words_of_the_kubelet)
{
    struct shelf s;
    shelf_open(&s);
    shelf_put(&s, "ConfigMap", "cm", "{'data': {}}");
    struct pod_view v = view_of(&s);
    static const char *const rows[][2] = {
        { "{'envFrom': [{'configMapRef': {'name': 'no'}}]}", "configmap \"no\" not found" },
        { "{'env': [{'name': 'A', 'valueFrom': {'secretKeyRef': {'name': 'no', 'key': 'k'}}}]}",
            "secret \"no\" not found" },
        { "{'env': [{'name': 'A', 'valueFrom': {'configMapKeyRef': {'name': 'cm', 'key': 'k'}}}]}",
            "couldn't find key k in ConfigMap ns/cm" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct error err;
        struct json env;
        check(!fields_env(test_arena(), &v, test_json(rows[i][0]), json_none, &env, &err));
        check_text(err.text, rows[i][1]);
    }
    shelf_close(&s);
}
