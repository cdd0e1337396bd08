#include "cli/run/wanted.h"

#include "tests/folder.h"
#include "tests/test.h"

static struct wanted read_it(const char *word, const char *name)
{
    struct wanted w;
    struct error err;
    if (!wanted_read(test_arena(), word, name, &w, &err))
        check_text(err.text, "");
    return w;
}

static void check_refused(const char *word, const char *part)
{
    struct wanted w;
    struct error err;
    check_fails(wanted_read(test_arena(), word, NULL, &w, &err), err, part);
}

TEST(a_word_is_a_file_a_url_a_file_of_the_hub_or_a_name)
{
    const char *folder = folder_new();
    folder_put(folder, "Tiny_Chat-1.5B.Q4_K_M.gguf", 5);
    const char *path = arena_printf(
        test_arena(), "%s/../%s/Tiny_Chat-1.5B.Q4_K_M.gguf", folder, strrchr(folder, '/') + 1);
    struct wanted w = read_it(path, NULL);
    check(w.local);
    check_text(
        w.source, arena_printf(test_arena(), "file://%s/Tiny_Chat-1.5B.Q4_K_M.gguf", folder));
    check_text(w.name, "tiny-chat-1-5b-q4-k-m");
    folder_remove(folder);
    w = read_it("https://models.test/a/B.gguf?download=true", "sail");
    check_text(w.source, "https://models.test/a/B.gguf?download=true");
    check_text(w.name, "sail");
    check_text(read_it("https://models.test/a/7B.gguf?x=a/b", NULL).name, "m-7b");
    w = read_it("hf://org/repo/sub/model.gguf", NULL);
    check_text(w.source, "https://huggingface.co/org/repo/resolve/main/sub/model.gguf");
    check_text(w.name, "model");
    check(!w.local);
    check_text(read_it("hf://org/repo/m.gguf@v2", NULL).source,
        "https://huggingface.co/org/repo/resolve/v2/m.gguf");
    w = read_it("tinyllama", NULL);
    check(!w.source);
    check_text(w.name, "tinyllama");
}

TEST(a_word_that_names_no_model_is_refused_with_a_remedy)
{
    check_refused("./nowhere.gguf", "there is no file ./nowhere.gguf; a file of Hugging Face");
    check_refused("hf://org/repo", "hf://org/repo/FILE.gguf");
    check_refused("hf://org/repo@v2", "huggingface.co/org/repo/tree/v2");
    check_refused("https://huggingface.co/org/repo", "is no URL of a file");
    check_refused("s3://bucket/key", "need a manifest of their own");
    check_refused("Not A Name", "is no name that can be used");
    struct wanted w;
    struct error err;
    check_fails(wanted_read(test_arena(), "tiny", "other", &w, &err), err, "--name is for a new");
    check_fails(
        wanted_read(test_arena(), "https://a.test/x.gguf", "N", &w, &err), err, "no name that can");
}

TEST(objects_have_what_was_asked_for_and_nothing_else)
{
    struct wanted w = { .source = "https://a.test/x.gguf", .name = "x" };
    struct wanted_options o = { .ns = "default" };
    check_json(wanted_model(test_arena(), &w, &o),
        "{'apiVersion': 'inference.llmkube.dev/v1alpha1', 'kind': 'Model', 'metadata': {'name': "
        "'x'}, 'spec': {'source': 'https://a.test/x.gguf'}}");
    check_json(wanted_service(test_arena(), &w, &o, "x"),
        "{'apiVersion': 'inference.llmkube.dev/v1alpha1', 'kind': 'InferenceService', 'metadata': "
        "{'name': 'x'}, 'spec': {'modelRef': 'x', 'replicas': 1}}");
    o = (struct wanted_options){
        .ns = "team", .context = 4096, .gpus = 1, .prefetch = true, .vendor = "amd"
    };
    check_json(json_get(wanted_model(test_arena(), &w, &o), "spec"),
        "{'source': 'https://a.test/x.gguf', 'prefetch': true, 'hardware': {'accelerator': 'rocm', "
        "'gpu': {'enabled': true, 'vendor': 'amd'}}}");
    check_json(wanted_service(test_arena(), &w, &o, "y"),
        "{'apiVersion': 'inference.llmkube.dev/v1alpha1', 'kind': 'InferenceService', 'metadata': "
        "{'name': 'x', 'namespace': 'team'}, 'spec': {'modelRef': 'y', 'replicas': 1, "
        "'contextSize': 4096, 'resources': {'gpu': 1}}}");
}
