#pragma once

/* A world for tests of OtterScale's kinds: manifests with uids and generations, and settings. */

#include "engine/file_view.h"
#include "engine/plan.h"
#include "kinds/otterscale/otterscale.h"

struct otters {
    struct file_view view;
    struct otterscale_settings settings;
};

void otters_init(struct otters *w);
/* One object; single quotes are fine. */
void otters_add(struct otters *w, const char *json);
/* A ModelService `name` in namespace ml, with a spec that is enough, and these fields of it. */
void otters_service(struct otters *w, const char *name, const char *spec);
void otters_artifact(struct otters *w, const char *name, const char *spec);
/* Sets what stands at a path of an object of namespace ml. */
void otters_set(struct otters *w, const struct resource *r, const char *name, const char *path,
    const char *json);
/* One pass; its plan goes into the world. */
const struct plan *otters_run(struct otters *w, const struct kind *kind, const char *name);
/* The planned child; absent if it is not planned, or to be gone. */
struct json otters_child(const struct plan *p, const struct resource *r, const char *name);
/* "True Reason: message" of a planned condition, or "". */
const char *otters_condition(const struct plan *p, const char *type);
