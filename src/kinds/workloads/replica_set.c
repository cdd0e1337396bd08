/* ReplicaSet: keeps the specified number of pods. Excess pods are deleted in the order of
 * Kubernetes: the least ready ones first, then the youngest. */

#include "kinds/workloads/workloads.h"

#include "base/selector.h"
#include "engine/plan.h"
#include "engine/view.h"

/* The most pods that one pass creates or deletes; the rest follows in the next pass. */
#define STEP_MAX PLAN_MAX_EVENTS
#define STEP_AGAIN_MS 10
/* How many names are tried for an unused one, in addition to one per pod. */
#define NAMES_SPARE 1000

/* ---- one pass ---- */

struct set {
    const struct view *in;
    struct plan *out;
    struct json *active; /* our pods, in the order of deletion */
    size_t count;
    int64_t terminating;
    const char *failure; /* why a pod cannot be created; NULL: it can */
    bool more;           /* there is more to do than one pass does */
};

static bool is_going(struct json pod)
{
    const char *phase = json_get_text(pod, "status.phase");
    return json_present(json_get(pod, "metadata.deletionTimestamp")) &&
           !text_eq(phase, "Succeeded") && !text_eq(phase, "Failed");
}

/* Adopts a pod without a controller that our selector matches. */
static void adopt(struct set *s, struct json pod)
{
    const char *name = json_get_text(pod, "metadata.name");
    struct json ours = view_owned(s->in, &WORKLOADS_POD, name);
    ours = json_is(ours, JSON_MAP) ? ours : json_empty_map();
    plan_child(
        s->out, &WORKLOADS_POD, json_with(s->in->arena, ours, "metadata.name", json_str(name)));
    plan_orphan(s->out);
}

static void find_pods(struct set *s, const struct selector *selector)
{
    struct json pods = workloads_pods(s->in, selector);
    const char *uid = json_get_text(s->in->object, "metadata.uid");
    s->active = arena_array(s->in->arena, pods.count + STEP_MAX, sizeof(*s->active));
    json_each (pod, pods) {
        const char *owner = workloads_controller(*pod);
        bool ours = text_eq(owner, uid);
        if (ours && is_going(*pod))
            s->terminating++;
        if ((!ours && owner) || !workloads_pod_is_active(*pod))
            continue;
        if (!ours && s->out->child_count == STEP_MAX / 2) {
            s->more = true;
            continue;
        }
        if (!ours)
            adopt(s, *pod);
        s->active[s->count++] = *pod;
    }
}

static void make_pods(struct set *s, int64_t wanted)
{
    struct arena *a = s->in->arena;
    const char *own = view_name(s->in), *uid = json_get_text(s->in->object, "metadata.uid");
    struct json tmpl = json_get(s->in->object, "spec.template");
    int64_t last = wanted + (int64_t)s->count + NAMES_SPARE;
    for (int64_t n = 0; n < last && (int64_t)s->count < wanted; n++) {
        const char *name = workloads_name(a, own, uid, n);
        if (json_present(view_get(s->in, &WORKLOADS_POD, name)))
            continue;
        if (s->out->child_count == STEP_MAX) {
            s->more = true;
            return;
        }
        struct view_trouble t = view_trouble(s->in, &WORKLOADS_POD, name);
        struct json pod = workloads_pod_of(a, tmpl, name);
        pod = json_with(a, pod, "metadata.generateName", json_strf(a, "%s-", own));
        plan_once(s->out, &WORKLOADS_POD, pod);
        plan_disposable(s->out);
        if (t.what == TROUBLE_REFUSED) {
            s->failure = t.message;
            return;
        }
        plan_event(s->out, false, "SuccessfulCreate", "Created pod: %s", name);
        s->active[s->count++] = pod;
    }
}

static void delete_pods(struct set *s, int64_t wanted)
{
    workloads_pods_sort(s->active, s->count);
    while ((int64_t)s->count > wanted) {
        if (s->out->child_count == STEP_MAX) {
            s->more = true;
            return;
        }
        const char *name = json_get_text(s->active[0], "metadata.name");
        plan_absent(s->out, &WORKLOADS_POD, name);
        plan_event(s->out, false, "SuccessfulDelete", "Deleted pod: %s", name);
        s->active++;
        s->count--;
    }
}

/* The status once this plan is done. */
static int64_t tell(const struct set *s)
{
    const struct view *in = s->in;
    struct json labels = json_get(in->object, "spec.template.metadata.labels");
    int64_t min_ready_s = json_get_int(in->object, "spec.minReadySeconds", 0);
    int64_t labelled = 0, ready = 0, available = 0, next_ms = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct json pod = s->active[i], have = json_get(pod, "metadata.labels");
        labelled += json_equal(json_overlay(in->arena, have, labels), have);
        ready += workloads_pod_is_ready(pod);
        available += workloads_pod_is_available(in, pod, min_ready_s, &next_ms);
    }
    plan_status(s->out,
        json_fields(in->arena,
            { "replicas", json_int((int64_t)s->count) },
            { "fullyLabeledReplicas", json_int_or_absent(labelled) },
            { "readyReplicas", json_int_or_absent(ready) },
            { "availableReplicas", json_int_or_absent(available) },
            { "terminatingReplicas", json_int(s->terminating) },
            { "observedGeneration", json_get(in->object, "metadata.generation") },
            { "conditions",
                json_or_absent(workloads_refusal(
                    in, s->out, json_get(in->object, "status.conditions"), s->failure)) }),
        NULL);
    return next_ms;
}

static void reconcile(const struct view *in, struct plan *out)
{
    struct set s = { .in = in, .out = out };
    struct selector selector;
    plan_keep_children(out);
    if (!workloads_selector(in, &selector)) {
        plan_wait(out, "its selector cannot be read");
        return;
    }
    find_pods(&s, &selector);
    int64_t wanted = json_get_int(in->object, "spec.replicas", 1);
    make_pods(&s, wanted);
    delete_pods(&s, wanted);
    int64_t next_ms = tell(&s);
    if (s.failure)
        plan_wait(out, "%s", s.failure);
    else if (s.more || next_ms)
        plan_recheck(out, s.more ? STEP_AGAIN_MS : next_ms);
    else
        plan_done(out);
}

static const char *const pod_fields[] = {
    "metadata.labels",
    "metadata.annotations",
    "metadata.creationTimestamp",
    "spec",
    "status",
    NULL,
};

static const struct kind_watch watches[] = {
    { .resource = &WORKLOADS_POD,
        .child = true,
        .index_label = WORKLOADS_TEMPLATE_HASH,
        .keep = pod_fields },
    { 0 },
};

const struct kind workloads_replica_set_kind = {
    .resource = &WORKLOADS_REPLICA_SET,
    .watches = watches,
    .reconcile = reconcile,
};
