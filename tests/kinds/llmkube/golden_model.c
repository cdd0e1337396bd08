/* Every recorded case that has Models, through the Model kind: what upstream's controller made of
 * them on a real API server is what ours plans, except where upstream is wrong for its users. */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/kinds/llmkube/llmkube_stage.h"
#include "tests/test.h"

#define GOLDEN "tests/golden/llmkube"

/* Where we differ, and why. An entry that no longer differs fails the test. */
static const struct {
    const char *model; /* case/name */
    const char *reason;
} differs[] = {
    { "flags-prefetch/ahead", "perService caches: no service would read what the Job fetches" },
    { "nocache-prefetch/ahead", "no cache: no service would read what the Job fetches" },
    { "model-prefetch-hf-repo/ahead", "a Job that must fail: a repository is no file" },
    { "model-prefetch-ineligible/bare", "a condition says that spec.prefetch has no effect" },
    { "model-prefetch-ineligible/bucket", "a condition says that spec.prefetch has no effect" },
    { "model-file-copied/disk", "Progressing does not stay True" },
    { "isvc-file/disk", "Progressing does not stay True" },
    { "nocache-file/disk", "Progressing does not stay True" },
    { "zz-model-bare-word/single", "InvalidSource instead of a loop of downloads" },
    { "zz-model-hf-dataset/data", "InvalidSource instead of a loop of downloads" },
    { "zz-model-hf-dataset/space", "InvalidSource instead of a loop of downloads" },
    { "zz-model-file-missing/none", "Failed, and quiet" },
};

static const char header[] =
    "{'architecture': 'llama', 'contextLength': 4096, 'embeddingSize': 64, 'fileVersion': 3,"
    " 'headCount': 4, 'layerCount': 3, 'license': 'mit', 'modelName': 'Tiny Chat 0.1B (test)',"
    " 'quantization': 'Q4_K_M', 'tensorCount': 1}";

/* What the recording's servers and disk had. */
static void script_effects(struct stage *w)
{
    static const char *const readable[] = { "http://127.0.0.1:21010/tiny.gguf",
        "http://127.0.0.1:21010/norange/tiny.gguf",
        "http://127.0.0.1:21010/hop/tiny.gguf",
        "s3://shelf/tiny.gguf" };
    static const char *const unreadable[] = { "https://weights.test/base.gguf",
        "https://weights.test/little.gguf",
        "https://weights.test/cpu.gguf",
        "https://weights.test/other.gguf",
        "https://weights.test/dir/q.gguf?rev=2&sig=a%20b",
        "https://huggingface.co/acme/small-chat/resolve/main/small-q4.gguf",
        "https://huggingface.co/acme/small-chat/blob/main/sub/small-q4.gguf?download=true",
        "http://10.0.0.5/inside.gguf",
        "http://127.0.0.1:21010/gone.gguf",
        "s3://shelf/chat.gguf" };
    static const char *const files[] = { "tiny", "served", "plain" };
    static const char *const keys[] = {
        "/srv/cache/508f3459e9d463e5", "/srv/cache/53c52b58eec5a600", "/models/60e5393b1205037b"
    };
    struct arena *a = test_arena();
    for (size_t i = 0; i < lengthof(readable); i++)
        stage_fact(w,
            arena_printf(a, "model.probe %s", readable[i]),
            arena_printf(a,
                "{'result': {'size': 672, 'etag': '\\\"fixed\\\"', 'contentLength': 672,"
                " 'gguf': %s}}",
                header));
    for (size_t i = 0; i < lengthof(unreadable); i++)
        stage_fact(w,
            arena_printf(a, "model.probe %s", unreadable[i]),
            "{'error': {'code': 'NotFound', 'message': 'not there'}}");
    stage_fact(w,
        "model.probe http://127.0.0.1:21010/junk.gguf",
        "{'result': {'size': 1000, 'etag': '\\\"fixed\\\"', 'contentLength': 1000}}");
    for (size_t i = 0; i < lengthof(files); i++)
        stage_fact(w,
            arena_printf(a, "model.copy /srv/models/%s.gguf", files[i]),
            arena_printf(a,
                "{'result': {'path': '%s/Tiny-Chat-0.1B-test.gguf', 'size': 672, 'gguf': %s, "
                "'sha256':"
                " '95d50e89424baff7bffb4fdef74a57e450ab0ee0497e2379099cf2d6fa52b4c1'}}",
                keys[i],
                header));
    stage_fact(w,
        "model.copy /srv/models/none.gguf",
        "{'error': {'code': 'NotFound', 'message': '/srv/models/none.gguf: No such file'}}");
}

/* The manager's command lines of the recording. */
static const char *flags_of(const char *name)
{
    if (text_starts(name, "flags-"))
        return "--model-cache-path=/srv/cache --model-cache-size=7Gi"
               " --model-cache-storage-class=fast --model-cache-mode=perService"
               " --allowed-remote-hosts=127.0.0.1 --ca-cert-configmap=corp-ca"
               " --init-container-image=registry.test/init:3 --default-fsgroup=0";
    if (text_starts(name, "nocache-"))
        return "--model-cache-path= --allowed-host-path-roots=/srv/models"
               " --model-cache-access-mode=ReadWriteMany";
    if (text_starts(name, "hook-"))
        return "--model-cache-path=/srv/cache --allowed-remote-hosts=127.0.0.1";
    return "--model-cache-path=/srv/cache --allowed-host-path-roots=/srv/models"
           " --allowed-remote-hosts=127.0.0.1 --enable-pyrra-slo";
}

/* kube-controller-manager binds a claim that names a volume. */
static struct json bound(struct json object)
{
    bool claim = text_eq(json_get_text(object, "kind"), "PersistentVolumeClaim");
    const char *phase = json_get_text(object, "spec.volumeName") ? "Bound" : "Pending";
    return claim ? json_with(test_arena(), object, "status.phase", json_str(phase)) : object;
}

static void load(struct stage *w, const char *name)
{
    llmkube_stage_init(w);
    stage_add_all(w, stage_yaml("api/inference.llmkube.dev_models.yaml"));
    script_effects(w);
    llmkube_stage_flags(w, flags_of(name));
    struct json docs = stage_yaml(arena_printf(test_arena(), GOLDEN "/cases/%s.yaml", name));
    json_each (doc, docs)
        stage_add_all(w, json_list(test_arena(), bound(*doc)));
}

/* Without times, and with conditions by type. */
static struct json comparable(struct json status)
{
    struct arena *a = test_arena();
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (c, json_get(status, "conditions"))
        json_put(&b,
            json_get_text(*c, "type"),
            json_strf(a,
                "%s %s: %s",
                json_get_text(*c, "status"),
                json_get_text(*c, "reason"),
                json_get_text(*c, "message")));
    status = json_with_member(a, status, "conditions", json_map_end(&b));
    static const char *const times[] = { "lastUpdated", "lastRevalidated" };
    for (size_t i = 0; i < lengthof(times); i++)
        if (json_present(json_member(status, times[i])))
            status = json_with_member(a, status, times[i], json_str("<time>"));
    return status;
}

static const char *difference(const char *model)
{
    for (size_t i = 0; i < lengthof(differs); i++)
        if (text_eq(differs[i].model, model))
            return differs[i].reason;
    return NULL;
}

static int compare_model(struct stage *w, const char *name, struct json input)
{
    struct arena *a = test_arena();
    const char *model = json_get_text(input, "metadata.name");
    (void)stage_settle(w, &llmkube_model_kind, model);
    struct json ours = comparable(stage_status(w, &LLMKUBE_MODEL, model));
    struct json theirs = comparable(json_get(input, "status"));
    const char *known = difference(arena_printf(a, "%s/%s", name, model));
    if (json_equal(ours, theirs) == !known)
        return 1;
    test_fail(__FILE__,
        __LINE__,
        "%s/%s is\n    %s\nrecorded is\n    %s\n%s",
        name,
        model,
        json_to_text(a, ours),
        json_to_text(a, theirs),
        known ? "which should differ" : "");
}

static int compare_case(const char *name)
{
    struct error err;
    struct json recording;
    const char *path = arena_printf(test_arena(), GOLDEN "/recorded/%s.json", name);
    if (!json_parse(test_arena(), stage_read(path), &recording, &err))
        test_fail(__FILE__, __LINE__, "%s: %s", path, err.text);
    struct stage w;
    int compared = 0;
    json_each (input, json_get(recording, "applied.inputs")) {
        if (!text_eq(json_get_text(*input, "kind"), "Model"))
            continue;
        if (!compared)
            load(&w, name);
        compared += compare_model(&w, name, *input);
    }
    return compared;
}

TEST(models_become_what_upstream_made_of_them)
{
    DIR *dir = opendir(GOLDEN "/cases");
    check(dir);
    int compared = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct str name = str_of(entry->d_name);
        if (!str_ends(name, STR(".yaml")))
            continue;
        name.len -= strlen(".yaml");
        compared += compare_case(str_dup(test_arena(), name));
    }
    closedir(dir);
    check(compared > 100);
}
