#pragma once

/* A world for tests of LLMKube kinds: manifests, settings, and effects with scripted answers. */

#include "engine/file_view.h"
#include "base/resource.h"
#include "engine/plan.h"
#include "kinds/llmkube/model.h"
#include "kinds/llmkube/settings.h"

struct world {
    struct file_view view;
    struct llmkube_settings settings;
    struct json facts; /* { "EFFECT SOURCE-OR-PATH": fact } */
};

#define WORLD_NOW_MS ((int64_t)1794000000 * 1000)

/* With the Model's CRD in it. */
void world_init(struct world *w);
/* One object, or a list of them; single quotes are fine. */
void world_add(struct world *w, const char *json);
void world_add_all(struct world *w, struct json list);
/* What an effect found: world_fact(w, "model.probe https://x", "{'result': {…}}"). */
void world_fact(struct world *w, const char *effect_and_source, const char *json);
/* Flags in one text: "--a=b --c". */
void world_flags(struct world *w, const char *flags);

/* One pass over a Model of namespace ns; its plan goes into the world. */
const struct plan *world_run(struct world *w, const char *ns, const char *name);
/* Passes until nothing changes any more, and checks that this comes soon. The last plan. */
const struct plan *world_settle(struct world *w, const char *ns, const char *name);
struct json world_status(struct world *w, const char *ns, const char *name);
/* "True Reason: message" of a condition, or "". */
const char *world_condition(struct world *w, const char *ns, const char *name, const char *type);
/* Whole file, from the test's arena; every document of a YAML file as a list. */
struct str world_read(const char *path);
struct json world_yaml(const char *path);
