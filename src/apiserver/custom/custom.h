#pragma once

/* A custom kind in one version: the struct api_kind for its CRD. For crd.c, which owns them. */

#include "apiserver/core/registry.h"

struct crds;
struct cel_rules;
struct structural;

struct custom {
    struct api_kind kind; /* ctx is this struct */
    struct crds *crds;
    const char *definition;  /* "models.inference.llmkube.dev" */
    char *version;           /* "v1alpha1"; on the heap, because the rest may be freed */
    struct custom *next;     /* another version of it */
    struct custom *siblings; /* the first version */
    bool registered;
    bool ending; /* its CRD is being deleted */
    /* Compiled on first use; most CRDs are never used. */
    struct arena *arena; /* owned by the CRD */
    const struct structural *schema;
    const struct cel_rules *rules;
    const char *const *selectable; /* "spec.color"; NULL, or NULL-terminated */
};

extern const struct api_behaviour custom_behaviour;
/* For CRDs whose versions have different schemas. */
extern const struct api_behaviour custom_converting_behaviour;

/* Initializes the kind from one entry of spec.versions; texts are allocated in the arena. */
void custom_init(struct custom *c, struct arena *a, struct json crd, struct json version);
/* The kind in another version of its CRD, served or not; NULL: there is none. */
const struct api_kind *custom_kind_at(const struct api_kind *k, const char *api_version);

/* ---- in crd.c ---- */

/* The schema of a version, from the stored CRD. */
struct json crds_schema(
    struct crds *c, struct arena *a, const char *definition, const char *version);
/* An object of this CRD is gone; a deleted CRD may have waited for this. */
void crds_object_gone(struct crds *c, const char *definition);
