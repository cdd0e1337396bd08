#include "kinds/pods/pod_trouble.h"

#include <string.h>

#include "tests/test.h"

/* One pod with a container `server` whose status has these fields. */
static struct pod_trouble of_container(const char *fields)
{
    struct arena *a = test_arena();
    const char *text = arena_printf(a,
        "[ { 'status': { 'conditions': [ { 'type': 'Ready', 'status': 'False' } ], "
        "'containerStatuses': [ { 'name': 'server', 'image': 'llama.test/s:1', %s } ] } } ]",
        fields);
    return pod_trouble_of(a, test_json(text));
}

TEST(a_crash_is_told_with_its_exit_code_and_the_line_that_says_most)
{
    struct pod_trouble t = of_container(
        "'state': { 'waiting': { 'reason': 'CrashLoopBackOff' } }, 'lastState': { 'terminated': { "
        "'exitCode': 3, 'reason': 'Error', 'message': 'loading\\nerror: no such file\\nbye' } }");
    check_text(t.reason, "CrashLoopBackOff");
    check_text(t.message,
        "Container server ends again and again, last with exit code 3: error: no such file");
}

TEST(a_killed_container_is_told_with_its_memory_limit)
{
    struct pod_trouble t =
        of_container("'resources': { 'limits': { 'memory': '4Gi' } }, "
                     "'state': { 'waiting': { 'reason': 'CrashLoopBackOff' } }, "
                     "'lastState': { 'terminated': { 'exitCode': 137, 'reason': 'OOMKilled' } }");
    check_text(t.reason, "OOMKilled");
    check(strstr(t.message, "more memory than its limit of 4Gi"));
}

TEST(an_image_that_cannot_be_pulled_is_named_and_its_two_reasons_are_one)
{
    struct pod_trouble one =
        of_container("'state': { 'waiting': { 'reason': 'ErrImagePull', 'message': 'x' } }");
    struct pod_trouble two =
        of_container("'state': { 'waiting': { 'reason': 'ImagePullBackOff', 'message': 'y' } }");
    check_text(one.reason, "ImagePullBackOff");
    check(strstr(one.message, "Image llama.test/s:1 of container server"));
    /* The kubelet alternates between them: that must not change a status. */
    check_text(two.reason, one.reason);
    check_text(two.message, one.message);
}

TEST(a_missing_secret_is_told_in_the_kubelets_words)
{
    struct pod_trouble t =
        of_container("'state': { 'waiting': { 'reason': 'CreateContainerConfigError', "
                     "'message': 'secret hub not found' } }");
    check_text(t.reason, "CreateContainerConfigError");
    check_text(t.message, "Container server cannot be started: secret hub not found");
}

TEST(a_pod_without_a_node_is_told_with_the_schedulers_reason)
{
    struct pod_trouble t = pod_trouble_of(test_arena(),
        test_json("[ { 'status': { 'conditions': [ { 'type': 'PodScheduled', 'status': 'False', "
                  "'reason': 'Unschedulable', 'message': '0/3 nodes are available' } ] } } ]"));
    check_text(t.reason, "Unschedulable");
    check_text(t.message, "No node takes the pod: 0/3 nodes are available");
}

TEST(pods_that_start_are_ready_or_end_have_no_trouble)
{
    check(!of_container("'state': { 'waiting': { 'reason': 'ContainerCreating' } }").reason);
    check(!of_container("'state': { 'running': {} }").reason);
    check(!pod_trouble_of(test_arena(),
        test_json("[ { 'metadata': { 'deletionTimestamp': 'now' }, 'status': { "
                  "'containerStatuses': [ { 'name': 'x', 'state': { 'waiting': { 'reason': "
                  "'CrashLoopBackOff' } } } ] } } ]"))
               .reason);
}

TEST(a_container_that_ended_twice_ends_again_and_again_before_the_kubelet_says_so)
{
    static const char form[] =
        "'state': { 'terminated': { 'exitCode': %s, 'finishedAt': '2026-11-19T04:%s:00Z' } }, "
        "'lastState': { 'terminated': { 'exitCode': 4, 'finishedAt': '2026-11-19T04:02:00Z' } }";
    struct arena *a = test_arena();
    struct pod_trouble t = of_container(arena_printf(a, form, "3", "03"));
    check_text(t.reason, "CrashLoopBackOff");
    check_text(t.message, "Container server ends again and again, last with exit code 3");
    check(!of_container(arena_printf(a, form, "3", "12")).reason);
    check(!of_container(arena_printf(a, form, "0", "03")).reason);
    check(!of_container("'state': { 'terminated': { 'exitCode': 3 } }").reason);
}
