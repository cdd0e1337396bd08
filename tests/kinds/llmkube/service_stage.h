#pragma once

/* A Model that is Ready and an InferenceService `svc` that serves it. */

#include "kinds/llmkube/inference_service.h"
#include "kinds/llmkube/source.h"
#include "tests/kinds/llmkube/llmkube_stage.h"
#include "tests/test.h"

static inline void service_model(struct stage *s, const char *spec)
{
    struct json source = json_get(test_json(spec), "source");
    stage_add(s,
        arena_printf(test_arena(),
            "{'kind': 'Model', 'metadata': {'name': 'base'}, 'spec': %s, 'status': {'phase': "
            "'Ready', 'cacheKey': '%s'}}",
            spec,
            source_cache_key(test_arena(), json_text(source))));
}

#define CPU_MODEL "{'source': 'https://weights.test/base.gguf'}"
#define GPU_MODEL                                                                                  \
    "{'source': 'https://weights.test/base.gguf', 'hardware': {'accelerator': 'cuda', 'gpu': "     \
    "{'enabled': true, 'count': 2}}}"

/* spec: what there is besides modelRef, as members: "'replicas': 2". Status stays. */
static inline void service_spec(struct stage *s, const char *spec)
{
    struct json before = { 0 };
    for (size_t i = 0; i < s->world.count; i++)
        if (text_eq(json_get_text(s->world.objects[i], "kind"), "InferenceService"))
            before = json_get(s->world.objects[i], "status");
    struct json object = test_json(arena_printf(test_arena(),
        "{'kind': 'InferenceService', 'metadata': {'name': 'svc', 'creationTimestamp': "
        "'2026-11-15T16:00:00Z'}, 'spec': {'modelRef': 'base'%s%s}}",
        *spec ? ", " : "",
        spec));
    stage_add_json(s, json_with(test_arena(), object, "status", before));
}

static inline void service_init(struct stage *s, const char *spec)
{
    llmkube_stage_init(s);
    service_model(s, CPU_MODEL);
    service_spec(s, spec);
}

/* One pass; children and status are then as planned. */
static inline void service_run(struct stage *s)
{
    stage_run(s, &llmkube_inference_service_kind, "svc");
    stage_apply(s, "svc");
    stage_apply_status(s, &llmkube_inference_service_kind, "svc");
}

static inline void service_set(
    struct stage *s, const char *kind, const char *path, const char *value)
{
    for (size_t i = 0; i < s->world.count; i++)
        if (text_eq(json_get_text(s->world.objects[i], "kind"), kind))
            s->world.objects[i] =
                json_with(test_arena(), s->world.objects[i], path, test_json(value));
}

static inline const char *service_phase(const struct stage *s)
{
    return json_get_text(s->plan.status, "phase");
}
