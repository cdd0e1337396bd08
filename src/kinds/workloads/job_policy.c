/* A Job's rules for failed pods, and for when it has succeeded. */

#include "kinds/workloads/job.h"

#include "engine/view.h"

static bool holds_code(struct json codes, int64_t code)
{
    bool in = false;
    json_each (value, json_get(codes, "values"))
        in |= json_is(*value, JSON_INT) && value->integer == code;
    return in == text_eq(json_get_text(codes, "operator"), "In");
}

/* The first container that ended with an exit code that the rule names. */
static struct json failed_container(struct json pod, struct json codes)
{
    static const char *const lists[] = {
        "status.containerStatuses",
        "status.initContainerStatuses",
    };
    const char *only = json_get_text(codes, "containerName");
    for (size_t i = 0; i < lengthof(lists); i++)
        json_each (c, json_get(pod, lists[i])) {
            int64_t code = json_get_int(*c, "state.terminated.exitCode", 0);
            if (code && (!only || text_eq(only, json_get_text(*c, "name"))) &&
                holds_code(codes, code))
                return *c;
        }
    return json_none;
}

static const char *condition_met(struct json pod, struct json patterns)
{
    json_each (pattern, patterns) {
        const char *status = json_get_text(*pattern, "status");
        struct json c =
            json_find(json_get(pod, "status.conditions"), "type", json_get_text(*pattern, "type"));
        if (json_present(c) && text_eq(json_get_text(c, "status"), status ? status : "True"))
            return json_get_text(c, "type");
    }
    return NULL;
}

static enum job_verdict verdict_named(const char *action)
{
    static const char *const names[] = {
        [JOB_COUNT] = "Count",
        [JOB_IGNORE] = "Ignore",
        [JOB_FAIL_INDEX] = "FailIndex",
        [JOB_FAIL] = "FailJob",
    };
    for (size_t i = 0; i < lengthof(names); i++)
        if (text_eq(names[i], action))
            return (enum job_verdict)i;
    return JOB_COUNT;
}

enum job_verdict job_verdict_of(const struct view *in, struct json pod, const char **ret_message)
{
    struct json rules = json_get(in->object, "spec.podFailurePolicy.rules");
    json_each (rule, rules) {
        const char *action = json_get_text(*rule, "action");
        struct json codes = json_get(*rule, "onExitCodes");
        struct json c = json_if(json_present(codes), failed_container(pod, codes));
        const char *type = condition_met(pod, json_get(*rule, "onPodConditions"));
        const char *of = arena_printf(
            in->arena, "%s/%s", view_namespace(in), json_get_text(pod, "metadata.name"));
        const char *by = arena_printf(
            in->arena, "matching %s rule at index %d", action, (int)(rule - rules.items));
        if (json_present(c))
            *ret_message = arena_printf(in->arena,
                "Container %s for pod %s failed with exit code %lld %s",
                json_get_text(c, "name"),
                of,
                (long long)json_get_int(c, "state.terminated.exitCode", 0),
                by);
        else if (type)
            *ret_message = arena_printf(in->arena, "Pod %s has condition %s %s", of, type, by);
        if (json_present(c) || type)
            return verdict_named(action);
    }
    return JOB_COUNT;
}

const char *job_success_of(const struct view *in, const struct job_indexes *done)
{
    struct json rules = json_get(in->object, "spec.successPolicy.rules");
    int64_t completions = json_get_int(in->object, "spec.completions", 0);
    json_each (rule, rules) {
        const char *indexes = json_get_text(*rule, "succeededIndexes");
        struct job_indexes of = job_indexes_parse(in->arena, indexes, completions);
        int64_t met = indexes ? 0 : job_indexes_total(done);
        for (size_t i = 0; i < of.count; i++)
            for (int64_t n = of.items[i].first; n <= of.items[i].last; n++)
                met += job_indexes_has(done, n);
        if (met && met >= json_get_int(*rule, "succeededCount", job_indexes_total(&of)))
            return arena_printf(in->arena, "Matched rules at index %d", (int)(rule - rules.items));
    }
    return NULL;
}
