#pragma once

/* A custom kind in one version: what its CustomResourceDefinition makes of struct api_kind. For
 * crd.c, which owns them. */

#include "apiserver/core/registry.h"

struct crds;
struct cel_rules;
struct structural;

struct custom {
    struct api_kind kind; /* ctx is this struct */
    struct crds *crds;
    const char *definition;  /* "models.inference.llmkube.dev" */
    char *version;           /* "v1alpha1"; of the heap, the rest may be gone */
    struct custom *next;     /* another version of it */
    struct custom *siblings; /* the first of them */
    bool registered;
    bool ending; /* its definition is being deleted */
    /* Compiled when it is needed first; most definitions are never used. */
    struct arena *arena; /* the definition's */
    const struct structural *schema;
    const struct cel_rules *rules;
    const char *const *selectable; /* "spec.color"; NULL, or NULL-terminated */
};

extern const struct api_behaviour custom_behaviour;
/* For definitions whose versions have different schemas. */
extern const struct api_behaviour custom_converting_behaviour;

/* Fills the kind of one entry of spec.versions; texts go into the arena. */
void custom_init(struct custom *c, struct arena *a, struct json crd, struct json version);
/* The kind in another version that its definition has, served or not; NULL: it has no such. */
const struct api_kind *custom_kind_at(const struct api_kind *k, const char *api_version);

/* ---- of crd.c ---- */

/* The schema of a version, from the stored definition. */
struct json crds_schema(
    struct crds *c, struct arena *a, const char *definition, const char *version);
/* An object of this definition is gone, which may have been what its end waited for. */
void crds_object_gone(struct crds *c, const char *definition);
