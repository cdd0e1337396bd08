/* Jobs and CronJobs. */

#include "apiserver/builtin/pod/pod.h"
#include "apiserver/builtin/rules.h"
#include "apiserver/builtin/warn.h"
#include "apiserver/core/call.h"
#include "apiserver/rules/check.h"
#include "apiserver/rules/fill.h"
#include "base/selector.h"

static const struct fill job_defaults[] = {
    { "backoffLimit", FILL_INT(6) },
    { "completionMode", FILL_STR("NonIndexed"), true },
    { "manualSelector", FILL_BOOL(false) },
    { "podReplacementPolicy", FILL_STR("TerminatingOrFailed"), true },
    { "suspend", FILL_BOOL(false) },
    { "podFailurePolicy.rules.*.onPodConditions.*.status", FILL_STR("True") },
    { 0 },
};

/* A Job without labels gets those of its Pods. */
static struct json with_labels(struct arena *a, struct json object)
{
    struct json labels = json_get(object, "spec.template.metadata.labels");
    if (json_get(object, "metadata.labels").count || !json_present(labels))
        return object;
    return json_with(a, object, "metadata.labels", labels);
}

static struct json fill_job(struct arena *a, struct json o)
{
    struct json spec = json_member(o, "spec");
    if (!json_present(json_member(spec, "completions")) &&
        !json_present(json_member(spec, "parallelism"))) {
        spec = fill_path(a, spec, "completions", json_int(1));
    }
    spec = fill_path(a, spec, "parallelism", json_int(1));
    if (json_present(json_member(spec, "backoffLimitPerIndex")))
        spec = fill_path(a, spec, "backoffLimit", json_int(INT32_MAX));
    static const struct fill strict[] = { { "podReplacementPolicy", FILL_STR("Failed"), true },
        { 0 } };
    if (json_present(json_member(spec, "podFailurePolicy")))
        spec = fill_table(a, spec, strict);
    spec = fill_table(a, spec, job_defaults);
    o = with_labels(a, json_with_member(a, o, "spec", spec));
    return pod_template_fill(a, o, "spec.template");
}

/* The selector is the Job's own uid, and the Pods get it as labels, with the old and the new
 * name. */
static bool prepare_job(const struct api_write *w, struct json *object, struct error *err)
{
    (void)err;
    struct arena *a = w->arena;
    if (json_present(w->old) || json_get_bool(*object, "spec.manualSelector", false))
        return true;
    bool same = !w->call || !json_get(w->call->given, "metadata.labels").count;
    struct json uid = json_get(*object, "metadata.uid"), name = json_get(*object, "metadata.name");
    struct json labels = json_get(*object, "spec.template.metadata.labels");
    if (labels.type != JSON_MAP)
        labels = json_empty_map();
    const struct json_field own[] = {
        { "controller-uid", uid },
        { "batch.kubernetes.io/controller-uid", uid },
        { "job-name", name },
        { "batch.kubernetes.io/job-name", name },
    };
    for (size_t i = 0; i < lengthof(own); i++)
        labels = json_with_member(a, labels, own[i].path, own[i].value);
    *object = json_with(a, *object, "spec.template.metadata.labels", labels);
    if (same)
        *object = json_with(a, *object, "metadata.labels", labels);
    struct json match = json_map(a, { "batch.kubernetes.io/controller-uid", uid });
    json_each_member (m, json_get(*object, "spec.selector.matchLabels"))
        if (!json_present(json_member(match, m->key)))
            match = json_with_member(a, match, m->key, m->value);
    *object = json_with(a, *object, "spec.selector.matchLabels", match);
    return true;
}

static const struct fill cron_job_defaults[] = {
    { "spec.concurrencyPolicy", FILL_STR("Allow") },
    { "spec.suspend", FILL_BOOL(false) },
    { "spec.successfulJobsHistoryLimit", FILL_INT(3) },
    { "spec.failedJobsHistoryLimit", FILL_INT(1) },
    { "spec.jobTemplate.spec.podFailurePolicy.rules.*.onPodConditions.*.status", FILL_STR("True") },
    { 0 },
};

static struct json fill_cron_job(struct arena *a, struct json o)
{
    o = fill_table(a, o, cron_job_defaults);
    return pod_template_fill(a, o, "spec.jobTemplate.spec.template");
}

/* ---- validation ---- */

static const char *const completion_modes[] = { "NonIndexed", "Indexed", NULL };

static const struct check job_rules[] = {
    { "parallelism", CHECK_MIN },
    { "completions", CHECK_MIN },
    { "activeDeadlineSeconds", CHECK_MIN },
    { "backoffLimit", CHECK_MIN },
    { "ttlSecondsAfterFinished", CHECK_MIN },
    { "backoffLimitPerIndex", CHECK_MIN },
    { "maxFailedIndexes", CHECK_MIN },
    { "completionMode", CHECK_ENUM, completion_modes },
    { 0 },
};

static void check_job_spec(struct field_errors *e, struct json spec, const char *path)
{
    static const char *const of_jobs[] = { "OnFailure", "Never", NULL };
    struct arena *a = e->arena;
    struct json tmpl = json_member(spec, "template");
    const char *template_path = field_child(a, path, "template");
    check_table(e, spec, path, job_rules);
    if (text_eq(json_get_text(spec, "completionMode"), "Indexed") &&
        !json_present(json_member(spec, "completions")))
        field_required(e, field_child(a, path, "completions"), "when completion mode is Indexed");
    pod_template_check(e, tmpl, template_path);
    const char *policy = json_get_text(tmpl, "spec.restartPolicy");
    const char *policy_path = field_child(a, template_path, "spec.restartPolicy");
    if (text_eq(policy, "Always"))
        field_required(e, policy_path, "valid values: \"OnFailure\", \"Never\"");
    else
        check_enum(e, json_get(tmpl, "spec.restartPolicy"), policy_path, of_jobs);
    builtin_job_check(e, spec, path);
}

/* The labels that select a Job's pods; prefixed ones only if they existed before. */
static void check_job_labels(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char path[] = "spec.template.metadata.labels";
    static const struct {
        const char *label, *field;
    } rows[] = {
        { "controller-uid", "metadata.uid" },
        { "job-name", "metadata.name" },
        { "batch.kubernetes.io/controller-uid", "metadata.uid" },
        { "batch.kubernetes.io/job-name", "metadata.name" },
    };
    struct json labels = json_get(o, path), before = json_get(w->old, path);
    bool all = json_present(json_member(before, rows[2].label)) &&
               json_present(json_member(before, rows[3].label));
    for (size_t i = 0; i < (all ? lengthof(rows) : 2); i++) {
        struct json label = json_member(labels, rows[i].label), want = json_get(o, rows[i].field);
        const char *here = field_key(e->arena, path, rows[i].label),
                   *words = arena_printf(e->arena, "must be '%s'", json_text(want));
        if (!json_present(label))
            field_required(e, here, words);
        else if (!json_equal(label, want))
            field_invalid(e, here, labels, words);
    }
}

/* Unless the client sets manualSelector, the selector must be the generated one. */
static void check_generated(struct field_errors *e, struct json o)
{
    struct json selector = json_get(o, "spec.selector");
    struct json made = json_map(e->arena,
        { "matchLabels",
            json_map(
                e->arena, { "batch.kubernetes.io/controller-uid", json_get(o, "metadata.uid") }) });
    if (!json_get_bool(o, "spec.manualSelector", false) && json_present(selector) &&
        !json_equal(selector, made))
        check_invalid_text(e,
            FIELD_INVALID,
            "spec.selector",
            check_selector_text(e->arena, selector),
            "`selector` not auto-generated");
}

/* Pod names contain the Job's name and the index. */
static void check_pod_names(struct field_errors *e, struct json o)
{
    struct error err;
    struct json name = json_get(o, "metadata.name");
    int64_t completions = json_get_int(o, "spec.completions", 0);
    const char *last = arena_printf(
        e->arena, "%s-%lld", json_text(name) ? json_text(name) : "", (long long)completions - 1);
    if (text_eq(json_get_text(o, "spec.completionMode"), "Indexed") && completions > 0 &&
        !name_check(NAME_DNS1123_LABEL, last, &err))
        field_invalid(e,
            "metadata.name",
            name,
            arena_printf(e->arena, "will not able to create pod with invalid DNS label: %s", last));
}

static void check_job_parts(const struct api_write *w, struct json o, struct field_errors *e)
{
    struct json spec = json_member(o, "spec"), selector = json_member(spec, "selector");
    struct json labels = json_get(spec, "template.metadata.labels");
    struct selector parsed;
    check_job_spec(e, spec, "spec");
    if (!json_present(w->old))
        check_pod_names(e, o);
    if (!check_is_set(selector))
        field_required(e, "spec.selector", NULL);
    size_t before = e->count;
    check_selector(e, selector, "spec.selector");
    bool readable = e->count == before;
    if (!check_is_set(selector) || !selector_from_json(e->arena, selector, "", &parsed, NULL))
        parsed = (struct selector){ .nothing = true };
    if (readable && !selector_matches(&parsed, labels))
        field_invalid(e,
            "spec.template.metadata.labels",
            json_present(labels) ? labels : json_null(),
            "`selector` does not match template `labels`");
}

/* Errors of an updated Job are reported twice, as in the real server. */
static void check_job(const struct api_write *w, struct json o, struct field_errors *e)
{
    bool made = !json_get_bool(o, "spec.manualSelector", false);
    if (!json_present(w->old))
        check_generated(e, o);
    else if (made && json_present(json_get(o, "spec.selector")))
        check_job_labels(w, o, e);
    check_job_parts(w, o, e);
    if (json_present(w->old) && !*w->subresource)
        check_job_parts(w, o, e);
}

/* A suspended Job without running pods: queueing controllers then set its node selectors and
 * resources. */
static bool is_at_rest(struct json job)
{
    struct json suspended = json_find(json_get(job, "status.conditions"), "type", "Suspended");
    bool rests = !json_present(json_get(job, "status.startTime")) ||
                 text_eq(json_get_text(suspended, "status"), "True");
    return json_get_bool(job, "spec.suspend", false) && rests &&
           json_get_int(job, "status.active", 0) == 0;
}

/* The old containers with the resources of the new ones with the same name. */
static struct json with_resources(struct arena *a, struct json old, struct json fresh)
{
    struct json_builder b;
    uint32_t i = 0;
    if (old.count != fresh.count)
        return old;
    json_builder_init(&b, a);
    json_each (c, old) {
        struct json other = fresh.items[i++];
        bool same = json_equal(json_member(*c, "name"), json_member(other, "name"));
        json_push(
            &b, same ? json_with_member(a, *c, "resources", json_member(other, "resources")) : *c);
    }
    return json_list_end(&b);
}

/* The old template with the new values of all fields that may change while a Job is suspended. */
static struct json with_free_parts(struct arena *a, struct json old, struct json fresh)
{
    static const char *const free[] = {
        "nodeSelector", "tolerations", "schedulingGates", "affinity.nodeAffinity"
    };
    static const char *const lists[] = { "containers", "initContainers" };
    struct json spec = old;
    for (size_t i = 0; i < lengthof(free); i++)
        spec = json_with(a, spec, free[i], json_get(fresh, free[i]));
    struct json affinity = json_member(spec, "affinity");
    if (!affinity.count && !json_present(json_member(fresh, "affinity")))
        spec = json_with_member(a, spec, "affinity", json_none);
    for (size_t i = 0; i < lengthof(lists); i++)
        if (json_present(json_member(spec, lists[i])))
            spec = json_with_member(a,
                spec,
                lists[i],
                with_resources(a, json_member(spec, lists[i]), json_member(fresh, lists[i])));
    return spec;
}

static void check_template_change(const struct api_write *w, struct json o, struct field_errors *e)
{
    struct json old = json_get(w->old, "spec.template"), fresh = json_get(o, "spec.template");
    struct json was = json_member(old, "spec"), is = json_member(fresh, "spec");
    if (!is_at_rest(w->old))
        check_immutable(e, old, fresh, "spec.template");
    else
        check_immutable(e, with_free_parts(e->arena, was, is), is, "spec.template.spec");
}

static void check_job_change(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char *const fixed[] = {
        "completions",
        "selector",
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    };
    struct json old = json_member(w->old, "spec"), fresh = json_member(o, "spec");
    if (*w->subresource)
        return;
    for (size_t i = 0; i < lengthof(fixed); i++)
        if (i > 0 || !text_eq(json_get_text(fresh, "completionMode"), "Indexed"))
            check_immutable(e,
                json_member(old, fixed[i]),
                json_member(fresh, fixed[i]),
                field_child(e->arena, "spec", fixed[i]));
    struct json done = json_member(fresh, "completions");
    if (text_eq(json_get_text(fresh, "completionMode"), "Indexed") &&
        !json_equal(done, json_member(old, "completions")) &&
        !json_equal(done, json_member(fresh, "parallelism")))
        field_invalid(e,
            "spec.completions",
            json_present(done) ? done : json_null(),
            "can only be modified in tandem with spec.parallelism");
    check_template_change(w, o, e);
}

static void check_cron_job(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char *const policies[] = { "Allow", "Forbid", "Replace", NULL };
    static const struct check rules[] = {
        { "spec.startingDeadlineSeconds", CHECK_MIN },
        { "spec.concurrencyPolicy", CHECK_ENUM, policies },
        { "spec.successfulJobsHistoryLimit", CHECK_MIN },
        { "spec.failedJobsHistoryLimit", CHECK_MIN },
        { 0 },
    };
    (void)w;
    struct json schedule = json_get(o, "spec.schedule"), zone = json_get(o, "spec.timeZone"),
                name = json_get(o, "metadata.name");
    if (check_is_empty(schedule))
        field_required(e, "spec.schedule", NULL);
    else if (strstr(schedule.string, "TZ"))
        field_invalid(e,
            "spec.schedule",
            schedule,
            "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
    if (zone.type == JSON_STR && !zone.count)
        field_invalid(e, "spec.timeZone", zone, "timeZone must be nil or non-empty string");
    check_table(e, o, "", rules);
    check_job_spec(e, json_get(o, "spec.jobTemplate.spec"), "spec.jobTemplate.spec");
    if (name.type == JSON_STR && name.count > 52)
        field_invalid(e, "metadata.name", name, "must be no more than 52 characters");
}

static const char *const job_fields[] = { "status.successful", NULL };

const struct builtin_rules builtin_job = {
    .fill = fill_job,
    .prepare = prepare_job,
    .validate = check_job,
    .warn = warn_job,
    .validate_change = check_job_change,
    .fields = job_fields,
};
const struct builtin_rules builtin_cron_job = {
    .fill = fill_cron_job,
    .validate = check_cron_job,
    .warn = warn_cron_job,
};
