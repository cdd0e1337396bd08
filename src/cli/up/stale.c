#include "cli/up/stale.h"

#include "base/str.h"
#include "base/time.h"
#include "cli/up/tasks.h"
#include "http/loop.h"

static bool is_ready(struct json pod)
{
    struct json ready = json_find(json_get(pod, "status.conditions"), "type", "Ready");
    return text_eq(json_get_text(ready, "status"), "True");
}

static bool runs(const struct up_task *tasks, size_t count, struct json pod)
{
    for (size_t i = 0; i < count; i++)
        if (text_eq(tasks[i].uid, json_get_text(pod, "metadata.uid")))
            return true;
    return false;
}

static bool set_right(struct ask *q, struct json pod, struct error *err)
{
    struct arena *a = &q->cli->arena;
    struct json condition = json_map(a,
        { "type", json_str("Ready") },
        { "status", json_str("False") },
        { "reason", json_str("ContainersNotReady") },
        { "message", json_str("nothing of it runs") },
        { "lastTransitionTime", json_str(time_format(a, env_wall_ms(loop_env(q->loop)))) });
    struct ask_request patch = {
        .method = "PATCH",
        .path = resource_path(a,
            &RESOURCE_POD,
            json_get_text(pod, "metadata.namespace"),
            json_get_text(pod, "metadata.name"),
            "status"),
        .content_type = "application/strategic-merge-patch+json",
        .body = json_fields(a, { "status.conditions", json_list(a, condition) }),
    };
    int status;
    struct json answer;
    return ask(q, &patch, &status, &answer, err);
}

bool up_stale_settle(struct ask *q, const char *folder, struct error *err)
{
    struct ask_request list = { .method = "GET", .path = "/api/v1/pods" };
    struct up_task *tasks = NULL;
    size_t count = up_tasks(&q->cli->arena, folder, &tasks);
    struct json pods;
    int status;
    if (!ask(q, &list, &status, &pods, err))
        return false;
    json_each (pod, json_get(pods, "items"))
        if (is_ready(*pod) && !runs(tasks, count, *pod) && !set_right(q, *pod, err))
            return false;
    return true;
}
