/* A local file on one machine: used where it is, and followed. */

#include "kinds/llmkube/model.h"

#include "tests/kinds/llmkube/llmkube_stage.h"
#include "tests/test.h"

#define PATH "/srv/models/a.gguf"
#define FILE_FACT "model.file " PATH
#define DIGEST_FACT "model.digest " PATH

/* A machine with one Model of a local file, ns/m, and a service of it. */
static struct stage *machine_with(const char *spec)
{
    struct stage *w = arena_new(test_arena(), struct stage);
    llmkube_stage_init(w);
    stage_add_all(w, stage_yaml("api/inference.llmkube.dev_models.yaml"));
    stage_add_all(w, stage_yaml("api/inference.llmkube.dev_inferenceservices.yaml"));
    llmkube_stage_flags(w, "--allowed-host-path-roots=/");
    llmkube_stage_settings(w)->one_machine = true;
    stage_add(w,
        arena_printf(test_arena(),
            "{'kind': 'Model', 'metadata': {'name': 'm', 'generation': 1}, 'spec': {'source': "
            "'file://" PATH "'%s}}",
            spec));
    stage_add(w,
        "{'kind': 'InferenceService', 'metadata': {'name': 's', 'generation': 1}, 'spec':"
        " {'modelRef': 'm'}}");
    return w;
}

static void file(struct stage *w, const char *etag, int size)
{
    stage_fact(w,
        FILE_FACT,
        arena_printf(test_arena(), "{'progress': {'etag': '%s', 'size': %d}}", etag, size));
}

static const struct plan *run(struct stage *w)
{
    return stage_settle(w, &llmkube_model_kind, "m");
}

static const char *told(struct stage *w, const char *type)
{
    return stage_told(w, &LLMKUBE_MODEL, "m", type);
}

static const char *in_status(struct stage *w, const char *field)
{
    return json_get_text(stage_status(w, &LLMKUBE_MODEL, "m"), field);
}

static struct json tmpl(struct stage *w)
{
    stage_run(w, &llmkube_inference_service_kind, "s");
    return json_get(stage_child(w, "Deployment"), "spec.template");
}

TEST(a_local_file_of_one_machine_is_not_copied)
{
    struct stage *w = machine_with("");
    const struct plan *p = run(w);
    check(!in_status(w, "phase") && p->outcome == OUTCOME_DONE);
    file(w, "e1", 2048);
    p = run(w);
    check_text(in_status(w, "phase"), "Ready");
    check_text(in_status(w, "path"), PATH);
    check_text(in_status(w, "size"), "2.0 KiB");
    check(!in_status(w, "sha256"));
    check(text_starts(told(w, "SourceDrifted"), "False InSync: "));
    check(p->effect_count == 1 && text_eq(p->effects[0].effect, "model.file"));
    struct json pod = json_get(tmpl(w), "spec");
    check_json(
        json_get(pod, "volumes"), "[{'name': 'host-model', 'hostPath': {'path': '" PATH "'}}]");
    check_json(json_get(pod, "containers.0.volumeMounts"),
        "[{'name': 'host-model', 'mountPath': '" PATH "', 'readOnly': true}]");
    check(!json_present(json_get(pod, "initContainers")));
    check(json_list_has(json_get(pod, "containers.0.args"), PATH));
    check(!json_present(stage_child(w, "PersistentVolumeClaim")));
    /* A restart finds the same and writes nothing. */
    struct json before = stage_status(w, &LLMKUBE_MODEL, "m");
    stage_restart(w);
    run(w);
    check(json_equal(stage_status(w, &LLMKUBE_MODEL, "m"), before));
    w->world.now_ms += 60000;
    file(w, "e1", 2048);
    run(w);
    check(json_equal(stage_status(w, &LLMKUBE_MODEL, "m"), before));
}

TEST(a_local_file_that_changes_rolls_its_services)
{
    struct stage *w = machine_with("");
    file(w, "e1", 2048);
    run(w);
    struct json before = tmpl(w);
    stage_fact(w, FILE_FACT, "{'progress': {'changing': true}}");
    run(w);
    check_text(told(w, "SourceDrifted"),
        "True UpstreamChanged: " PATH
        " has changed; services roll to it as soon as it stays the same");
    check_text(in_status(w, "phase"), "Ready");
    check(json_equal(tmpl(w), before));
    file(w, "e2", 1024);
    const struct plan *p = stage_step(w, &llmkube_model_kind, "m");
    check(p->event_count == 1 && text_eq(p->events[0].reason, "SourceChanged"));
    run(w);
    check(text_starts(told(w, "SourceDrifted"), "False InSync: "));
    check_text(in_status(w, "size"), "1.0 KiB");
    check(!json_equal(tmpl(w), before));
    /* One that is gone, or half there, stops nobody who runs. */
    before = tmpl(w);
    stage_fact(w, FILE_FACT, "{'progress': {'problem': {'code': 'NotFound', 'message': 'gone'}}}");
    run(w);
    check(text_starts(told(w, "SourceDrifted"), "True SourceUnusable: gone; servers that run"));
    check_text(in_status(w, "phase"), "Ready");
    check(json_equal(tmpl(w), before));
}

TEST(a_local_file_that_was_never_usable_is_a_failure_until_it_is)
{
    struct stage *w = machine_with("");
    stage_fact(w,
        FILE_FACT,
        "{'progress': {'problem': {'code': 'Invalid', 'message': 'a is cut short: by 3'}}}");
    run(w);
    check_text(in_status(w, "phase"), "Failed");
    check_text(told(w, "Degraded"), "True FileTruncated: a is cut short: by 3");
    stage_fact(w, FILE_FACT, "{'progress': {'changing': true}}");
    run(w);
    check_text(in_status(w, "phase"), "Pending");
    check_text(told(w, "Progressing"), "True SourceChanging: " PATH " is still being written");
    file(w, "e1", 2048);
    run(w);
    check_text(in_status(w, "phase"), "Ready");
    check(text_starts(told(w, "Degraded"), "False "));
}

#define RIGHT "abababababababababababababababababababababababababababababababab"
#define WRONG "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"

TEST(the_digest_of_a_local_file_is_read_once_for_each_content)
{
    struct stage *w = machine_with(", 'sha256': '" RIGHT "'");
    file(w, "e1", 2048);
    stage_fact(w, DIGEST_FACT, "{'progress': {'bytes': 450, 'total': 1000}}");
    run(w);
    check_text(told(w, "Progressing"),
        "True DigestUnknown: All of the file is read for spec.sha256: 40% of 1000 B");
    stage_fact(w, DIGEST_FACT, "{'result': {'sha256': '" RIGHT "'}}");
    const struct plan *p = run(w);
    check_text(in_status(w, "phase"), "Ready");
    check_text(in_status(w, "sha256"), RIGHT);
    stage_restart(w);
    file(w, "e1", 2048);
    p = run(w);
    check_int((long long)p->effect_count, 1); /* it is not asked for again */
    file(w, "e2", 2048);
    stage_fact(w, DIGEST_FACT, "{'result': {'sha256': '" WRONG "'}}");
    run(w);
    check_text(in_status(w, "phase"), "Failed");
    check(text_starts(told(w, "Degraded"), "True IntegrityCheckFailed: spec.sha256 is " RIGHT));
}

TEST(a_path_that_is_no_mount_path_is_mounted_elsewhere)
{
    struct stage *w = machine_with("");
    stage_edit(w, &LLMKUBE_MODEL, "m", "spec.source", "'/srv/sha256:12'");
    stage_fact(w, "model.file /srv/sha256:12", "{'progress': {'etag': 'e', 'size': 1}}");
    run(w);
    struct json pod = json_get(tmpl(w), "spec");
    check_text(json_get_text(pod, "volumes.0.hostPath.path"), "/srv/sha256:12");
    const char *mounted = json_get_text(pod, "containers.0.volumeMounts.0.mountPath");
    check(text_starts(mounted, "/models/") && !strchr(mounted, ':'));
    check(json_list_has(json_get(pod, "containers.0.args"), mounted));
}

TEST(a_draft_of_the_same_file_is_mounted_once)
{
    struct stage *w = machine_with("");
    file(w, "e1", 2048);
    run(w);
    stage_edit(w,
        &LLMKUBE_INFERENCE_SERVICE,
        "s",
        "spec.speculativeDecoding",
        "{'type': 'draft', 'draftModelRef': 'm'}");
    struct json pod = json_get(tmpl(w), "spec");
    check_int(json_get(pod, "volumes").count, 1);
    check(json_list_has(json_get(pod, "containers.0.args"), "-md"));
    check_text(json_text(json_member(
                   json_get(tmpl(w), "metadata.annotations"), "leeboard.dev/model-file")),
        "e1 e1");
}
