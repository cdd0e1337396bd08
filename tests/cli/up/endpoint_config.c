#include "cli/up/endpoint_config.h"

#include "router/config.h"
#include "tests/test.h"

#define READY(ns, name, more)                                                                      \
    "{'metadata': {'name': '" name "', 'namespace': '" ns "'}, 'spec': {" more                     \
    "}, 'status': {'phase': 'Ready', 'endpoint': 'http://127.96.0.9:8080/v1/chat/completions'}}"

static struct json config(const char *services, const char *served)
{
    return endpoint_config(test_arena(), test_json(services), test_json(served));
}

static const char *value(struct json config, const char *path)
{
    return json_get_text(config, path) ?: "";
}

TEST(endpoint_calls_a_service_by_its_name_and_by_both_where_names_are_not_unique)
{
    struct json c = config(
        "[" READY("one", "same", "") "," READY("two", "same", "") "," READY(
            "one", "mine", "") "," READY("default", "both", "") "," READY("other", "both", "") "]",
        "{}");
    check_text(value(c, "backends.0.displayName"), "both");
    check_text(value(c, "backends.0.name"), "default/both");
    check_text(value(c, "backends.1.displayName"), "other/both");
    check_text(value(c, "backends.2.displayName"), "mine");
    check_text(value(c, "backends.3.displayName"), "one/same");
    check_text(value(c, "backends.4.displayName"), "two/same");
    check_text(value(c, "backends.0.address"), "http://127.96.0.9:8080");
}

TEST(endpoint_sends_a_served_name_to_servers_that_insist_on_it)
{
    struct json c =
        config("[" READY("default", "a", "'runtime': 'vllm'") "," READY("default", "b", "") "]",
            "{'default/a': ['org/model', 'adapter'], 'default/b': ['/models/b.gguf']}");
    check_text(value(c, "backends.0.model"), "org/model");
    check_text(value(c, "backends.0.served.1"), "adapter");
    check_text(value(c, "backends.1.model"), "");
    check_text(value(c, "backends.1.served.0"), "/models/b.gguf");
}

TEST(endpoint_keeps_what_is_not_ready_with_the_reason)
{
    struct json c = config(
        "[{'metadata': {'name': 'a', 'namespace': 'ns'}, 'spec': {'replicas': 0}},"
        "{'metadata': {'name': 'b', 'namespace': 'default'}, 'status': {'phase': 'Creating'}},"
        "{'metadata': {'name': 'c', 'namespace': 'default'}, 'status': {'phase': 'Progressing', "
        "'readyReplicas': 1, 'endpoint': 'http://127.96.0.9:80/v1'}}]",
        "{}");
    test_check_part(value(c, "backends.0.unavailable"),
        "`leeboard run a -n ns` starts it",
        "why",
        __FILE__,
        __LINE__);
    test_check_part(value(c, "backends.1.unavailable"), "(Creating)", "why", __FILE__, __LINE__);
    check_text(value(c, "backends.2.unavailable"), "");
}

TEST(endpoint_config_is_one_that_the_router_takes)
{
    static const char *const services[] = { "[]", "[" READY("default", "a", "") "]" };
    for (size_t i = 0; i < lengthof(services); i++) {
        struct error err;
        const char *text = json_to_text(test_arena(), config(services[i], "{'default/a': ['x']}"));
        struct router_config *c = router_config_new(str_of(text), (struct str){ 0 }, &err);
        check(c);
        check_int(c->backend_count, i);
        check(c->by_name);
        router_config_unref(c);
    }
}

TEST(endpoint_lists_routers_after_services)
{
    struct json c = config(
        "[{'kind': 'ModelRouter', 'metadata': {'name': 'a', 'namespace': 'default'}, 'status': "
        "{'phase': 'Degraded', 'endpoint': 'http://127.96.0.8:8080/v1/chat/completions'}},"
        "{'kind': 'ModelRouter', 'metadata': {'name': 'b', 'namespace': 'other'}, 'status': "
        "{'phase': 'Provisioning'}}," READY("default", "b", "") "]",
        "{'default/a': ['b', 'cloud']}");
    check_text(value(c, "backends.0.displayName"), "b");
    check_text(value(c, "backends.1.displayName"), "a");
    check_text(value(c, "backends.1.address"), "http://127.96.0.8:8080");
    check_text(value(c, "backends.1.unavailable"), "");
    check_text(value(c, "backends.2.displayName"), "other/b");
    test_check_part(
        value(c, "backends.2.unavailable"), "(Provisioning)", "why", __FILE__, __LINE__);
}
