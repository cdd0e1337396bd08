#include "tests/kinds/llmkube/runtime_case.h"

static bool read_gpu(
    const char *spec, const char *gpu, const char *pool, struct gpu *ret, struct error *err)
{
    struct llmkube_settings settings = {
        .gpu_sharing_shared_pool_selector = json_if(pool, test_json(pool)),
    };
    struct model model = { .name = "base", .gpu = json_if(gpu, test_json(gpu)) };
    return gpu_read(test_arena(), &settings, &model, test_json(spec), ret, err);
}

static struct gpu gpu_of(const char *spec, const char *gpu)
{
    return runtime_case(spec, gpu)->gpu;
}

TEST(the_models_gpu_count_wins_over_the_services)
{
    check_int(gpu_of("{'resources': {'gpu': 3}}", "{'count': 2}").count, 2);
    check_int(gpu_of("{'resources': {'gpu': 3}}", "{'count': 0}").count, 3);
    check_int(gpu_of("{'resources': {'gpu': 3}}", NULL).count, 3);
    check(!gpu_of("{}", NULL).present);
    check_int(gpu_of("{}", "{'enabled': true}").count, 0);
}

TEST(a_vendor_has_its_resource_name)
{
    static const struct {
        const char *gpu, *resource;
    } cases[] = {
        { "{}", "nvidia.com/gpu" },
        { "{'vendor': 'nvidia'}", "nvidia.com/gpu" },
        { "{'vendor': 'amd'}", "amd.com/gpu" },
        { "{'vendor': 'amd', 'runtime': 'vulkan'}", "devic.es/dri-render" },
        { "{'vendor': 'amd', 'runtime': 'rocm'}", "devic.es/dri-render" },
        { "{'vendor': 'nvidia', 'runtime': 'vulkan'}", "nvidia.com/gpu" },
        { "{'vendor': 'intel'}", "gpu.intel.com/i915" },
        { "{'vendor': 'amd', 'runtime': 'rocm', 'resourceName': 'a.test/b'}", "a.test/b" },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct gpu gpu = gpu_of("{}", cases[i].gpu);
        check_text(gpu.resource_name, cases[i].resource);
        check_text(gpu.toleration_key, cases[i].resource);
    }
    check_text(gpu_of("{}", "{'tolerationKey': 'k.test/l'}").toleration_key, "k.test/l");
}

TEST(claims_are_a_gpu_with_or_without_a_count)
{
    struct gpu gpu = gpu_of("{'resources': {'gpu': 2}}", "{'resourceClaims': [{'name': 'g'}]}");
    check(gpu.present);
    check_int(gpu.count, 2);
    gpu = gpu_of("{}", "{'resourceClaims': [{'name': 'g'}]}");
    check(gpu.present);
    check_int(gpu.count, 0);
    check_json(gpu.claims, "[{'name': 'g'}]");
    check(!json_present(gpu_of("{}", "{'resourceClaims': []}").claims));
    check(!gpu_of("{}", "{'resourceClaims': []}").present);
}

TEST(a_partition_is_a_resource_of_its_own)
{
    const char *spec = "{'resources': {'gpuSharing': {'mode': 'partitioned',"
                       " 'profile': '1g.24gb'}}}";
    struct gpu gpu = gpu_of(spec, "{'count': 1}");
    check_text(gpu.resource_name, "nvidia.com/mig-1g.24gb");
    check_text(gpu.toleration_key, "nvidia.com/mig-1g.24gb");
    check_text(
        gpu_of(spec, "{'count': 1, 'tolerationKey': 'k.test/l'}").toleration_key, "k.test/l");
}

TEST(sharing_needs_a_pool_except_on_amd)
{
    const char *spec = "{'resources': {'gpu': 1, 'gpuSharing': {'mode': 'shared'}}}";
    struct gpu gpu;
    struct error err;
    check(read_gpu(spec, NULL, "{'pool': 'shared'}", &gpu, &err));
    check_json(gpu.node_selector, "{'pool': 'shared'}");
    check_text(gpu.resource_name, "nvidia.com/gpu");
    check(read_gpu(spec, "{'vendor': 'amd'}", NULL, &gpu, &err));
    check(!json_present(gpu.node_selector));
    check_fails(read_gpu(spec, NULL, NULL, &gpu, &err),
        err,
        "Invalid gpuSharing: gpuSharing mode "
        "shared requires a configured shared "
        "pool");
}

TEST(sharing_that_cannot_be_is_refused_with_the_reason)
{
    static const struct {
        const char *sharing, *gpu, *message;
    } cases[] = {
        { "'mode': 'shared'", "{}", "gpuSharing mode \"shared\" requires exactly 1 GPU, got 0" },
        { "'mode': 'partitioned', 'profile': '1g.5gb'",
            "{'count': 2}",
            "gpuSharing mode \"partitioned\" requires exactly 1 GPU, got 2" },
        { "'mode': 'shared'",
            "{'count': 1, 'resourceClaims': [{'name': 'g'}]}",
            "resourceClaims of the Model exclude each other" },
        { "'mode': 'partitioned', 'profile': '1g.5gb'",
            "{'count': 1, 'vendor': 'intel'}",
            "not supported for GPU vendor \"intel\"" },
        { "'mode': 'partitioned', 'profile': '1g.5gb'",
            "{'count': 1, 'resourceName': 'a.test/b'}",
            "remove hardware.gpu.resourceName \"a.test/b\"" },
        { "'mode': 'partitioned'", "{'count': 1}", "gpuSharing.profile \"\" is not a valid MIG" },
        { "'mode': 'halved'", "{'count': 1}", "gpuSharing mode \"halved\" is not known" },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        const char *spec =
            arena_printf(test_arena(), "{'resources': {'gpuSharing': {%s}}}", cases[i].sharing);
        struct gpu gpu;
        struct error err;
        check_fails(read_gpu(spec, cases[i].gpu, NULL, &gpu, &err), err, cases[i].message);
        check_int(err.code, ERR_INVALID);
    }
}

TEST(a_mig_profile_is_slices_and_memory)
{
    static const char *const bad[] = { "half",
        "1g",
        "1g.",
        "g.24gb",
        "1g.gb",
        "1g.24g",
        "-1g.24gb",
        "1g.-4gb",
        "1g.24gb ",
        "1g.24gb.me",
        "1g+me.24gb" };
    struct gpu gpu;
    struct error err;
    for (size_t i = 0; i < lengthof(bad); i++) {
        const char *spec = arena_printf(test_arena(),
            "{'resources': {'gpuSharing': {'mode': 'partitioned', 'profile': '%s'}}}",
            bad[i]);
        check_fails(
            read_gpu(spec, "{'count': 1}", NULL, &gpu, &err), err, "is not a valid MIG profile");
    }
}

TEST(more_parallelism_than_gpus_is_refused)
{
    static const struct {
        const char *spec, *gpu, *message; /* NULL: fine */
    } cases[] = {
        { "{'runtime': 'vllm', 'vllmConfig': {'tensorParallelSize': 4}}",
            "{'count': 2}",
            "Invalid parallelism: vllmConfig.tensorParallelSize 4 exceeds the 2 GPU(s)" },
        { "{'runtime': 'vllm', 'vllmConfig': {'tensorParallelSize': 2}}", "{'count': 2}", NULL },
        { "{'runtime': 'vllm', 'vllmConfig': {'tensorParallelSize': 4}}", "{}", NULL },
        { "{'runtime': 'vllm', 'vllmConfig': {'tensorParallelSize': 4}}",
            "{'resourceClaims': [{'name': 'g'}]}",
            NULL },
        { "{'runtime': 'llamacpp', 'vllmConfig': {'tensorParallelSize': 4}}",
            "{'count': 2}",
            NULL },
        { "{'runtime': 'sglang', 'sglangConfig': {'tensorParallelSize': 3}}",
            "{'count': 2}",
            "(3 x 1) needs 3 GPUs but this pod requests 2" },
        { "{'runtime': 'sglang', 'sglangConfig': {'dataParallelSize': 2}}",
            "{'count': 1}",
            "(1 x 2) needs 2 GPUs but this pod requests 1" },
        { "{'runtime': 'sglang', 'sglangConfig': {'tensorParallelSize': 4611686018427387904,"
          " 'dataParallelSize': 4}}",
            "{'count': 1}",
            "Invalid parallelism" },
        { "{'runtime': 'sglang', 'sglangConfig': {'tensorParallelSize': 2,"
          " 'dataParallelSize': 2}}",
            "{'count': 4}",
            NULL },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct gpu gpu;
        struct error err = { 0 };
        bool fine = read_gpu(cases[i].spec, cases[i].gpu, NULL, &gpu, &err);
        check_int(fine, !cases[i].message);
        if (!fine)
            test_check_part(err.text, cases[i].message, cases[i].spec, __FILE__, __LINE__);
    }
}

TEST(a_gpu_that_cannot_be_read_is_named_with_its_model)
{
    struct gpu gpu;
    struct error err;
    check_fails(read_gpu("{}", "{'count': 'two'}", NULL, &gpu, &err),
        err,
        "Model base: spec.hardware.gpu.count: expected integer, got string");
    check_fails(read_gpu("{}", "{'count': 1000000000000}", NULL, &gpu, &err),
        err,
        "Model base: spec.hardware.gpu.count: ");
    check_fails(read_gpu("{'resources': {'gpu': 'two'}}", NULL, NULL, &gpu, &err),
        err,
        "spec.resources.gpu: expected integer, got string");
}
