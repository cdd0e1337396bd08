/* The RuntimeClass of a Pod: its overhead and its scheduling constraints. */

#include "apiserver/builtin/pod/pod.h"
#include "apiserver/core/meta.h"
#include "apiserver/rules/check.h"
#include "base/quantity.h"

static bool refuse(struct json pod, struct error *err, const char *why)
{
    return fail(err, ERR_FORBIDDEN, "pods \"%s\" is forbidden: %s", meta_asked_name(pod), why);
}

/* "1" of cpu is "1000m". */
static bool same_amounts(struct json x, struct json y)
{
    bool same = x.count == y.count;
    json_each_member (m, x)
        same = same && json_present(json_member(y, m->key)) &&
               quantity_compare(pod_amount(x, m->key), pod_amount(y, m->key)) == 0;
    return same;
}

bool pod_overhead_check(const struct api_write *w, struct json pod, struct error *err)
{
    struct json has = json_get(pod, "spec.overhead"), class_name = pod_runtime_read(w, pod),
                wants = json_member(class_name, "overhead");
    if (check_is_set(wants))
        return same_amounts(json_member(wants, "podFixed"), has) ||
               refuse(pod,
                   err,
                   "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
    return !check_is_set(has) ||
           refuse(pod,
               err,
               "pod rejected: Pod Overhead set without corresponding RuntimeClass defined "
               "Overhead");
}

static const char *text_at(struct json map, const char *key)
{
    const char *text = json_get_text(map, key);
    return text ? text : "";
}

/* Whether `all` tolerates everything that t tolerates. */
static bool covers(struct json all, struct json t)
{
    struct json seconds = json_member(all, "tolerationSeconds"),
                asked = json_member(t, "tolerationSeconds");
    const char *key = text_at(all, "key"), *effect = text_at(all, "effect");
    bool exists = text_eq(text_at(all, "operator"), "Exists");
    if (json_equal(all, t))
        return true;
    if (!text_eq(text_at(t, "key"), key) && (*key || !exists))
        return false;
    if (!text_eq(text_at(t, "effect"), effect) && *effect)
        return false;
    if (text_eq(effect, "NoExecute") && seconds.type == JSON_INT &&
        (asked.type != JSON_INT || asked.integer > seconds.integer))
        return false;
    return exists || (text_eq(text_at(t, "operator"), "Equal") &&
                         text_eq(text_at(t, "value"), text_at(all, "value")));
}

/* The tolerations of the Pod and the class, without those that another one covers; of equal ones
 * the first is kept. */
static struct json merge_tolerations(struct arena *a, struct json own, struct json more)
{
    struct json_builder both, kept;
    json_builder_init(&both, a);
    json_builder_init(&kept, a);
    json_push_all(&both, own);
    json_push_all(&both, more);
    struct json all = json_list_end(&both);
    for (size_t i = 0; i < all.count; i++) {
        bool covered = false;
        for (size_t j = 0; j < all.count && !covered; j++)
            covered = j != i && covers(all.items[j], all.items[i]) &&
                      (j < i || !json_equal(all.items[i], all.items[j]));
        if (!covered)
            json_push(&kept, all.items[i]);
    }
    return json_list_end(&kept);
}

static bool set_scheduling(
    struct arena *a, struct json *pod, struct json scheduling, struct error *err)
{
    struct json nodes = json_get(*pod, "spec.nodeSelector");
    json_each_member (m, json_member(scheduling, "nodeSelector")) {
        const char *has = json_text(json_member(nodes, m->key)), *wants = json_text(m->value);
        if (has && !text_eq(has, wants))
            return refuse(*pod,
                err,
                arena_printf(a,
                    "conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; "
                    "pod.spec.nodeSelector[%s] = %s",
                    m->key,
                    wants,
                    m->key,
                    has));
        nodes = json_with_member(a, nodes, m->key, m->value);
    }
    struct json tolerations = merge_tolerations(
        a, json_get(*pod, "spec.tolerations"), json_member(scheduling, "tolerations"));
    if (json_present(nodes))
        *pod = json_with(a, *pod, "spec.nodeSelector", nodes);
    *pod = json_with(a, *pod, "spec.tolerations", tolerations);
    return true;
}

bool pod_runtime_admit(const struct api_write *w, struct json *pod, struct error *err)
{
    struct arena *a = w->arena;
    const char *name = json_get_text(*pod, "spec.runtimeClassName");
    struct json class_name = pod_runtime_read(w, *pod);
    struct json cost = json_get(class_name, "overhead.podFixed"),
                scheduling = json_member(class_name, "scheduling"),
                has = json_get(*pod, "spec.overhead");
    if (name && !json_present(class_name))
        return refuse(
            *pod, err, arena_printf(a, "pod rejected: RuntimeClass \"%s\" not found", name));
    if (cost.count && has.count && !same_amounts(cost, has))
        return refuse(*pod,
            err,
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
    if (cost.count)
        *pod = json_with(a, *pod, "spec.overhead", cost);
    return !check_is_set(scheduling) || set_scheduling(a, pod, scheduling, err);
}
