#include "kinds/llmkube/args.h"

#include "base/buf.h"
#include "base/yaml.h"
#include "tests/kinds/llmkube/runtime_case.h"

static const char *with(const char *spec, const char *gpu)
{
    return case_args(runtime_case(spec, gpu));
}

static const char *p_min(const char *number)
{
    const char *spec = arena_printf(
        test_arena(), "{'speculativeDecoding': {'type': 'ngram-mod', 'pMin': %s}}", number);
    const char *args = with(spec, NULL);
    const char *at = strstr(args, "--spec-draft-p-min ");
    check(at);
    return arena_strndup(test_arena(), strchr(at, ' ') + 1, strcspn(strchr(at, ' ') + 1, " "));
}

TEST(numbers_are_as_short_as_they_can_be)
{
    check_text(p_min("0.95"), "0.95");
    check_text(p_min("0.1"), "0.1");
    check_text(p_min("1"), "1");
    check_text(p_min("1.0"), "1");
    check_text(p_min("0"), "0");
    check_text(p_min("0.30000000000000004"), "0.30000000000000004");
    check_text(p_min("0.0000001"), "0.0000001");
    check_text(p_min("1e21"), "1000000000000000000000");
}

TEST(a_flag_in_extra_args_is_known_in_both_forms_only)
{
    struct json list = test_json("['--host=1', '--portable', '-c', 7]");
    check(args_have(list, "--host"));
    check(!args_have(list, "--port"));
    check(args_have(test_json("['--port']"), "--port"));
    check(!args_have(list, "--hos"));
    check(!args_have(json_none, "--host"));
}

TEST(values_that_arguments_cannot_take_are_named)
{
    static const struct {
        const char *spec, *message;
    } cases[] = {
        { "{'contextSize': '4k'}", "spec.contextSize: expected integer, got string" },
        { "{'jinja': 'yes'}", "spec.jinja: expected boolean, got string" },
        { "{'extraArgs': '--x'}", "spec.extraArgs: expected list, got string" },
        { "{'extraArgs': ['--x', 1]}", "spec.extraArgs[1]: expected string, got integer" },
        { "{'ropeScaling': 'yarn'}", "spec.ropeScaling: expected object, got string" },
        { "{'flashAttention': 1}", "spec.flashAttention: expected boolean, got integer" },
        { "{'runtime': 'vllm', 'vllmConfig': {'speculative': 'on'}}",
            "spec.vllmConfig.speculative: expected object, got string" },
        { "{'cacheTypeCustomK': 3}", "spec.cacheTypeCustomK: expected string, got integer" },
        { "{'runtime': 'vllm', 'vllmConfig': {'gpuMemoryUtilization': true}}",
            "spec.vllmConfig.gpuMemoryUtilization: expected number, got boolean" },
        { "{'runtime': 'generic', 'args': [null]}", "spec.args[0]: expected string, got null" },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct llmkube_settings settings = { 0 };
        struct model model = { .name = "base" };
        struct gpu gpu;
        struct error err;
        struct json spec = test_json(cases[i].spec);
        check(!gpu_read(test_arena(), &settings, &model, spec, &gpu, &err));
        check_text(err.text, cases[i].message);
    }
}

TEST(null_and_empty_values_are_no_arguments)
{
    check_text(
        with("{'contextSize': null, 'cacheTypeK': '', 'jinja': false, 'extraArgs': []}", NULL),
        "--model /m.gguf --port 8080 --host :: --metrics");
}

/* ---- the tables against the CRD ---- */

#define CRD "api/inference.llmkube.dev_inferenceservices.yaml"

static struct json schema_of_spec(void)
{
    struct json documents;
    struct error err;
    struct buf text = BUF_INIT(YAML_BYTES_MAX);
    static char chunk[1 << 16];
    FILE *file = fopen(CRD, "r");
    check(file);
    for (size_t got; (got = fread(chunk, 1, sizeof(chunk), file)) > 0;)
        buf_add(&text, chunk, got);
    fclose(file);
    bool read = yaml_parse_all(test_arena(), buf_str(&text), CRD, &documents, &err);
    buf_done(&text);
    check(read);
    return json_get(
        documents, "0.spec.versions.0.schema.openAPIV3Schema.properties.spec.properties");
}

static void check_path(struct json properties, const char *path, enum json_type type)
{
    static const char *const names[] = {
        [JSON_BOOL] = "boolean",
        [JSON_INT] = "integer",
        [JSON_REAL] = "number",
        [JSON_STR] = "string",
        [JSON_LIST] = "array",
    };
    struct str rest = str_of(path);
    struct json field = { 0 };
    while (rest.ptr) {
        field = json_member_n(properties, str_cut(&rest, '.'));
        properties = json_get(field, "properties");
    }
    if (!text_eq(json_get_text(field, "type"), names[type]))
        test_fail(CRD, 1, "spec.%s is %s there", path, json_to_text(test_arena(), field));
}

TEST(every_argument_is_a_field_of_the_crd)
{
    static const struct runtime *const all[] = {
        &runtime_llamacpp,
        &runtime_llamacpp_router,
        &runtime_vllm,
        &runtime_sglang,
        &runtime_tgi,
        &runtime_personaplex,
        &runtime_generic,
    };
    struct json properties = schema_of_spec();
    for (size_t i = 0; i < lengthof(all); i++) {
        const struct args_rule *rule = all[i]->rules;
        for (; rule->flag || rule->path || rule->make; rule++) {
            if (rule->path)
                check_path(properties, rule->path, rule->type);
            if (rule->custom)
                check_path(properties, rule->custom, JSON_STR);
        }
    }
}

/* ---- llama.cpp ---- */

TEST(llamacpp_takes_its_arguments_in_this_order)
{
    struct runtime_case *c = runtime_case(
        "{'contextSize': 4096, 'ropeScaling': {'type': 'yarn', 'factor': '4',"
        " 'originalContext': 1024}, 'parallelSlots': 2, 'flashAttention': true, 'jinja': true,"
        " 'cacheTypeK': 'q8_0', 'cacheTypeV': 'f16', 'cacheTypeCustomV': 'turbo',"
        " 'moeCPUOffload': true, 'moeCPULayers': 3, 'noKvOffload': true,"
        " 'tensorOverrides': ['a=CPU', 'b=GPU'], 'batchSize': 7, 'uBatchSize': 5,"
        " 'noWarmup': true, 'speculativeDecoding': {'type': 'mtp', 'nDraftMax': 4, 'pMin': 0.5},"
        " 'reasoningBudget': 0, 'reasoningBudgetMessage': 'stop', 'metadataOverrides': ['k=v'],"
        " 'mode': 'rerank', 'bindAddress': '0.0.0.0', 'extraArgs': ['--verbose']}",
        "{'count': 3, 'layers': 20, 'sharding': {'layerSplit': ['0-9', '10-14', '15-19']}}");
    c->in.draft_path = "/d.gguf";
    c->in.mmproj_path = "/mm.gguf";
    check_text(case_args(c),
        "--model /m.gguf --port 8080 --host 0.0.0.0 --n-gpu-layers 20 --split-mode layer "
        "--tensor-split 2,1,1 --ctx-size 4096 --rope-scaling yarn --rope-scale 4 "
        "--yarn-orig-ctx 1024 --parallel 2 --flash-attn on --jinja --cache-type-k q8_0 "
        "--cache-type-v turbo --cpu-moe --n-cpu-moe 3 --no-kv-offload --override-tensor a=CPU "
        "--override-tensor b=GPU --batch-size 7 --ubatch-size 5 --no-warmup "
        "--spec-type draft-mtp -md /d.gguf --spec-draft-n-max 4 --spec-draft-p-min 0.5 "
        "--reasoning-budget 0 --reasoning-budget-message stop --mmproj /mm.gguf --override-kv k=v "
        "--reranking --embedding --pooling rank --cache-ram 0 --verbose --metrics");
}

TEST(llamacpp_gives_way_to_extra_args)
{
    check_text(with("{'parallelSlots': 2, 'ropeScaling': {'type': 'linear', 'factor': '2',"
                    " 'originalContext': 512}, 'mode': 'embedding', 'extraArgs': ['--host', '::1', "
                    "'--parallel=3',"
                    " '--rope-scaling', 'none', '--pooling', 'mean', '--metrics']}",
                   NULL),
        "--model /m.gguf --port 8080 --embedding --cache-ram 0 --host ::1 --parallel=3 "
        "--rope-scaling none --pooling mean --metrics");
}

TEST(llamacpp_leaves_each_mode_flag_to_extra_args)
{
    static const char *const flags[] = {
        "--reranking",
        "--embedding",
        "--pooling rank",
        "--cache-ram 0",
    };
    for (size_t own = 0; own < lengthof(flags); own++) {
        struct arena *a = test_arena();
        const char *name = arena_strndup(a, flags[own], strcspn(flags[own], " "));
        const char *want = "--model /m.gguf --port 8080 --host ::";
        for (size_t i = 0; i < lengthof(flags); i++)
            if (i != own)
                want = arena_printf(a, "%s %s", want, flags[i]);
        want = arena_printf(a, "%s %s=x --metrics", want, name);
        check_text(
            with(arena_printf(a, "{'mode': 'rerank', 'extraArgs': ['%s=x']}", name), NULL), want);
    }
}

TEST(every_server_leaves_its_address_to_extra_args)
{
    static const struct {
        const char *runtime, *flag;
    } cases[] = {
        { "llamacpp", "--host" },
        { "llamacpp-router", "--host" },
        { "vllm", "--host" },
        { "sglang", "--host" },
        { "tgi", "--hostname" },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        const char *spec = arena_printf(test_arena(),
            "{'runtime': '%s', 'bindAddress': '::1', 'extraArgs': ['%s', '0.0.0.0']}",
            cases[i].runtime,
            cases[i].flag);
        const char *args = with(spec, NULL);
        check(!strstr(args, "::1"));
        check(strstr(args, arena_printf(test_arena(), "%s 0.0.0.0", cases[i].flag)));
    }
}

TEST(llamacpp_has_no_model_flag_when_nothing_is_staged)
{
    struct runtime_case *c = runtime_case("{'extraArgs': ['-hf', 'acme/chat']}", NULL);
    c->in.model_path = "";
    check_text(case_args(c), "--port 8080 --host :: -hf acme/chat --metrics");
}

TEST(llamacpp_splits_by_layers_only_when_each_gpu_has_a_range)
{
    static const struct {
        const char *sharding, *want;
    } cases[] = {
        { "{'strategy': 'layer', 'layerSplit': ['0-24', '25-39']}", "layer --tensor-split 5,3" },
        { "{'strategy': 'pipeline', 'layerSplit': ['0-24']}", "layer --tensor-split 1,1" },
        { "{'layerSplit': ['0-0', '1-4']}", "layer --tensor-split 1,4" },
        { "{'layerSplit': ['0-24', '39-25']}", "layer --tensor-split 1,1" },
        { "{'layerSplit': ['0-24', 'rest']}", "layer --tensor-split 1,1" },
        { "{'layerSplit': ['0-24', '25-99999999999999999999']}", "layer --tensor-split 1,1" },
        { "{'strategy': 'row'}", "row --tensor-split 1,1" },
        { "{'strategy': 'none', 'layerSplit': ['0-24', '25-39']}", "none" },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct arena *a = test_arena();
        const char *gpu = arena_printf(a, "{'count': 2, 'sharding': %s}", cases[i].sharding);
        check_text(with("{'extraArgs': ['--host=h']}", gpu),
            arena_printf(a,
                "--model /m.gguf --port 8080 --n-gpu-layers 99 --split-mode %s --host=h --metrics",
                cases[i].want));
    }
}

TEST(llamacpp_without_a_gpu_has_no_flash_attention)
{
    check_text(
        with("{'flashAttention': true}", NULL), "--model /m.gguf --port 8080 --host :: --metrics");
    check_text(with("{'flashAttention': true}", "{'resourceClaims': [{'name': 'g'}]}"),
        "--model /m.gguf --port 8080 --host :: --n-gpu-layers 99 --flash-attn on --metrics");
}

TEST(llamacpp_speculates_with_nothing_when_it_is_switched_off)
{
    static const char *const off[] = { "none", "disabled" };
    for (size_t i = 0; i < lengthof(off); i++) {
        const char *spec = arena_printf(test_arena(),
            "{'speculativeDecoding': {'type': '%s', 'nDraftMax': 4, 'pMin': 0.5}}",
            off[i]);
        struct runtime_case *c = runtime_case(spec, NULL);
        c->in.draft_path = "/d.gguf";
        check_text(case_args(c), "--model /m.gguf --port 8080 --host :: --metrics");
    }
}

TEST(llamacpp_router_has_metrics_before_extra_args)
{
    check_text(with("{'runtime': 'llamacpp-router', 'contextSize': 1, 'extraArgs': ['-v']}",
                   "{'count': 2}"),
        "--models-dir /models --port 8080 --host :: --metrics -v");
}

/* ---- vLLM ---- */

TEST(vllm_takes_its_arguments_in_this_order)
{
    check_text(
        with("{'runtime': 'vllm', 'parallelSlots': 9, 'vllmConfig': {'tensorParallelSize': 2,"
             " 'maxModelLen': 1, 'quantization': 'fp8', 'dtype': 'auto', 'kvCacheDtype': 'fp8',"
             " 'enablePrefixCaching': true, 'enableChunkedPrefill': true,"
             " 'maxNumBatchedTokens': 512, 'attentionBackend': 'FLASHINFER', 'speculative':"
             " {'enabled': true, 'model': 'd', 'numSpeculativeTokens': 4},"
             " 'enableExpertParallel': true, 'cpuOffloadGB': 4, 'gpuMemoryUtilization': 0.95},"
             " 'extraArgs': ['--x']}",
            "{'count': 2}"),
        "/m.gguf --port 8000 --host :: --tensor-parallel-size 2 --max-model-len 1 "
        "--quantization fp8 --dtype auto --kv-cache-dtype fp8 --enable-prefix-caching "
        "--enable-chunked-prefill --max-num-batched-tokens 512 --attention-backend FLASHINFER "
        "--speculative-model d --num-speculative-tokens 4 --enable-expert-parallel "
        "--cpu-offload-gb 4 --gpu-memory-utilization 0.95 --max-num-seqs 9 --x");
}

TEST(vllm_spreads_over_all_gpus_unless_told)
{
    check_text(with("{'runtime': 'vllm'}", "{'count': 4}"),
        "/m.gguf --port 8000 --host :: --tensor-parallel-size 4");
    check_text(with("{'runtime': 'vllm', 'vllmConfig': {'tensorParallelSize': 1}}", "{'count': 4}"),
        "/m.gguf --port 8000 --host ::");
    check_text(with("{'runtime': 'vllm'}", "{'count': 1}"), "/m.gguf --port 8000 --host ::");
}

TEST(vllm_offloads_only_from_a_counted_gpu)
{
    const char *spec = "{'runtime': 'vllm', 'vllmConfig': {'cpuOffloadGB': 4,"
                       " 'gpuMemoryUtilization': 0.5}}";
    check_text(with(spec, NULL), "/m.gguf --port 8000 --host ::");
    check_text(with(spec, "{'resourceClaims': [{'name': 'g'}]}"), "/m.gguf --port 8000 --host ::");
    check_text(with("{'runtime': 'vllm', 'vllmConfig': {'cpuOffloadGB': 0}}", "{'count': 1}"),
        "/m.gguf --port 8000 --host :: --cpu-offload-gb 0");
}

TEST(vllm_speculates_only_when_it_is_switched_on_and_has_a_model)
{
    static const char *const off[] = {
        "{'enabled': false, 'model': 'd', 'numSpeculativeTokens': 4}",
        "{'model': 'd', 'numSpeculativeTokens': 4}",
        "{'enabled': true, 'model': '', 'numSpeculativeTokens': 4}",
    };
    for (size_t i = 0; i < lengthof(off); i++) {
        const char *spec = arena_printf(
            test_arena(), "{'runtime': 'vllm', 'vllmConfig': {'speculative': %s}}", off[i]);
        check_text(with(spec, NULL), "/m.gguf --port 8000 --host ::");
    }
}

TEST(vllm_and_sglang_serve_a_directory_of_several_files)
{
    struct runtime_case *c = runtime_case("{'runtime': 'vllm'}", NULL);
    c->in.staged_dir = "/dir";
    check_text(case_args(c), "/m.gguf --port 8000 --host ::");
    c->model.format = "safetensors";
    check_text(case_args(c), "/dir --port 8000 --host ::");
    c->in.model_path = "";
    c->model.source = (struct source){ .origin = SOURCE_HF_REPO, .repo = "a/b", .revision = "v1" };
    check_text(case_args(c), "a/b@v1 --port 8000 --host ::");
}

/* ---- SGLang ---- */

TEST(sglang_takes_its_arguments_in_this_order)
{
    check_text(
        with("{'runtime': 'sglang', 'modelRef': 'base', 'sglangConfig': {'tensorParallelSize': 1,"
             " 'expertParallelSize': 2, 'dataParallelSize': 1, 'contextLength': 128,"
             " 'memFractionStatic': 0.85, 'chunkedPrefillSize': 512, 'maxRunningRequests': 8,"
             " 'quantization': 'awq', 'kvCacheDtype': 'fp8_e5m2', 'attentionBackend': 'flashinfer',"
             " 'enablePrefixCaching': true, 'toolCallParser': 'qwen3', 'reasoningParser': 'qwen3',"
             " 'chatTemplate': 't', 'speculative': {'enabled': true, 'algorithm': 'EAGLE',"
             " 'draftModelPath': 'd', 'numSteps': 3, 'eagleTopK': 2, 'numDraftTokens': 4,"
             " 'acceptThresholdSingle': 0.9, 'acceptThresholdAcc': 1}, 'loraModules': ['b=/b'],"
             " 'loraAdapters': [{'name': 'a', 'path': '/a'}], 'maxLoraRank': 8,"
             " 'loraTargetModules': ['q', 'v'], 'logLevel': 'info', 'trustRemoteCode': true,"
             " 'skipTokenizerInit': true}, 'mode': 'embedding', 'extraArgs': ['--x']}",
            "{'count': 1}"),
        "--model-path /m.gguf --port 30000 --enable-metrics --host :: --served-model-name base "
        "--tp 1 --ep 2 --dp 1 --context-length 128 --mem-fraction-static 0.85 "
        "--chunked-prefill-size 512 --max-running-requests 8 --quantization awq "
        "--kv-cache-dtype fp8_e5m2 --attention-backend flashinfer --enable-prefix-caching "
        "--tool-call-parser qwen3 --reasoning-parser qwen3 --chat-template t "
        "--speculative-algorithm EAGLE --speculative-draft-model-path d --speculative-num-steps 3 "
        "--speculative-eagle-topk 2 --speculative-num-draft-tokens 4 "
        "--speculative-accept-threshold-single 0.9 --speculative-accept-threshold-acc 1 "
        "--lora-paths a=/a b=/b --max-lora-rank 8 --lora-target-modules q v --log-level info "
        "--trust-remote-code --skip-tokenizer-init --is-embedding --x");
}

TEST(sglang_spreads_over_all_gpus_and_gives_way_to_extra_args)
{
    check_text(
        with("{'runtime': 'sglang', 'modelRef': 'base', 'endpoint': {'path': '/v1/embeddings'},"
             " 'extraArgs': ['--served-model-name=n', '--is-embedding']}",
            "{'count': 2}"),
        "--model-path /m.gguf --port 30000 --enable-metrics --host :: --tp 2 "
        "--served-model-name=n --is-embedding");
}

TEST(sglang_sets_aside_memory_only_of_a_counted_gpu)
{
    check_text(with("{'runtime': 'sglang', 'modelRef': 'base',"
                    " 'sglangConfig': {'memFractionStatic': 0.5}}",
                   NULL),
        "--model-path /m.gguf --port 30000 --enable-metrics --host :: --served-model-name base");
}

TEST(sglang_leaves_out_adapters_that_it_cannot_read)
{
    check_text(with("{'runtime': 'sglang', 'modelRef': 'base', 'sglangConfig': {'loraModules': ["
                    "'', '=/x', 'bare', '{', '{\\\"path\\\": \\\"/p\\\"}', '[1]', 'a b=/c',"
                    " '{\\\"name\\\": \\\"n\\\"}', 'k=v=w']}}",
                   NULL),
        "--model-path /m.gguf --port 30000 --enable-metrics --host :: --served-model-name base "
        "--lora-paths n= k=v=w");
}

/* ---- the rest ---- */

TEST(tgi_takes_its_arguments_in_this_order)
{
    struct runtime_case *c = runtime_case(
        "{'runtime': 'tgi', 'containerPort': 81, 'tgiConfig': {'quantize': 'awq',"
        " 'maxInputLength': 2, 'maxTotalTokens': 4, 'dtype': 'float16'}, 'extraArgs': ['--x']}",
        "{'count': 2}");
    c->in.model_path = "";
    c->model.source = (struct source){ .origin = SOURCE_HF_REPO, .repo = "acme/chat" };
    check_text(case_args(c),
        "--model-id acme/chat --port 81 --hostname :: --quantize awq --max-input-length 2 "
        "--max-total-tokens 4 --dtype float16 --num-shard 2 --x");
}

TEST(generic_takes_its_own_arguments_and_no_extra_ones)
{
    check_text(with("{'runtime': 'generic', 'args': ['a', ''], 'extraArgs': ['b']}", NULL), "a ");
    check_text(with("{'runtime': 'personaplex', 'personaPlexConfig': {'cpuOffload': true}}", NULL),
        "--ssl /app/ssl --cpu-offload");
}
