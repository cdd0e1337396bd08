#pragma once

/* How weights get into a pod: volumes, mounts and init containers for one Model (facts 3.3). */

#include "base/json.h"

struct model;
struct llmkube_settings;

struct storage_options {
    const char *ns;
    const char *claim;          /* cache claim to mount; NULL: no cache, an emptyDir */
    const char *ephemeral_size; /* sizeLimit of the emptyDir; NULL: none */
    bool ephemeral;             /* modelCache.persistence Ephemeral */
    struct json pod_security;   /* the service's podSecurityContext, for uid, gid and fsGroup */
};

struct storage {
    struct json volumes;         /* list */
    struct json mounts;          /* list, for the server container */
    struct json init_containers; /* list */
    const char *model_path;      /* file to serve; "" if the model is not staged */
    const char *staged_dir;      /* directory of a multi-file model; NULL otherwise */
    const char *mmproj_path;     /* NULL: none */
    const char *file_etag;       /* etag of a file that is used in place; NULL: none is */
};

struct storage storage_of(struct arena *a, const struct llmkube_settings *s, const struct model *m,
    const struct storage_options *o);
/* Joins the storage of a draft model with that of the main one; ret_draft_path: its path then. */
struct storage storage_join_draft(struct arena *a, const struct storage *main,
    const struct storage *draft, const char **ret_draft_path);
/* The shared cache claim, and the one of a single service. */
struct json storage_shared_claim(struct arena *a, const struct llmkube_settings *s);
struct json storage_service_claim(
    struct arena *a, const struct llmkube_settings *s, const char *service);
#define STORAGE_SHARED_CLAIM "llmkube-model-cache"
