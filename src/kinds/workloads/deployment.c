/* Deployment: a ReplicaSet for each template that it had; the latest has all pods once the update
 * is complete. */

#include "kinds/workloads/deployment.h"

#include <stdlib.h>

#include "base/selector.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/workloads/workloads.h"

#define REVISION "deployment.kubernetes.io/revision"
#define HISTORY "deployment.kubernetes.io/revision-history"
#define DESIRED "deployment.kubernetes.io/desired-replicas"
#define MOST "deployment.kubernetes.io/max-replicas"

#define COLLISIONS_MAX 100
/* The most sets that one pass changes, and the most old ones that it deletes. */
#define STEP_MAX 24
#define STEP_AGAIN_MS 10

/* ---- present state ---- */

static int64_t number_of(struct json object, const char *annotation)
{
    int64_t value = 0;
    const char *text = json_text(json_member(json_get(object, "metadata.annotations"), annotation));
    return text && str_to_int(str_of(text), &value) ? value : 0;
}

static int by_age(const void *left, const void *right)
{
    const struct rollout_set *a = left, *b = right;
    if (a->created_ms != b->created_ms)
        return a->created_ms < b->created_ms ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void find_sets(struct deployment *d, const struct selector *selector)
{
    const struct view *in = d->in;
    struct json all = view_list(in, &WORKLOADS_REPLICA_SET_CHILD, view_namespace(in), NULL);
    const char *uid = json_get_text(in->object, "metadata.uid");
    struct json_builder orphans;
    json_builder_init(&orphans, in->arena);
    d->r.sets = arena_array(in->arena, all.count + 1, sizeof(*d->r.sets));
    json_each (set, all) {
        const char *owner = workloads_controller(*set);
        bool going = json_present(json_get(*set, "metadata.deletionTimestamp"));
        if (!(owner ? text_eq(owner, uid) : !going) ||
            !selector_matches(selector, json_get(*set, "metadata.labels")))
            continue;
        if (!owner)
            json_push(&orphans, json_get(*set, "metadata.name"));
        d->r.sets[d->r.count++] = (struct rollout_set){
            .object = *set,
            .name = json_get_text(*set, "metadata.name"),
            .replicas = json_get_int(*set, "spec.replicas", 1),
            .available = json_get_int(*set, "status.availableReplicas", 0),
            .actual = json_get_int(*set, "status.replicas", 0),
            .created_ms = workloads_time_ms(*set, "metadata.creationTimestamp"),
            .revision = number_of(*set, REVISION),
            .most = number_of(*set, MOST),
        };
    }
    d->orphans = json_list_end(&orphans);
    if (d->r.count)
        qsort(d->r.sets, d->r.count, sizeof(*d->r.sets), by_age);
}

/* A template for comparison: without the label that tells templates apart. */
static struct json bare(struct arena *a, struct json tmpl)
{
    struct json labels = json_get(tmpl, "metadata.labels");
    if (json_is(labels, JSON_MAP))
        labels = json_with_member(a, labels, WORKLOADS_TEMPLATE_HASH, json_none);
    tmpl = json_with(a, tmpl, "metadata.labels", json_or_absent(labels));
    tmpl = json_with(a, tmpl, "metadata.creationTimestamp", json_none);
    return json_with(a, tmpl, "metadata", json_or_absent(json_get(tmpl, "metadata")));
}

static bool is_of_template(const struct deployment *d, struct json set)
{
    struct arena *a = d->in->arena;
    return json_equal(
        bare(a, json_get(d->in->object, "spec.template")), bare(a, json_get(set, "spec.template")));
}

static void find_latest(struct deployment *d)
{
    for (size_t i = 0; i < d->r.count && !d->r.latest; i++)
        if (is_of_template(d, d->r.sets[i].object))
            d->r.latest = &d->r.sets[i];
}

/* Adds the missing set of the template, under an unused name. */
static void add_latest(struct deployment *d)
{
    struct arena *a = d->in->arena;
    struct json tmpl = bare(a, json_get(d->in->object, "spec.template"));
    const char *text = json_to_text(a, tmpl), *name;
    do {
        const char *hash = workloads_hash(
            a, d->collisions ? arena_printf(a, "%s%lld", text, (long long)d->collisions) : text);
        name = arena_printf(a, "%s-%s", view_name(d->in), hash);
    } while (json_present(view_get(d->in, &WORKLOADS_REPLICA_SET_CHILD, name)) &&
             ++d->collisions < COLLISIONS_MAX);
    struct view_trouble t = view_trouble(d->in, &WORKLOADS_REPLICA_SET_CHILD, name);
    d->failure = t.what == TROUBLE_REFUSED ? t.message : NULL;
    d->made = true;
    d->r.latest = &d->r.sets[d->r.count++];
    *d->r.latest = (struct rollout_set){ .name = name, .created_ms = INT64_MAX, .scaled = true };
}

/* ---- plan ---- */

static const char *text_of(struct deployment *d, int64_t number)
{
    return arena_printf(d->in->arena, "%lld", (long long)number);
}

/* Annotations of the Deployment are copied to its latest set, except for those about the
 * Deployment. */
static struct json inherited(const struct deployment *d)
{
    static const char *const own[] = {
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        HISTORY,
        DESIRED,
        MOST,
    };
    struct json_builder map;
    json_builder_init(&map, d->in->arena);
    json_each_member (m, json_get(d->in->object, "metadata.annotations")) {
        bool skipped = false;
        for (size_t i = 0; i < lengthof(own); i++)
            skipped |= text_eq(m->key, own[i]);
        if (!skipped)
            json_put(&map, m->key, m->value);
    }
    return json_map_end(&map);
}

/* The latest set has the highest revision; one that is reused also records its earlier
 * revisions. */
static struct json numbered(struct deployment *d, struct json annotations)
{
    struct arena *a = d->in->arena;
    int64_t highest = 0;
    for (size_t i = 0; i < d->r.count; i++)
        if (&d->r.sets[i] != d->r.latest && d->r.sets[i].revision > highest)
            highest = d->r.sets[i].revision;
    int64_t before = d->r.latest->revision;
    int64_t revision = before > highest ? before : highest + 1;
    d->set_revision = text_of(d, revision);
    if (before && before != revision) {
        const char *history = json_text(json_member(annotations, HISTORY));
        const char *was = text_of(d, before);
        annotations = json_with_member(a,
            annotations,
            HISTORY,
            json_str(text_empty(history) ? was : arena_printf(a, "%s,%s", history, was)));
    }
    return json_with_member(a, annotations, REVISION, json_str(d->set_revision));
}

static struct json annotations_of(struct deployment *d, struct rollout_set *s)
{
    struct arena *a = d->in->arena;
    struct json map = json_get(s->object, "metadata.annotations");
    map = json_is(map, JSON_MAP) ? map : json_empty_map();
    if (s == d->r.latest)
        map = numbered(d, json_overlay(a, map, inherited(d)));
    if (!s->scaled)
        return map;
    map = json_with_member(a, map, DESIRED, json_str(text_of(d, d->r.replicas)));
    return json_with_member(a, map, MOST, json_str(text_of(d, d->r.replicas + d->r.surge)));
}

static struct json new_set(struct deployment *d, struct rollout_set *s)
{
    struct arena *a = d->in->arena;
    struct json tmpl = bare(a, json_get(d->in->object, "spec.template"));
    struct json hash = json_str(s->name + strlen(view_name(d->in)) + 1);
    struct json labels = json_overlay(
        a, json_get(tmpl, "metadata.labels"), json_map(a, { WORKLOADS_TEMPLATE_HASH, hash }));
    struct json selector = json_get(d->in->object, "spec.selector");
    struct json match = json_overlay(
        a, json_get(selector, "matchLabels"), json_map(a, { WORKLOADS_TEMPLATE_HASH, hash }));
    return json_fields(a,
        { "metadata.name", json_str(s->name) },
        { "metadata.labels", labels },
        { "spec.selector", json_with_member(a, selector, "matchLabels", match) },
        { "spec.template", json_with(a, tmpl, "metadata.labels", labels) });
}

static void plan_set(struct deployment *d, struct rollout_set *s)
{
    struct arena *a = d->in->arena;
    struct json set = json_present(s->object)
                          ? view_owned(d->in, &WORKLOADS_REPLICA_SET_CHILD, s->name)
                          : new_set(d, s);
    set = json_is(set, JSON_MAP) ? set : json_empty_map();
    set = json_with(a, set, "metadata.name", json_str(s->name));
    set = json_with(a, set, "metadata.annotations", annotations_of(d, s));
    set = json_with(a, set, "spec.replicas", json_int(s->replicas));
    if (s == d->r.latest)
        set = json_with(a,
            set,
            "spec.minReadySeconds",
            json_int_or_absent(json_get_int(d->in->object, "spec.minReadySeconds", 0)));
    plan_child(d->out, &WORKLOADS_REPLICA_SET_CHILD, set);
    plan_orphan(d->out);
    int64_t before = json_get_int(s->object, "spec.replicas", 0);
    if (s->replicas != before && d->out->event_count < PLAN_MAX_EVENTS)
        plan_event(d->out,
            false,
            "ScalingReplicaSet",
            "Scaled %s replica set %s from %lld to %lld",
            s->replicas > before ? "up" : "down",
            s->name,
            (long long)before,
            (long long)s->replicas);
}

/* Plans the changed sets; true: there are more than one pass changes. */
static bool plan_sets(struct deployment *d)
{
    for (size_t i = 0; i < d->r.count; i++) {
        struct rollout_set *s = &d->r.sets[i];
        bool changes = s == d->r.latest || s->scaled || json_list_has(d->orphans, s->name);
        if (!changes || json_present(json_get(s->object, "metadata.deletionTimestamp")))
            continue;
        if (d->out->child_count == STEP_MAX)
            return true;
        plan_set(d, s);
    }
    return false;
}

static int by_revision(const void *left, const void *right)
{
    const struct rollout_set *a = *(struct rollout_set *const *)left;
    const struct rollout_set *b = *(struct rollout_set *const *)right;
    return a->revision < b->revision ? -1 : a->revision > b->revision;
}

/* Deletes old sets without pods beyond the history limit. */
static void forget_old(struct deployment *d)
{
    int64_t limit = json_get_int(d->in->object, "spec.revisionHistoryLimit", 10);
    struct rollout_set **old = arena_array(d->in->arena, d->r.count + 1, sizeof(*old));
    int64_t count = 0;
    for (size_t i = 0; i < d->r.count; i++)
        if (&d->r.sets[i] != d->r.latest &&
            !json_present(json_get(d->r.sets[i].object, "metadata.deletionTimestamp")))
            old[count++] = &d->r.sets[i];
    if (count > 1)
        qsort(old, (size_t)count, sizeof(*old), by_revision);
    size_t room = d->out->child_count + STEP_MAX;
    for (int64_t i = 0; i < count - limit && d->out->child_count < room; i++) {
        struct json set = old[i]->object;
        bool seen = json_get_int(set, "metadata.generation", 0) <=
                    json_get_int(set, "status.observedGeneration", 0);
        if (old[i]->actual == 0 && old[i]->replicas == 0 && !old[i]->scaled && seen)
            plan_absent(d->out, &WORKLOADS_REPLICA_SET_CHILD, old[i]->name);
    }
}

/* ---- the pass ---- */

static bool was_resized(const struct deployment *d)
{
    for (size_t i = 0; i < d->r.count; i++) {
        const struct rollout_set *s = &d->r.sets[i];
        int64_t desired = number_of(s->object, DESIRED);
        struct json annotations = json_get(s->object, "metadata.annotations");
        if (s->replicas > 0 && json_present(json_member(annotations, DESIRED)) &&
            desired != d->r.replicas)
            return true;
    }
    return false;
}

/* Whether pods of old templates still run or terminate: the strategy Recreate waits for them. */
static bool old_pods_run(const struct deployment *d, const struct selector *selector)
{
    json_each (pod, workloads_pods(d->in, selector)) {
        const char *owner = workloads_controller(*pod),
                   *phase = json_get_text(*pod, "status.phase");
        if (text_eq(phase, "Succeeded") || text_eq(phase, "Failed"))
            continue;
        for (size_t i = 0; i < d->r.count; i++)
            if (&d->r.sets[i] != d->r.latest &&
                text_eq(json_get_text(d->r.sets[i].object, "metadata.uid"), owner))
                return true;
    }
    return false;
}

static void recreate(struct deployment *d, const struct selector *selector)
{
    rollout_stop_old(&d->r);
    if (old_pods_run(d, selector))
        return;
    if (!d->r.latest)
        add_latest(d);
    if (d->r.latest->replicas != d->r.replicas) {
        d->r.latest->replicas = d->r.replicas;
        d->r.latest->scaled = true;
    }
}

static void deployment_sync(struct deployment *d, const struct selector *selector)
{
    if (d->paused || was_resized(d))
        rollout_scale(&d->r);
    if (d->paused)
        return;
    if (text_eq(json_get_text(d->in->object, "spec.strategy.type"), "Recreate")) {
        recreate(d, selector);
        return;
    }
    if (!d->r.latest)
        add_latest(d);
    rollout_advance(&d->r);
}

static void reconcile(const struct view *in, struct plan *out)
{
    struct deployment d = {
        .in = in,
        .out = out,
        .paused = json_get_bool(in->object, "spec.paused", false),
        .collisions = json_get_int(in->object, "status.collisionCount", 0),
        .r.replicas = json_get_int(in->object, "spec.replicas", 1),
        .r.told = json_get_int(in->object, "status.replicas", 0),
    };
    struct selector selector;
    int64_t next_ms = 0;
    plan_keep_children(out);
    if (!workloads_selector(in, &selector)) {
        plan_wait(out, "its selector cannot be read");
        return;
    }
    rollout_bounds(&d.r, json_get(in->object, "spec.strategy"));
    find_sets(&d, &selector);
    find_latest(&d);
    deployment_sync(&d, &selector);
    bool more = plan_sets(&d);
    struct json status = deployment_status(&d, &next_ms);
    if (d.paused || deployment_is_complete(&d, status))
        forget_old(&d);
    plan_status(out, status, NULL);
    if (d.set_revision)
        plan_amend(out,
            json_fields(in->arena,
                { "metadata.annotations",
                    json_map(in->arena, { REVISION, json_str(d.set_revision) }) }));
    if (d.failure)
        plan_wait(out, "%s", d.failure);
    else if (more || next_ms)
        plan_recheck(out, more ? STEP_AGAIN_MS : next_ms);
    else
        plan_done(out);
}

static const char *const set_fields[] = {
    "metadata.labels",
    "metadata.annotations",
    "metadata.creationTimestamp",
    "metadata.generation",
    "spec",
    "status",
    NULL,
};

static const char *const pod_fields[] = { "metadata.labels", "status.phase", NULL };

static const struct kind_watch watches[] = {
    { .resource = &WORKLOADS_REPLICA_SET_CHILD, .child = true, .keep = set_fields },
    { .resource = &WORKLOADS_POD, .keep = pod_fields },
    { 0 },
};

const struct kind workloads_deployment_kind = {
    .resource = &WORKLOADS_DEPLOYMENT,
    .watches = watches,
    .reconcile = reconcile,
};
