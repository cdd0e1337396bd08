#include <signal.h>

#include "node/pod_internal.h"
#include "tests/test.h"

static int signal_of(const char *name)
{
    struct container c = { .spec = json_fields(
                               test_arena(), { "lifecycle.stopSignal", json_str(name) }) };
    return container_stop_signal(&c);
}

TEST(container_stops_by_the_signal_that_its_spec_names)
{
    check_int(signal_of(NULL), 0);
    check_int(signal_of("SIGTERM"), SIGTERM);
    check_int(signal_of("SIGUSR2"), SIGUSR2);
    check_int(signal_of("SIGRTMIN"), SIGRTMIN);
    check_int(signal_of("SIGRTMIN+3"), SIGRTMIN + 3);
    check_int(signal_of("SIGRTMAX-2"), SIGRTMAX - 2);
    check_int(signal_of("SIGRTMIN+99"), 0);
    check_int(signal_of("SIGNOTHING"), 0);
    check_int(signal_of("USR2"), 0);
}

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
