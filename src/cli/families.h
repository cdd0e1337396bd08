#pragma once

/* The families of kinds that this program knows, with their settings from the command line. */

#include "cli/cli.h"
#include "engine/engine.h"
#include "engine/kind.h"
#include "kinds/llmkube/settings.h"
#include "kinds/otterscale/otterscale.h"
#include "kinds/toolhive/toolhive.h"
#include "kinds/workloads/workloads.h"

#define FAMILIES_MAX 5
/* What --families says unless it is given. */
#define FAMILIES_ALL "llmkube,otterscale,toolhive"

#define FAMILY_KINDS_MAX 10

/* The variable with the operator's own image: routers and MCP proxies get the two beside it. */
#define FAMILIES_IMAGE "LEEBOARD_IMAGE"

struct families {
    struct llmkube_settings llmkube;
    const struct kind *llmkube_kinds[FAMILY_KINDS_MAX]; /* NULL-terminated */
    struct otterscale_settings otterscale;
    struct toolhive_settings toolhive;
    struct workloads_settings workloads;
    struct kind dashboards; /* of the one ConfigMap that --grafana-dashboard-source names */
    struct engine_family list[FAMILIES_MAX];
    size_t count;
};

/* The i-th flag of all families, in the order of `--help`; NULL past the end. */
const struct setting *families_setting(size_t i);
/* From the flags that were given. */
bool families_read(struct cli *cli, struct families *ret, struct error *err) must_check;
/* Keeps only the families that a list with commas names. */
bool families_select(struct families *f, const char *names, struct error *err) must_check;
/* Whether some kind of these families is of an API group. */
bool families_have_group(const struct families *f, const char *group);
/* The controllers of Kubernetes besides, where nobody else runs them. */
void families_add_workloads(struct families *f, const char *volumes);
