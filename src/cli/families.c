#include "cli/families.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "kinds/llmkube/federated_cluster.h"
#include "kinds/llmkube/gpu_quota.h"
#include "kinds/llmkube/grafana.h"
#include "kinds/llmkube/inference_service.h"
#include "kinds/llmkube/lora_adapter.h"
#include "kinds/llmkube/model.h"
#include "kinds/llmkube/model_pool.h"
#include "kinds/llmkube/model_router.h"

/* Both managers use the name of their binary as field manager. */
static const char *const predecessors[] = { "manager", NULL };

static const struct kind *const otterscale_kinds[] = {
    &otterscale_model_service_kind,
    &otterscale_model_artifact_kind,
    NULL,
};

/* Watches only one ConfigMap, because all of a cluster would need too much memory. */
static const struct kind *dashboards(struct arena *a, struct families *f)
{
    struct str name = str_of(f->llmkube.grafana_dashboard_source);
    struct str ns = str_cut(&name, '/');
    f->dashboards = llmkube_dashboards_kind;
    f->dashboards.ns = str_dup(a, ns);
    f->dashboards.field_selector = arena_printf(a, "metadata.name=%s", name.ptr);
    return &f->dashboards;
}

const struct setting *families_setting(size_t i)
{
    static const struct setting *const tables[] = {
        llmkube_flags, otterscale_flags, toolhive_flags
    };
    for (size_t t = 0; t < lengthof(tables); t++)
        for (const struct setting *s = tables[t]; s->name; s++)
            if (i-- == 0)
                return s;
    return NULL;
}

/* The i-th flag of the command line; ignores flags that belong to no family. */
static bool read_flag(struct cli *cli, size_t i, struct families *f, struct error *err)
{
    const struct {
        const struct setting *table;
        void *into;
    } of[] = { { llmkube_flags, &f->llmkube },
        { otterscale_flags, &f->otterscale },
        { toolhive_flags, &f->toolhive } };
    for (size_t k = 0; k < lengthof(of); k++)
        if (!setting_set(
                &cli->arena, of[k].table, of[k].into, cli->names[i], cli->values[i], err) &&
            err->code != ERR_NOT_FOUND)
            return false;
    return true;
}

/* ToolHive's operator is configured by environment variables, which its users set in charts and
 * overlays. */
static bool read_variables(struct cli *cli, struct families *f, struct error *err)
{
    for (const struct setting *s = toolhive_flags; s->name; s++) {
        cleanup(arena_done) struct arena scratch = ARENA_INIT;
        const char *name = toolhive_variable(&scratch, s->name), *value = getenv(name);
        if (!text_empty(value) &&
            !setting_set(&cli->arena, toolhive_flags, &f->toolhive, s->name, value, err))
            return fail_in(err, "environment variable %s", name);
    }
    return true;
}

static void add_llmkube_kinds(struct arena *a, struct families *f)
{
    static const struct kind *const always[] = {
        &llmkube_model_kind,
        &llmkube_inference_service_kind,
        &llmkube_model_router_kind,
        &llmkube_gpu_quota_kind,
        &llmkube_model_pool_kind,
        &llmkube_lora_adapter_kind,
    };
    size_t count = 0;
    for (; count < lengthof(always); count++)
        f->llmkube_kinds[count] = always[count];
    /* Only the hub sets the phase of a FederatedCluster. */
    if (!f->llmkube.federation_is_edge)
        f->llmkube_kinds[count++] = &federation_cluster_kind;
    if (f->llmkube.grafana_dashboard_source)
        f->llmkube_kinds[count++] = dashboards(a, f);
    assert(count < FAMILY_KINDS_MAX);
}

/* A registry with our image also has the two others, with names that end in -router and -mcp. A
 * digest belongs to one image only: it is replaced by the version. */
static const char *sibling_image(struct arena *a, const char *image, const char *suffix)
{
    const char *slash = strrchr(image, '/'), *name = slash ? slash + 1 : image;
    size_t length = (size_t)(name - image) + strcspn(name, ":@");
    const char *tag = image + length;
    if (*tag != ':' || strchr(tag, '@'))
        tag = ":" LEEBOARD_VERSION;
    return arena_printf(a, "%.*s%s%s", (int)length, image, suffix, tag);
}

static void read_own_image(struct cli *cli, struct families *f)
{
    const char *image = getenv(FAMILIES_IMAGE);
    if (text_empty(image))
        return;
    f->llmkube.own_router_image = sibling_image(&cli->arena, image, "-router");
    f->toolhive.own_runner_image = sibling_image(&cli->arena, image, "-mcp");
}

bool families_read(struct cli *cli, struct families *ret, struct error *err)
{
    *ret = (struct families){
        .llmkube = llmkube_settings_default,
        .otterscale = otterscale_settings_default,
        .toolhive = toolhive_settings_default,
    };
    if (!read_variables(cli, ret, err))
        return false;
    read_own_image(cli, ret);
    for (size_t i = 0; i < cli->count; i++)
        if (!read_flag(cli, i, ret, err))
            return false;
    add_llmkube_kinds(&cli->arena, ret);
    ret->list[ret->count++] = (struct engine_family){
        .name = "llmkube",
        .kinds = ret->llmkube_kinds,
        .settings = &ret->llmkube,
        .predecessors = predecessors,
    };
    ret->list[ret->count++] = (struct engine_family){
        .name = "otterscale",
        .kinds = otterscale_kinds,
        .settings = &ret->otterscale,
        .predecessors = predecessors,
    };
    ret->list[ret->count++] = (struct engine_family){
        .name = "toolhive",
        .kinds = toolhive_kinds,
        .settings = &ret->toolhive,
        .predecessors = toolhive_predecessors,
    };
    return true;
}

static const struct engine_family *find_family(const struct families *f, struct str name)
{
    for (size_t i = 0; i < f->count; i++)
        if (str_eq(name, str_of(f->list[i].name)))
            return &f->list[i];
    return NULL;
}

bool families_select(struct families *f, const char *names, struct error *err)
{
    struct engine_family kept[FAMILIES_MAX];
    size_t count = 0;
    for (struct str rest = str_of(names); rest.ptr;) {
        struct str name = str_cut(&rest, ',');
        const struct engine_family *found = find_family(f, name);
        if (!found)
            return fail(err,
                ERR_INVALID,
                "--families: there is no family \"%.*s\"; write some of " FAMILIES_ALL,
                (int)name.len,
                name.ptr);
        for (size_t i = 0; i < count; i++)
            if (kept[i].name == found->name)
                return fail(err, ERR_INVALID, "--families: %s is named twice", found->name);
        kept[count++] = *found;
    }
    memcpy(f->list, kept, count * sizeof kept[0]);
    f->count = count;
    return true;
}

bool families_have_group(const struct families *f, const char *group)
{
    for (size_t i = 0; i < f->count; i++)
        for (size_t k = 0; f->list[i].kinds[k]; k++)
            if (text_eq(f->list[i].kinds[k]->resource->group, group))
                return true;
    return false;
}

void families_add_workloads(struct families *f, const char *volumes)
{
    assert(f->count < FAMILIES_MAX);
    f->workloads.volumes = volumes;
    f->llmkube.claims = volumes;
    f->list[f->count++] = (struct engine_family){
        .name = "workloads",
        .kinds = workloads_kinds,
        .settings = &f->workloads,
    };
}
