#include "cli/up/objects.h"

#include "base/str.h"
#include "cli/show/machine.h"
#include "kinds/llmkube/inference_service.h"
#include "kinds/llmkube/model.h"
#include "kinds/llmkube/model_router.h"
#include "kinds/otterscale/otterscale.h"
#include "kinds/toolhive/toolhive.h"

static const struct resource CRON_JOB = { "batch", "v1", "CronJob", "cronjobs", false };
static const struct resource DAEMON_SET = { "apps", "v1", "DaemonSet", "daemonsets", false };

const struct resource *const up_resources[] = {
    &LLMKUBE_MODEL,
    &LLMKUBE_INFERENCE_SERVICE,
    &OTTERSCALE_MODEL_ARTIFACT,
    &OTTERSCALE_MODEL_SERVICE,
    &LLMKUBE_MODEL_ROUTER,
    &TOOLHIVE_SERVER,
    &TOOLHIVE_REMOTE_PROXY,
    &TOOLHIVE_VIRTUAL_SERVER,
    &TOOLHIVE_EMBEDDING_SERVER,
    &RESOURCE_DEPLOYMENT,
    &RESOURCE_STATEFUL_SET,
    &RESOURCE_JOB,
    &CRON_JOB,
    &DAEMON_SET,
    &RESOURCE_PVC,
    NULL,
};

/* Items of a list have neither kind nor apiVersion. */
static bool add_list(
    struct ask *q, const struct resource *r, struct json_builder *to, struct error *err)
{
    struct arena *a = &q->cli->arena;
    struct ask_request request = {
        .method = "GET",
        .path = resource_path(a, r, NULL, NULL, NULL),
    };
    int status;
    struct json answer;
    if (!ask(q, &request, &status, &answer, err))
        return err->code == ERR_NOT_FOUND; /* not installed: there are none */
    json_each (item, json_get(answer, "items"))
        json_push(to, json_with_member(a, *item, "kind", json_str(r->kind)));
    return true;
}

bool up_objects_list(struct ask *q, const char *folder, struct up_objects *ret, struct error *err)
{
    struct arena *a = &q->cli->arena;
    struct json_builder all;
    json_builder_init(&all, a);
    for (size_t i = 0; up_resources[i]; i++)
        if (!add_list(q, up_resources[i], &all, err))
            return false;
    if (!add_list(q, &RESOURCE_POD, &all, err))
        return false;
    ret->objects = json_list_end(&all);
    struct show_machine machine = show_machine(a, folder ? folder : "");
    ret->count = show_rows(a, ret->objects, folder ? &machine : NULL, &ret->rows);
    return true;
}

struct json up_objects_find(const struct up_objects *o, const struct show_row *row)
{
    json_each (object, o->objects)
        if (text_eq(json_get_text(*object, "kind"), row->kind) &&
            text_eq(json_get_text(*object, "metadata.name"), row->name) &&
            text_eq(json_get_text(*object, "metadata.namespace"), row->ns))
            return *object;
    return json_none;
}
