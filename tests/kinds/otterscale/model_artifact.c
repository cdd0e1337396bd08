#include "tests/kinds/otterscale/otters.h"

#include "base/buf.h"
#include "base/utf8.h"
#include "tests/test.h"

#define KIND (&otterscale_model_artifact_kind)

static const char *job_of(const struct plan *p)
{
    for (size_t i = 0; i < p->child_count; i++)
        if (p->children[i].resource == &OTTERSCALE_JOB)
            return json_get_text(p->children[i].object, "metadata.name");
    return NULL;
}

/* Until it has a Job; its name. */
static const char *begin(struct otters *w, const char *spec)
{
    otters_init(w);
    otters_artifact(w, "owl", spec);
    const struct plan *p = otters_run(w, KIND, "owl");
    check(p->outcome == OUTCOME_RECHECK && !job_of(p) && !p->has_status);
    p = otters_run(w, KIND, "owl");
    check(job_of(p));
    return job_of(p);
}

/* The Job's pod ended with this as its last word. */
static void end(struct otters *w, const char *job, const char *status, const char *word)
{
    otters_set(w, &OTTERSCALE_JOB, job, "status", status);
    struct json live = file_view_get(&w->view, &OTTERSCALE_JOB, "ml", job);
    struct json pod = json_fields(test_arena(),
        { "apiVersion", json_str("v1") },
        { "kind", json_str("Pod") },
        { "metadata.name", json_strf(test_arena(), "%s-x", job) },
        { "metadata.namespace", json_str("ml") },
        { "metadata.labels",
            json_map(test_arena(), { "batch.kubernetes.io/job-name", json_str(job) }) },
        { "metadata.ownerReferences",
            json_list(test_arena(),
                json_fields(test_arena(), { "uid", json_get(live, "metadata.uid") })) },
        { "status.containerStatuses",
            json_list(test_arena(),
                json_fields(test_arena(),
                    { "name", json_str("kit") },
                    { "state.terminated.message", json_str(word) },
                    { "state.terminated.finishedAt", json_str("2026-01-01T00:00:00Z") })) });
    struct error err;
    check(file_view_add(&w->view, pod, &err));
}

TEST(a_claim_comes_first_then_the_job_in_it)
{
    struct otters w;
    const char *job = begin(&w,
        "{'format': 'ModelKit', 'storage': {'size': 1024, 'storageClassName': ''},"
        " 'target': {'registry': 'r:5', 'repository': 'z', 'tag': 't', 'insecure': true,"
        " 'credentialsSecretRef': {'name': 'c'}}}");
    check(text_starts(job, "owl-") && strlen(job) == strlen("owl-") + 5);
    struct json live = file_view_get(&w.view, &OTTERSCALE_JOB, "ml", job);
    struct json kit = json_get(live, "spec.template.spec.containers.0");
    check_json(json_get(kit, "env"),
        "[{'name': 'OCI_TARGET', 'value': 'r:5/z:t'}, {'name': 'FORMAT', 'value': 'ModelKit'},"
        " {'name': 'DOCKER_CONFIG', 'value': '/.docker'}, {'name': 'PLAIN_HTTP', 'value': 'true'},"
        " {'name': 'HF_REPO', 'value': 'acme/owl'}]");
    check_json(json_get(live, "spec.template.spec.volumes.1.secret"),
        "{'items': [{'key': '.dockerconfigjson', 'path': 'config.json'}], 'secretName': 'c'}");
    struct json claim = file_view_get(&w.view, &RESOURCE_PVC, "ml", "owl-workspace");
    check_json(json_get(claim, "spec.resources.requests"), "{'storage': '1024'}");
    check_text(json_get_text(claim, "spec.storageClassName"), "");
}

TEST(the_jobs_state_is_told)
{
    static const struct {
        const char *status, *word, *told;
    } rows[] = {
        { "{}", "", "Unknown JobPending: Job is pending scheduling" },
        { "{'active': 1}", "", "Unknown JobRunning: Import/pack/push pipeline is running" },
        { "{'succeeded': 1, 'failed': 1}",
            " sha256:ab \n",
            "True Succeeded: Model artifact pushed successfully" },
        { "{'failed': 1}", "no %s such", "False JobFailed: no %s such" },
        { "{'conditions': [{'type': 'Failed', 'status': 'True', 'message': 'deadline'}]}",
            "",
            "False JobFailed: deadline" },
        { "{'failed': 1}", "", "False JobFailed: Job failed with unknown reason" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct otters w;
        end(&w, begin(&w, "{}"), rows[i].status, rows[i].word);
        const struct plan *p = otters_run(&w, KIND, "owl");
        check_text(otters_condition(p, "Ready"), rows[i].told);
        bool failed = text_starts(rows[i].told, "False");
        check_int(p->outcome, failed ? OUTCOME_WAIT : OUTCOME_DONE);
    }
}

TEST(a_job_that_ran_runs_on_until_it_is_suspended)
{
    static const char *const rows[][2] = {
        { "{'active': 1}", "Unknown JobRunning: Import/pack/push pipeline is running" },
        { "{}", "Unknown JobRunning: Import/pack/push pipeline is running" },
        { "{'conditions': [{'type': 'Suspended', 'status': 'True'}]}",
            "Unknown JobPending: Job is pending scheduling" },
    };
    struct otters w;
    const char *job = begin(&w, "{}");
    for (size_t i = 0; i < lengthof(rows); i++) {
        otters_set(&w, &OTTERSCALE_JOB, job, "status", rows[i][0]);
        check_text(otters_condition(otters_run(&w, KIND, "owl"), "Ready"), rows[i][1]);
    }
}

TEST(an_end_frees_the_claim_and_names_the_digest_with_its_tag)
{
    struct otters w;
    const char *job = begin(&w, "{}");
    end(&w, job, "{'succeeded': 1}", " sha256:ab\n");
    const struct plan *p = otters_run(&w, KIND, "owl");
    check_text(json_get_text(p->status, "digest"), "sha256:ab");
    check_text(json_get_text(p->status, "reference"), "r.test/zoo/owl:latest");
    check(!json_present(file_view_get(&w.view, &RESOURCE_PVC, "ml", "owl-workspace")));
    /* with the Job gone it stays told, and nothing is begun */
    file_view_remove(&w.view, &OTTERSCALE_JOB, "ml", job);
    p = otters_run(&w, KIND, "owl");
    check_text(
        otters_condition(p, "Ready"), "True Completed: Pipeline completed; Job was cleaned up");
    check_text(json_get_text(p->status, "digest"), "sha256:ab");
    check(!job_of(p));
}

TEST(an_edit_clears_the_way_first)
{
    struct otters w;
    const char *job = begin(&w, "{}");
    end(&w, job, "{'active': 1}", "");
    otters_run(&w, KIND, "owl");
    otters_set(&w, &OTTERSCALE_MODEL_ARTIFACT, "owl", "spec.target.tag", "'v2'");
    otters_set(&w, &OTTERSCALE_MODEL_ARTIFACT, "owl", "metadata.generation", "2");
    const struct plan *p = otters_run(&w, KIND, "owl");
    check(!job_of(p) && !json_present(otters_child(p, &RESOURCE_PVC, "owl-workspace")));
    check_text(otters_condition(p, "Ready"), "False JobNotCreated: Waiting for job to be created");
    check_int(json_get_int(p->status, "observedGeneration", 0), 1);
    check(!job_of(otters_run(&w, KIND, "owl"))); /* the old Job is still there */
    file_view_remove(&w.view, &OTTERSCALE_JOB, "ml", job);
    /* While the status cannot be written, a claim would be taken for the earlier one. */
    p = otters_run(&w, KIND, "owl");
    check(p->outcome == OUTCOME_RECHECK && p->child_count == 0);
    check_int(json_get_int(p->status, "observedGeneration", 0), 2);
    p = otters_run(&w, KIND, "owl");
    check(p->outcome == OUTCOME_RECHECK && !job_of(p) && !p->has_status);
    p = otters_run(&w, KIND, "owl");
    check(job_of(p) && !text_eq(job_of(p), job));
}

TEST(somebody_elses_claim_is_not_worked_in)
{
    struct otters w;
    otters_init(&w);
    otters_artifact(&w, "owl", "{}");
    otters_add(&w,
        "{'apiVersion': 'v1', 'kind': 'PersistentVolumeClaim', 'metadata': {'name': "
        "'owl-workspace'}}");
    check(!job_of(otters_run(&w, KIND, "owl")));
    check(!job_of(otters_run(&w, KIND, "owl")));
}

TEST(without_kit_nothing_is_begun_and_the_flag_is_named)
{
    struct otters w;
    otters_init(&w);
    w.settings.kit_image = NULL;
    otters_artifact(&w, "owl", "{}");
    const struct plan *p = otters_run(&w, KIND, "owl");
    check_int(p->child_count, 0);
    test_check_part(otters_condition(p, "Ready"), "--kit-image", "told", __FILE__, __LINE__);
}

TEST(the_newest_word_counts_and_of_two_at_one_time_the_first)
{
#define WORD(word, second)                                                                         \
    "{'state': {'terminated': {'message': '" word "', 'finishedAt': '2026-01-01T00:00:0" second    \
    "Z'}}}"
    struct otters w;
    const char *job = begin(&w, "{}");
    end(&w, job, "{'failed': 1}", "");
    otters_set(&w,
        &OTTERSCALE_POD,
        arena_printf(test_arena(), "%s-x", job),
        "status.containerStatuses",
        "[" WORD("early", "1") ", " WORD("first", "2") ", " WORD("second", "2") ", " WORD(
            "late", "0") "]");
#undef WORD
    check_text(otters_condition(otters_run(&w, KIND, "owl"), "Ready"), "False JobFailed: first");
}

TEST(a_last_word_is_cut_between_characters)
{
    /* One to four bytes a character, so that every way to halve one comes up. */
    static const char *const letters[] = { "a", "ü", "€", "😀" };
    for (size_t i = 0; i < lengthof(letters); i++)
        for (size_t shift = 0; shift < 4; shift++) {
            cleanup(buf_done) struct buf word = BUF_INIT(1 << 20);
            for (size_t n = 0; n < shift; n++)
                buf_add_char(&word, 'x');
            while (word.len < 2000)
                buf_add_text(&word, letters[i]);
            struct otters w;
            end(&w, begin(&w, "{}"), "{'failed': 1}", str_dup(test_arena(), buf_str(&word)));
            const char *told = otters_condition(otters_run(&w, KIND, "owl"), "Ready");
            told += strlen("False JobFailed: ");
            check(strlen(told) <= 1024 && strlen(told) >= 1020);
            check(utf8_valid(str_of(told)) && text_ends(told, "..."));
        }
}
