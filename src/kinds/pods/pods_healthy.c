#include "kinds/pods/pods_healthy.h"

#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/pods/pod_trouble.h"

/* A container that has crashed and runs again counts as healthy after this time: it also runs
 * between two crashes, and without a readiness probe it is even ready. */
#define STEADY_MS 60000

static bool of_a_crash(const char *reason)
{
    return text_eq(reason, "CrashLoopBackOff") || text_eq(reason, "OOMKilled");
}

const char *pods_plan_healthy(const struct view *in, struct plan *out, struct json pods)
{
    static const char condition[] = "PodsHealthy";
    struct pod_trouble found = pod_trouble_of(in->arena, pods);
    struct json before = json_find(json_get(in->object, "status.conditions"), "type", condition);
    const char *reason = json_get_text(before, "reason");
    int64_t ran_ms = in->now_ms - pod_trouble_revived_ms(pods);
    if (!found.reason && of_a_crash(reason) && ran_ms >= 0 && ran_ms < STEADY_MS) {
        const char *message = json_get_text(before, "message");
        plan_condition(out, condition, false, reason, "%s", message);
        plan_within(out, STEADY_MS - ran_ms);
        return message;
    }
    if (!found.reason) {
        if (json_present(before))
            plan_condition(out, condition, true, "NoTrouble", "No pod reports a problem");
        return NULL;
    }
    plan_condition(out, condition, false, found.reason, "%s", found.message);
    if (!text_eq(reason, found.reason))
        plan_event(out, true, found.reason, "%s", found.message);
    return found.message;
}
