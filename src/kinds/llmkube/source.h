#pragma once

/* Where a Model's weights come from: the classes of spec.source, its cache key and its file names.
 * Every rule here decides which directory tens of gigabytes lie in; a different answer downloads
 * them again. */

#include "base/json.h"

struct llmkube_settings;

enum source_class {
    SOURCE_INVALID, /* none of the others: a bare word, a dataset page, a malformed pvc:// */
    SOURCE_LOCAL,   /* /abs or file:// : the operator copies it, pods mount the host path */
    SOURCE_PVC,     /* pvc://claim/path */
    SOURCE_S3,      /* s3://bucket/key */
    SOURCE_HTTP,    /* one file behind http(s) */
    SOURCE_HF_REPO, /* a Hugging Face repository, resolved by the runtime */
};

struct source {
    enum source_class class;
    const char *text;     /* spec.source, as it stands */
    const char *path;     /* LOCAL: cleaned absolute path; PVC: path below the claim; S3: key */
    const char *host;     /* PVC: claim; S3: bucket */
    const char *repo;     /* HF_REPO: "org/repo" */
    const char *revision; /* HF_REPO: NULL if none is named */
    const char *problem;  /* INVALID: what is wrong with it */
};

struct source source_read(struct arena *a, const char *text);
/* First 16 hex digits of the SHA-256 of the raw text. */
const char *source_cache_key(struct arena *a, const char *text);
/* Whether a local path lies below one of the allowed roots, after cleaning. */
bool source_allowed(const struct llmkube_settings *s, const struct source *src);
/* "org/repo" or "org/repo@rev", as vLLM, SGLang and TGI take it. */
const char *source_serve_argument(struct arena *a, const struct source *src);
/* Keeps A-Za-z0-9._- and turns every other run into one dash; trimmed. */
const char *source_sanitise(struct arena *a, const char *name);
