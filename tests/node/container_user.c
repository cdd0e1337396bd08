#include "node/pod_internal.h"
#include "tests/test.h"

TEST(container_runs_as_whom_its_own_context_names_before_the_pods)
{
    struct node_runtime runtime = { .users = true };
    struct pod_host host = { .runtime = &runtime };
    struct pod pod = { .host = &host,
        .object = test_json("{'spec': {'securityContext': {'runAsUser': 7, 'runAsGroup': 8,"
                            " 'supplementalGroups': [9, 10], 'runAsNonRoot': true}}}") };
    struct container c = { .pod = &pod,
        .spec = test_json("{'securityContext': {'runAsUser': 70}}") };
    const struct runtime_user *u = container_user(test_arena(), &c);
    check_int(u->user, 70);
    check_int(u->group, 8);
    check_int((int64_t)u->group_count, 2);
    check_int(u->groups[1], 10);
    check(!container_is_root_against_its_will(&c));
    pod.object = test_json("{'spec': {'securityContext': {'runAsNonRoot': true}}}");
    c.spec = test_json("{}");
    check(!container_user(test_arena(), &c));
    check(container_is_root_against_its_will(&c));
    c.spec = test_json("{'securityContext': {'runAsNonRoot': false}}");
    check(!container_is_root_against_its_will(&c));
}
