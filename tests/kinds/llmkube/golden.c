/* Every InferenceService that was recorded with upstream's operator, planned here: each picture's
 * children and status must be as recorded, or differ as tests/golden/llmkube/differences.yaml says.
 *
 * The Models are taken with the status that upstream gave them. Children go on from picture to
 * picture as we planned them, so that a plan that never comes to rest is seen, too. */

#include "tests/kinds/llmkube/llmkube_stage.h"

#include "base/buf.h"
#include "base/yaml.h"
#include "kinds/llmkube/inference_service.h"
#include "kinds/llmkube/storage.h"
#include "tests/test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#define FOLDER "tests/golden/llmkube"

static struct str read_whole(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        test_fail(
            __FILE__, __LINE__, "cannot read %s; run the tests in the project's folder", path);
    static char chunk[1 << 16];
    struct buf b = BUF_INIT(YAML_BYTES_MAX);
    for (size_t got; (got = fread(chunk, 1, sizeof(chunk), f)) > 0;)
        buf_add(&b, chunk, got);
    fclose(f);
    struct str text = { arena_strndup(test_arena(), buf_text(&b), b.len), b.len };
    buf_done(&b);
    return text;
}

/* ---- leaves: path → value, as golden.py names them ---- */

static const char *below(const char *path, const char *key)
{
    if (strpbrk(key, "./"))
        return arena_printf(test_arena(), "%s[%s]", path, key);
    return arena_printf(test_arena(), "%s%s%s", path, *path ? "." : "", key);
}

static bool has_maps(struct json list)
{
    json_each (item, list)
        if (json_is(*item, JSON_MAP))
            return true;
    return false;
}

/* `sh -c TEXT`: each author's own. */
static struct json without_program(struct json v)
{
    bool program = v.count == 3 && text_eq(json_text(json_item(v, 0)), "sh") &&
                   text_eq(json_text(json_item(v, 1)), "-c");
    return program ? json_list(test_arena(), json_str("sh"), json_str("-c"), json_str("<script>"))
                   : v;
}

static void add_leaves(struct json_builder *b, const char *path, struct json v)
{
    if (json_is(v, JSON_MAP) && v.count > 0) {
        json_each_member (m, v)
            add_leaves(b, below(path, m->key), m->value);
    } else if (json_is(v, JSON_LIST) && has_maps(v)) {
        for (uint32_t i = 0; i < v.count; i++) {
            const char *name = json_text(json_member(v.items[i], "name"));
            if (!name)
                name = json_text(json_member(v.items[i], "type"));
            if (!name)
                name = arena_printf(test_arena(), "%u", i);
            uint32_t times = 1;
            for (uint32_t j = 0; j < i; j++)
                times += text_eq(json_text(json_member(v.items[j], "name")), name);
            const char *again = times > 1 ? arena_printf(test_arena(), "#%u", times) : "";
            add_leaves(b, arena_printf(test_arena(), "%s[%s%s]", path, name, again), v.items[i]);
        }
    } else {
        json_put(b, path, json_is(v, JSON_LIST) ? without_program(v) : v);
    }
}

static struct json leaves(struct json v)
{
    struct json_builder b;
    json_builder_init(&b, test_arena());
    add_leaves(&b, "", v);
    return json_map_end(&b);
}

/* ---- what is not compared ---- */

static bool fits(const char *pattern, const char *text)
{
    while (*pattern && *pattern != '*') {
        if (*pattern++ != *text++)
            return false;
    }
    if (!*pattern)
        return !*text;
    for (;; text++) {
        if (fits(pattern + 1, text))
            return true;
        if (!*text)
            return false;
    }
}

/* The engine's, or chance. */
static const char *const not_compared[] = {
    "lastUpdated",
    "conditions*.lastTransitionTime",
    "conditions*.observedGeneration",
    "*.nodePort",
};

/* The API server's, or the engine's. */
static const char *const unplanned[] = {
    "apiVersion",
    "kind",
    "metadata.namespace",
    "metadata.finalizers",
    "metadata.ownerReferences*",
    "metadata.annotations[llmkube.ai/desired-template-hash]",
    "status*",
    "spec.progressDeadlineSeconds",
    "spec.revisionHistoryLimit",
    "spec.template.spec.dnsPolicy",
    "spec.template.spec.restartPolicy",
    "spec.template.spec.schedulerName",
    "spec.template.spec.terminationGracePeriodSeconds",
    "spec.template.spec.securityContext",
    "*ontainers[*].imagePullPolicy",
    "*ontainers[*].resources",
    "*ontainers[*].terminationMessagePath",
    "*.fieldRef.apiVersion",
    "*Probe.httpGet.scheme",
    "*Probe.successThreshold",
    "*Probe.failureThreshold",
    "*Probe.periodSeconds",
    "*Probe.timeoutSeconds",
    "*.volumes[*].configMap.defaultMode",
    "spec.clusterIP*",
    "spec.internalTrafficPolicy",
    "spec.externalTrafficPolicy",
    "spec.ipFamil*",
    "spec.sessionAffinity",
    "spec.allocateLoadBalancerNodePorts",
    "spec.ports[http].nodePort",
    "spec.volumeMode",
    "spec.metrics[Resource]*",
    "spec.partial_response_strategy",
    "spec.performanceOverAccuracy",
    "spec.rules[0].backendRefs[*].priority",
    "spec.rules[0].backendRefs[*].weight",
    "spec.rules[0].modelsOwnedBy",
};

static bool is_one_of(const char *const *patterns, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (fits(patterns[i], path))
            return true;
    return false;
}

/* ---- comparing ---- */

struct comparison {
    struct json accepted; /* list: case, picture, object, path */
    const char *case_name, *picture, *object;
    bool shares_claim; /* a service of this case planned the cache that all share */
    int differences;
};

static bool is_accepted(const struct comparison *c, const char *path)
{
    const char *const keys[] = { "case", "picture", "object", "path" };
    const char *const texts[] = { c->case_name, c->picture, c->object, path };
    json_each (entry, c->accepted) {
        size_t met = 0;
        for (; met < lengthof(keys); met++) {
            const char *pattern = json_get_text(*entry, keys[met]);
            if (pattern && !fits(pattern, texts[met]))
                break;
        }
        if (met == lengthof(keys))
            return true;
    }
    return false;
}

static void differ(struct comparison *c, const char *path, struct json recorded, struct json now)
{
    if (is_accepted(c, path))
        return;
    c->differences++;
    printf("%s %s: %s %s: recorded %.300s, now %.300s\n",
        c->case_name,
        c->picture,
        c->object,
        path,
        json_present(recorded) ? json_to_text(test_arena(), recorded) : "absent",
        json_present(now) ? json_to_text(test_arena(), now) : "absent");
}

/* `under`: "" for a child, "status." for a status. */
static void compare(struct comparison *c, const char *under, struct json recorded, struct json now)
{
    struct json theirs = leaves(recorded), ours = leaves(now);
    struct json both = json_overlay(test_arena(), theirs, ours);
    json_each_member (m, both) {
        struct json their = json_member(theirs, m->key), our = json_member(ours, m->key);
        if (json_equal(their, our) || is_one_of(not_compared, lengthof(not_compared), m->key))
            continue;
        if (json_present(our) || !is_one_of(unplanned, lengthof(unplanned), m->key))
            differ(c, arena_printf(test_arena(), "%s%s", under, m->key), their, our);
    }
}

static bool is_owned_by(struct json child, const char *owner)
{
    return text_eq(json_get_text(child, "metadata.ownerReferences.0.uid"),
        arena_printf(test_arena(), "InferenceService/%s", owner));
}

static void compare_children(
    struct comparison *c, const struct stage *s, const char *owner, struct json recorded)
{
    json_each (child, recorded) {
        const char *kind = json_get_text(*child, "kind"),
                   *name = json_get_text(*child, "metadata.name");
        if (!is_owned_by(*child, owner))
            continue;
        struct json now = stage_child_named(s, kind, name);
        c->object = arena_printf(test_arena(), "%s/%s", kind, name);
        if (json_present(now))
            compare(c, "", *child, now);
        else if (!s->plan.keep_children)
            differ(c, "<exists>", json_bool(true), json_bool(false));
    }
    for (size_t i = 0; i < s->plan.child_count; i++) {
        const struct plan_child *p = &s->plan.children[i];
        const char *name = json_get_text(p->object, "metadata.name");
        bool known = false;
        json_each (child, recorded)
            known = known || (text_eq(json_get_text(*child, "kind"), p->resource->kind) &&
                                 text_eq(json_get_text(*child, "metadata.name"), name));
        c->object = arena_printf(test_arena(), "%s/%s", p->resource->kind, name);
        if (!known)
            differ(c, "<exists>", json_bool(false), json_bool(true));
    }
}

static struct json find_object(struct json list, const char *kind, const char *name)
{
    json_each (o, list)
        if (text_eq(json_get_text(*o, "kind"), kind) &&
            text_eq(json_get_text(*o, "metadata.name"), name))
            return *o;
    return json_none;
}

/* ---- pictures ---- */

/* An object that is as it was in an earlier picture is just its key there. */
static struct json expanded(struct json recording, const char *picture, const char *part)
{
    static const char *const pictures[] = { "applied", "ready", "updated" };
    struct json_builder b;
    json_builder_init(&b, test_arena());
    struct json list = json_get(json_member(recording, picture), part);
    json_each (item, list) {
        struct json object = *item;
        for (int i = 2; i >= 0 && json_is(object, JSON_STR); i--) {
            if (text_eq(pictures[i], picture) || (i == 2))
                continue;
            if (text_eq(picture, "applied") || (i == 1 && !text_eq(picture, "updated")))
                continue;
            struct json earlier = json_get(json_member(recording, pictures[i]), part);
            json_each (o, earlier)
                if (json_is(*o, JSON_MAP) && text_eq(arena_printf(test_arena(),
                                                         "%s/%s",
                                                         json_get_text(*o, "kind"),
                                                         json_get_text(*o, "metadata.name")),
                                                 object.string)) {
                    object = *o;
                    break;
                }
        }
        check(json_is(object, JSON_MAP));
        json_push(&b, object);
    }
    return json_list_end(&b);
}

/* What the case brought that a recording leaves out: volumes, claims, endpoints. */
static void add_case(struct stage *s, const char *case_name)
{
    const char *path = arena_printf(test_arena(), "%s/cases/%s.yaml", FOLDER, case_name);
    struct json documents;
    struct error err;
    if (!yaml_parse_all(test_arena(), read_whole(path), path, &documents, &err))
        test_fail(__FILE__, __LINE__, "%s", err.text);
    json_each (object, documents)
        stage_add_json(s, *object);
}

static void set_the_stage(struct stage *s, const char *case_name)
{
    static const char *const flags[] = { "model-cache-size=7Gi",
        "model-cache-storage-class=fast",
        "model-cache-mode=perService",
        "ca-cert-configmap=corp-ca",
        "init-container-image=registry.test/init:3",
        "default-fsgroup=0",
        "dri-render-gid=992",
        "emit-scrape-annotations=true",
        "runtime-images=llamacpp=registry.test/llama:5,vllm=registry.test/vllm:6,"
        "sglang=registry.test/sglang:7,tgi=registry.test/tgi:8",
        "gpu-sharing-shared-pool-selector=pool=shared,tier=b",
        "gpu-sharing-vram-per-device-gib=24",
        NULL };
    static const char *const no_cache[] = { "model-cache-path=",
        "allowed-host-path-roots=/srv/models",
        "model-cache-access-mode=ReadWriteMany",
        NULL };
    static const char *const common[] = { "model-cache-path=/srv/cache",
        "allowed-host-path-roots=/srv/models",
        "enable-pyrra-slo=true",
        NULL };
    llmkube_stage_init(s);
    const char *const *given = text_starts(case_name, "flags-")     ? flags
                               : text_starts(case_name, "nocache-") ? no_cache
                                                                    : common;
    for (; *given; given++) {
        struct str rest = str_of(*given);
        const char *name = str_dup(test_arena(), str_cut(&rest, '='));
        struct error err;
        if (!setting_set(test_arena(),
                llmkube_flags,
                llmkube_stage_settings(s),
                name,
                str_dup(test_arena(), rest),
                &err))
            test_fail(__FILE__, __LINE__, "%s", err.text);
    }
}

static void play_ready(struct stage *s)
{
    for (size_t i = 0; i < s->world.count; i++) {
        struct json replicas = json_get(s->world.objects[i], "spec.replicas");
        if (text_eq(json_get_text(s->world.objects[i], "kind"), "Deployment"))
            s->world.objects[i] =
                json_with(test_arena(), s->world.objects[i], "status.readyReplicas", replicas);
    }
}

/* Passes until nothing changes, as the engine would make them. */
static void run_to_rest(struct stage *s, const char *name)
{
    struct json before = { 0 };
    for (int pass = 0; pass < 4; pass++) {
        stage_run(s, &llmkube_inference_service_kind, name);
        struct json_builder b;
        json_builder_init(&b, test_arena());
        for (size_t i = 0; i < s->plan.child_count; i++)
            json_push(&b, s->plan.children[i].object);
        json_push(&b, s->plan.status);
        struct json now = json_list_end(&b);
        stage_apply(s, name);
        stage_apply_status(s, &llmkube_inference_service_kind, name);
        if (json_equal(before, now))
            return;
        before = now;
    }
    test_fail(__FILE__, __LINE__, "%s never comes to rest", name);
}

static struct json status_with_conditions(const struct stage *s, const char *name)
{
    for (size_t i = 0; i < s->world.count; i++)
        if (text_eq(json_get_text(s->world.objects[i], "kind"), "InferenceService") &&
            text_eq(json_get_text(s->world.objects[i], "metadata.name"), name))
            return json_get(s->world.objects[i], "status");
    return json_none;
}

static void compare_service(struct comparison *c, struct json recording, const char *name)
{
    static const char *const pictures[] = { "applied", "ready", "updated" };
    struct stage s;
    set_the_stage(&s, c->case_name);
    add_case(&s, c->case_name);
    for (size_t i = 0; i < lengthof(pictures); i++) {
        c->picture = pictures[i];
        if (!json_present(json_member(recording, c->picture)))
            continue;
        struct json inputs = expanded(recording, c->picture, "inputs");
        struct json kept = status_with_conditions(&s, name);
        json_each (input, inputs)
            stage_add_json(&s, *input);
        struct json object = find_object(inputs, "InferenceService", name);
        stage_add_json(&s, json_with(test_arena(), object, "status", kept));
        if (i == 1)
            play_ready(&s);
        run_to_rest(&s, name);
        compare_children(c, &s, name, expanded(recording, c->picture, "children"));
        c->shares_claim |=
            json_present(stage_child_named(&s, "PersistentVolumeClaim", STORAGE_SHARED_CLAIM));
        c->object = arena_printf(test_arena(), "InferenceService/%s", name);
        compare(c, "status.", json_get(object, "status"), status_with_conditions(&s, name));
    }
}

/* Nobody's child, so it is compared once a case. */
static void compare_shared_claim(struct comparison *c, struct json recording)
{
    struct json children = expanded(recording, "applied", "children");
    struct json claim = find_object(children, "PersistentVolumeClaim", STORAGE_SHARED_CLAIM);
    c->picture = "applied";
    c->object = "PersistentVolumeClaim/" STORAGE_SHARED_CLAIM;
    if (json_present(claim) != c->shares_claim)
        differ(c, "<exists>", json_bool(json_present(claim)), json_bool(c->shares_claim));
}

static int compare_case(const char *file, struct json accepted)
{
    struct comparison c = { .accepted = accepted };
    c.case_name = arena_strndup(test_arena(), file, strlen(file) - strlen(".json"));
    struct json recording;
    struct error err;
    const char *path = arena_printf(test_arena(), "%s/recorded/%s", FOLDER, file);
    if (!json_parse(test_arena(), read_whole(path), &recording, &err))
        test_fail(__FILE__, __LINE__, "%s: %s", path, err.text);
    struct json first = json_get(recording, "applied.inputs");
    bool any = false;
    json_each (input, first) {
        if (!text_eq(json_get_text(*input, "kind"), "InferenceService"))
            continue;
        compare_service(&c, recording, json_get_text(*input, "metadata.name"));
        any = true;
    }
    if (any)
        compare_shared_claim(&c, recording);
    return c.differences;
}

/* Not those in which an API server has to refuse something first, or a Model has to be looked at
 * again; the replay on a real one has them. */
static int is_recording(const struct dirent *entry)
{
    return text_ends(entry->d_name, ".json") && !text_starts(entry->d_name, "adopt-") &&
           !text_starts(entry->d_name, "err-isvc-nodeport-taken") &&
           !text_starts(entry->d_name, "upd-model-source");
}

TEST(inference_services_are_as_recorded)
{
    struct json documents;
    struct error err;
    const char *list = FOLDER "/differences.yaml";
    if (!yaml_parse_all(test_arena(), read_whole(list), list, &documents, &err))
        test_fail(__FILE__, __LINE__, "%s", err.text);
    struct dirent **entries;
    int count = scandir(FOLDER "/recorded", &entries, is_recording, alphasort);
    int cases = 0, differences = 0;
    check(count > 100);
    for (int i = 0; i < count; i++) {
        cases++;
        differences += compare_case(entries[i]->d_name, json_item(documents, 0));
        free(entries[i]);
    }
    free(entries);
    check_int(differences, 0);
}
