#include "node/capacity.h"

#include "tests/test.h"

TEST(capacity_of_the_machine_is_told_as_the_api_has_it)
{
    struct gpus gpus = { .counts = { [GPU_INTEL_XE] = 3 } };
    struct capacity machine = capacity_of_machine(&gpus);
    check(machine.amounts[CAPACITY_CPU] >= 1000 && machine.amounts[CAPACITY_MEMORY] > 1 << 20);
    check_text(
        json_text(json_member(capacity_to_json(test_arena(), &machine), "gpu.intel.com/xe")), "3");
    struct capacity c = { { 2000, (int64_t)4 << 30, 0, [CAPACITY_PODS] = 110 } };
    check_json(capacity_to_json(test_arena(), &c), "{'cpu': '2', 'memory': '4Gi', 'pods': '110'}");
    c = (struct capacity){ { 1500, 1024, 2, [CAPACITY_PODS] = 1 } };
    check_json(capacity_to_json(test_arena(), &c),
        "{'cpu': '1500m', 'memory': '1Ki', 'nvidia.com/gpu': '2', 'pods': '1'}");
}

TEST(capacity_of_a_pod_is_the_most_it_needs_at_any_time)
{
    struct capacity c = capacity_of_pod(test_json(
        "{'spec': {'initContainers': ["
        "{'name': 's', 'restartPolicy': 'Always', 'resources': {'requests': {'cpu': '100m'}}},"
        "{'name': 'i', 'resources': {'requests': {'cpu': '2', 'memory': '1Mi'}}}],"
        "'containers': [{'resources': {'requests': {'cpu': 1, 'memory': '3Mi'}}},"
        "{'resources': {'limits': {'nvidia.com/gpu': '1', 'cpu': '500m'}}}]}}"));
    check_int(c.amounts[CAPACITY_CPU], 2100);
    check_int(c.amounts[CAPACITY_MEMORY], 3 << 20);
    check_int(c.amounts[CAPACITY_GPU], 1);
    check_int(c.amounts[CAPACITY_PODS], 1);
    check_int(capacity_gpu_kind(&c), GPU_NVIDIA);
    c = capacity_of_pod(test_json("{'spec': {'containers': [{'resources': {'limits': "
                                  "{'devic.es/dri-render': 1}}}, {}]}}"));
    check_int(capacity_gpu_kind(&c), GPU_RENDER);
    c = capacity_of_pod(test_json("{'spec': {'containers': [{}]}}"));
    check_int(capacity_gpu_kind(&c), GPU_KINDS);
}

TEST(capacity_that_lacks_is_said_with_numbers)
{
    struct capacity all = { { 2000, 1 << 30, 1, [CAPACITY_PODS] = 110 } };
    struct capacity used = { { 1500, 0, 1, [CAPACITY_PODS] = 109 } };
    struct capacity fits = { { 500, 1 << 30, 0, [CAPACITY_PODS] = 1 } };
    struct capacity negated = { { 501, 1, 1, [CAPACITY_PODS] = 1 } };
    struct capacity never = { { 2001, 1, 0, [CAPACITY_PODS] = 1 } };
    check(!capacity_lacks(test_arena(), &all, &used, &fits, "1 of NVIDIA"));
    check_text(capacity_lacks(test_arena(), &all, &used, &negated, "1 of NVIDIA"),
        "0/1 nodes are available: 1 Insufficient cpu (asked for 501m, free 500m of 2), 1 "
        "Insufficient nvidia.com/gpu (asked for 1, free 0 of 1). GPUs found: 1 of NVIDIA.");
    check_text(capacity_lacks(test_arena(), &all, &used, &never, "1 of NVIDIA"),
        "0/1 nodes are available: 1 Insufficient cpu (asked for 2001m, free 500m of 2). "
        "preemption: "
        "0/1 nodes are available: 1 Preemption is not helpful for scheduling.");
}

TEST(capacity_names_a_resource_that_the_machine_does_not_have)
{
    check_text(capacity_unknown(test_arena(),
                   test_json("{'spec': {'containers': [{'resources': {'limits': {'cpu': '1', "
                             "'nvidia.com/gpu': 1, 'nvidia.com/mig-1g.5gb': '2'}}}]}}")),
        "0/1 nodes are available: 1 Insufficient nvidia.com/mig-1g.5gb (this machine has none)."
        " preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.");
    check(!capacity_unknown(test_arena(),
        test_json("{'spec': {'containers': [{'resources': {'limits': {'ephemeral-storage': '1Gi', "
                  "'example.com/tpu': '0', 'hugepages-2Mi': 0}}}]}}")));
}
