#pragma once

/* The families of kinds that this program implements, with their settings from the command line. */

#include "cli/cli.h"
#include "engine/engine.h"
#include "engine/kind.h"
#include "kinds/llmkube/settings.h"
#include "kinds/otterscale/otterscale.h"
#include "kinds/toolhive/toolhive.h"
#include "kinds/workloads/workloads.h"

#define FAMILIES_MAX 5
/* The default of --families. */
#define FAMILIES_ALL "llmkube,otterscale,toolhive"

#define FAMILY_KINDS_MAX 10

/* The variable with the operator's own image, from which the images of routers and MCP proxies
 * follow. */
#define FAMILIES_IMAGE "LEEBOARD_IMAGE"

struct families {
    struct llmkube_settings llmkube;
    const struct kind *llmkube_kinds[FAMILY_KINDS_MAX]; /* NULL-terminated */
    struct otterscale_settings otterscale;
    struct toolhive_settings toolhive;
    struct workloads_settings workloads;
    struct kind dashboards; /* for the one ConfigMap of --grafana-dashboard-source */
    struct engine_family list[FAMILIES_MAX];
    size_t count;
};

/* The i-th flag of all families, in the order of `--help`; NULL after the last one. */
const struct setting *families_setting(size_t i);
/* Reads the flags of the command line. */
bool families_read(struct cli *cli, struct families *ret, struct error *err) must_check;
/* Keeps only the families of a comma-separated list. */
bool families_select(struct families *f, const char *names, struct error *err) must_check;
/* Whether any kind of these families is in an API group. */
bool families_have_group(const struct families *f, const char *group);
/* Adds controllers for Kubernetes' own workloads, for clusters that have none. */
void families_add_workloads(struct families *f, const char *volumes);
