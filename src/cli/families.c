#include "cli/families.h"

#include <stdlib.h>

#include "base/str.h"
#include "kinds/llmkube/grafana.h"
#include "kinds/llmkube/inference_service.h"
#include "kinds/llmkube/model.h"

/* LLMKube's manager writes under the name of its binary. */
static const char *const llmkube_predecessors[] = { "manager", NULL };

/* Nobody wants all ConfigMaps of a cluster in memory for the sake of one. */
static const struct kind *dashboards(struct arena *a, struct families *f)
{
    struct str name = str_of(f->llmkube.grafana_dashboard_source);
    struct str namespace = str_cut(&name, '/');
    f->dashboards = llmkube_dashboards_kind;
    f->dashboards.namespace = str_dup(a, namespace);
    f->dashboards.field_selector = arena_printf(a, "metadata.name=%s", name.ptr);
    return &f->dashboards;
}

const struct setting *families_setting(size_t i)
{
    static const struct setting *const tables[] = { llmkube_flags };
    for (size_t t = 0; t < lengthof(tables); t++)
        for (const struct setting *s = tables[t]; s->name; s++)
            if (i-- == 0)
                return s;
    return NULL;
}

bool families_read(struct cli *cli, struct families *ret, struct error *err)
{
    *ret = (struct families){ .llmkube = llmkube_settings_default };
    for (size_t i = 0; i < cli->count; i++) {
        struct error why;
        if (!setting_set(
                &cli->arena, llmkube_flags, &ret->llmkube, cli->names[i], cli->values[i], &why) &&
            why.code != ERR_NOT_FOUND) {
            *err = why;
            return false;
        }
    }
    ret->llmkube_kinds[0] = &llmkube_model_kind;
    ret->llmkube_kinds[1] = &llmkube_inference_service_kind;
    if (ret->llmkube.grafana_dashboard_source)
        ret->llmkube_kinds[2] = dashboards(&cli->arena, ret);
    ret->list[ret->count++] = (struct engine_family){
        .name = "llmkube",
        .kinds = ret->llmkube_kinds,
        .settings = &ret->llmkube,
        .predecessors = llmkube_predecessors,
    };
    return true;
}
