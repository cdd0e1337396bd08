/* matchLabelKeys of a term are added to its selector, with the values that the Pod has when it is
 * created. */

#include "apiserver/builtin/pod/pod.h"
#include "apiserver/rules/check.h"

static struct json with_keys(struct arena *a, struct json owner, struct json labels)
{
    static const char *const kinds[][2] = {
        { "matchLabelKeys", "In" },
        { "mismatchLabelKeys", "NotIn" },
    };
    struct json selector = json_member(owner, "labelSelector");
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (r, json_member(selector, "matchExpressions"))
        json_push(&b, *r);
    for (size_t k = 0; k < lengthof(kinds); k++)
        json_each (key, json_member(owner, kinds[k][0])) {
            struct json value = json_member(labels, json_text(*key) ? json_text(*key) : "");
            if (json_present(value))
                json_push(&b,
                    json_map(a,
                        { "key", *key },
                        { "operator", json_str(kinds[k][1]) },
                        { "values", json_list(a, value) }));
        }
    struct json list = json_list_end(&b);
    if (!check_is_set(selector) || !list.count)
        return owner;
    return json_with_member(
        a, owner, "labelSelector", json_with_member(a, selector, "matchExpressions", list));
}

struct json pod_keys_merge(struct arena *a, struct json pod)
{
    static const struct {
        const char *list, *inner; /* inner: NULL for the items themselves */
    } rows[] = {
        { "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution", NULL },
        { "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution",
            "podAffinityTerm" },
        { "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution", NULL },
        { "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution",
            "podAffinityTerm" },
        { "spec.topologySpreadConstraints", NULL },
    };
    struct json labels = json_get(pod, "metadata.labels");
    for (size_t i = 0; i < lengthof(rows); i++) {
        const char *inner = rows[i].inner;
        struct json list = json_get(pod, rows[i].list);
        struct json_builder b;
        json_builder_init(&b, a);
        json_each (item, list)
            json_push(&b,
                inner ? json_with_member(
                            a, *item, inner, with_keys(a, json_member(*item, inner), labels))
                      : with_keys(a, *item, labels));
        if (list.count)
            pod = json_with(a, pod, rows[i].list, json_list_end(&b));
    }
    return pod;
}
