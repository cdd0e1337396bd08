#include "cli/families.h"

#include <stdlib.h>

#include "base/str.h"
#include "kinds/llmkube/inference_service.h"
#include "kinds/llmkube/model.h"

static const struct kind *const llmkube_kinds[] = {
    &llmkube_model_kind,
    &llmkube_inference_service_kind,
    NULL,
};

/* LLMKube's manager writes under the name of its binary. */
static const char *const llmkube_predecessors[] = { "manager", NULL };

bool families_read(struct cli *cli, struct families *ret, struct error *err)
{
    *ret = (struct families){ .llmkube = llmkube_settings_default };
    for (size_t i = 0; i < cli->count; i++) {
        struct error why;
        if (llmkube_settings_flag(&cli->arena, &ret->llmkube, cli->names[i], cli->values[i], &why))
            continue;
        if (why.code != ERR_NOT_FOUND) {
            *err = why;
            return false;
        }
    }
    ret->list[ret->count++] = (struct engine_family){
        .name = "llmkube",
        .kinds = llmkube_kinds,
        .settings = &ret->llmkube,
        .predecessors = llmkube_predecessors,
    };
    return true;
}
