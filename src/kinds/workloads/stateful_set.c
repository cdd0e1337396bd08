/* StatefulSet: pods with stable numbers, names and claims. In order, each pod waits for those
 * before it and the highest is deleted first; or all at once. */

#include "kinds/workloads/stateful_set.h"

#include <stdlib.h>

#include "base/intorstr.h"
#include "base/selector.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/workloads/workloads.h"

/* The most pods that one pass creates or deletes, and the most children that it plans; the rest
 * follows. */
#define STEP_MAX 8
#define CHILDREN_MAX (PLAN_MAX_CHILDREN - 16)
#define STEP_AGAIN_MS 10

struct member {
    struct json pod;
    const char *name, *revision;
    int64_t ordinal;
    bool wanted; /* its ordinal is in the set's range; otherwise it is condemned */
    bool made;   /* by this plan */
    bool ended;  /* by this plan, or before */
};

struct set {
    const struct view *in;
    struct plan *out;
    struct stateful_revisions r;
    struct json claims;     /* templates */
    struct member *members; /* by ordinal */
    size_t count, made;
    bool ordered;
    bool more;           /* there is more to do than one pass does */
    int64_t min_ready_s; /* a pod is available once it has been ready for this long */
    int64_t next_ms;     /* run again after this; 0: not needed */
    const char *failure; /* why a pod or its claim cannot be created; NULL: it can */
};

/* ---- present state ---- */

static int by_ordinal(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    return a->ordinal < b->ordinal ? -1 : a->ordinal > b->ordinal;
}

static bool is_running_and_ready(const struct member *m)
{
    return text_eq(json_get_text(m->pod, "status.phase"), "Running") &&
           workloads_pod_is_ready(m->pod);
}

static bool is_available(struct set *s, const struct member *m)
{
    return is_running_and_ready(m) &&
           workloads_pod_is_available(s->in, m->pod, s->min_ready_s, &s->next_ms);
}

static bool is_unavailable(struct set *s, const struct member *m)
{
    return m->ended || !is_available(s, m);
}

static bool has_finished(struct json pod)
{
    const char *phase = json_get_text(pod, "status.phase");
    return text_eq(phase, "Succeeded") || text_eq(phase, "Failed");
}

/* Labels that identify the pod within the set. */
static struct json identity(struct arena *a, const struct member *m)
{
    return json_map(a,
        { STATEFUL_POD_NAME, json_str(m->name) },
        { STATEFUL_POD_INDEX, json_strf(a, "%lld", (long long)m->ordinal) });
}

/* Adopts a pod without a controller, and restores identity labels that a pod has lost. */
static void mend(struct set *s, struct member *m, bool ours)
{
    struct arena *a = s->in->arena;
    struct json labels = json_get(m->pod, "metadata.labels");
    if ((ours && json_equal(json_overlay(a, labels, identity(a, m)), labels)) || m->ended ||
        s->out->child_count >= CHILDREN_MAX)
        return;
    struct json mine = view_owned(s->in, &WORKLOADS_POD, m->name);
    mine = json_is(mine, JSON_MAP) ? mine : json_empty_map();
    mine = json_with(a, mine, "metadata.name", json_str(m->name));
    mine = json_with(a,
        mine,
        "metadata.labels",
        json_overlay(a, json_get(mine, "metadata.labels"), identity(a, m)));
    plan_child(s->out, &WORKLOADS_POD, mine);
    plan_orphan(s->out);
}

static void find_members(struct set *s, const struct selector *selector)
{
    const struct view *in = s->in;
    struct json pods = workloads_pods(in, selector);
    const char *uid = json_get_text(in->object, "metadata.uid");
    s->members = arena_array(in->arena, pods.count + STEP_MAX + 1, sizeof(*s->members));
    json_each (pod, pods) {
        const char *owner = workloads_controller(*pod),
                   *name = json_get_text(*pod, "metadata.name");
        struct member m = {
            .pod = *pod,
            .name = name,
            .revision =
                json_text(json_member(json_get(*pod, "metadata.labels"), STATEFUL_REVISION)),
            .ordinal = stateful_ordinal(view_name(in), name),
            .ended = json_present(json_get(*pod, "metadata.deletionTimestamp")),
        };
        m.wanted = stateful_wants(in->object, m.ordinal);
        bool ours = text_eq(owner, uid);
        if (m.ordinal < 0 || (owner ? !ours : m.ended))
            continue;
        mend(s, &m, ours);
        s->members[s->count++] = m;
    }
    if (s->count)
        qsort(s->members, s->count, sizeof(*s->members), by_ordinal);
}

/* ---- pods and their claims ---- */

static void end_pod(struct set *s, struct member *m)
{
    if (m->ended)
        return;
    if (s->out->child_count >= CHILDREN_MAX || s->out->event_count == PLAN_MAX_EVENTS) {
        s->more = true;
        return;
    }
    m->ended = true;
    plan_absent(s->out, &WORKLOADS_POD, m->name);
    plan_event(s->out,
        false,
        "SuccessfulDelete",
        "Delete Pod %s in StatefulSet %s successful",
        m->name,
        view_name(s->in));
}

/* A claim of an earlier pod that is about to be deleted with that pod. */
static bool is_stale(const struct member *m, struct json claim)
{
    const char *uid = json_get_text(m->pod, "metadata.uid");
    if (json_present(json_get(claim, "metadata.deletionTimestamp")))
        return true;
    json_each (owner, json_get(claim, "metadata.ownerReferences"))
        if (text_eq(json_get_text(*owner, "kind"), "Pod") &&
            text_eq(json_get_text(*owner, "name"), m->name) &&
            !text_eq(json_get_text(*owner, "uid"), uid))
            return true;
    return false;
}

/* Plans the missing claims; false: the pod has to wait. */
static bool plan_claims(struct set *s, const struct member *m)
{
    json_each (tmpl, s->claims) {
        struct json claim = stateful_claim(s->in->arena, s->in->object, *tmpl, m->ordinal);
        const char *name = json_get_text(claim, "metadata.name");
        struct json there = view_get(s->in, &WORKLOADS_CLAIM_CHILD, name);
        if (json_present(there) && is_stale(m, there))
            return false;
        if (json_present(there))
            continue;
        struct view_trouble t = view_trouble(s->in, &WORKLOADS_CLAIM_CHILD, name);
        plan_shared(s->out, &WORKLOADS_CLAIM_CHILD, claim);
        if (t.what == TROUBLE_REFUSED) {
            s->failure = t.message;
            return false;
        }
    }
    return true;
}

/* The volumes of a pod: its claims, then those of the template that no claim replaces. */
static struct json volumes(const struct set *s, struct json tmpl, int64_t ordinal)
{
    struct arena *a = s->in->arena;
    struct json_builder list;
    json_builder_init(&list, a);
    json_each (claim, s->claims) {
        const char *of = json_get_text(*claim, "metadata.name");
        json_push(&list,
            json_fields(a,
                { "name", json_str(of) },
                { "persistentVolumeClaim.claimName",
                    json_str(stateful_claim_name(a, s->in->object, of, ordinal)) }));
    }
    struct json claims = json_list_end(&list);
    json_builder_init(&list, a);
    json_push_all(&list, claims);
    json_each (volume, json_get(tmpl, "spec.volumes"))
        if (!json_present(json_find(claims, "name", json_get_text(*volume, "name"))))
            json_push(&list, *volume);
    return json_or_absent(json_list_end(&list));
}

static struct json pod_of(const struct set *s, const struct member *m, struct json tmpl)
{
    struct arena *a = s->in->arena;
    struct json pod = workloads_pod_of(a, tmpl, m->name);
    struct json labels = json_overlay(a, json_get(pod, "metadata.labels"), identity(a, m));
    labels = json_with_member(a, labels, STATEFUL_REVISION, json_str(m->revision));
    pod = json_with(a, pod, "metadata.labels", labels);
    pod = json_with(a, pod, "metadata.generateName", json_strf(a, "%s-", view_name(s->in)));
    pod = json_with(a, pod, "spec.hostname", json_str(m->name));
    pod = json_with(a,
        pod,
        "spec.subdomain",
        json_str_or_absent(json_get_text(s->in->object, "spec.serviceName")));
    return json_with(a, pod, "spec.volumes", volumes(s, tmpl, m->ordinal));
}

/* Below the partition pods keep the previous template. */
static bool is_of_current(const struct set *s, int64_t ordinal)
{
    struct json spec = json_get(s->in->object, "spec");
    return text_eq(json_get_text(spec, "updateStrategy.type"), "RollingUpdate") &&
           ordinal < json_get_int(spec, "ordinals.start", 0) +
                         json_get_int(spec, "updateStrategy.rollingUpdate.partition", 0);
}

/* Creates the pod of an ordinal that has none; false: create no pods after it for now. */
static bool make_pod(struct set *s, int64_t ordinal)
{
    struct arena *a = s->in->arena;
    bool old = is_of_current(s, ordinal);
    struct member m = {
        .name = arena_printf(a, "%s-%lld", view_name(s->in), (long long)ordinal),
        .revision = old ? s->r.current : s->r.update,
        .ordinal = ordinal,
        .wanted = true,
        .made = true,
    };
    s->more = s->made == STEP_MAX || s->out->event_count == PLAN_MAX_EVENTS ||
              s->out->child_count + s->claims.count >= CHILDREN_MAX;
    if (s->more)
        return false;
    size_t before = s->out->child_count;
    if (!plan_claims(s, &m))
        return !s->failure;
    const struct plan_child *claim =
        s->out->child_count > before ? &s->out->children[s->out->child_count - 1] : NULL;
    struct view_trouble t = view_trouble(s->in, &WORKLOADS_POD, m.name);
    plan_once(
        s->out, &WORKLOADS_POD, pod_of(s, &m, old ? s->r.current_template : s->r.update_template));
    plan_disposable(s->out);
    if (claim)
        plan_after(s->out, claim->resource, json_get_text(claim->object, "metadata.name"));
    if (t.what != TROUBLE_NONE) {
        s->failure = t.message;
        return false;
    }
    plan_event(s->out,
        false,
        "SuccessfulCreate",
        "Create Pod %s in StatefulSet %s successful",
        m.name,
        view_name(s->in));
    s->members[s->count + s->made++] = m;
    return true;
}

/* ---- the pass ---- */

/* Handles an existing pod; false: the pods after it must wait. */
static bool tend(struct set *s, struct member *m)
{
    if (has_finished(m->pod)) {
        end_pod(s, m);
        return false;
    }
    if (text_eq(json_get_text(m->pod, "status.phase"), "Pending") &&
        s->out->child_count + s->claims.count < CHILDREN_MAX)
        plan_claims(s, m);
    return !is_unavailable(s, m);
}

/* Handles the pods that it should have, from the lowest; false: do nothing else for now. */
static bool keep_wanted(struct set *s)
{
    int64_t start = json_get_int(s->in->object, "spec.ordinals.start", 0);
    int64_t end = start + json_get_int(s->in->object, "spec.replicas", 1);
    size_t at = 0, there = s->count;
    while (at < there && !s->members[at].wanted)
        at++;
    for (int64_t ordinal = start; ordinal < end; ordinal++) {
        bool found = at < there && s->members[at].ordinal == ordinal;
        bool steady = found ? tend(s, &s->members[at++]) : make_pod(s, ordinal);
        if (s->more || s->failure || ((!steady || !found) && s->ordered))
            return false;
    }
    return true;
}

/* False while the retention policy still has to add the pod as an owner of a claim, so that the
 * claim is deleted with the pod. */
static bool claims_are_settled(const struct set *s, const struct member *m)
{
    struct arena *a = s->in->arena;
    json_each (tmpl, s->claims) {
        const char *of = json_get_text(*tmpl, "metadata.name");
        struct json claim = view_get(
            s->in, &WORKLOADS_CLAIM_CHILD, stateful_claim_name(a, s->in->object, of, m->ordinal));
        struct json owners = stateful_claim_owners(a, claim, s->in->object, m->pod, true);
        if (json_present(claim) && !json_equal(json_or_absent(owners),
                                       json_or_absent(json_get(claim, "metadata.ownerReferences"))))
            return false;
    }
    return true;
}

/* Deletes excess pods, from the highest; false: do nothing else for now. */
static bool end_condemned(struct set *s)
{
    size_t first = 0; /* the lowest that is not ready */
    while (first < s->count && (s->members[first].wanted || !is_unavailable(s, &s->members[first])))
        first++;
    for (size_t i = s->count; i-- > 0;) {
        struct member *m = &s->members[i];
        if (m->wanted)
            continue;
        bool waits = m->ended || !claims_are_settled(s, m);
        if (s->ordered && (waits || (i != first && is_unavailable(s, m))))
            return false;
        if (!waits)
            end_pod(s, m);
        if (s->ordered)
            return false;
    }
    return true;
}

/* Deletes pods of other templates to make room for new ones, from the highest down to the
 * partition. */
static void update(struct set *s)
{
    struct error err;
    struct json strategy = json_get(s->in->object, "spec.updateStrategy");
    struct json limit = json_get(strategy, "rollingUpdate.maxUnavailable");
    int64_t most = 1, count = json_get_int(s->in->object, "spec.replicas", 1);
    if (text_eq(json_get_text(strategy, "type"), "OnDelete"))
        return;
    if (json_present(limit) && (!intorstr_scaled(limit, count, true, &most, &err) || most < 1))
        most = 1;
    int64_t left = most;
    for (size_t i = 0; most > 1 && i < s->count; i++)
        left -= s->members[i].wanted && is_unavailable(s, &s->members[i]);
    int64_t lowest = json_get_int(s->in->object, "spec.ordinals.start", 0) +
                     json_get_int(strategy, "rollingUpdate.partition", 0);
    for (size_t i = s->count; i-- > 0 && left > 0;) {
        struct member *m = &s->members[i];
        if (!m->wanted || m->ordinal < lowest)
            continue;
        if (!m->ended && !text_eq(m->revision, s->r.update)) {
            end_pod(s, m);
            left--;
        } else if (most == 1 && is_unavailable(s, m)) {
            left--;
        }
    }
}

static void set_sync(struct set *s)
{
    bool kept = keep_wanted(s);
    s->count += s->made;
    if (s->count)
        qsort(s->members, s->count, sizeof(*s->members), by_ordinal);
    if (kept && end_condemned(s))
        update(s);
}

/* ---- the status ---- */

/* The status once this plan is done. */
static void tell(struct set *s)
{
    int64_t ready = 0, available = 0, current = 0, updated = 0, all = (int64_t)s->count;
    int64_t wanted = json_get_int(s->in->object, "spec.replicas", 1);
    const char *strategy = json_get_text(s->in->object, "spec.updateStrategy.type");
    for (size_t i = 0; i < s->count; i++) {
        const struct member *m = &s->members[i];
        ready += is_running_and_ready(m);
        available += is_available(s, m);
        current += !m->ended && text_eq(m->revision, s->r.current);
        updated += !m->ended && text_eq(m->revision, s->r.update);
    }
    if (!text_eq(strategy, "OnDelete") && updated == wanted && ready == wanted && all == wanted) {
        s->r.current = s->r.update;
        current = updated;
    }
    plan_status(s->out,
        json_fields(s->in->arena,
            { "observedGeneration", json_get(s->in->object, "metadata.generation") },
            { "replicas", json_int(all) },
            { "readyReplicas", json_int_or_absent(ready) },
            { "availableReplicas", json_int(available) },
            { "currentReplicas", json_int_or_absent(current) },
            { "updatedReplicas", json_int_or_absent(updated) },
            { "currentRevision", json_str(s->r.current) },
            { "updateRevision", json_str(s->r.update) },
            { "collisionCount", json_int(s->r.collisions) },
            { "conditions",
                json_or_absent(workloads_refusal(s->in,
                    s->out,
                    json_get(s->in->object, "status.conditions"),
                    s->failure ? s->failure : s->r.failure)) }),
        NULL);
}

static struct json used_revisions(const struct set *s)
{
    struct json_builder list;
    json_builder_init(&list, s->in->arena);
    for (size_t i = 0; i < s->count; i++)
        json_push(&list, json_str(s->members[i].revision));
    return json_list_end(&list);
}

static void reconcile(const struct view *in, struct plan *out)
{
    struct set s = {
        .in = in,
        .out = out,
        .claims = json_get(in->object, "spec.volumeClaimTemplates"),
        .ordered = !text_eq(json_get_text(in->object, "spec.podManagementPolicy"), "Parallel"),
        .min_ready_s = json_get_int(in->object, "spec.minReadySeconds", 0),
    };
    struct selector selector;
    plan_keep_children(out);
    if (!workloads_selector(in, &selector)) {
        plan_wait(out, "its selector cannot be read");
        return;
    }
    stateful_revisions_find(in, out, &selector, &s.r);
    find_members(&s, &selector);
    if (s.claims.count > CHILDREN_MAX / 2)
        s.failure = "It has more volumeClaimTemplates than are run here: at most 24.";
    else
        set_sync(&s);
    tell(&s);
    stateful_revisions_forget(in, out, &s.r, used_revisions(&s));
    if (s.failure || s.r.failure)
        plan_wait(out, "%s", s.failure ? s.failure : s.r.failure);
    else if (s.more || s.next_ms)
        plan_recheck(out, s.more ? STEP_AGAIN_MS : s.next_ms);
    else
        plan_done(out);
}

static const char *const pod_fields[] = {
    "metadata.labels",
    "metadata.creationTimestamp",
    "spec",
    "status",
    NULL,
};

static const char *const revision_fields[] = {
    "metadata.labels",
    "metadata.creationTimestamp",
    "data",
    "revision",
    NULL,
};

static const struct kind_watch watches[] = {
    { .resource = &WORKLOADS_POD, .child = true, .keep = pod_fields },
    { .resource = &WORKLOADS_REVISION, .child = true, .keep = revision_fields },
    { .resource = &WORKLOADS_CLAIM_CHILD, .child = true },
    { 0 },
};

const struct kind workloads_stateful_set_kind = {
    .resource = &WORKLOADS_STATEFUL_SET,
    .watches = watches,
    .reconcile = reconcile,
};
