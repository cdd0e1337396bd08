#include "kinds/pods/pods_healthy.h"

#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/pods/pod_trouble.h"

void pods_plan_healthy(const struct view *in, struct plan *out, struct json pods)
{
    static const char condition[] = "PodsHealthy";
    struct pod_trouble found = pod_trouble_of(in->arena, pods);
    struct json before = json_find(json_get(in->object, "status.conditions"), "type", condition);
    if (!found.reason) {
        if (json_present(before))
            plan_condition(out, condition, true, "NoTrouble", "No pod reports a problem");
        return;
    }
    plan_condition(out, condition, false, found.reason, "%s", found.message);
    if (!text_eq(json_get_text(before, "reason"), found.reason))
        plan_event(out, true, found.reason, "%s", found.message);
}
