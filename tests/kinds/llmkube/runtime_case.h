#pragma once

/* A service and its Model in a few words, for the tests of runtimes and GPUs. */

#include "kinds/llmkube/args.h"
#include "kinds/llmkube/model.h"
#include "kinds/llmkube/runtime.h"
#include "kinds/llmkube/settings.h"
#include "tests/test.h"

struct runtime_case {
    struct llmkube_settings settings;
    struct model model;
    struct gpu gpu;
    struct runtime_input in;
    const struct runtime *runtime;
};

/* gpu is spec.hardware.gpu of the Model as JSON text, or NULL; the model lies in /m.gguf. */
static inline struct runtime_case *runtime_case(const char *spec, const char *gpu)
{
    struct runtime_case *c = arena_new(test_arena(), struct runtime_case);
    struct error err = { 0 };
    c->model.name = "base";
    c->model.format = "gguf";
    c->model.source = (struct source){ .origin = SOURCE_HTTP, .text = "https://w.test/m.gguf" };
    c->model.gpu = json_if(gpu, test_json(gpu));
    c->in = (struct runtime_input){
        .settings = &c->settings,
        .model = &c->model,
        .spec = test_json(spec),
        .gpu = &c->gpu,
        .model_path = "/m.gguf",
    };
    c->runtime = runtime_find(json_get_text(c->in.spec, "runtime"));
    if (!gpu_read(test_arena(), &c->settings, &c->model, c->in.spec, &c->gpu, &err))
        test_fail(__FILE__, __LINE__, "%s", err.text);
    return c;
}

/* The arguments with a blank between them. */
static inline const char *case_args(const struct runtime_case *c)
{
    struct arena *a = test_arena();
    const char *text = "";
    json_each (item, args_build(a, &c->in, c->runtime->rules))
        text = arena_printf(a, "%s%s%s", text, *text ? " " : "", json_text(*item));
    return text;
}
