/* Every combination of what a Model can say and what the world can answer: no plan contradicts
 * itself, every Model comes to rest, and a restart changes nothing. */

#include "tests/kinds/llmkube/llmkube_stage.h"
#include "tests/test.h"

static const char *const sources[] = { "https://x.test/a.gguf",
    "https://huggingface.co/acme/chat/blob/main/a.gguf",
    "https://huggingface.co/datasets/acme/chat",
    "hf://acme/chat@v1",
    "hf://acme/chat/a.gguf",
    "acme/chat",
    "word",
    "s3://shelf/a.gguf",
    "s3://shelf",
    "pvc://bound/a.gguf",
    "pvc://pending/a.gguf",
    "pvc://missing/a.gguf",
    "/srv/models/a.gguf",
    "/etc/a.gguf" };
static const char *const rests[] = { "",
    ", 'files': ['a.gguf', 'b/c.gguf'], 'mmproj': 'm.gguf'",
    ", 'mmproj': 'm.gguf'",
    ", 'sourceSecretRef': {'name': 's'}, 'refreshPolicy': 'OnChange'",
    ", 'sha256': 'abababababababababababababababababababababababababababababababab'",
    ", 'hardware': {'accelerator': 'metal'}",
    ", 'hardware': {'accelerator': 'rocm', 'gpu': {'count': 1}}" };
static const char *const answers[] = { NULL,
    "{'progress': {'bytes': 5, 'total': 10}}",
    "{'error': {'code': 'NotFound', 'message': 'not there'}}",
    "{'error': {'code': 'ServiceUnavailable', 'message': 'HTTP 503'}}",
    "{'result': {'path': '/p/x.gguf'}}",
    "{'result': {'size': 9, 'etag': 'e', 'contentLength': 9, 'path': '/p/a.gguf', 'sha256':"
    " 'abababababababababababababababababababababababababababababababab',"
    " 'gguf': {'modelName': 'A b'}}}" };

static const char world[] =
    "[{'apiVersion': 'v1', 'kind': 'PersistentVolumeClaim', 'metadata': {'name': 'bound',"
    " 'namespace': 'ns'}, 'status': {'phase': 'Bound'}},"
    " {'apiVersion': 'v1', 'kind': 'PersistentVolumeClaim', 'metadata': {'name': 'pending',"
    " 'namespace': 'ns'}}]";

static void answer(struct stage *w, const char *source, const char *fact)
{
    static const char *const effects[] = { "model.probe", "model.head", "model.copy" };
    for (size_t i = 0; i < lengthof(effects); i++)
        stage_fact(w, arena_printf(test_arena(), "%s %s", effects[i], source), fact);
}

static bool is_true(struct stage *w, const char *type)
{
    return text_starts(stage_told(w, &LLMKUBE_MODEL, "m", type), "True ");
}

static void check_sense(struct stage *w, const struct plan *p, const char *about)
{
    const char *phase = json_get_text(stage_status(w, &LLMKUBE_MODEL, "m"), "phase");
    bool ready = text_eq(phase, "Ready"), failed = text_eq(phase, "Failed");
    bool stuck = p->outcome == OUTCOME_WAIT || p->outcome == OUTCOME_RETRY;
    if (is_true(w, "Available") != ready || is_true(w, "Degraded") != failed || (failed && !stuck))
        test_fail(__FILE__,
            __LINE__,
            "%s: %s, %s",
            about,
            json_to_text(test_arena(), stage_status(w, &LLMKUBE_MODEL, "m")),
            p->cause ? p->cause : "no cause");
}

static void try_out(const char *source, const char *spec, const char *fact)
{
    struct stage *w = arena_new(test_arena(), struct stage);
    llmkube_stage_init(w);
    llmkube_stage_flags(w, "--allowed-host-path-roots=/srv/models");
    stage_add(w, world);
    stage_add(w,
        arena_printf(test_arena(),
            "{'apiVersion': 'inference.llmkube.dev/v1alpha1', 'kind': 'Model', 'metadata':"
            " {'name': 'm', 'namespace': 'ns', 'generation': 1}, 'spec': %s}",
            spec));
    answer(w, source, fact);
    check_sense(w, stage_settle(w, &llmkube_model_kind, "m"), spec);
    w->world.now_ms += 7200000;
    check_sense(w, stage_settle(w, &llmkube_model_kind, "m"), spec);
    struct json before = stage_status(w, &LLMKUBE_MODEL, "m");
    bool ended = text_eq(json_get_text(before, "phase"), "Ready") ||
                 text_eq(json_get_text(before, "phase"), "Failed");
    stage_restart(w);
    stage_step(w, &llmkube_model_kind, "m");
    struct json after = stage_status(w, &LLMKUBE_MODEL, "m");
    if (ended && !json_equal(before, after))
        test_fail(__FILE__,
            __LINE__,
            "%s: a restart makes\n    %s\nof\n    %s",
            spec,
            json_to_text(test_arena(), after),
            json_to_text(test_arena(), before));
}

TEST(no_model_contradicts_itself_or_moves_at_rest)
{
    for (size_t s = 0; s < lengthof(sources); s++)
        for (size_t r = 0; r < lengthof(rests); r++)
            for (size_t f = 0; f < lengthof(answers); f++)
                for (int prefetch = 0; prefetch < 2; prefetch++)
                    try_out(sources[s],
                        arena_printf(test_arena(),
                            "{'source': '%s'%s%s}",
                            sources[s],
                            rests[r],
                            prefetch ? ", 'prefetch': true" : ""),
                        answers[f]);
}
