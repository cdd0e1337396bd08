#pragma once

/* A world made of manifests: what a kind sees when there is no cluster. For `leeboard render` and
 * for tests.
 *
 * Objects are put in, in any order; a CustomResourceDefinition among them gives its kind's objects
 * their defaults. A kind runs on file_view_of(), and file_view_apply() puts what it planned back
 * into the world, so that the next kind sees it (an InferenceService its Model's status):
 *
 *   file_view_add(&world, object, &err)…
 *   struct view in = file_view_of(&world, &LLMKUBE_MODEL, namespace, name, &settings);
 *   kind->reconcile(&in, &plan);
 *   file_view_apply(&world, &in, &plan);
 *
 * Effects do not run. What they would have found is asked of a function; without one, or where it
 * gives absent, they have not ended. */

#include "base/json.h"
#include "engine/view.h"

struct plan;
struct resource;

struct file_view {
    struct arena *arena;
    int64_t now_ms;       /* the only time there is */
    struct json *objects; /* in the order of being added */
    size_t count, size;
    /* Resources of another client's CRDs that are installed, ended by NULL; may be NULL. Built-in
     * ones, and those with an object or a CRD in the world, are always served. */
    const struct resource *const *served;
    /* Answers as view_fact() describes them; may be NULL. */
    struct json (*fact)(void *ctx, struct arena *a, const char *effect, struct json args);
    void *fact_ctx;
};

#define FILE_VIEW_NAMESPACE "default"

void file_view_init(struct file_view *w, struct arena *a, int64_t now_ms);
/* Adds, or replaces one of the same kind, namespace and name. Fails for what is no object. Gives an
 * object without uid one made of its names. */
bool file_view_add(struct file_view *w, struct json object, struct error *err) must_check;
/* Takes an object out of the world, if it is there. */
void file_view_remove(
    struct file_view *w, const struct resource *r, const char *ns, const char *name);
/* The object by name, with the defaults of its CRD; absent if it is not there. */
struct json file_view_get(
    struct file_view *w, const struct resource *r, const char *ns, const char *name);
/* The view of one object, which must be there. Lives as long as the world. */
struct view file_view_of(struct file_view *w, const struct resource *r, const char *ns,
    const char *name, const void *settings);
/* Writes status and conditions into the object and its children into the world, as the engine would
 * (whole children; nothing is deleted). */
void file_view_apply(struct file_view *w, const struct view *in, const struct plan *plan);
/* The status that a plan means for an object: conditions, their times, and the stamp included. */
struct json file_view_status(
    struct arena *a, struct json object, const struct plan *plan, int64_t now_ms);
