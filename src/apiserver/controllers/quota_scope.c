#include "apiserver/controllers/quota_scope.h"

#include "apiserver/builtin/pod/pod.h"

bool quota_scope_terminating(struct json pod)
{
    return json_get_int(pod, "spec.activeDeadlineSeconds", -1) >= 0;
}

/* Whether any of the names matches a selector. */
static bool any_name(
    struct json object, const char *const paths[], size_t count, const char *op, struct json values)
{
    bool in = text_eq(op, "In"), not_in = text_eq(op, "NotIn"), named = false;
    for (size_t i = 0; i < count; i++) {
        const char *name = json_get_text(object, paths[i]);
        if (!name || !*name)
            continue;
        named = true;
        if ((in || not_in) && json_list_has(values, name) == in)
            return true;
    }
    if (in || not_in)
        return not_in && !named;
    return named == text_eq(op, "Exists");
}

static bool reaches_out(struct json affinity)
{
    static const char *const sorts[] = { "podAffinity", "podAntiAffinity" };
    for (size_t i = 0; i < lengthof(sorts); i++)
        json_each_member (list, json_member(affinity, sorts[i]))
            json_each (item, list->value) {
                struct json term = json_member(*item, "podAffinityTerm");
                term = json_present(term) ? term : *item;
                if (json_member(term, "namespaces").count ||
                    json_present(json_member(term, "namespaceSelector")))
                    return true;
            }
    return false;
}

static bool pod_holds(struct json pod, const char *scope, const char *op, struct json values)
{
    static const char *const priority[] = { "spec.priorityClassName" };
    bool best_effort = text_eq(pod_quality_of(json_member(pod, "spec")), "BestEffort");
    return text_eq(scope, "Terminating")      ? quota_scope_terminating(pod)
           : text_eq(scope, "NotTerminating") ? !quota_scope_terminating(pod)
           : text_eq(scope, "BestEffort")     ? best_effort
           : text_eq(scope, "NotBestEffort")  ? !best_effort
           : text_eq(scope, "PriorityClass")  ? any_name(pod, priority, 1, op, values)
           : text_eq(scope, "CrossNamespacePodAffinity")
               ? reaches_out(json_get(pod, "spec.affinity"))
               : false;
}

/* A claim that changes its class counts for both classes. */
static bool claim_holds(struct json claim, const char *scope, const char *op, struct json values)
{
    static const char *const classes[] = {
        "spec.volumeAttributesClassName",
        "status.currentVolumeAttributesClassName",
        "status.modifyVolumeStatus.targetVolumeAttributesClassName",
    };
    return text_eq(scope, "VolumeAttributesClass") &&
           any_name(claim, classes, lengthof(classes), op, values);
}

bool quota_scope_holds(const struct api_kind *k, struct json quota, struct json object)
{
    bool (*holds)(struct json, const char *, const char *, struct json) =
        api_kind_is_core(k, "Pod")                     ? pod_holds
        : api_kind_is_core(k, "PersistentVolumeClaim") ? claim_holds
                                                       : NULL;
    json_each (scope, json_get(quota, "spec.scopes"))
        if (!holds || !holds(object, json_text(*scope), "Exists", json_none))
            return false;
    json_each (e, json_get(quota, "spec.scopeSelector.matchExpressions"))
        if (!holds || !holds(object,
                          json_get_text(*e, "scopeName"),
                          json_get_text(*e, "operator"),
                          json_member(*e, "values")))
            return false;
    return true;
}
