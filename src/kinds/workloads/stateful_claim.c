/* The claims of a StatefulSet's pods, and which owner deletes them when it is deleted. */

#include "kinds/workloads/stateful_set.h"

#include "kinds/workloads/workloads.h"

int64_t stateful_ordinal(const char *set, const char *pod)
{
    int64_t ordinal;
    const char *dash = pod ? strrchr(pod, '-') : NULL;
    size_t length = strlen(set);
    if (!dash || (size_t)(dash - pod) != length || strncmp(pod, set, length) != 0 ||
        !str_to_int(str_of(dash + 1), &ordinal) || ordinal < 0 || ordinal > INT32_MAX ||
        strspn(dash + 1, "0123456789") != strlen(dash + 1))
        return -1;
    return ordinal;
}

bool stateful_wants(struct json set, int64_t ordinal)
{
    int64_t start = json_get_int(set, "spec.ordinals.start", 0);
    return ordinal >= start && ordinal - start < json_get_int(set, "spec.replicas", 1);
}

const char *stateful_claim_name(struct arena *a, struct json set, const char *of, int64_t ordinal)
{
    return arena_printf(
        a, "%s-%s-%lld", of, json_get_text(set, "metadata.name"), (long long)ordinal);
}

struct json stateful_claim(
    struct arena *a, struct json set, struct json claim_template, int64_t ordinal)
{
    const char *of = json_get_text(claim_template, "metadata.name");
    return json_fields(a,
        { "metadata.name", json_str(stateful_claim_name(a, set, of, ordinal)) },
        { "metadata.labels",
            json_or_absent(json_overlay(a,
                json_get(claim_template, "metadata.labels"),
                json_get(set, "spec.selector.matchLabels"))) },
        { "metadata.annotations",
            json_or_absent(json_get(claim_template, "metadata.annotations")) },
        { "metadata.finalizers", json_or_absent(json_get(claim_template, "metadata.finalizers")) },
        { "spec", json_get(claim_template, "spec") });
}

static struct json reference(
    struct arena *a, const char *api_version, const char *kind, struct json to)
{
    return json_fields(a,
        { "apiVersion", json_str(api_version) },
        { "kind", json_str(kind) },
        { "name", json_get(to, "metadata.name") },
        { "uid", json_get(to, "metadata.uid") },
        { "controller", json_bool(true) },
        { "blockOwnerDeletion", json_bool(true) });
}

struct json stateful_claim_owners(
    struct arena *a, struct json claim, struct json set, struct json pod, bool condemned)
{
    struct json policy = json_get(set, "spec.persistentVolumeClaimRetentionPolicy");
    struct json there = json_get(claim, "metadata.ownerReferences");
    const char *set_uid = json_get_text(set, "metadata.uid"),
               *pod_uid = json_get_text(pod, "metadata.uid");
    bool with_pod = condemned && text_eq(json_get_text(policy, "whenScaled"), "Delete");
    bool with_set = !with_pod && text_eq(json_get_text(policy, "whenDeleted"), "Delete");
    const char *wanted = with_pod ? pod_uid : with_set ? set_uid : NULL;
    const char *controller = workloads_controller(claim);
    bool foreign = controller && !text_eq(controller, set_uid) && !text_eq(controller, pod_uid);
    struct json_builder list;
    json_builder_init(&list, a);
    bool had = false;
    json_each (owner, there) {
        const char *uid = json_get_text(*owner, "uid");
        bool of_ours = text_eq(uid, set_uid) || text_eq(uid, pod_uid);
        had |= text_eq(uid, wanted);
        if (!of_ours || text_eq(uid, wanted))
            json_push(&list, *owner);
    }
    if (foreign)
        return there;
    if (with_pod && !had)
        json_push(&list, reference(a, "v1", "Pod", pod));
    if (with_set && !had)
        json_push(&list, reference(a, "apps/v1", "StatefulSet", set));
    return json_list_end(&list);
}
