/* Volumes, mounts and init containers of every recorded Deployment, and every prefetch Job: ours
 * are the same, program texts and the API server's own defaults aside. */

#include <dirent.h>

#include "kinds/llmkube/storage.h"
#include "tests/kinds/llmkube/llmkube_stage.h"
#include "tests/test.h"

#define GOLDEN "tests/golden/llmkube"

/* What the API server added to what upstream sent, and texts of programs. */
static struct json undefaulted(struct json v)
{
    static const char *const defaults[] = { "terminationMessagePath",
        "imagePullPolicy",
        "defaultMode",
        "dnsPolicy",
        "schedulerName",
        "terminationGracePeriodSeconds",
        "completionMode",
        "completions",
        "manualSelector",
        "parallelism",
        "podReplacementPolicy",
        "selector",
        "suspend",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-name",
        "controller-uid",
        "job-name",
        "volumeMode",
        "finalizers",
        "ownerReferences",
        "namespace",
        "uid" };
    struct arena *a = test_arena();
    struct json_builder b;
    json_builder_init(&b, a);
    if (json_is(v, JSON_LIST)) {
        json_each (item, v)
            json_push(&b, undefaulted(*item));
        return json_list_end(&b);
    }
    if (!json_is(v, JSON_MAP))
        return v;
    json_each_member (m, v) {
        bool ours = true;
        for (size_t i = 0; i < lengthof(defaults); i++)
            ours = ours && !text_eq(m->key, defaults[i]);
        struct json value = undefaulted(m->value);
        bool file_policy =
            text_eq(m->key, "terminationMessagePolicy") && text_eq(json_text(value), "File");
        bool empty = json_is(value, JSON_MAP) && !value.count && !text_eq(m->key, "emptyDir");
        if (text_eq(m->key, "command"))
            value = json_str("<program>");
        if (ours && !empty && !file_policy)
            json_put(&b, m->key, value);
    }
    return json_map_end(&b);
}

static struct json first(struct json list, uint32_t count)
{
    check(list.count >= count);
    return (struct json){ .type = JSON_LIST, .count = count, .items = list.items };
}

static void compare(const char *name, const char *what, struct json ours, struct json theirs)
{
    ours = undefaulted(ours);
    theirs = undefaulted(theirs);
    if (!json_equal(ours, theirs))
        test_fail(__FILE__,
            __LINE__,
            "%s: %s is\n    %s\nrecorded is\n    %s",
            name,
            what,
            json_to_text(test_arena(), ours),
            json_to_text(test_arena(), theirs));
}

static struct json object_of(struct json picture, const char *kind, const char *name)
{
    json_each (o, picture)
        if (text_eq(json_get_text(*o, "kind"), kind) &&
            text_eq(json_get_text(*o, "metadata.name"), name))
            return *o;
    return json_none;
}

static struct llmkube_settings settings_of(const char *name)
{
    struct llmkube_settings s = llmkube_settings_default;
    s.allowed_host_path_roots = json_list(test_arena(), json_str("/srv/models"));
    if (text_starts(name, "nocache-"))
        s.model_cache_path = "";
    if (text_starts(name, "flags-")) {
        s.model_cache_mode = CACHE_PER_SERVICE;
        s.ca_cert_configmap = "corp-ca";
        s.init_container_image = "registry.test/init:3";
        s.default_fsgroup = 0;
    }
    return s;
}

static const char *claim_of(const struct llmkube_settings *s, struct json service)
{
    const char *own = json_get_text(service, "spec.modelCache.claimName");
    if (text_empty(s->model_cache_path) || own)
        return own && *s->model_cache_path ? own : NULL;
    return s->model_cache_mode == CACHE_SHARED
               ? STORAGE_SHARED_CLAIM
               : arena_printf(
                     test_arena(), "%s-model-cache", json_get_text(service, "metadata.name"));
}

static struct storage storage_for(
    const struct llmkube_settings *s, struct json inputs, const char *model, struct json service)
{
    struct model m;
    struct error err;
    if (!model_read(test_arena(), object_of(inputs, "Model", model), &m, &err))
        test_fail(__FILE__, __LINE__, "%s", err.text);
    return storage_of(test_arena(),
        s,
        &m,
        &(struct storage_options){
            .ns = json_get_text(service, "metadata.namespace"),
            .claim = claim_of(s, service),
            .ephemeral_size = json_get_text(service, "spec.resources.ephemeralStorage"),
            .ephemeral =
                text_eq(json_get_text(service, "spec.modelCache.persistence"), "Ephemeral"),
            .pod_security = json_get(service, "spec.podSecurityContext"),
        });
}

static bool stages(struct json service)
{
    static const char *const others[] = { "tgi", "generic", "personaplex", "llamacpp-router" };
    for (size_t i = 0; i < lengthof(others); i++)
        if (text_eq(json_get_text(service, "spec.runtime"), others[i]))
            return false;
    return !json_get_bool(service, "spec.skipModelInit", false);
}

static int compare_service(
    const char *name, struct json inputs, struct json service, struct json deployment)
{
    struct json pod = json_get(deployment, "spec.template.spec");
    struct json server = json_get(pod, "containers.0");
    if (!json_present(pod) || !stages(service))
        return 0;
    struct llmkube_settings s = settings_of(name);
    struct storage st = storage_for(&s, inputs, json_get_text(service, "spec.modelRef"), service);
    const char *draft = json_get_text(service, "spec.speculativeDecoding.draftModelRef");
    const char *draft_path = NULL;
    if (draft) {
        struct storage second = storage_for(&s, inputs, draft, service);
        st = storage_join_draft(test_arena(), &st, &second, &draft_path);
        check(json_list_has(json_get(server, "args"), draft_path));
    }
    compare(name,
        "initContainers",
        json_or_absent(st.init_containers),
        json_get(pod, "initContainers"));
    compare(name, "volumes", st.volumes, first(json_get(pod, "volumes"), st.volumes.count));
    compare(name, "mounts", st.mounts, first(json_get(server, "volumeMounts"), st.mounts.count));
    struct json args = json_get(server, "args");
    if (!json_list_has(args, st.model_path) &&
        !(st.staged_dir && json_list_has(args, st.staged_dir)))
        test_fail(__FILE__, __LINE__, "%s: no argument is %s", name, st.model_path);
    if (st.mmproj_path && json_list_has(args, "--mmproj"))
        check(json_list_has(args, st.mmproj_path) ||
              json_present(json_get(service, "spec.extraArgs")));
    return 1;
}

static int compare_case(const char *name)
{
    struct error err;
    struct json recording;
    const char *path = arena_printf(test_arena(), GOLDEN "/recorded/%s.json", name);
    if (!json_parse(test_arena(), stage_read(path), &recording, &err))
        test_fail(__FILE__, __LINE__, "%s: %s", path, err.text);
    struct json inputs = json_get(recording, "applied.inputs");
    struct json children = json_get(recording, "applied.children");
    int compared = 0;
    json_each (input, inputs) {
        if (!text_eq(json_get_text(*input, "kind"), "InferenceService"))
            continue;
        const char *service = json_get_text(*input, "metadata.name");
        compared +=
            compare_service(name, inputs, *input, object_of(children, "Deployment", service));
    }
    return compared;
}

TEST(weights_reach_pods_the_way_upstream_brings_them)
{
    DIR *dir = opendir(GOLDEN "/recorded");
    check(dir);
    int compared = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct str name = str_of(entry->d_name);
        if (!str_ends(name, STR(".json")))
            continue;
        name.len -= strlen(".json");
        compared += compare_case(str_dup(test_arena(), name));
    }
    closedir(dir);
    check(compared > 80);
}

TEST(prefetch_jobs_and_claims_are_as_upstream_makes_them)
{
    static const char *const cases[] = { "model-prefetch-http", "model-prefetch-hf-files" };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct stage w;
        llmkube_stage_init(&w);
        stage_add_all(&w, stage_yaml("api/inference.llmkube.dev_models.yaml"));
        stage_add_all(
            &w, stage_yaml(arena_printf(test_arena(), GOLDEN "/cases/%s.yaml", cases[i])));
        const struct plan *plan = stage_step(&w, &llmkube_model_kind, "ahead");
        check_int((int64_t)plan->child_count, 2);
        struct json recording;
        struct error err;
        const char *path = arena_printf(test_arena(), GOLDEN "/recorded/%s.json", cases[i]);
        check(json_parse(test_arena(), stage_read(path), &recording, &err));
        for (size_t c = 0; c < plan->child_count; c++) {
            const struct plan_child *child = &plan->children[c];
            struct json theirs = object_of(json_get(recording, "applied.children"),
                child->resource->kind,
                json_get_text(child->object, "metadata.name"));
            theirs = json_with(test_arena(), theirs, "kind", json_none);
            theirs = json_with(test_arena(), theirs, "apiVersion", json_none);
            compare(cases[i], child->resource->kind, child->object, theirs);
        }
    }
}
