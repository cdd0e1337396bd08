/* Shared by all runtimes: the image's precedence, port, probes, mode. */

#include "kinds/llmkube/runtime.h"

#include "kinds/llmkube/args.h"
#include "kinds/llmkube/model.h"
#include "kinds/llmkube/settings.h"

static const struct runtime *const runtimes[] = {
    &runtime_llamacpp, /* the default */
    &runtime_llamacpp_router,
    &runtime_vllm,
    &runtime_sglang,
    &runtime_tgi,
    &runtime_personaplex,
    &runtime_generic,
};

const struct runtime *runtime_find(const char *name)
{
    for (size_t i = 0; i < lengthof(runtimes); i++)
        if (text_eq(runtimes[i]->name, name))
            return runtimes[i];
    return runtimes[0];
}

/* ---- image ---- */

/* Images for GPUs that a runtime's default image does not support. */
static const struct vendor_image {
    const struct runtime *runtime;
    const char *vendor;
    const char *stack; /* hardware.gpu.runtime; NULL: any */
    bool needs_device; /* nvidia is also the default vendor */
    const char *image;
} vendor_images[] = {
    { &runtime_llamacpp,
        "amd",
        "vulkan",
        false,
        "ghcr.io/defilantech/llmkube-llama-vulkan"
        "@sha256:cbab8af682ecac9b5c865d85219d808dc356814326c70346e05b8b20b333e295" },
    { &runtime_llamacpp,
        "amd",
        "rocm",
        false,
        "ghcr.io/defilantech/llmkube-llama-rocm"
        "@sha256:8da16041a18b4f03f0be4de5e064be97ba8937149091d6693ee09711da362849" },
    { &runtime_llamacpp, "nvidia", NULL, true, "ghcr.io/ggml-org/llama.cpp:server-cuda-b10068" },
    { &runtime_sglang, "amd", NULL, false, "lmsysorg/sglang:v0.5.15-rocm720-mi30x" },
};

static const char *vendor_image(const struct runtime *r, const struct runtime_input *in)
{
    const struct gpu *gpu = in->gpu;
    bool device = gpu->present || json_get_bool(in->model->gpu, "enabled", false);
    for (size_t i = 0; i < lengthof(vendor_images); i++) {
        const struct vendor_image *v = &vendor_images[i];
        if (v->runtime == r && text_eq(v->vendor, gpu->vendor) &&
            (!v->stack || text_eq(v->stack, gpu->runtime)) && (device || !v->needs_device))
            return v->image;
    }
    return r->image;
}

const char *runtime_image(struct arena *a, const struct runtime *r, const struct runtime_input *in)
{
    (void)a;
    const char *image = json_get_text(in->spec, "image");
    if (!text_empty(image))
        return image;
    image =
        r->image_settable ? json_text(json_member(in->settings->runtime_images, r->name)) : NULL;
    return text_empty(image) ? vendor_image(r, in) : image;
}

/* ---- port and probes ---- */

struct json runtime_command(struct arena *a, const struct runtime *r)
{
    struct json_builder b;
    json_builder_init(&b, a);
    for (size_t i = 0; r->command[i]; i++)
        json_push(&b, json_str(r->command[i]));
    return json_or_absent(json_list_end(&b));
}

struct json runtime_env(struct arena *a, const struct runtime *r, struct json spec)
{
    struct json_builder b;
    json_builder_init(&b, a);
    struct json secret = json_if(r->token_path, json_get(spec, r->token_path));
    if (json_is(secret, JSON_MAP))
        json_push(&b,
            json_fields(
                a, { "name", json_str(r->token_env) }, { "valueFrom.secretKeyRef", secret }));
    if (r->switch_env)
        json_push(
            &b, json_fields(a, { "name", json_str(r->switch_env) }, { "value", json_str("1") }));
    return json_list_end(&b);
}

int64_t runtime_container_port(const struct runtime *r, struct json spec)
{
    int64_t endpoint = json_get_int(spec, "endpoint.port", 0);
    return json_get_int(spec, "containerPort", endpoint > 0 ? endpoint : r->port);
}

static struct json probe(
    struct arena *a, const char *path, int64_t port, int64_t period_s, int64_t failures)
{
    return json_fields(a,
        { path ? "httpGet.port" : "tcpSocket.port", json_int(port) },
        { "httpGet.path", json_str(path) },
        { "periodSeconds", json_int(period_s) },
        { "timeoutSeconds", json_int(5) },
        { "failureThreshold", json_int(failures) });
}

static struct json or_probe(struct json own, struct json standard)
{
    return json_is(own, JSON_MAP) ? own : standard;
}

struct json runtime_probes(struct arena *a, const struct runtime *r, struct json spec)
{
    int64_t port = runtime_container_port(r, spec);
    struct json own = json_get(spec, "probeOverrides");
    /* Half an hour for loading a model. */
    struct json startup = probe(a, r->health_path, port, 10, 180);
    struct json liveness = probe(a, r->live_path, port, 15, 3);
    struct json readiness = probe(a, r->health_path, port, 10, 3);
    return json_fields(a,
        { "startupProbe", or_probe(json_get(own, "startup"), startup) },
        { "livenessProbe", or_probe(json_get(own, "liveness"), liveness) },
        { "readinessProbe", or_probe(json_get(own, "readiness"), readiness) });
}

/* ---- mode ---- */

const char *runtime_mode(struct json spec)
{
    /* Flags from which a mode is inferred. A reranker has the flags of both, so it comes first. */
    static const struct {
        const char *mode, *flag, *other_flag, *path;
    } signs[] = {
        { "rerank", "--reranking", "--reranking", "/rerank" },
        { "embedding", "--embedding", "--embeddings", "/embeddings" },
    };
    const char *mode = json_get_text(spec, "mode");
    if (!text_empty(mode))
        return mode;
    struct json lists[] = { json_get(spec, "extraArgs"), json_get(spec, "args") };
    for (size_t i = 0; i < lengthof(signs); i++)
        for (size_t l = 0; l < lengthof(lists); l++)
            if (args_have(lists[l], signs[i].flag) || args_have(lists[l], signs[i].other_flag))
                return signs[i].mode;
    const char *path = json_get_text(spec, "endpoint.path");
    for (size_t i = 0; path && i < lengthof(signs); i++)
        if (strstr(path, signs[i].path))
            return signs[i].mode;
    return "chat";
}

/* ---- findings ---- */

struct runtime_finding runtime_check(
    struct arena *a, const struct runtime *r, const struct runtime_input *in)
{
    const char *image = runtime_image(a, r, in);
    if (r->image_needs_nvidia && text_eq(image, r->image) && in->gpu->present &&
        !text_eq(in->gpu->vendor, "nvidia"))
        return (struct runtime_finding){ r->condition,
            "ImageForOtherVendor",
            arena_printf(a,
                "the Model asks for a GPU of vendor %s, but the default image of runtime %s (%s) "
                "is built for NVIDIA. Set spec.image to an image built for %s GPUs, or "
                "--runtime-images=%s=IMAGE for all services",
                in->gpu->vendor,
                r->name,
                image,
                in->gpu->vendor,
                r->name) };
    return r->check ? r->check(r, in) : (struct runtime_finding){ 0 };
}
