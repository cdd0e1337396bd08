/* PersistentVolumeClaim: each gets a volume of its own, a directory of this machine, which is
 * deleted with it. A claim that names a volume, or has the class "", needs a volume made by another
 * client: it is bound once that volume names the claim. */

#include "kinds/workloads/workloads.h"

#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/workloads/stateful_set.h"

static bool is_used(const struct view *in)
{
    json_each (pod, view_list(in, &WORKLOADS_POD, view_namespace(in), NULL)) {
        const char *phase = json_get_text(*pod, "status.phase");
        if (text_eq(phase, "Succeeded") || text_eq(phase, "Failed"))
            continue;
        json_each (volume, json_get(*pod, "spec.volumes"))
            if (text_eq(json_get_text(*volume, "persistentVolumeClaim.claimName"), view_name(in)))
                return true;
    }
    return false;
}

static const char *directory(const struct view *in)
{
    const struct workloads_settings *settings = in->settings;
    return arena_printf(
        in->arena, "%s/%s/%s", settings->volumes, view_namespace(in), view_name(in));
}

#define NOT_REMOVED "leeboard.dev/NotRemoved"
#define REMOVE_AGAIN_MS ((int64_t)60 * 1000)

/* A terminating claim stays while a pod uses it, and then until its directory is removed. Returns
 * why that fails; NULL: it does not, or the result is not known yet. */
static const char *leave(const struct view *in, struct plan *out, bool provided)
{
    const struct workloads_settings *settings = in->settings;
    if (is_used(in)) {
        plan_stay(out);
        return NULL;
    }
    if (provided)
        return NULL;
    /* The name is not enough: a later claim of that name has other files. */
    struct json what = json_map(in->arena,
        { "claim", json_str(json_get_text(in->object, "metadata.uid")) },
        { "path", json_str(directory(in)) },
        { "within", json_str(settings->volumes) });
    struct json fact = view_fact(in, "volume.remove", what);
    plan_effect(out, "volume.remove", what, REMOVE_AGAIN_MS);
    if (!json_present(json_get(fact, "result")))
        plan_stay(out);
    return json_get_text(fact, "error.message");
}

static struct json make_volume(const struct view *in, const char *name)
{
    struct arena *a = in->arena;
    struct json spec = json_get(in->object, "spec");
    return json_fields(a,
        { "metadata.name", json_str(name) },
        { "spec.accessModes", json_get(spec, "accessModes") },
        { "spec.capacity", json_get(spec, "resources.requests") },
        { "spec.volumeMode", json_str("Filesystem") },
        { "spec.storageClassName", json_get(spec, "storageClassName") },
        { "spec.persistentVolumeReclaimPolicy", json_str("Delete") },
        { "spec.hostPath.path", json_str(directory(in)) },
        { "spec.hostPath.type", json_str("DirectoryOrCreate") },
        { "spec.claimRef.apiVersion", json_str("v1") },
        { "spec.claimRef.kind", json_str("PersistentVolumeClaim") },
        { "spec.claimRef.namespace", json_str(view_namespace(in)) },
        { "spec.claimRef.name", json_str(view_name(in)) },
        { "spec.claimRef.uid", json_get(in->object, "metadata.uid") });
}

/* Whether the volume exists and is for this claim. */
static bool is_ours(const struct view *in, struct json volume)
{
    const char *uid = json_get_text(volume, "spec.claimRef.uid");
    return text_eq(json_get_text(volume, "spec.claimRef.name"), view_name(in)) &&
           text_eq(json_get_text(volume, "spec.claimRef.namespace"), view_namespace(in)) &&
           (!uid || text_eq(uid, json_get_text(in->object, "metadata.uid")));
}

/* A claim of a StatefulSet's pod, NAME-SET-NUMBER, may have to be deleted with the set or the pod.
 * Dashes may be anywhere in these names. Absent: no set decides about it. */
static struct json owners(const struct view *in)
{
    struct arena *a = in->arena;
    const char *name = view_name(in), *last = strrchr(name, '-');
    for (const char *dash = strchr(name, '-'); dash && dash < last; dash = strchr(dash + 1, '-')) {
        const char *set_name = str_dup(a, (struct str){ dash + 1, (size_t)(last - dash - 1) });
        const char *of = str_dup(a, (struct str){ name, (size_t)(dash - name) });
        struct json set = view_get(in, &WORKLOADS_STATEFUL_SET, set_name);
        struct json pod = view_get(in, &WORKLOADS_POD, dash + 1);
        int64_t ordinal = stateful_ordinal(set_name, dash + 1);
        bool has = false;
        json_each (tmpl, json_get(set, "spec.volumeClaimTemplates"))
            has |= text_eq(json_get_text(*tmpl, "metadata.name"), of);
        if (has && ordinal >= 0 &&
            text_eq(workloads_controller(pod), json_get_text(set, "metadata.uid")))
            return stateful_claim_owners(a, in->object, set, pod, !stateful_wants(set, ordinal));
    }
    return json_none;
}

static void amend(const struct view *in, struct plan *out, struct json patch)
{
    struct json wanted = owners(in), there = json_get(in->object, "metadata.ownerReferences");
    if (json_present(wanted) && !json_equal(json_or_absent(wanted), json_or_absent(there)))
        patch = json_with(in->arena, patch, "metadata.ownerReferences", wanted);
    if (patch.count)
        plan_amend(out, patch);
}

/* Features that a directory does not have; those of another client's volume are not our concern. */
static struct json limits(
    const struct view *in, struct plan *out, bool provided, const char *not_removed)
{
    static const struct workloads_condition c = {
        "leeboard.dev/SizeNotEnforced",
        "True",
        "Directory",
        "the claim is a directory of this machine: it may grow beyond the size that is asked for",
    };
    struct json list = json_get(in->object, "status.conditions");
    if (provided)
        return json_or_absent(list);
    list = workloads_condition_set(in, list, &c, NULL);
    if (!not_removed)
        return workloads_condition_drop(in->arena, list, NOT_REMOVED);
    if (!json_present(json_find(list, "type", NOT_REMOVED)))
        plan_event(out, true, "VolumeFailedDelete", "%s", not_removed);
    struct workloads_condition stays = { NOT_REMOVED, "True", "VolumeFailedDelete", not_removed };
    return workloads_condition_set(in, list, &stays, NULL);
}

struct binding {
    const char *name;
    struct json volume;
    bool provided;           /* by another client */
    const char *not_removed; /* leave() */
};

static void bind(const struct view *in, struct plan *out, const struct binding *b)
{
    struct arena *a = in->arena;
    struct json notes = json_map(a,
        { "pv.kubernetes.io/bind-completed", json_str("yes") },
        { "pv.kubernetes.io/bound-by-controller", b->provided ? json_none : json_str("yes") });
    amend(in,
        out,
        json_fields(
            a, { "metadata.annotations", notes }, { "spec.volumeName", json_str(b->name) }));
    plan_status(out,
        json_fields(a,
            { "phase", json_str("Bound") },
            { "accessModes", json_get(b->volume, "spec.accessModes") },
            { "capacity", json_get(b->volume, "spec.capacity") },
            { "conditions", limits(in, out, b->provided, b->not_removed) }),
        NULL);
    if (b->not_removed)
        plan_recheck(out, REMOVE_AGAIN_MS);
    else
        plan_done(out);
}

static void pend(const struct view *in, struct plan *out, const char *reason, const char *message)
{
    amend(in, out, json_empty_map());
    plan_status(out, json_fields(in->arena, { "phase", json_str("Pending") }), NULL);
    plan_event(out, false, reason, "%s", message);
    plan_done(out);
}

static void reconcile(const struct view *in, struct plan *out)
{
    const char *name = arena_printf(in->arena, "pvc-%s", json_get_text(in->object, "metadata.uid"));
    const char *wanted = json_get_text(in->object, "spec.volumeName");
    const char *class_name = json_get_text(in->object, "spec.storageClassName");
    bool provided = text_empty(wanted) ? class_name && !*class_name : !text_eq(wanted, name);
    const char *not_removed = NULL;
    if (json_present(json_get(in->object, "metadata.deletionTimestamp")))
        not_removed = leave(in, out, provided);
    if (!provided && text_eq(json_get_text(in->object, "spec.volumeMode"), "Block")) {
        pend(in,
            out,
            "ProvisioningFailed",
            "volumeMode Block is not there on one machine: a claim is a directory");
        return;
    }
    if (!provided) {
        struct json volume = make_volume(in, name);
        plan_once(out, &WORKLOADS_VOLUME_CHILD, volume);
        bind(in, out, &(struct binding){ name, volume, false, not_removed });
        return;
    }
    struct json volume = view_get(in, &WORKLOADS_VOLUME_CHILD, wanted);
    if (is_ours(in, volume))
        bind(in, out, &(struct binding){ wanted, volume, true, NULL });
    else
        pend(in,
            out,
            "FailedBinding",
            text_empty(wanted)
                ? "no persistent volumes available for this claim and no storage class is set"
                : arena_printf(
                      in->arena, "volume \"%s\" is not there, or for another claim", wanted));
}

static const char *const volume_fields[] = {
    "spec.accessModes",
    "spec.capacity",
    "spec.claimRef",
    "metadata.annotations",
    NULL,
};

static const char *const pod_fields[] = { "spec.volumes", "status.phase", NULL };

static const struct kind_watch watches[] = {
    { .resource = &WORKLOADS_VOLUME_CHILD, .child = true, .keep = volume_fields },
    { .resource = &WORKLOADS_POD, .keep = pod_fields },
    { .resource = &WORKLOADS_STATEFUL_SET },
    { 0 },
};

const struct kind workloads_claim_kind = {
    .resource = &WORKLOADS_CLAIM,
    .watches = watches,
    .finalizer = "kubernetes.io/pvc-protection",
    .reconcile = reconcile,
};

/* ---- volumes ---- */

/* An unclaimed volume is for the oldest claim that names it. */
static void reserve(const struct view *in, struct plan *out)
{
    struct json first = { 0 };
    json_each (claim, view_list(in, &WORKLOADS_CLAIM, NULL, NULL)) {
        bool older =
            !json_present(first) || workloads_time_ms(*claim, "metadata.creationTimestamp") <
                                        workloads_time_ms(first, "metadata.creationTimestamp");
        if (text_eq(json_get_text(*claim, "spec.volumeName"), view_name(in)) && older)
            first = *claim;
    }
    if (json_present(first))
        plan_amend(out,
            json_fields(in->arena,
                { "spec.claimRef.apiVersion", json_str("v1") },
                { "spec.claimRef.kind", json_str("PersistentVolumeClaim") },
                { "spec.claimRef.namespace", json_get(first, "metadata.namespace") },
                { "spec.claimRef.name", json_get(first, "metadata.name") },
                { "spec.claimRef.uid", json_get(first, "metadata.uid") }));
}

static void reconcile_volume(const struct view *in, struct plan *out)
{
    const char *uid = json_get_text(in->object, "spec.claimRef.uid");
    struct json claim = view_get_in(in,
        &WORKLOADS_CLAIM,
        json_get_text(in->object, "spec.claimRef.namespace"),
        json_get_text(in->object, "spec.claimRef.name"));
    bool there =
        json_present(claim) && (!uid || text_eq(uid, json_get_text(claim, "metadata.uid")));
    bool named = json_present(json_get(in->object, "spec.claimRef"));
    bool going = json_present(json_get(in->object, "metadata.deletionTimestamp"));
    if (!named && !going)
        reserve(in, out);
    if (going && there && !json_present(json_get(claim, "metadata.deletionTimestamp")))
        plan_stay(out);
    plan_status(out,
        json_fields(in->arena,
            { "phase",
                json_str(there          ? "Bound"
                         : named && uid ? "Released"
                                        : "Available") }),
        NULL);
    plan_done(out);
}

static const struct kind_watch volume_watches[] = {
    { .resource = &WORKLOADS_CLAIM },
    { 0 },
};

const struct kind workloads_volume_kind = {
    .resource = &WORKLOADS_VOLUME,
    .watches = volume_watches,
    .finalizer = "kubernetes.io/pv-protection",
    .reconcile = reconcile_volume,
};
