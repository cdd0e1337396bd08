#include "apiserver/rules/go_value.h"

#include "tests/test.h"

static const struct json unknown = { 0 };

TEST(a_struct_is_printed_with_all_of_its_fields_in_their_order)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json policy = json_fields(&a, { "rules", json_list(&a, json_empty_map()) });
    check_text(go_value_text(&a, "*SuccessPolicy", policy, unknown),
        "{\"Rules\":[{\"SucceededIndexes\":null,\"SucceededCount\":null}]}");
    check_text(go_value_text(&a, "*SuccessPolicy", unknown, unknown), "null");
    check_text(go_value_text(&a, ".DeploymentStrategy", unknown, unknown),
        "{\"Type\":\"\",\"RollingUpdate\":null}");
}

TEST(fields_of_embedded_structs_stand_beside_the_others)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json probe = json_fields(&a, { "grpc.port", json_int(8) });
    check_text(go_value_text(&a, "*Probe", probe, unknown),
        "{\"Exec\":null,\"HTTPGet\":null,\"TCPSocket\":null,\"GRPC\":{\"Port\":8,\"Service\":null},"
        "\"InitialDelaySeconds\":0,\"TimeoutSeconds\":0,\"PeriodSeconds\":0,\"SuccessThreshold\":0,"
        "\"FailureThreshold\":0,\"TerminationGracePeriodSeconds\":null}");
}

TEST(a_type_with_names_of_its_own_leaves_out_what_is_empty)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json selector = json_fields(&a,
        { "matchExpressions", json_list(&a, json_fields(&a, { "key", json_str("<a>") })) },
        { "matchLabels", json_map(&a, { "b", json_str("c") }) });
    check_text(go_value_text(&a, "*LabelSelector", selector, unknown),
        "{\"matchLabels\":{\"b\":\"c\"},\"matchExpressions\":[{\"key\":\"\\u003ca\\u003e\","
        "\"operator\":\"\"}]}");
    check_text(go_value_text(&a, "*LabelSelector", json_empty_map(), unknown), "{}");
}

TEST(a_list_that_was_sent_empty_is_printed_so)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json given = json_fields(&a, { "values", json_empty_list() });
    check_text(go_value_text(&a, "*ContainerRestartRuleOnExitCodes", json_empty_map(), given),
        "{\"Operator\":\"\",\"Values\":[]}");
}

TEST(a_diff_of_values_is_one_of_their_lines)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json old = json_fields(&a, { "name", json_str("a,\"{b") }),
                new = json_fields(&a, { "name", json_str("a,\"{b") }, { "value", json_str("c") });
    check_text(go_value_diff(&a, ".Sysctl", old, new, unknown),
        "@@ -1,4 +1,4 @@\n {\n  \"Name\": \"a,\\\"{b\",\n- \"Value\": \"\"\n+ \"Value\": \"c\"\n "
        "}\n");
    check_text(go_value_diff(&a, ".Sysctl", old, old, unknown), "");
}

TEST(a_text_is_quoted_as_go_does_it)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    check_text(go_quoted(&a, "a\"\\\n\x01<ä>"), "\"a\\\"\\\\\\n\\x01<ä>\"");
}
