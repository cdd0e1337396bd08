/* A ModelArtifact packs a Hugging Face repository as an OCI artifact and pushes it: one claim for
 * work space, one Job, and its last output, the digest.
 *
 *   edited? ──► the earlier Job and claim are deleted; when both are gone, the status is reset:
 *   claim ──► Job ──► running ──► ended: the claim is deleted, the status stays
 *
 * A Job belongs to one generation of its artifact, by its name: whatever was in progress when the
 * spec was edited, a result always belongs to the new spec. */

#include "base/embed.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/otterscale/otterscale.h"
#include "kinds/pods/pods_healthy.h"

EMBED(otterscale_package, "src/kinds/otterscale/scripts/package.sh");

#define COMPONENT "model-artifact"
#define JOB_NAME_LABEL "batch.kubernetes.io/job-name"
#define NAME_LABEL "app.kubernetes.io/name"
/* How long a prefix of a generated name may be in the API server, and the length of the suffix. */
#define JOB_BASE_MAX 58
#define JOB_SUFFIX 5
#define JOB_KEPT_S 3600
#define MESSAGE_MAX 1024
/* Long enough for our own response to have arrived. */
#define NEXT_STEP_MS 1

struct artifact {
    const struct view *in;
    struct plan *out;
    struct arena *a;
    const struct otterscale_settings *settings;
    struct json spec, status;
    const char *name, *ns;
    const char *base;    /* of names and labels of children */
    const char *claim;   /* name of the claim */
    const char *job;     /* name of the Job of this generation */
    const char *version; /* for labels */
    struct json live;    /* that Job; absent: none, or it is terminating */
    int64_t generation, seen;
};

/* The status to report. */
struct told {
    const char *phase; /* NULL: none */
    const char *ready; /* "True", "False", "Unknown" */
    const char *reason, *message;
    struct json digest;
};

/* ---- reading ---- */

static bool is_going(struct json object)
{
    return json_present(json_get(object, "metadata.deletionTimestamp"));
}

/* Looks like a generated name, and differs for each generation. */
static const char *job_name(const struct artifact *p)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    const char *uid = json_get_text(p->in->object, "metadata.uid");
    const char *of = arena_printf(p->a, "%s/%lld", uid ? uid : "", (long long)p->generation);
    uint8_t digest[SHA256_BYTES];
    sha256_of(str_of(of), digest);
    char suffix[JOB_SUFFIX + 1] = "";
    for (size_t i = 0; i < JOB_SUFFIX; i++)
        suffix[i] = letters[digest[i] % strlen(letters)];
    const char *front = arena_printf(p->a, "%s-", p->base);
    return arena_printf(p->a, "%.*s%s", JOB_BASE_MAX, front, suffix);
}

static bool is_terminal(const char *phase)
{
    return text_eq(phase, "Succeeded") || text_eq(phase, "Failed");
}

/* All Jobs of this artifact, of any generation, including terminating ones. */
static bool has_jobs(const struct artifact *p)
{
    const char *uid = json_get_text(p->in->object, "metadata.uid");
    const char *selector = arena_printf(p->a, NAME_LABEL "=%s", p->base);
    json_each (job, view_list(p->in, &OTTERSCALE_JOB, p->ns, selector))
        json_each (owner, json_get(*job, "metadata.ownerReferences"))
            if (text_eq(json_get_text(*owner, "uid"), uid))
                return true;
    return false;
}

static struct artifact artifact_of(const struct view *in, struct plan *out)
{
    struct artifact p = {
        .in = in,
        .out = out,
        .a = in->arena,
        .settings = in->settings,
        .spec = json_get(in->object, "spec"),
        .status = json_get(in->object, "status"),
        .name = view_name(in),
        .ns = view_namespace(in),
        .base = otterscale_base(in->arena, view_name(in)),
        .generation = json_get_int(in->object, "metadata.generation", 0),
    };
    p.seen = json_get_int(p.status, "observedGeneration", 0);
    p.claim = arena_printf(p.a, "%s-workspace", p.base);
    p.job = job_name(&p);
    p.live = view_child(in, &OTTERSCALE_JOB, p.job);
    /* A Job that our predecessor created for this generation is fine. */
    const char *known = json_get_text(p.status, "jobRef.name");
    if (!json_present(p.live) && p.seen == p.generation && known) {
        p.live = view_child(in, &OTTERSCALE_JOB, known);
        p.job = json_present(p.live) ? known : p.job;
    }
    p.version = otterscale_version_of(json_get(p.live, "metadata.labels"));
    return p;
}

static const char *reference(const struct artifact *p)
{
    return arena_printf(p->a,
        "%s/%s:%s",
        otterscale_text(p->spec, "target.registry", ""),
        otterscale_text(p->spec, "target.repository", ""),
        otterscale_text(p->spec, "target.tag", "latest"));
}

/* ---- children ---- */

static struct json labels(const struct artifact *p)
{
    return otterscale_labels(p->a, p->base, COMPONENT, p->version);
}

static struct json claim(const struct artifact *p)
{
    struct json size = otterscale_quantity(p->a, json_get(p->spec, "storage.size"));
    return json_fields(p->a,
        { "metadata.name", json_str(p->claim) },
        { "metadata.labels", labels(p) },
        { "spec.accessModes", json_list(p->a, json_str("ReadWriteOnce")) },
        { "spec.resources.requests.storage", size },
        { "spec.storageClassName", json_str(json_get_text(p->spec, "storage.storageClassName")) });
}

static struct json job_env(const struct artifact *p)
{
    struct arena *a = p->a;
    struct json source = json_get(p->spec, "source.huggingFace");
    struct json token = { 0 }, none = { 0 };
    const char *revision = json_get_text(source, "revision");
    const char *secret = json_get_text(source, "tokenSecretRef.name");
    if (secret)
        token = json_fields(a,
            { "name", json_str("HF_TOKEN") },
            { "valueFrom.secretKeyRef.name", json_str(secret) },
            { "valueFrom.secretKeyRef.key",
                json_str(otterscale_text(source, "tokenSecretRef.key", "token")) });
    bool plain = json_get_bool(p->spec, "target.insecure", false);
    return json_list(a,
        otterscale_env(a, "OCI_TARGET", reference(p)),
        otterscale_env(a, "FORMAT", otterscale_text(p->spec, "format", "ModelPack")),
        otterscale_env(a, "DOCKER_CONFIG", OTTERSCALE_DOCKER_PATH),
        plain ? otterscale_env(a, "PLAIN_HTTP", "true") : none,
        otterscale_env(a, "HF_REPO", json_get_text(source, "model")),
        text_empty(revision) ? none : otterscale_env(a, "HF_REVISION", revision),
        token);
}

static struct json container(const struct artifact *p, bool credentials)
{
    struct arena *a = p->a;
    return json_fields(a,
        { "name", json_str("kit") },
        { "image", json_str(p->settings->kit_image) },
        { "command", otterscale_words(a, "/bin/sh -c") },
        { "args", json_list(a, json_str(otterscale_package)) },
        { "env", job_env(p) },
        { "resources.requests.cpu", json_str("100m") },
        { "resources.requests.memory", json_str("256Mi") },
        { "terminationMessagePath", json_str("/dev/termination-log") },
        { "terminationMessagePolicy", json_str("File") },
        { "volumeMounts",
            json_list(a,
                otterscale_mount(a, "workspace", "/workspace", false),
                json_if(credentials,
                    otterscale_mount(a, "docker-config", OTTERSCALE_DOCKER_PATH, true))) },
        { "securityContext", otterscale_container_security(a) });
}

static struct json job(const struct artifact *p)
{
    struct arena *a = p->a;
    const char *secret = json_get_text(p->spec, "target.credentialsSecretRef.name");
    struct json workspace = json_fields(a,
        { "name", json_str("workspace") },
        { "persistentVolumeClaim.claimName", json_str(p->claim) });
    return json_fields(a,
        { "metadata.name", json_str(p->job) },
        { "metadata.generateName", json_strf(a, "%s-", p->base) },
        { "metadata.labels", labels(p) },
        { "spec.backoffLimit", json_int(0) },
        { "spec.ttlSecondsAfterFinished", json_int(JOB_KEPT_S) },
        { "spec.template.metadata.labels", labels(p) },
        { "spec.template.spec.automountServiceAccountToken", json_bool(false) },
        { "spec.template.spec.restartPolicy", json_str("Never") },
        { "spec.template.spec.securityContext.runAsNonRoot", json_bool(true) },
        { "spec.template.spec.securityContext.fsGroup", json_int(1000) },
        { "spec.template.spec.securityContext.seccompProfile.type", json_str("RuntimeDefault") },
        { "spec.template.spec.containers", json_list(a, container(p, secret)) },
        { "spec.template.spec.volumes",
            json_list(a, workspace, json_if(secret, otterscale_docker_volume(a, secret))) });
}

/* ---- the Job's result ---- */

/* At most MESSAGE_MAX bytes, truncated between characters. */
static const char *cut(struct arena *a, const char *text)
{
    static const char dots[] = "...";
    if (strlen(text) <= MESSAGE_MAX)
        return text;
    size_t length = 0, step;
    uint32_t character;
    while ((step = utf8_first(str_of(text + length), &character)) &&
           length + step <= MESSAGE_MAX - strlen(dots))
        length += step;
    return arena_printf(a, "%.*s%s", (int)length, text, dots);
}

/* The last output of the container that ended last, of the Job's own pods; "" if there is none. */
static const char *last_word(const struct artifact *p)
{
    const char *uid = json_get_text(p->live, "metadata.uid");
    const char *word = NULL, *newest = "";
    const char *selector = arena_printf(p->a, JOB_NAME_LABEL "=%s", p->job);
    json_each (pod, view_list(p->in, &OTTERSCALE_POD, p->ns, selector)) {
        if (!text_eq(json_get_text(*pod, "metadata.ownerReferences.0.uid"), uid))
            continue;
        json_each (container, json_get(*pod, "status.containerStatuses")) {
            struct json end = json_get(*container, "state.terminated");
            const char *text = json_get_text(end, "message");
            const char *at = json_get_text(end, "finishedAt");
            /* Times in this format sort like their texts; if two are equal, the first wins. */
            if (!text_empty(text) && (!*newest || strcmp(at ? at : "", newest) > 0)) {
                word = text;
                newest = at ? at : "";
            }
        }
    }
    return word ? str_dup(p->a, str_trim(str_of(word))) : "";
}

/* One of the Job's conditions, if it is true. */
static struct json condition_of(struct json job, const char *type)
{
    struct json condition = json_find(json_get(job, "status.conditions"), "type", type);
    bool true_ = text_eq(json_get_text(condition, "status"), "True");
    return json_if(true_, condition);
}

static struct told tell_failure(const struct artifact *p)
{
    const char *word = last_word(p);
    const char *why = json_get_text(condition_of(p->live, "Failed"), "message");
    const char *message = *word ? word : !text_empty(why) ? why : "Job failed with unknown reason";
    return (struct told){ "Failed", "False", "JobFailed", cut(p->a, message) };
}

static struct told tell_job(const struct artifact *p)
{
    struct json status = json_get(p->live, "status");
    if (json_get_int(status, "succeeded", 0) > 0)
        return (struct told){
            "Succeeded",
            "True",
            "Succeeded",
            "Model artifact pushed successfully",
            json_str_or_absent(last_word(p)),
        };
    if (json_get_int(status, "failed", 0) > 0 || json_present(condition_of(p->live, "Failed")))
        return tell_failure(p);
    /* A finished pod stops being active a moment before it is counted. */
    bool ran = text_eq(json_get_text(p->status, "phase"), "Running") &&
               text_eq(json_get_text(p->status, "jobRef.name"), p->job) &&
               !json_present(condition_of(p->live, "Suspended"));
    if (json_get_int(status, "active", 0) > 0 || ran)
        return (struct told){
            "Running", "Unknown", "JobRunning", "Import/pack/push pipeline is running"
        };
    return (struct told){ "Pending", "Unknown", "JobPending", "Job is pending scheduling" };
}

/* ---- ending a pass ---- */

static void plan_ready(struct artifact *p, const struct told *t)
{
    if (text_eq(t->ready, "Unknown"))
        plan_condition_unknown(p->out, "Ready", t->reason, "%s", t->message);
    else
        plan_condition(p->out, "Ready", text_eq(t->ready, "True"), t->reason, "%s", t->message);
}

/* All children can be created, but the pod will not start. */
static void check_secrets(struct artifact *p)
{
    static const char *const paths[] = {
        "spec.source.huggingFace.tokenSecretRef",
        "spec.target.credentialsSecretRef",
    };
    for (size_t i = 0; i < lengthof(paths); i++) {
        const char *path = arena_printf(p->a, "%s.name", paths[i]);
        const char *secret = json_get_text(p->in->object, path);
        if (!secret || json_present(view_get(p->in, &RESOURCE_SECRET, secret)))
            continue;
        plan_condition(p->out,
            "Complete",
            false,
            "SecretNotFound",
            "%s: Secret %s is not in namespace %s; create it, or name another",
            paths[i],
            secret,
            p->ns);
        return;
    }
}

static void plan_events(struct artifact *p, const struct told *t)
{
    const char *before = json_get_text(p->status, "phase");
    if (!json_present(p->live))
        plan_event(p->out, false, "JobCreated", "Created pipeline job %s", p->job);
    else if (text_eq(before, t->phase))
        return;
    else if (text_eq(t->phase, "Succeeded"))
        plan_event(p->out, false, "Succeeded", "Artifact pushed successfully");
    else if (text_eq(t->phase, "Failed"))
        plan_event(p->out, true, "Failed", "Artifact pipeline failed: %s", t->message);
}

/* There is a Job for this generation, or there will be one soon. */
static void end_with_job(struct artifact *p, const struct told *t)
{
    plan_status(p->out,
        json_fields(p->a,
            { "observedGeneration", json_int_or_absent(p->generation) },
            { "phase", json_str(t->phase) },
            { "digest", t->digest },
            { "reference", json_if(json_present(t->digest), json_str(reference(p))) },
            { "jobRef.name", json_str(p->job) },
            { "jobRef.namespace", json_str(p->ns) },
            { "startTime", json_get(p->live, "status.startTime") },
            { "completionTime", json_get(p->live, "status.completionTime") }),
        NULL);
    plan_ready(p, t);
    plan_events(p, t);
    if (!is_terminal(t->phase)) {
        const char *of = arena_printf(p->a, JOB_NAME_LABEL "=%s", p->job);
        check_secrets(p);
        pods_plan_healthy(p->in, p->out, view_list(p->in, &OTTERSCALE_POD, p->ns, of));
    }
    if (text_eq(t->phase, "Failed"))
        plan_wait(p->out, "%s", t->message);
    else
        plan_done(p->out);
}

/* No Job can be created now. seen: the generation that the status still describes. */
static void end_without_job(struct artifact *p, int64_t seen, const struct told *t)
{
    plan_status(p->out,
        json_fields(p->a,
            { "observedGeneration", json_int_or_absent(seen) },
            { "phase", json_str(t->phase) }),
        NULL);
    plan_ready(p, t);
    if (text_eq(t->reason, "ReconcileError"))
        plan_event(p->out, true, t->reason, "%s", t->message);
    plan_wait(p->out, "%s", t->message);
}

static void end_in_error(struct artifact *p, const char *message)
{
    end_without_job(p, p->generation, &(struct told){ NULL, "False", "ReconcileError", message });
}

static const struct told not_created = {
    "Pending", "False", "JobNotCreated", "Waiting for job to be created"
};

static void end_waiting(struct artifact *p, int64_t seen)
{
    end_without_job(p, seen, &not_created);
}

/* Its Job is gone for good: its result stays in the status. */
static void end_as_before(struct artifact *p)
{
    struct told t = { "Succeeded", "True", "Completed", "Pipeline completed; Job was cleaned up" };
    struct json ready = json_find(json_get(p->status, "conditions"), "type", "Ready");
    const char *why = json_get_text(ready, "message");
    if (text_eq(json_get_text(p->status, "phase"), "Failed"))
        t = (struct told){
            "Failed", "False", otterscale_text(ready, "reason", "JobFailed"), why ? why : t.message
        };
    plan_status(p->out, json_with_member(p->a, p->status, "conditions", json_none), NULL);
    plan_ready(p, &t);
    plan_done(p->out);
}

/* ---- the kind ---- */

/* Deletes what is left of the earlier generation; then the status describes this one. Only after
 * that a new claim is created: a claim next to an earlier generation belongs to that one. */
static void turn(struct artifact *p)
{
    if (has_jobs(p) || json_present(view_child(p->in, &RESOURCE_PVC, p->claim))) {
        plan_absent(p->out, &RESOURCE_PVC, p->claim);
        end_waiting(p, p->seen);
        return;
    }
    plan_status(p->out,
        json_fields(p->a,
            { "observedGeneration", json_int(p->generation) },
            { "phase", json_str("Pending") }),
        NULL);
    plan_ready(p, &not_created);
    plan_recheck(p->out, NEXT_STEP_MS);
}

/* The claim, then the Job that uses it. A claim of another owner, or a terminating one, is not
 * used. */
static void start(struct artifact *p)
{
    struct json there = view_get(p->in, &RESOURCE_PVC, p->claim);
    bool ours = json_present(view_child(p->in, &RESOURCE_PVC, p->claim));
    struct view_trouble claim_trouble = view_trouble(p->in, &RESOURCE_PVC, p->claim);
    struct view_trouble job_trouble = view_trouble(p->in, &OTTERSCALE_JOB, p->job);
    plan_once(p->out, &RESOURCE_PVC, claim(p));
    if (claim_trouble.what == TROUBLE_FOREIGN || claim_trouble.what == TROUBLE_REFUSED) {
        end_in_error(p, claim_trouble.cause);
        return;
    }
    if (json_present(there) && (!ours || is_going(there))) {
        end_waiting(p, p->seen); /* the engine reports another owner, the watch a deletion */
        return;
    }
    if (!ours) { /* the claim was planned; the Job follows */
        plan_recheck(p->out, NEXT_STEP_MS);
        return;
    }
    plan_once(p->out, &OTTERSCALE_JOB, job(p));
    if (job_trouble.what == TROUBLE_REFUSED) {
        end_in_error(p, job_trouble.cause);
        return;
    }
    struct told t = tell_job(p);
    end_with_job(p, &t);
}

/* The Job of this generation, as long as it exists. */
static void follow(struct artifact *p)
{
    struct told t = tell_job(p);
    if (is_terminal(t.phase)) {
        plan_keep_children(p->out); /* the Job, for its log */
        plan_absent(p->out, &RESOURCE_PVC, p->claim);
    } else {
        plan_once(p->out, &RESOURCE_PVC, claim(p));
        plan_once(p->out, &OTTERSCALE_JOB, job(p));
    }
    end_with_job(p, &t);
}

static void rest(struct artifact *p)
{
    plan_keep_children(p->out);
    plan_absent(p->out, &RESOURCE_PVC, p->claim);
    end_as_before(p);
}

static void refuse(struct artifact *p)
{
    end_in_error(p, "the operator runs without --kit-image, so nothing can be packed; set it");
}

static bool has_live_job(const struct artifact *p)
{
    return json_present(p->live) && !is_going(p->live);
}

static bool is_over(const struct artifact *p)
{
    return p->seen == p->generation && is_terminal(json_get_text(p->status, "phase"));
}

static bool has_no_tool(const struct artifact *p)
{
    return !p->settings->kit_image;
}

static bool is_edited(const struct artifact *p)
{
    return p->seen && p->seen != p->generation;
}

static bool is_new(const struct artifact *p)
{
    (void)p;
    return true;
}

/* The states of the picture above; the first that holds applies. */
static const struct {
    bool (*holds)(const struct artifact *p);
    void (*plan)(struct artifact *p);
} states[] = {
    { has_live_job, follow },
    { is_over, rest },
    { has_no_tool, refuse },
    { is_edited, turn },
    { is_new, start },
};

static void reconcile(const struct view *in, struct plan *out)
{
    struct artifact p = artifact_of(in, out);
    size_t i = 0;
    while (!states[i].holds(&p))
        i++;
    states[i].plan(&p);
}

static void unreadable(const struct view *in, struct plan *out, const struct error *err)
{
    struct artifact p = artifact_of(in, out);
    plan_keep_children(out);
    end_in_error(&p, err->text);
}

static const struct kind_watch watches[] = {
    {
        .resource = &RESOURCE_PVC,
        .child = true,
        .lasting = true,
        .keep = (const char *const[]){ NULL },
    },
    {
        .resource = &OTTERSCALE_JOB,
        .child = true,
        .label_selector = "app.kubernetes.io/component=" COMPONENT,
        .index_label = NAME_LABEL,
        .keep = (const char *const[]){ "metadata.labels", "status", NULL },
    },
    {
        .resource = &OTTERSCALE_POD,
        .label_selector = "app.kubernetes.io/component=" COMPONENT,
        .index_label = JOB_NAME_LABEL,
        .keep = (const char *const[]){ "metadata.labels",
            "status.conditions",
            "status.containerStatuses",
            "status.initContainerStatuses",
            NULL },
    },
    { .resource = &RESOURCE_SECRET, .keep = (const char *const[]){ NULL } },
    { 0 },
};

const struct kind otterscale_model_artifact_kind = {
    .resource = &OTTERSCALE_MODEL_ARTIFACT,
    .watches = watches,
    .reconcile = reconcile,
    .unreadable = unreadable,
};
