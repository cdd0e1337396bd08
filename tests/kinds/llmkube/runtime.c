#include "tests/kinds/llmkube/runtime_case.h"

static const char *image(const struct runtime_case *c)
{
    return runtime_image(test_arena(), c->runtime, &c->in);
}

TEST(an_unknown_runtime_is_llamacpp)
{
    check_text(runtime_find(NULL)->name, "llamacpp");
    check_text(runtime_find("surprise")->name, "llamacpp");
    check_text(runtime_find("tgi")->name, "tgi");
}

TEST(the_services_image_wins_then_the_fleets_then_the_vendors)
{
    struct runtime_case *c = runtime_case("{}", "{'count': 1}");
    check_text(image(c), "ghcr.io/ggml-org/llama.cpp:server-cuda-b10068");
    c->settings.runtime_images = test_json("{'llamacpp': 'fleet', 'generic': 'fleet'}");
    check_text(image(c), "fleet");
    c->in.spec = test_json("{'image': 'own'}");
    check_text(image(c), "own");

    c->runtime = runtime_find("llamacpp-router"); /* a fleet's image is for plain llama.cpp only */
    c->in.spec = test_json("{}");
    check_text(image(c), "ghcr.io/ggml-org/llama.cpp:server");
    c->runtime = runtime_find("generic");
    check_text(image(c), NULL);
}

TEST(llamacpp_has_the_image_of_the_gpu_that_it_gets)
{
    static const struct {
        const char *spec, *gpu, *part;
    } cases[] = {
        { "{}", NULL, "llama.cpp:server" },
        { "{}", "{'enabled': false, 'count': 0}", "llama.cpp:server" },
        { "{}", "{'enabled': true}", "llama.cpp:server-cuda-b10068" },
        { "{'resources': {'gpu': 1}}", NULL, "llama.cpp:server-cuda-b10068" },
        { "{}", "{'resourceClaims': [{'name': 'g'}]}", "llama.cpp:server-cuda-b10068" },
        { "{}", "{'vendor': 'amd', 'count': 1}", "llama.cpp:server" },
        { "{}", "{'vendor': 'amd', 'runtime': 'vulkan'}", "llmkube-llama-vulkan@sha256:cbab8af6" },
        { "{}", "{'vendor': 'amd', 'runtime': 'rocm'}", "llmkube-llama-rocm@sha256:8da16041" },
        { "{}", "{'vendor': 'intel', 'count': 1}", "llama.cpp:server" },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        const char *got = image(runtime_case(cases[i].spec, cases[i].gpu));
        if (strchr(cases[i].part, '@'))
            test_check_part(got, cases[i].part, cases[i].gpu, __FILE__, __LINE__);
        else
            check_text(got, arena_printf(test_arena(), "ghcr.io/ggml-org/%s", cases[i].part));
    }
}

TEST(the_container_port_is_the_first_that_is_said)
{
    static const struct {
        const char *spec;
        int64_t port;
    } cases[] = {
        { "{'runtime': 'vllm'}", 8000 },
        { "{'runtime': 'vllm', 'endpoint': {'port': 8080}}", 8080 },
        { "{'runtime': 'vllm', 'endpoint': {'port': 8080}, 'containerPort': 9000}", 9000 },
        { "{'runtime': 'personaplex', 'endpoint': {}}", 8998 },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct json spec = test_json(cases[i].spec);
        const struct runtime *r = runtime_find(json_get_text(spec, "runtime"));
        check_int(runtime_container_port(r, spec), cases[i].port);
    }
}

TEST(an_override_replaces_a_whole_probe)
{
    struct json spec = test_json("{'containerPort': 9, 'probeOverrides': {'liveness':"
                                 " {'exec': {'command': ['true']}}, 'startup': null}}");
    check_json(runtime_probes(test_arena(), &runtime_sglang, spec),
        "{'startupProbe': {'httpGet': {'path': '/health_generate', 'port': 9},"
        "  'periodSeconds': 10, 'timeoutSeconds': 5, 'failureThreshold': 180},"
        " 'livenessProbe': {'exec': {'command': ['true']}},"
        " 'readinessProbe': {'httpGet': {'path': '/health_generate', 'port': 9},"
        "  'periodSeconds': 10, 'timeoutSeconds': 5, 'failureThreshold': 3}}");
    check_json(json_get(runtime_probes(test_arena(), &runtime_generic, spec), "readinessProbe"),
        "{'tcpSocket': {'port': 9}, 'periodSeconds': 10, 'timeoutSeconds': 5,"
        " 'failureThreshold': 3}");
}

TEST(the_mode_is_said_or_seen)
{
    static const struct {
        const char *spec, *mode;
    } cases[] = {
        { "{}", "chat" },
        { "{'mode': 'rerank', 'extraArgs': ['--embedding']}", "rerank" },
        { "{'mode': '', 'extraArgs': ['--embedding=true']}", "embedding" },
        { "{'extraArgs': ['--embeddings']}", "embedding" },
        { "{'extraArgs': ['--embedding'], 'args': ['--reranking']}", "rerank" },
        { "{'args': ['--embedding'], 'endpoint': {'path': '/v1/rerank'}}", "embedding" },
        { "{'endpoint': {'path': '/v1/rerank'}}", "rerank" },
        { "{'endpoint': {'path': '/v1/embeddings'}}", "embedding" },
        { "{'endpoint': {'path': '/v1/chat/completions'}}", "chat" },
    };
    for (size_t i = 0; i < lengthof(cases); i++)
        check_text(runtime_mode(test_json(cases[i].spec)), cases[i].mode);
}

static const char *finding(const char *spec, const char *gpu)
{
    struct runtime_case *c = runtime_case(spec, gpu);
    struct runtime_finding found = runtime_check(test_arena(), c->runtime, &c->in);
    return !found.reason ? "none"
                         : arena_printf(test_arena(), "%s %s", found.condition, found.reason);
}

TEST(settings_without_effect_are_found)
{
    static const struct {
        const char *spec, *gpu, *want;
    } cases[] = {
        { "{'runtime': 'vllm', 'vllmConfig': {'speculative': {'enabled': true}}}",
            NULL,
            "VLLMSpecValid SpeculativeMissingModel" },
        { "{'runtime': 'vllm', 'vllmConfig': {'speculative': {'enabled': false}}}", NULL, "none" },
        { "{'runtime': 'vllm', 'vllmConfig': {'cpuOffloadGB': 0}}", NULL, "none" },
        { "{'runtime': 'vllm', 'vllmConfig': {'cpuOffloadGB': 1}}",
            NULL,
            "VLLMSpecValid CPUOffloadUnverified" },
        { "{'runtime': 'llamacpp', 'vllmConfig': {'cpuOffloadGB': 1}}", NULL, "none" },
        { "{'runtime': 'vllm'}",
            "{'vendor': 'amd', 'count': 1}",
            "VLLMSpecValid ImageForOtherVendor" },
        { "{'runtime': 'vllm', 'image': 'rocm'}", "{'vendor': 'amd', 'count': 1}", "none" },
        { "{'runtime': 'sglang'}", "{'vendor': 'amd', 'count': 1}", "none" },
        { "{'runtime': 'sglang'}",
            "{'vendor': 'intel', 'count': 1}",
            "SGLangSpecValid ImageForOtherVendor" },
        { "{'runtime': 'sglang', 'sglangConfig': {'speculative': {'acceptThresholdAcc': 1}}}",
            NULL,
            "SGLangSpecValid SpeculativeAcceptThresholdUnused" },
        { "{'runtime': 'tgi'}", NULL, "TGISpecValid SourceNotServable" },
    };
    for (size_t i = 0; i < lengthof(cases); i++)
        check_text(finding(cases[i].spec, cases[i].gpu), cases[i].want);
}

TEST(a_service_without_a_model_has_no_findings)
{
    struct runtime_case c = { 0 };
    c.in = (struct runtime_input){ &c.settings, &c.model, test_json("{'runtime': 'tgi'}"), &c.gpu };
    check(!runtime_check(test_arena(), &runtime_tgi, &c.in).reason);
}

TEST(a_token_comes_from_the_secret_as_it_is_named)
{
    struct runtime_case *c = runtime_case("{'runtime': 'personaplex', 'personaPlexConfig':"
                                          " {'hfTokenSecretRef': {'name': 's', 'key': 'k'}}}",
        NULL);
    check_json(runtime_env(test_arena(), c->runtime, c->in.spec),
        "[{'name': 'HF_TOKEN', 'valueFrom': {'secretKeyRef': {'name': 's', 'key': 'k'}}},"
        " {'name': 'NO_TORCH_COMPILE', 'value': '1'}]");
    c = runtime_case("{'runtime': 'tgi'}", NULL);
    check_json(runtime_env(test_arena(), c->runtime, c->in.spec), "[]");
}
