#include "node/pod_internal.h"
#include "tests/test.h"

TEST(container_runs_as_whom_its_own_context_names_before_the_pods)
{
    struct node_runtime runtime = { .users = true, .mounts = true };
    struct pod_host host = { .runtime = &runtime };
    struct pod pod = { .host = &host,
        .uid = (char[]){ "u1" },
        .object = test_json("{'spec': {'securityContext': {'runAsUser': 7, 'runAsGroup': 8,"
                            " 'supplementalGroups': [9, 10], 'runAsNonRoot': true}}}") };
    struct container c = {
        .pod = &pod, .name = "main", .spec = test_json("{'securityContext': {'runAsUser': 70}}")
    };
    const struct runtime_user *u = container_user(test_arena(), &c);
    check_int(u->user, 70);
    check_int(u->group, 8);
    check_int((int64_t)u->group_count, 2);
    check_int(u->groups[1], 10);
    check(!container_user_refusal(test_arena(), &c));
    pod.object = test_json("{'metadata': {'name': 'web', 'namespace': 'default'}, 'spec': "
                           "{'securityContext': {'runAsNonRoot': true}}}");
    c.spec = test_json("{}");
    check(!container_user(test_arena(), &c));
    check_text(container_user_refusal(test_arena(), &c),
        "container has runAsNonRoot and image will run as root (pod: \"web_default(u1)\", "
        "container: main): there is no image here that would name a user; set "
        "securityContext.runAsUser");
    c.spec = test_json("{'securityContext': {'runAsUser': 0}}");
    check_text(container_user_refusal(test_arena(), &c),
        "container's runAsUser breaks non-root policy (pod: \"web_default(u1)\", container: main)");
    c.spec = test_json("{'securityContext': {'runAsNonRoot': false}}");
    check(!container_user_refusal(test_arena(), &c));
    c.spec = test_json("{}");
    runtime.users = false; /* who is not root runs nothing as root */
    check(!container_user_refusal(test_arena(), &c));
}
