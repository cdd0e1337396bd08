#pragma once

/* A world made of manifests: what a kind sees without a cluster. Used by `leeboard render` and by
 * tests.
 *
 * Objects are added in any order. A CRD among them provides the defaults for objects of its kind. A
 * kind runs on file_view_of(), and file_view_apply() stores its plan in the world, so that the next
 * kind sees it (an InferenceService sees its Model's status):
 *
 *   file_view_add(&world, object, &err)…
 *   struct view in = file_view_of(&world, &LLMKUBE_MODEL, namespace, name, &settings);
 *   kind->reconcile(&in, &plan);
 *   file_view_apply(&world, &in, &plan);
 *
 * Effects do not run. A callback supplies their results; without one, or if it returns absent, the
 * effect has not ended yet. */

#include "base/json.h"
#include "engine/view.h"

struct plan;
struct resource;

struct file_view {
    struct arena *arena;
    int64_t now_ms;       /* the time, which never moves */
    struct json *objects; /* in the order in which they were added */
    size_t count, size;
    /* Installed resources of CRDs that belong to other clients, NULL-terminated; may be NULL.
     * Built-in resources, and those with an object or a CRD in the world, are always served. */
    const struct resource *const *served;
    /* Returns facts as view_fact() describes them; may be NULL. */
    struct json (*fact)(void *ctx, struct arena *a, const char *effect, struct json args);
    void *fact_ctx;
};

#define FILE_VIEW_NAMESPACE "default"

void file_view_init(struct file_view *w, struct arena *a, int64_t now_ms);
/* Adds an object, or replaces the one of the same kind, namespace and name. Fails if the value is
 * not an object. An object without uid gets one derived from its names. */
bool file_view_add(struct file_view *w, struct json object, struct error *err) must_check;
/* Removes an object from the world, if it exists. */
void file_view_remove(
    struct file_view *w, const struct resource *r, const char *ns, const char *name);
/* The object by name, with the defaults of its CRD; absent if it does not exist. */
struct json file_view_get(
    struct file_view *w, const struct resource *r, const char *ns, const char *name);
/* The view of one object, which must exist. Lives as long as the world. */
struct view file_view_of(struct file_view *w, const struct resource *r, const char *ns,
    const char *name, const void *settings);
/* Writes status and conditions into the object and its children into the world, as the engine would
 * (whole children; nothing is deleted). */
void file_view_apply(struct file_view *w, const struct view *in, const struct plan *plan);
/* The status that a plan produces for an object, including conditions, their times, and the
 * stamp. */
struct json file_view_status(
    struct arena *a, struct json object, const struct plan *plan, int64_t now_ms);
