#pragma once

/* A world for tests of LLMKube kinds: manifests, settings, and effects with scripted answers. */

#include "engine/file_view.h"
#include "base/resource.h"
#include "engine/plan.h"
#include "kinds/llmkube/model.h"
#include "kinds/llmkube/settings.h"

struct manifests {
    struct file_view view;
    struct llmkube_settings settings;
    struct json facts; /* { "EFFECT SOURCE-OR-PATH": fact } */
};

#define MANIFESTS_NOW_MS ((int64_t)1794000000 * 1000)

/* With the Model's CRD in it; bare: with nothing. */
void manifests_init(struct manifests *w);
void manifests_init_bare(struct manifests *w);
/* One object, or a list of them; single quotes are fine. */
void manifests_add(struct manifests *w, const char *json);
void manifests_add_all(struct manifests *w, struct json list);
/* Changes one field of a Model, as a user would: the generation goes up. NULL removes it. */
void manifests_edit(
    struct manifests *w, const char *ns, const char *name, const char *path, const char *json);
/* Forgets all facts, as a restart does. */
void manifests_restart(struct manifests *w);
/* What an effect found: manifests_fact(w, "model.probe https://x", "{'result': {…}}"). */
void manifests_fact(struct manifests *w, const char *effect_and_source, const char *json);
/* Flags in one text: "--a=b --c". */
void manifests_flags(struct manifests *w, const char *flags);

/* One pass over a Model of namespace ns; its plan goes into the world. */
const struct plan *manifests_run(struct manifests *w, const char *ns, const char *name);
/* Passes until nothing changes any more, and checks that this comes soon. The last plan. */
const struct plan *manifests_settle(struct manifests *w, const char *ns, const char *name);
struct json manifests_status(struct manifests *w, const char *ns, const char *name);
/* "True Reason: message" of a condition, or "". */
const char *manifests_condition(
    struct manifests *w, const char *ns, const char *name, const char *type);
/* Whole file, from the test's arena; every document of a YAML file as a list. */
struct str manifests_read(const char *path);
struct json manifests_yaml(const char *path);
