#include "merge/canonical.h"
#include "tests/test.h"

static bool same(enum schema_format format, const char *x, const char *y)
{
    return canonical_scalar_equal(format, test_json(x), test_json(y));
}

TEST(values_that_say_the_same_are_equal)
{
    check(same(FORMAT_QUANTITY, "'1000m'", "'1'"));
    check(same(FORMAT_QUANTITY, "1", "'1'"));
    check(same(FORMAT_QUANTITY, "'2048Mi'", "'2Gi'"));
    check(same(FORMAT_QUANTITY, "0.5", "'500m'"));
    check(!same(FORMAT_QUANTITY, "'1'", "'1Ki'"));
    check(same(FORMAT_QUANTITY, "'nonsense'", "'nonsense'"));
    check(!same(FORMAT_QUANTITY, "'nonsense'", "'1'"));
    check(same(FORMAT_TIME, "'2026-01-01T00:00:00Z'", "'2026-01-01T01:00:00+01:00'"));
    check(same(FORMAT_TIME, "'2026-01-01T00:00:00Z'", "'2026-01-01T00:00:00.5Z'"));
    check(!same(FORMAT_TIME, "'2026-01-01T00:00:00Z'", "'2026-01-01T00:00:01Z'"));
    check(!same(FORMAT_MICRO_TIME, "'2026-01-01T00:00:00Z'", "'2026-01-01T00:00:00.5Z'"));
    check(same(FORMAT_MICRO_TIME, "'2026-01-01T00:00:00.5Z'", "'2026-01-01T00:00:00.500000Z'"));
    check(same(FORMAT_DURATION, "'60s'", "'1m0s'"));
    check(!same(FORMAT_INT_OR_STRING, "80", "'80'"));
    check(!same(FORMAT_PLAIN, "'1000m'", "'1'"));
    check(!same(FORMAT_BYTES, "'YQ=='", "'Yg=='"));
    check(!same(FORMAT_PLAIN, "null", "''"));
}

TEST(zero_values_are_those_that_go_leaves_out)
{
    static const char *const zeros[] = { "null", "false", "0", "0.0", "''", "[]", "{}" };
    static const char *const others[] = { "true", "1", "-0.5", "' '", "[null]", "{'a': null}" };
    for (size_t i = 0; i < lengthof(zeros); i++)
        check(canonical_is_zero(test_json(zeros[i])));
    for (size_t i = 0; i < lengthof(others); i++)
        check(!canonical_is_zero(test_json(others[i])));
}

TEST(whole_values_compare_by_their_types)
{
    struct schemas *kinds = schemas_new();
    const struct schema *s = schema_of(kinds, "", "v1", "Pod");
    static const char *const pods[] = {
        "{'spec': {'containers': [{'name': 'a', 'resources': {'limits': {'cpu': '1000m'}}}]}}",
        "{'spec': {'containers': [{'name': 'a', 'resources': {'limits': {'cpu': 1}}}]}}",
        "{'spec': {'containers': [{'name': 'a', 'resources': {'limits': {'cpu': 2}}}]}}",
        "{'spec': {'containers': [{'name': 'a', 'resources': {'limits': {'gpu': 1}}}]}}",
        "{'spec': {'containers': [{'name': 'a'}]}}",
        "{'spec': {'containers': []}}",
    };
    for (size_t i = 0; i < lengthof(pods); i++)
        for (size_t j = 0; j < lengthof(pods); j++)
            check(canonical_equal(s, s->root, test_json(pods[i]), test_json(pods[j])) ==
                  (i == j || i + j == 1));
    schemas_free(kinds);
}

TEST(an_empty_text_in_a_struct_of_the_server_is_left_out_or_filled_in)
{
    struct schemas *kinds = schemas_new();
    const struct schema *s = schema_of(kinds, "", "v1", "Pod");
    static const struct {
        const char *x, *y;
        bool equal;
    } cases[] = {
        { "{'spec': {'imagePullSecrets': [{'name': ''}]}}",
            "{'spec': {'imagePullSecrets': [{}]}}",
            true },
        { "{'spec': {'imagePullSecrets': [{'name': ''}]}}",
            "{'spec': {'imagePullSecrets': [{'name': 'a'}]}}",
            false },
        { "{'metadata': {'labels': {'a': ''}}}", "{'metadata': {'labels': {}}}", false },
        { "{'spec': {'volumes': [{'name': 'v', 'scaleIO': {'fsType': ''}}]}}",
            "{'spec': {'volumes': [{'name': 'v', 'scaleIO': {'fsType': 'xfs'}}]}}",
            true },
        { "{'spec': {'volumes': [{'name': 'v', 'scaleIO': {'fsType': ''}}]}}",
            "{'spec': {'volumes': [{'name': 'v', 'scaleIO': {'fsType': 'ext4'}}]}}",
            false },
        { "{'spec': {'volumes': [{'name': 'v', 'projected': {'sources': [{'serviceAccountToken':"
          " {'path': 'p'}}]}}]}}",
            "{'spec': {'volumes': [{'name': 'v', 'projected': {'sources': [{'serviceAccountToken':"
            " {'path': 'p', 'expirationSeconds': 3600}}]}}]}}",
            true },
        { "{'spec': {'affinity': {'podAffinity': {'requiredDuringSchedulingIgnoredDuringExecution':"
          " [{'topologyKey': 'k', 'labelSelector': {'matchLabels': {}}}]}}}}",
            "{'spec': {'affinity': {'podAffinity': "
            "{'requiredDuringSchedulingIgnoredDuringExecution':"
            " [{'topologyKey': 'k', 'labelSelector': {}}]}}}}",
            true },
        { "{'spec': {'affinity': {'podAffinity': {'requiredDuringSchedulingIgnoredDuringExecution':"
          " [{'topologyKey': 'k', 'labelSelector': {}}]}}}}",
            "{'spec': {'affinity': {'podAffinity': "
            "{'requiredDuringSchedulingIgnoredDuringExecution':"
            " [{'topologyKey': 'k'}]}}}}",
            false },
        { "{'spec': {'volumes': [{'name': 'v', 'azureDisk': {'fsType': ''}}]}}",
            "{'spec': {'volumes': [{'name': 'v', 'azureDisk': {'fsType': 'ext4'}}]}}",
            false },
    };
    for (size_t i = 0; i < lengthof(cases); i++)
        check(canonical_equal(s, s->root, test_json(cases[i].x), test_json(cases[i].y)) ==
              cases[i].equal);
    schemas_free(kinds);
}
