#include "kinds/llmkube/admission.h"

#include "base/buf.h"
#include "engine/view.h"
#include "kinds/llmkube/gpu_quota.h"
#include "kinds/llmkube/inference_service.h"
#include "kinds/llmkube/model.h"
#include "kinds/llmkube/model_router.h"
#include "kinds/llmkube/runtime.h"

#define MESSAGE_BYTES_MAX ((size_t)64 << 10)

static bool spec_is_unchanged(const struct view *in, struct json old)
{
    return json_present(old) && json_equal(json_get(in->object, "spec"), json_get(old, "spec"));
}

/* ---- Model ---- */

/* The CRD's default is cpu, even for a Model that names a GPU runtime. */
static void review_model(const struct view *in, struct json old, struct admission_verdict *ret)
{
    (void)old;
    struct json hardware = json_get(in->object, "spec.hardware");
    const char *runtime = json_get_text(hardware, "gpu.runtime");
    const char *named = json_get_text(hardware, "accelerator");
    struct str accelerator = str_trim(str_of(named));
    bool open = accelerator.len == 0 || str_eq_nocase(accelerator, STR("cpu"));
    bool known = text_eq(runtime, "vulkan") || text_eq(runtime, "rocm");
    if (!open || !known || !json_get_bool(hardware, "gpu.enabled", false))
        return;
    ret->patch = json_list(in->arena,
        json_map(in->arena,
            { "op", json_str("add") },
            { "path", json_str("/spec/hardware/accelerator") },
            { "value", json_str(runtime) }));
}

/* ---- ModelRouter ---- */

/* No details: kubectl would print them instead of the message, which names the webhook. */
static void refuse_spec(const struct view *in, struct json faults, struct admission_verdict *ret)
{
    struct arena *a = in->arena;
    const struct resource *r = &LLMKUBE_MODEL_ROUTER;
    const char *name = view_name(in);
    bool several = faults.count > 1;
    cleanup(buf_done) struct buf text = BUF_INIT(MESSAGE_BYTES_MAX);
    json_each (fault, faults)
        buf_printf(&text,
            "%s%s: Invalid value: null: %s",
            text.len ? ", " : "",
            json_get_text(*fault, "field"),
            json_get_text(*fault, "message"));
    *ret = (struct admission_verdict){
        .status = 422,
        .reason = "Invalid",
        .message = arena_printf(a,
            "%s.%s \"%s\" is invalid: %s%s%s",
            r->kind,
            r->group,
            name ? name : "",
            several ? "[" : "",
            buf_text(&text),
            several ? "]" : ""),
    };
}

static void review_router(const struct view *in, struct json old, struct admission_verdict *ret)
{
    struct error err;
    struct json faults;
    if (spec_is_unchanged(in, old))
        return;
    if (!model_router_check(in->arena, json_get(in->object, "spec"), &faults, &err))
        faults = json_list(in->arena,
            json_map(in->arena,
                { "field", json_str("spec") },
                { "message", json_str(arena_strdup(in->arena, err.text)) }));
    if (faults.count)
        refuse_spec(in, faults, ret);
}

/* ---- InferenceService ---- */

static void forbid(struct admission_verdict *ret, const char *message)
{
    *ret = (struct admission_verdict){ .status = 403, .reason = "Forbidden", .message = message };
}

/* Why its pods could never start on the GPUs of its Model; NULL: they could, or the Model does not
 * exist yet. */
static const char *gpu_refusal(const struct view *in)
{
    struct model m;
    struct gpu gpu;
    struct error err;
    const char *name = json_get_text(in->object, "spec.modelRef");
    struct json object = { 0 };
    if (!text_empty(name))
        object = view_get(in, &LLMKUBE_MODEL, name);
    if (!json_present(object) || !model_read(in->arena, object, &m, &err) || model_is_metal(&m))
        return NULL;
    bool fits = gpu_read(in->arena, in->settings, &m, json_get(in->object, "spec"), &gpu, &err);
    return fits ? NULL : arena_strdup(in->arena, err.text);
}

static void review_service(const struct view *in, struct json old, struct admission_verdict *ret)
{
    if (spec_is_unchanged(in, old))
        return;
    const char *refusal = gpu_refusal(in);
    if (!refusal)
        refusal = gpu_quota_denial(in, in->object, old);
    if (refusal)
        forbid(ret, refusal);
}

const struct admission llmkube_admissions[] = {
    {
        .name = "mmodel.inference.llmkube.dev",
        .path = "/mutate-inference-llmkube-dev-v1alpha1-model",
        .kind = &llmkube_model_kind,
        .mutating = true,
        .ignorable = true,
        .review = review_model,
    },
    {
        .name = "vmodelrouter.inference.llmkube.dev",
        .path = "/validate-inference-llmkube-dev-v1alpha1-modelrouter",
        .kind = &llmkube_model_router_kind,
        .review = review_router,
    },
    {
        .name = "vinferenceservicequota.inference.llmkube.dev",
        .path = "/validate-inference-llmkube-dev-v1alpha1-inferenceservice-quota",
        .kind = &llmkube_inference_service_kind,
        .review = review_service,
    },
    { 0 },
};
