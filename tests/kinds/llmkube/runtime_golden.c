/* Every InferenceService of every recorded case: the server container that LLMKube 0.9.19 made of
 * it is the one that we make. Where we mean to differ, the list below says so, and an entry of it
 * that no longer differs fails, too. */

#include "base/error.h"
#include "kinds/llmkube/args.h"
#include "kinds/llmkube/model.h"
#include "kinds/llmkube/runtime.h"
#include "kinds/llmkube/settings.h"
#include "tests/test.h"

#include <dirent.h>
#include <stdio.h>

#define RECORDED "tests/golden/llmkube/recorded/"

static const struct difference {
    const char *where; /* case/service */
    const char *what;
    const char *why;
} differences[] = {
    { "isvc-skip-init/svc", "args", "no --model with an empty path: the server could not start" },
    { "isvc-gpu-isvc-only/svc", "image", "two GPUs and an image that cannot use them" },
    { "isvc-gpu-amd-sglang-vllm/v", "finding", "an AMD GPU and an image for NVIDIA" },
    { "isvc-min-tgi/svc", "finding", "TGI cannot load a single file" },
    { "isvc-hpa-default/t", "finding", "TGI cannot load a single file" },
};

/* One service of one picture. */
struct sample {
    const char *where;
    bool ours_differs[lengthof(differences)];
    uint32_t services;
    struct json picture;
    struct json service;
    struct json container; /* absent: there is no Deployment */
    struct json pod;
};

static struct json read_recording(struct arena *a, const char *name)
{
    const char *path = arena_printf(a, RECORDED "%s", name);
    FILE *file = fopen(path, "r");
    check(file);
    size_t size = 4 << 20;
    char *text = arena_alloc(a, size);
    size_t length = fread(text, 1, size, file);
    check(length < size && !ferror(file));
    fclose(file);
    struct json recording;
    struct error err;
    if (!json_parse(a, (struct str){ text, length }, &recording, &err))
        test_fail(path, 1, "%s", err.text);
    return recording;
}

/* An object that is as it was in an earlier picture stands there as "Kind/name". */
static struct json find_object(
    struct arena *a, struct json recording, struct json picture, const char *kind, const char *name)
{
    static const char *const parts[] = { "children", "inputs" };
    static const char *const earlier[] = { "ready", "applied" };
    const char *key = arena_printf(a, "%s/%s", kind, name);
    bool same = false;
    for (size_t p = 0; p < lengthof(parts); p++) {
        json_each (o, json_get(picture, parts[p])) {
            if (text_eq(json_get_text(*o, "kind"), kind) &&
                text_eq(json_get_text(*o, "metadata.name"), name))
                return *o;
            same = same || text_eq(json_text(*o), key);
        }
    }
    for (size_t e = 0; same && e < lengthof(earlier); e++) {
        struct json other = json_get(recording, earlier[e]);
        struct json found = { 0 };
        if (other.members != picture.members)
            found = find_object(a, recording, other, kind, name);
        if (json_present(found))
            return found;
    }
    return json_none;
}

/* ---- what the recording says ---- */

static const char *argument_after(struct json args, const char *flag)
{
    for (uint32_t i = 0; i + 1 < args.count; i++)
        if (text_eq(json_text(args.items[i]), flag))
            return json_text(args.items[i + 1]);
    return NULL;
}

/* Paths that storage decides are taken from the recorded arguments. */
static void read_paths(
    struct arena *a, const struct sample *s, const struct model *m, struct runtime_input *in)
{
    struct json args = json_get(s->container, "args");
    const char *runtime = json_get_text(in->spec, "runtime");
    const char *flag = text_eq(runtime, "sglang") ? "--model-path" : "--model";
    const char *path =
        text_eq(runtime, "vllm") ? json_text(json_item(args, 0)) : argument_after(args, flag);
    in->model_path = path && *path == '/' ? path : "";
    if (json_present(m->files) && !text_eq(m->format, "gguf")) {
        in->staged_dir = in->model_path;
        in->model_path = arena_printf(a, "%s/first-of-several", in->staged_dir);
    }
    in->draft_path = argument_after(args, "-md");
    if (m->mmproj)
        in->mmproj_path = argument_after(args, "--mmproj");
}

static const char *failure_of(struct json service)
{
    struct json degraded = json_find(json_get(service, "status.conditions"), "type", "Degraded");
    const char *message = json_get_text(degraded, "message");
    return text_starts(message, "Invalid gpuSharing:") ||
                   text_starts(message, "Invalid parallelism:")
               ? message
               : NULL;
}

/* Then the container is still the one of the spec before. */
static bool rollout_waits(struct json service)
{
    struct json conditions = json_get(service, "status.conditions");
    return text_eq(
        json_get_text(json_find(conditions, "type", "RolloutDeferred"), "status"), "True");
}

static struct json without_storage(struct arena *a, struct json limits)
{
    return json_or_absent(json_with_member(
        a, json_is(limits, JSON_MAP) ? limits : json_empty_map(), "ephemeral-storage", json_none));
}

/* What the API server adds to a probe. */
static struct json with_defaults(struct arena *a, struct json probe)
{
    static const struct {
        const char *path;
        int64_t value;
    } numbers[] = {
        { "successThreshold", 1 },
        { "periodSeconds", 10 },
        { "timeoutSeconds", 1 },
        { "failureThreshold", 3 },
    };
    for (size_t i = 0; i < lengthof(numbers); i++)
        if (!json_present(json_get(probe, numbers[i].path)))
            probe = json_with(a, probe, numbers[i].path, json_int(numbers[i].value));
    if (json_present(json_get(probe, "httpGet")) &&
        !json_present(json_get(probe, "httpGet.scheme")))
        probe = json_with(a, probe, "httpGet.scheme", json_str("HTTP"));
    return probe;
}

/* ---- comparing ---- */

static void compare(struct sample *s, const char *what, struct json ours, struct json recorded)
{
    struct arena *a = test_arena();
    bool same = json_present(ours) == json_present(recorded) &&
                (!json_present(ours) || json_equal(ours, recorded));
    for (size_t i = 0; i < lengthof(differences); i++) {
        if (!text_eq(differences[i].where, s->where) || !text_eq(differences[i].what, what))
            continue;
        if (same)
            test_fail(__FILE__, __LINE__, "%s: %s is as recorded now", s->where, what);
        s->ours_differs[i] = true;
        return;
    }
    if (!same)
        test_fail(__FILE__,
            __LINE__,
            "%s: %s is\n    %s\nrecorded was\n    %s",
            s->where,
            what,
            json_to_text(a, ours),
            json_to_text(a, recorded));
}

static void compare_probes(struct sample *s, const struct runtime *r, struct json spec)
{
    struct arena *a = test_arena();
    static const char *const names[] = { "startupProbe", "livenessProbe", "readinessProbe" };
    struct json probes = runtime_probes(a, r, spec);
    for (size_t i = 0; i < lengthof(names); i++)
        compare(s,
            names[i],
            with_defaults(a, json_get(probes, names[i])),
            json_get(s->container, names[i]));
}

static void compare_env(struct sample *s, const struct runtime *r, const struct runtime_input *in)
{
    struct arena *a = test_arena();
    struct json recorded = json_get(s->container, "env");
    uint32_t users = json_get(in->spec, "env").count;
    check(recorded.count >= users);
    recorded.count -= users; /* the user's come last */
    struct json ours = runtime_env(a, r, in->spec);
    compare(s, "env", json_or_absent(ours), json_or_absent(recorded));
}

static void compare_scheduling(struct sample *s, const struct gpu *gpu, struct json spec)
{
    struct arena *a = test_arena();
    struct json_builder tolerations;
    struct json limits = { 0 };
    json_builder_init(&tolerations, a);
    if (gpu->count > 0) {
        limits = json_map(a, { gpu->resource_name, json_strf(a, "%d", (int)gpu->count) });
        json_push(&tolerations,
            json_fields(a,
                { "key", json_str(gpu->toleration_key) },
                { "operator", json_str("Equal") },
                { "value", json_str("present") },
                { "effect", json_str("NoSchedule") }));
    }
    json_push_all(&tolerations, json_get(spec, "tolerations"));
    struct json nodes = json_overlay(a, gpu->node_selector, json_get(spec, "nodeSelector"));
    compare(s, "limits", limits, without_storage(a, json_get(s->container, "resources.limits")));
    compare(s,
        "tolerations",
        json_or_absent(json_list_end(&tolerations)),
        json_get(s->pod, "tolerations"));
    compare(s, "nodeSelector", json_or_absent(nodes), json_get(s->pod, "nodeSelector"));
    compare(s, "resourceClaims", gpu->claims, json_get(s->pod, "resourceClaims"));
}

static void compare_container(
    struct sample *s, const struct runtime *r, const struct runtime_input *in)
{
    struct arena *a = test_arena();
    struct json command = json_or_absent(json_get(in->spec, "command"));
    if (!json_present(command))
        command = runtime_command(a, r);
    compare(s, "name", json_str(r->container_name), json_get(s->container, "name"));
    compare(s, "image", json_str(runtime_image(a, r, in)), json_get(s->container, "image"));
    compare(s, "command", command, json_get(s->container, "command"));
    compare(s, "args", json_or_absent(args_build(a, in, r->rules)), json_get(s->container, "args"));
    compare(s,
        "port",
        json_int(runtime_container_port(r, in->spec)),
        json_get(s->container, "ports.0.containerPort"));
    compare_probes(s, r, in->spec);
    compare_env(s, r, in);
    compare_scheduling(s, in->gpu, in->spec);
}

static void compare_finding(
    struct sample *s, const struct runtime *r, const struct runtime_input *in)
{
    struct arena *a = test_arena();
    static const char *const types[] = { "VLLMSpecValid", "SGLangSpecValid" };
    struct runtime_finding ours = runtime_check(a, r, in);
    struct json recorded = { 0 };
    for (size_t i = 0; i < lengthof(types); i++) {
        struct json conditions = json_get(s->service, "status.conditions");
        struct json c = json_find(conditions, "type", types[i]);
        if (text_eq(json_get_text(c, "status"), "False"))
            recorded = json_fields(a,
                { "condition", json_str(types[i]) },
                { "reason", json_get(c, "reason") },
                { "message", json_get(c, "message") });
    }
    compare(s,
        "finding",
        json_or_absent(json_fields(a,
            { "condition", json_str(ours.reason ? ours.condition : NULL) },
            { "reason", json_str(ours.reason) },
            { "message", json_str(ours.message) })),
        recorded);
}

/* ---- the walk ---- */

static const struct llmkube_settings *settings_of(const char *name)
{
    static const struct llmkube_settings plain;
    static struct llmkube_settings flagged;
    if (!text_starts(name, "flags-"))
        return &plain;
    flagged.runtime_images = test_json("{'llamacpp': 'registry.test/llama:5',"
                                       " 'vllm': 'registry.test/vllm:6',"
                                       " 'sglang': 'registry.test/sglang:7',"
                                       " 'tgi': 'registry.test/tgi:8'}");
    flagged.gpu_sharing_shared_pool_selector = test_json("{'pool': 'shared', 'tier': 'b'}");
    return &flagged;
}

static void compare_service(struct sample *s, const char *name, struct json model)
{
    struct arena *a = test_arena();
    struct json spec = json_get(s->service, "spec");
    const char *mode = json_get_text(s->service, "status.mode");
    if (mode)
        compare(s, "mode", json_str(runtime_mode(spec)), json_str(mode));
    if (!json_present(model))
        return;
    struct model m;
    struct gpu gpu = { 0 };
    struct error err = { 0 };
    if (!model_read(a, model, &m, &err))
        test_fail(__FILE__, __LINE__, "%s: %s", s->where, err.text);
    struct runtime_input in = { settings_of(name), &m, spec, &gpu };
    const struct runtime *r = runtime_find(json_get_text(spec, "runtime"));
    if (model_is_metal(&m))
        return;
    bool fine = gpu_read(a, in.settings, &m, in.spec, &gpu, &err);
    compare(s, "failure", json_str(fine ? NULL : err.text), json_str(failure_of(s->service)));
    if (!json_present(s->container) || rollout_waits(s->service))
        return;
    read_paths(a, s, &m, &in);
    compare_container(s, r, &in);
    compare_finding(s, r, &in);
    s->services++;
}

static void compare_picture(struct sample *s, const char *name, struct json recording)
{
    struct arena *a = test_arena();
    json_each (o, json_get(s->picture, "inputs")) {
        const char *same = json_text(*o);
        const char *kind = same ? same : json_get_text(*o, "kind");
        if (!text_starts(kind, "InferenceService"))
            continue;
        const char *service = same ? strchr(same, '/') + 1 : json_get_text(*o, "metadata.name");
        s->service = find_object(a, recording, s->picture, "InferenceService", service);
        check(json_present(s->service));
        const char *model = json_get_text(s->service, "spec.modelRef");
        struct json live = find_object(a, recording, s->picture, "Deployment", service);
        s->where = arena_printf(a, "%s/%s", name, service);
        s->pod = json_get(live, "spec.template.spec");
        s->container = json_get(s->pod, "containers.0");
        compare_service(s, name, find_object(a, recording, s->picture, "Model", model));
    }
}

TEST(server_containers_are_as_upstream_makes_them)
{
    static const char *const pictures[] = { "applied", "ready", "updated" };
    struct arena *a = test_arena();
    struct sample s = { 0 };
    DIR *folder = opendir(RECORDED);
    check(folder);
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        if (!text_ends(entry->d_name, ".json"))
            continue;
        struct json recording = read_recording(a, entry->d_name);
        const char *name = json_get_text(recording, "case");
        for (size_t p = 0; p < lengthof(pictures); p++) {
            s.picture = json_get(recording, pictures[p]);
            compare_picture(&s, name, recording);
        }
    }
    closedir(folder);
    for (size_t i = 0; i < lengthof(differences); i++)
        if (!s.ours_differs[i])
            test_fail(__FILE__, __LINE__, "%s was not met", differences[i].where);
    check(s.services >= 242);
}
