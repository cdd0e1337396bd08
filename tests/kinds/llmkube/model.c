/* The Model kind where the recordings do not go: failures, edits, restarts, drift, prefetch. */

#include "kinds/llmkube/model.h"

#include "tests/kinds/llmkube/llmkube_stage.h"
#include "tests/test.h"

#define URL "https://weights.test/base.gguf"
#define PROBE "model.probe " URL
#define HEAD "model.head " URL

/* A world with one Model, ns/m. */
static struct stage *with_model(const char *spec)
{
    struct stage *w = arena_new(test_arena(), struct stage);
    llmkube_stage_init(w);
    stage_add_all(w, stage_yaml("api/inference.llmkube.dev_models.yaml"));
    llmkube_stage_flags(w, "--allowed-host-path-roots=/srv/models");
    stage_add(w,
        arena_printf(test_arena(),
            "{'apiVersion': 'inference.llmkube.dev/v1alpha1', 'kind': 'Model', 'metadata':"
            " {'name': 'm', 'namespace': 'ns', 'generation': 1}, 'spec': %s}",
            spec));
    return w;
}

static const char *phase(struct stage *w)
{
    return json_get_text(stage_status(w, &LLMKUBE_MODEL, "m"), "phase");
}

static const char *condition(struct stage *w, const char *type)
{
    return stage_told(w, &LLMKUBE_MODEL, "m", type);
}

static const struct plan *run(struct stage *w)
{
    return stage_step(w, &llmkube_model_kind, "m");
}

static const struct plan *settle(struct stage *w)
{
    return stage_settle(w, &llmkube_model_kind, "m");
}

static bool asks(const struct plan *p, const char *effect)
{
    for (size_t i = 0; i < p->effect_count; i++)
        if (text_eq(p->effects[i].effect, effect))
            return true;
    return false;
}

static bool makes(const struct plan *p, const struct resource *r)
{
    for (size_t i = 0; i < p->child_count; i++)
        if (p->children[i].resource == r)
            return true;
    return false;
}

/* ---- headers ---- */

TEST(a_model_says_nothing_until_its_header_was_looked_at)
{
    struct stage *w = with_model("{'source': '" URL "'}");
    const struct plan *p = run(w);
    check(!p->has_status && asks(p, "model.probe") && p->outcome == OUTCOME_DONE);
    stage_fact(w, PROBE, "{'progress': {'bytes': 1}}");
    check(!run(w)->has_status);
    stage_fact(w, PROBE, "{'error': {'code': 'Timeout', 'message': 'too slow'}}");
    check(run(w)->has_status);
    check_text(phase(w), "Ready");
}

TEST(a_source_that_says_later_is_asked_again_for_a_while)
{
    struct stage *w = with_model("{'source': '" URL "'}");
    stage_fact(w, PROBE, "{'error': {'code': 'TooManyRequests', 'message': 'answered 503'}}");
    const struct plan *p = run(w);
    check(p->outcome == OUTCOME_RETRY && text_eq(p->cause, "answered 503"));
    check_text(phase(w), "Pending");
    check_text(condition(w, "Progressing"), "True SourceBusy: answered 503");
    w->world.now_ms += 9 * 60000;
    check(run(w)->outcome == OUTCOME_RETRY);
    w->world.now_ms += 2 * 60000;
    run(w);
    check_text(phase(w), "Ready");
}

/* Metadata that comes late would rename the file in the cache. */
TEST(a_ready_model_is_not_looked_at_again_after_a_restart)
{
    struct stage *w = with_model("{'source': '" URL "'}");
    stage_fact(w, PROBE, "{'error': {'code': 'ServiceUnavailable', 'message': 'x'}}");
    settle(w);
    struct json before = stage_status(w, &LLMKUBE_MODEL, "m");
    stage_restart(w);
    stage_fact(w, PROBE, "{'result': {'size': 9, 'gguf': {'modelName': 'Late'}}}");
    const struct plan *p = run(w);
    check(!asks(p, "model.probe"));
    check(json_equal(stage_status(w, &LLMKUBE_MODEL, "m"), before));
}

TEST(an_edited_source_is_a_new_model)
{
    struct stage *w = with_model("{'source': '" URL "'}");
    stage_fact(w,
        PROBE,
        "{'result': {'size': 672, 'etag': 'e', 'contentLength': 672, 'gguf': {'modelName': 'A'}}}");
    settle(w);
    check_text(json_get_text(stage_status(w, &LLMKUBE_MODEL, "m"), "gguf.modelName"), "A");
    stage_edit(w, &LLMKUBE_MODEL, "m", "spec.source", "'https://weights.test/other.gguf'");
    /* Until it was looked at, nobody may take it for Ready with the old key. */
    struct model m;
    struct error err;
    struct json object = file_view_get(&w->world, &LLMKUBE_MODEL, "ns", "m");
    check(model_read(test_arena(), object, &m, &err));
    check_text(m.phase, "");
    check_text(m.cache_key, "");
    check_text(m.gguf_name, "");
    check(!run(w)->has_status);
    stage_fact(w, "model.probe https://weights.test/other.gguf", "{'result': {'size': 5}}");
    settle(w);
    struct json status = stage_status(w, &LLMKUBE_MODEL, "m");
    check_text(json_get_text(status, "cacheKey"),
        source_cache_key(test_arena(), "https://weights.test/other.gguf"));
    check(!json_present(json_get(status, "gguf")));
    check(!json_present(json_get(status, "sourceETag")));
    check_text(json_get_text(status, "size"), "0");
    check_text(condition(w, "SourceDrifted"), "");
}

TEST(a_source_edited_to_another_class_leaves_nothing_behind)
{
    struct stage *w = with_model("{'source': '" URL "'}");
    stage_fact(w, PROBE, "{'result': {'size': 672, 'etag': 'e', 'contentLength': 672}}");
    settle(w);
    stage_edit(w, &LLMKUBE_MODEL, "m", "spec.source", "'acme/chat'");
    settle(w);
    check_json(
        json_with(test_arena(),
            json_with(test_arena(), stage_status(w, &LLMKUBE_MODEL, "m"), "lastUpdated", json_none),
            "conditions",
            json_none),
        "{'phase': 'Ready', 'acceleratorReady': true, 'size': '0'}");
    check(text_starts(condition(w, "Available"), "True RuntimeResolved: "));
    stage_edit(w, &LLMKUBE_MODEL, "m", "spec.source", "'chat'");
    const struct plan *p = settle(w);
    check_text(phase(w), "Failed");
    check(p->outcome == OUTCOME_WAIT);
    check(text_starts(condition(w, "Degraded"), "True InvalidSource: \"chat\" names no source"));
    check(text_starts(condition(w, "Available"), "False InvalidSource: "));
    stage_edit(w, &LLMKUBE_MODEL, "m", "spec.source", "'acme/chat'");
    settle(w);
    check(text_starts(condition(w, "Available"), "True RuntimeResolved: "));
    check(text_starts(condition(w, "Degraded"), "False Superseded: "));
}

/* ---- local files ---- */

TEST(a_missing_file_is_looked_for_every_five_minutes)
{
    struct stage *w = with_model("{'source': 'file:///srv/models/none.gguf'}");
    const struct plan *p = run(w);
    check_text(phase(w), "Copying");
    check_text(condition(w, "Progressing"), "True CopyStarted: Started copying local model");
    check(p->outcome == OUTCOME_DONE && asks(p, "model.copy"));
    check_json(p->effects[0].args,
        "{'path': '/srv/models/none.gguf', 'name': 'm', 'directory': '/models/b5874e6464204a2a'}");
    stage_fact(w,
        "model.copy /srv/models/none.gguf",
        "{'error': {'code': 'NotFound', 'message': '/srv/models/none.gguf: No such file'}}");
    p = settle(w);
    check_text(phase(w), "Failed");
    check_text(condition(w, "Degraded"),
        "True CopyFailed: failed to open local model file: open /srv/models/none.gguf: no such file"
        " or directory");
    check(p->outcome == OUTCOME_WAIT && p->after_ms == PLAN_WAIT_RECHECK_MS);
    check_int(p->effects[0].every_ms, PLAN_WAIT_RECHECK_MS);
    /* Neither a restart nor the next look makes the phase go back and forth. */
    struct json before = stage_status(w, &LLMKUBE_MODEL, "m");
    stage_restart(w);
    p = run(w);
    check(json_equal(stage_status(w, &LLMKUBE_MODEL, "m"), before) && p->outcome == OUTCOME_WAIT);
    stage_edit(w, &LLMKUBE_MODEL, "m", "spec.source", "'file:///srv/models/there.gguf'");
    run(w);
    check_text(phase(w), "Copying");
}

TEST(a_copy_tells_how_far_it_is)
{
    struct stage *w = with_model("{'source': '/srv/models/a.gguf'}");
    stage_fact(w,
        "model.copy /srv/models/a.gguf",
        "{'progress': {'bytes': 4500000000, 'total': 10000000000}}");
    run(w);
    check_text(condition(w, "Progressing"),
        "True CopyStarted: Started copying local model: 40% of 9.3 GiB");
    stage_fact(w,
        "model.copy /srv/models/a.gguf",
        "{'result': {'path': '/models/k/a.gguf', 'size': 5, 'sha256': 'ab', 'cached': true}}");
    settle(w);
    check_text(condition(w, "Available"), "True ModelCached: The cache has it already");
    check(text_starts(condition(w, "Progressing"), "False Superseded: "));
    /* Ready once, it is not copied again: not even when the operator lost its cache. */
    stage_restart(w);
    struct json before = stage_status(w, &LLMKUBE_MODEL, "m");
    check(!asks(run(w), "model.copy"));
    check(json_equal(stage_status(w, &LLMKUBE_MODEL, "m"), before));
}

/* As on a machine of one's own, where claims are directories. */
TEST(a_download_by_a_pod_tells_how_far_it_is)
{
    struct stage *w = with_model("{'source': '" URL "'}");
    llmkube_stage_settings(w)->claims = "/data/volumes";
    stage_fact(w, PROBE, "{'result': {'contentLength': 10000000000}}");
    settle(w);
    check_text(phase(w), "Ready");
    check(!*condition(w, "Progressing"));
    stage_fact(w, "model.staged /data/volumes/ns", "{'progress': {'bytes': 4500000000}}");
    run(w);
    check_text(
        condition(w, "Progressing"), "True Downloading: A pod fetches the model: 40% of 9.3 GiB");
    check_text(phase(w), "Ready");
    stage_fact(w, "model.staged /data/volumes/ns", "{'result': {'whole': true}}");
    run(w);
    check(text_starts(condition(w, "Progressing"), "False Superseded: "));
}

#define CUT "/srv/models/a.gguf is cut short: it has 3 of the 9 bytes that its header tells"

TEST(a_file_that_is_cut_short_is_a_failure_wherever_it_is_seen)
{
    /* where it lies */
    struct stage *w = with_model("{'source': '/srv/models/a.gguf'}");
    stage_fact(w,
        "model.copy /srv/models/a.gguf",
        "{'error': {'code': 'Invalid', 'message': '" CUT "; put the whole file there'}}");
    const struct plan *p = settle(w);
    check_text(phase(w), "Failed");
    check_text(condition(w, "Degraded"), "True FileTruncated: " CUT "; put the whole file there");
    check(p->outcome == OUTCOME_WAIT);
    /* at its source, which is asked again */
    w = with_model("{'source': '" URL "'}");
    stage_fact(w, PROBE, "{'result': {'size': 3, 'cut': '" CUT "'}}");
    p = settle(w);
    check_text(phase(w), "Failed");
    check(text_starts(condition(w, "Degraded"), "True FileTruncated: " CUT "; put the whole"));
    check_int(p->effects[0].every_ms, PLAN_WAIT_RECHECK_MS);
    stage_fact(w, PROBE, "{'result': {'size': 9}}");
    settle(w);
    check_text(phase(w), "Ready");
    /* after a pod fetched it, until it is removed */
    llmkube_stage_settings(w)->claims = "/data/volumes";
    stage_fact(w, "model.staged /data/volumes/ns", "{'progress': {'cut': '" CUT "'}}");
    run(w);
    check_text(phase(w), "Failed");
    check(strstr(condition(w, "Degraded"), "`leeboard models remove m`"));
    stage_fact(w, "model.staged /data/volumes/ns", "{'progress': {'bytes': 0}}");
    run(w);
    check_text(phase(w), "Ready");
}

TEST(failures_of_a_copy_wait_or_are_tried_again)
{
    static const struct {
        const char *error;
        const char *degraded;
        enum outcome outcome;
    } rows[] = {
        { "{'code': 'Forbidden', 'message': '/srv/models/a.gguf leads out of the directories'}",
            "True CopyFailed: /srv/models/a.gguf leads out of the directories",
            OUTCOME_WAIT },
        { "{'code': 'NotFound', 'message': 'making /cache: No such file'}",
            "True CopyFailed: making /cache: No such file",
            OUTCOME_WAIT },
        { "{'code': 'Invalid', 'message': '/srv/models/a.gguf is not a regular file'}",
            "True CopyFailed: /srv/models/a.gguf is not a regular file",
            OUTCOME_WAIT },
        { "{'code': 'Forbidden', 'message': '/srv/models/a.gguf: Permission denied'}",
            "True CopyFailed: failed to open local model file: open /srv/models/a.gguf: permission"
            " denied",
            OUTCOME_WAIT },
        { "{'code': 'Invalid', 'message': 'spec.sha256 is a, but the file has b'}",
            "True IntegrityCheckFailed: spec.sha256 is a, but the file has b",
            OUTCOME_WAIT },
        { "{'code': 'RequestEntityTooLarge', 'message': 'too big'}",
            "True CopyFailed: too big",
            OUTCOME_WAIT },
        { "{'code': 'InternalError', 'message': 'disk full'}",
            "True CopyFailed: disk full",
            OUTCOME_RETRY },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct stage *w = with_model("{'source': '/srv/models/a.gguf'}");
        stage_fact(w,
            "model.copy /srv/models/a.gguf",
            arena_printf(test_arena(), "{'error': %s}", rows[i].error));
        const struct plan *p = settle(w);
        check_text(phase(w), "Failed");
        check_text(condition(w, "Degraded"), rows[i].degraded);
        check_int(p->outcome, rows[i].outcome);
    }
}

TEST(a_digest_is_compared_without_case)
{
    const char *digest = "ABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABAB";
    struct stage *w = with_model(
        arena_printf(test_arena(), "{'source': '/srv/models/a.gguf', 'sha256': '%s'}", digest));
    stage_fact(w,
        "model.copy /srv/models/a.gguf",
        "{'result': {'path': '/p/a.gguf', 'size': 5, 'sha256':"
        " 'abababababababababababababababababababababababababababababababab'}}");
    settle(w);
    check_text(phase(w), "Ready");
    /* Another digest in the spec: the Ready copy is looked at again. */
    stage_edit(w,
        &LLMKUBE_MODEL,
        "m",
        "spec.sha256",
        "'cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd'");
    settle(w);
    check_text(phase(w), "Failed");
    check(text_starts(condition(w, "Degraded"), "True IntegrityCheckFailed: spec.sha256 is "));
}

/* ---- drift ---- */

static struct stage *with_baseline(const char *policy)
{
    struct stage *w = with_model(
        arena_printf(test_arena(), "{'source': '" URL "', 'refreshPolicy': '%s'}", policy));
    stage_fact(w, PROBE, "{'result': {'size': 10, 'etag': 'one', 'contentLength': 10}}");
    settle(w);
    return w;
}

TEST(a_source_is_asked_once_an_interval_whether_it_changed)
{
    struct stage *w = with_baseline("IfNotPresent");
    const struct plan *p = run(w);
    check(!asks(p, "model.head") && p->outcome == OUTCOME_RECHECK && p->after_ms == 3600000);
    w->world.now_ms += 3600000;
    p = run(w);
    check(asks(p, "model.head") && p->outcome == OUTCOME_RECHECK);
    struct json before = stage_status(w, &LLMKUBE_MODEL, "m");
    /* In sync: no time moves, nothing is written. */
    stage_fact(w, HEAD, "{'result': {'etag': 'one', 'contentLength': 10}}");
    run(w);
    check(json_equal(stage_status(w, &LLMKUBE_MODEL, "m"), before));
    stage_fact(w, HEAD, "{'result': {'etag': 'two', 'contentLength': 10}}");
    settle(w);
    check_text(condition(w, "SourceDrifted"),
        "True UpstreamChanged: \"" URL "\" is no longer what it was when the Model became Ready; "
        "spec.refreshPolicy OnChange would follow it");
    check_text(phase(w), "Ready");
    check_text(json_get_text(stage_status(w, &LLMKUBE_MODEL, "m"), "sourceETag"), "one");
}

TEST(a_source_that_may_not_be_asked_is_asked_again_in_five_minutes)
{
    struct stage *w = with_baseline("IfNotPresent");
    w->world.now_ms += 3600000;
    check(asks(run(w), "model.head"));
    stage_fact(w, HEAD, "{'error': {'code': 'Forbidden', 'message': 'HTTP 403'}}");
    const struct plan *p = run(w);
    check(p->outcome == OUTCOME_RECHECK && p->after_ms == PLAN_WAIT_RECHECK_MS);
    check(asks(p, "model.head"));
}

/* Our own write of the status wakes nobody, so the pass that makes it Ready sees to what follows.
 */
TEST(a_model_that_becomes_ready_will_be_looked_at_again)
{
    struct stage *w = with_model("{'source': '" URL "'}");
    stage_fact(w, PROBE, "{'result': {'size': 10, 'etag': 'one', 'contentLength': 10}}");
    const struct plan *p = run(w);
    check(p->outcome == OUTCOME_RECHECK && p->after_ms == 3600000 && !asks(p, "model.head"));
    w = with_model("{'source': '" URL "'}");
    stage_fact(w, PROBE, "{'error': {'code': 'ServiceUnavailable', 'message': 'HTTP 503'}}");
    check(asks(run(w), "model.head"));
    stage_fact(w, HEAD, "{'error': {'code': 'ServiceUnavailable', 'message': 'HTTP 503'}}");
    check(run(w)->outcome == OUTCOME_RETRY);
    stage_fact(w, HEAD, "{'result': {'etag': 'one', 'contentLength': 10}}");
    settle(w);
    check(text_starts(condition(w, "SourceDrifted"), "False InSync: "));
    w = with_model("{'source': '/srv/models/a.gguf'}");
    stage_fact(w,
        "model.copy /srv/models/a.gguf",
        "{'result': {'path': '/p/a.gguf', 'size': 5, 'sha256': 'one'}}");
    p = run(w);
    check(p->outcome == OUTCOME_RECHECK && p->after_ms == 3600000);
}

TEST(a_source_that_cannot_be_asked_changes_nothing)
{
    struct stage *w = with_baseline("OnChange");
    w->world.now_ms += 3600000;
    struct json before = stage_status(w, &LLMKUBE_MODEL, "m");
    stage_fact(w, HEAD, "{'error': {'code': 'ServiceUnavailable', 'message': 'HTTP 503'}}");
    const struct plan *p = run(w);
    check(json_equal(stage_status(w, &LLMKUBE_MODEL, "m"), before));
    check(p->outcome == OUTCOME_RETRY && text_eq(p->cause, "HTTP 503"));
    stage_fact(w, HEAD, "{'error': {'code': 'NotFound', 'message': 'HTTP 404'}}");
    p = run(w);
    check(
        json_equal(stage_status(w, &LLMKUBE_MODEL, "m"), before) && p->outcome == OUTCOME_RECHECK);
}

TEST(a_local_file_that_changed_is_copied_again_on_change_only)
{
    static const char *const policies[] = { "IfNotPresent", "OnChange" };
    for (size_t i = 0; i < lengthof(policies); i++) {
        struct stage *w = with_model(arena_printf(
            test_arena(), "{'source': '/srv/models/a.gguf', 'refreshPolicy': '%s'}", policies[i]));
        const char *copy = "model.copy /srv/models/a.gguf";
        stage_fact(w, copy, "{'result': {'path': '/p/a.gguf', 'size': 5, 'sha256': 'one'}}");
        settle(w);
        stage_restart(w);
        w->world.now_ms += 3600000;
        stage_fact(w, "model.head /srv/models/a.gguf", "{'result': {'contentLength': 6}}");
        const struct plan *p = settle(w);
        check(text_starts(condition(w, "SourceDrifted"), "True UpstreamChanged: "));
        check_text(phase(w), "Ready");
        check_int(asks(p, "model.copy"), i);
        stage_fact(w, copy, "{'result': {'path': '/p/a.gguf', 'size': 6, 'sha256': 'two'}}");
        settle(w);
        struct json status = stage_status(w, &LLMKUBE_MODEL, "m");
        check_int(json_get_int(status, "sourceContentLength", 0), i ? 6 : 5);
        check_text(json_get_text(status, "sha256"), i ? "two" : "one");
        check(text_starts(condition(w, "SourceDrifted"), i ? "False InSync: " : "True Up"));
    }
}

/* ---- claims ---- */

TEST(a_claim_is_waited_for_and_missed)
{
    struct stage *w = with_model("{'source': 'pvc://weights/dir/x.gguf'}");
    const struct plan *p = settle(w);
    check_text(phase(w), "Failed");
    check_text(condition(w, "Degraded"),
        "True PVCNotFound: There is no claim \"weights\" in namespace \"ns\": create it, or name "
        "another in spec.source");
    check(p->outcome == OUTCOME_WAIT);
    stage_add(w,
        "{'apiVersion': 'v1', 'kind': 'PersistentVolumeClaim', 'metadata':"
        " {'name': 'weights', 'namespace': 'ns'}, 'status': {'phase': 'Pending'}}");
    settle(w);
    check_text(phase(w), "Pending");
    check_text(condition(w, "Progressing"),
        "True PVCNotBound: PVC \"weights\" is Pending, waiting for it to be Bound");
    check(text_starts(condition(w, "Degraded"), "False Superseded: "));
    stage_add(w,
        "{'apiVersion': 'v1', 'kind': 'PersistentVolumeClaim', 'metadata':"
        " {'name': 'weights', 'namespace': 'ns'}, 'status': {'phase': 'Bound'}}");
    settle(w);
    check_text(phase(w), "Ready");
    check_text(
        json_get_text(stage_status(w, &LLMKUBE_MODEL, "m"), "path"), "/model-source/dir/x.gguf");
    file_view_remove(&w->world, &RESOURCE_PVC, "ns", "weights");
    settle(w);
    check_text(phase(w), "Failed");
    check(text_starts(condition(w, "Available"), "False PVCNotFound: "));
}

/* ---- prefetch ---- */

static struct json job_with(struct stage *w, const char *condition)
{
    struct json job = file_view_get(&w->world, &RESOURCE_JOB, "ns", "m-prefetch");
    check(json_present(job));
    struct json list = json_list(test_arena(),
        json_fields(test_arena(), { "type", json_str(condition) }, { "status", json_str("True") }));
    return json_with(test_arena(), job, "status.conditions", list);
}

TEST(a_prefetch_fills_the_cache_once)
{
    struct stage *w = with_model("{'source': '" URL "', 'prefetch': true}");
    const struct plan *p = run(w);
    check(makes(p, &RESOURCE_JOB) && makes(p, &RESOURCE_PVC) && !asks(p, "model.probe"));
    check_text(phase(w), "Downloading");
    settle(w);
    stage_add_all(w, json_list(test_arena(), job_with(w, "Complete")));
    /* At once: nobody wakes it for that later. */
    check(asks(run(w), "model.head"));
    p = settle(w);
    check_text(
        condition(w, "Available"), "True ModelPrefetched: The weights lie in the shared cache");
    check(makes(p, &RESOURCE_JOB)); /* stays until its time is up */
    check(!asks(p, "model.probe"));
    file_view_remove(&w->world, &RESOURCE_JOB, "ns", "m-prefetch");
    struct json before = stage_status(w, &LLMKUBE_MODEL, "m");
    p = settle(w);
    check(!makes(p, &RESOURCE_JOB) && json_equal(stage_status(w, &LLMKUBE_MODEL, "m"), before));
}

TEST(a_prefetched_file_of_the_hub_keeps_its_key)
{
    struct stage *w = with_model("{'source': 'hf://acme/chat/a.gguf', 'prefetch': true}");
    settle(w);
    stage_add_all(w, json_list(test_arena(), job_with(w, "Complete")));
    settle(w);
    struct json status = stage_status(w, &LLMKUBE_MODEL, "m");
    check_text(phase(w), "Ready");
    check_text(
        json_get_text(status, "cacheKey"), source_cache_key(test_arena(), "hf://acme/chat/a.gguf"));
    stage_edit(w, &LLMKUBE_MODEL, "m", "spec.prefetch", "false");
    settle(w);
    check(text_starts(condition(w, "Available"), "True RuntimeResolved: "));
    check(!json_present(json_get(stage_status(w, &LLMKUBE_MODEL, "m"), "cacheKey")));
}

TEST(a_failed_prefetch_says_so_until_its_job_is_gone)
{
    struct stage *w = with_model("{'source': '" URL "', 'prefetch': true}");
    settle(w);
    stage_add_all(w, json_list(test_arena(), job_with(w, "Failed")));
    const struct plan *p = settle(w);
    check_text(phase(w), "Failed");
    check(text_starts(condition(w, "Progressing"), "False PrefetchFailed: Job \"m-pre"));
    check(p->outcome == OUTCOME_WAIT && makes(p, &RESOURCE_JOB));
    file_view_remove(&w->world, &RESOURCE_JOB, "ns", "m-prefetch");
    settle(w);
    check_text(phase(w), "Downloading");
}

TEST(a_job_of_an_earlier_source_goes_first)
{
    struct stage *w = with_model("{'source': '" URL "', 'prefetch': true}");
    settle(w);
    stage_edit(w, &LLMKUBE_MODEL, "m", "spec.source", "'https://weights.test/other.gguf'");
    const struct plan *p = run(w);
    check(!makes(p, &RESOURCE_JOB) && !p->keep_children); /* so the engine deletes it */
    check_text(phase(w), "Downloading");
    file_view_remove(&w->world, &RESOURCE_JOB, "ns", "m-prefetch");
    check(makes(run(w), &RESOURCE_JOB));
}

TEST(a_prefetch_that_would_be_in_vain_is_told)
{
    static const struct {
        const char *flags;
        const char *spec;
        const char *says;
    } rows[] = {
        { "--model-cache-mode=perService",
            "{'source': '" URL "', 'prefetch': true}",
            "perService" },
        { "--model-cache-path=", "{'source': '" URL "', 'prefetch': true}", "--model-cache-path" },
        { "--dri-render-gid=0", "{'source': 'hf://acme/chat', 'prefetch': true}", "spec.files" },
        { "--dri-render-gid=0", "{'source': 'pvc://c/x', 'prefetch': true}", "only http(s)" },
        { "--dri-render-gid=0",
            "{'source': '" URL "', 'prefetch': true, 'hardware': {'accelerator': 'metal'}}",
            "Metal" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct stage *w = with_model(rows[i].spec);
        llmkube_stage_flags(w, rows[i].flags);
        stage_fact(w, PROBE, "{'error': {'code': 'NotFound', 'message': 'x'}}");
        const struct plan *p = settle(w);
        check(!makes(p, &RESOURCE_JOB) && !makes(p, &RESOURCE_PVC));
        const char *told = condition(w, "Progressing");
        check(text_starts(told, "False PrefetchInvalid: spec.prefetch has no effect: "));
        check(strstr(told, rows[i].says));
    }
}

/* One Progressing condition, whoever has something to say about it. */
TEST(a_prefetch_in_vain_gives_way_to_real_progress)
{
    struct stage *w = with_model("{'source': 'pvc://weights/x.gguf', 'prefetch': true}");
    stage_add(w,
        "{'apiVersion': 'v1', 'kind': 'PersistentVolumeClaim', 'metadata':"
        " {'name': 'weights', 'namespace': 'ns'}, 'status': {'phase': 'Pending'}}");
    settle(w);
    check(text_starts(condition(w, "Progressing"), "True PVCNotBound: "));
    w = with_model(
        "{'source': '/srv/models/a.gguf', 'prefetch': true, 'refreshPolicy': 'OnChange'}");
    run(w);
    check(text_starts(condition(w, "Progressing"), "True CopyStarted: "));
    stage_fact(w,
        "model.copy /srv/models/a.gguf",
        "{'result': {'path': '/p/a.gguf', 'size': 5, 'sha256': 'one'}}");
    settle(w);
    check(text_starts(condition(w, "Progressing"), "False PrefetchInvalid: "));
    stage_restart(w);
    w->world.now_ms += 3600000;
    stage_fact(w, "model.head /srv/models/a.gguf", "{'result': {'contentLength': 6}}");
    settle(w);
    check(text_starts(condition(w, "Progressing"), "True CopyStarted: "));
}

TEST(files_of_a_ready_repository_can_be_prefetched_later)
{
    struct stage *w = with_model("{'source': 'hf://acme/chat', 'files': ['a.gguf']}");
    settle(w);
    check_text(phase(w), "Ready");
    stage_edit(w, &LLMKUBE_MODEL, "m", "spec.prefetch", "true");
    check(makes(settle(w), &RESOURCE_JOB));
    check_text(phase(w), "Downloading");
}

/* ---- the rest ---- */

TEST(an_accelerator_is_ready_when_a_node_or_a_claim_has_it)
{
    struct stage *w = with_model("{'source': 'acme/chat', 'hardware': {'accelerator': 'cuda'}}");
    /* A node whose driver is gone still names the resource. */
    stage_add(w,
        "{'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': 'n'},"
        " 'status': {'capacity': {'nvidia.com/gpu': '0', 'cpu': '4'}}}");
    settle(w);
    check(!json_present(json_get(stage_status(w, &LLMKUBE_MODEL, "m"), "acceleratorReady")));
    stage_add(w,
        "{'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': 'n'},"
        " 'status': {'capacity': {'nvidia.com/gpu': '1', 'cpu': '4'}}}");
    settle(w);
    check(json_get_bool(stage_status(w, &LLMKUBE_MODEL, "m"), "acceleratorReady", false));
    stage_edit(w, &LLMKUBE_MODEL, "m", "spec.hardware.accelerator", "'rocm'");
    settle(w);
    check(!json_present(json_get(stage_status(w, &LLMKUBE_MODEL, "m"), "acceleratorReady")));
    stage_edit(w, &LLMKUBE_MODEL, "m", "spec.hardware.gpu", "{'resourceName': 'nvidia.com/gpu'}");
    settle(w);
    check(json_get_bool(stage_status(w, &LLMKUBE_MODEL, "m"), "acceleratorReady", false));
    stage_edit(w,
        &LLMKUBE_MODEL,
        "m",
        "spec.hardware.gpu",
        "{'resourceClaims': [{'name': 'g', 'resourceClaimName': 'c'}]}");
    settle(w);
    check(!json_present(json_get(stage_status(w, &LLMKUBE_MODEL, "m"), "acceleratorReady")));
    stage_add(w,
        "{'apiVersion': 'resource.k8s.io/v1', 'kind': 'ResourceClaim', 'metadata':"
        " {'name': 'c', 'namespace': 'ns'}}");
    settle(w);
    check(json_get_bool(stage_status(w, &LLMKUBE_MODEL, "m"), "acceleratorReady", false));
}

TEST(a_model_that_cannot_be_read_names_the_path)
{
    static const struct {
        const char *spec;
        const char *says;
    } rows[] = {
        { "{'source': 5}", "spec.source: expected string, got integer" },
        { "{}", "spec.source: required" },
        { "{'source': 'a/b', 'files': 'x'}", "spec.files: expected list, got string" },
        { "{'source': 'a/b', 'files': ['x', 1]}", "spec.files[1]: expected string, got integer" },
        { "{'source': 'a/b', 'prefetch': 'yes'}", "spec.prefetch: expected boolean, got string" },
        { "{'source': 'a/b', 'hardware': 'gpu'}", "spec.hardware: expected object, got string" },
        { "{'source': 'a/b', 'sha256': '$(x)'}", "spec.sha256: must be 64 hexadecimal digits" },
        { "'text'", "spec: expected object, got string" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct stage *w = with_model(rows[i].spec);
        const struct plan *p = settle(w);
        check_text(phase(w), "Failed");
        check_text(condition(w, "Degraded"),
            arena_printf(test_arena(), "True InvalidSpec: %s", rows[i].says));
        check(p->outcome == OUTCOME_WAIT && p->keep_children);
    }
}

TEST(file_lists_that_cannot_be_are_refused)
{
    static const struct {
        const char *spec;
        const char *says;
    } rows[] = {
        { "{'source': '" URL "', 'files': ['a.gguf']}",
            "spec.files and spec.mmproj need a Hugging Face repository or an s3:// source, "
            "not " URL },
        { "{'source': 'a/b', 'files': ['a', '../b']}",
            "resolve file \"../b\": invalid repo-relative path \"../b\"" },
        { "{'source': 'a/b', 'files': ['a\\nb']}",
            "resolve primary file \"a\\nb\": invalid repo-relative path \"a\\nb\"" },
        { "{'source': 'a/b', 'files': ['a'], 'mmproj': '/x'}",
            "spec.mmproj: invalid repo-relative path \"/x\"" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct stage *w = with_model(rows[i].spec);
        check(settle(w)->outcome == OUTCOME_WAIT);
        check_text(condition(w, "Degraded"),
            arena_printf(test_arena(), "True InvalidFileSet: %s", rows[i].says));
    }
    struct stage *w = with_model("{'source': 'a/b', 'files': ['x', 'y', 'x'], 'mmproj': 'y'}");
    settle(w);
    check_json(json_get(stage_status(w, &LLMKUBE_MODEL, "m"), "stagedFiles"), "['x', 'y']");
}

TEST(the_same_view_gives_the_same_plan)
{
    struct stage *w = with_baseline("OnChange");
    struct view in = file_view_of(&w->world, &LLMKUBE_MODEL, "ns", "m", w->settings);
    struct plan a, b;
    plan_init(&a, test_arena());
    plan_init(&b, test_arena());
    llmkube_model_kind.reconcile(&in, &a);
    llmkube_model_kind.reconcile(&in, &b);
    check(json_equal(a.status, b.status) && a.condition_count == b.condition_count);
    check(a.outcome == b.outcome && a.after_ms == b.after_ms);
}
